//! Runs checks side by side, each as soon as what it requires has ended well.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::check::{Check, Outcome, Record, Status};
use super::context::Context;

/// Runs `checks`, and gives their records in the same order. `waiting` is told the ids of those that
/// still run, each time one ends.
///
/// A prerequisite that is not among `checks` was left out by the user, and counts as good.
pub(super) async fn run(
    checks: &[&'static Check],
    context: &Arc<Context>,
    mut waiting: impl FnMut(&[&'static str]),
) -> Vec<Record> {
    let (mut senders, mut ended) = (HashMap::new(), HashMap::new());
    for check in checks {
        let (sender, receiver) = watch::channel(None);
        senders.insert(check.id, sender);
        ended.insert(check.id, receiver);
    }
    let mut running = JoinSet::new();
    for (place, &check) in checks.iter().enumerate() {
        let requires: Vec<_> = check
            .requires
            .iter()
            .filter_map(|id| Some((*id, ended.get(id)?.clone())))
            .collect();
        let context = context.clone();
        running.spawn(async move {
            let record = match failed_prerequisite(requires).await {
                Some(id) => Record::new(
                    check,
                    Outcome::skip(format!("needs {id}, which did not pass")),
                    Duration::ZERO,
                ),
                None => one(check, context).await,
            };
            (place, record)
        });
    }
    let mut left: Vec<&'static str> = checks.iter().map(|check| check.id).collect();
    let mut records = Vec::new();
    waiting(&left);
    while let Some(joined) = running.join_next().await {
        let (place, record) =
            joined.expect("a check's own panic is caught, and the runner has none");
        left.retain(|id| *id != record.id);
        if let Some(sender) = senders.get(record.id) {
            sender.send_replace(Some(record.status));
        }
        records.push((place, record));
        waiting(&left);
    }
    records.sort_by_key(|(place, _)| *place);
    records.into_iter().map(|(_, record)| record).collect()
}

/// Waits for the prerequisites; the first that did not end well.
async fn failed_prerequisite(
    requires: Vec<(&'static str, watch::Receiver<Option<Status>>)>,
) -> Option<&'static str> {
    for (id, mut ended) in requires {
        let status = ended.wait_for(Option::is_some).await;
        if !status.is_ok_and(|status| status.is_some_and(Status::is_good)) {
            return Some(id);
        }
    }
    None
}

/// Runs one check to its end, its deadline or its panic.
async fn one(check: &'static Check, context: Arc<Context>) -> Record {
    let begun = Instant::now();
    // A task of its own, so that its panic is its own; ended when this one is.
    let mut task = JoinSet::new();
    task.spawn((check.run)(context));
    let broken = |why: String| Outcome {
        status: Status::Error,
        ..Outcome::pass(why)
    };
    let outcome = match tokio::time::timeout(check.deadline, task.join_next()).await {
        Ok(Some(Ok(Ok(outcome)))) => outcome,
        Ok(Some(Ok(Err(error)))) => broken(format!("{error:#}")),
        Ok(Some(Err(ended))) => broken(format!("the check itself broke: {}", said(ended))),
        Ok(None) => broken("the check was not started".to_owned()),
        Err(_) => broken(format!(
            "not done within {} s",
            check.deadline.as_secs_f32()
        )),
    };
    Record::new(check, outcome, begun.elapsed())
}

/// What a panic said.
fn said(ended: tokio::task::JoinError) -> String {
    let payload = match ended.try_into_panic() {
        Ok(payload) => payload,
        Err(ended) => return ended.to_string(),
    };
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("it panicked")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::check::{Cost, Finding};
    use super::*;

    const fn check(
        id: &'static str,
        requires: &'static [&'static str],
        run: fn(Arc<Context>) -> super::super::check::Running,
    ) -> Check {
        Check {
            id,
            title: "a check",
            requires,
            cost: Cost::Offline,
            deadline: Duration::from_millis(200),
            run,
        }
    }

    const CHECKS: &[Check] = &[
        check("a.after", &["a.bad"], |_| {
            Box::pin(async { Ok(Outcome::pass("ran")) })
        }),
        check("a.bad", &[], |_| {
            Box::pin(async { Ok(Finding::fail("bad").into()) })
        }),
        check("a.far", &["a.after"], |_| {
            Box::pin(async { Ok(Outcome::pass("ran")) })
        }),
        check("a.good", &["a.odd", "a.unknown"], |_| {
            Box::pin(async { Ok(Outcome::pass("ran")) })
        }),
        check("a.hangs", &[], |_| Box::pin(std::future::pending())),
        check("a.odd", &[], |_| {
            Box::pin(async { Ok(Finding::warn("odd").into()) })
        }),
        check("a.panics", &[], |_| Box::pin(async { panic!("oops") })),
        check("a.unreadable", &[], |_| {
            Box::pin(async { anyhow::bail!("no file") })
        }),
    ];

    #[tokio::test]
    async fn each_check_ends_in_its_own_way_and_none_holds_up_another() {
        let home = tempfile::tempdir().unwrap();
        let context = Arc::new(Context::for_test(home.path()));
        let checks: Vec<&Check> = CHECKS.iter().collect();
        let mut calls = 0;
        let records = run(&checks, &context, |_| calls += 1).await;
        let lines: Vec<String> = records
            .iter()
            .map(|record| format!("{} {}: {}", record.id, record.status.name(), record.summary))
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @"
    a.after skip: needs a.bad, which did not pass
    a.bad fail: bad
    a.far skip: needs a.after, which did not pass
    a.good pass: ran
    a.hangs error: not done within 0.2 s
    a.odd warn: odd
    a.panics error: the check itself broke: oops
    a.unreadable error: no file
    ");
        assert_eq!(calls, CHECKS.len() + 1);
    }
}
