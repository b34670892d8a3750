//! Asks the questions that are left, two at a time, and writes each result down as it comes.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::Result;
use futures_util::{StreamExt as _, stream};

use super::questions::{Question, letter, right_letter};
use super::store::{Health, Line, Outcome, Record, Results, Store};
use crate::engine::ask::{Answer, Ask, AskError, ask};
use crate::engine::counters::{Counters, Source, grown};
use crate::engine::target::Target;
use crate::ui;

/// How often the engine is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// How often progress is told where there is no terminal to show it on.
const TELL: Duration = Duration::from_secs(60);
/// Pauses before a failed request is made again.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(5)];
/// So many failed questions in a row mean that the server is gone.
const GIVE_UP: u32 = 8;
/// The budget of the second request, tokens: a line.
const SHORT: u64 = 64;

/// How questions are asked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The seed of the options' order.
    pub seed: u64,
    /// The budget of an answer, tokens.
    pub max_tokens: u64,
    /// Whether the model thinks.
    pub thinking: bool,
    /// Questions at a time.
    pub concurrency: usize,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every question was asked.
    Complete,
    /// Ctrl-C.
    Interrupted,
    /// The server does not answer any more; why.
    GaveUp(String),
}

/// Asks all of `left`; results go into `store` and `results`.
///
/// # Errors
/// When a result cannot be written.
pub async fn run(
    target: &Target,
    settings: &Settings,
    left: Vec<&Question>,
    source: Option<&Source>,
    store: &mut Store,
    results: &mut Results,
) -> Result<End> {
    let total = left.len();
    let mut asked = stream::iter(left)
        .map(|question| question_result(target, settings, question))
        .buffer_unordered(settings.concurrency);
    let mut watch = Watch::new(source).await;
    let mut progress = Progress::new(total);
    let mut failed_in_a_row = 0;
    let end = loop {
        tokio::select! {
            next = asked.next() => {
                let Some((record, why)) = next else { break End::Complete };
                if let Some(why) = &why {
                    ui::warn(&format!("{}: {why}; it will be asked again on the next start", record.id));
                }
                failed_in_a_row = if why.is_some() { failed_in_a_row + 1 } else { 0 };
                progress.count(&record);
                let line = Line::Answer(record);
                store.add(&line)?;
                results.add(line);
                if failed_in_a_row >= GIVE_UP {
                    break End::GaveUp(why.unwrap_or_default());
                }
            }
            () = tokio::time::sleep(watch.until_next()) => watch.look().await,
            _ = tokio::signal::ctrl_c() => break End::Interrupted,
        }
    };
    watch.look().await;
    if let Some(health) = watch.health() {
        let line = Line::Health(health);
        store.add(&line)?;
        results.add(line);
    }
    Ok(end)
}

/// One question's result, and why it failed if it did.
async fn question_result(
    target: &Target,
    settings: &Settings,
    question: &Question,
) -> (Record, Option<String>) {
    let order = question.permutation(settings.seed);
    let start = Instant::now();
    let mut record = Record {
        id: question.id.clone(),
        domain: question.domain.clone(),
        order,
        letter: None,
        outcome: Outcome::Error,
        exhausted: false,
        finish_reason: String::new(),
        completion_tokens: 0,
        seconds: 0.0,
        error: None,
    };
    let request = |user, max_tokens, thinking, stage: u8| Ask {
        user,
        max_tokens,
        thinking,
        id: format!(
            "codex-ds-eval-{stage}-{}",
            &crate::file::sha256(question.id.as_bytes())[..16]
        ),
        ..Ask::default()
    };
    let first = request(
        question.prompt(order),
        settings.max_tokens,
        settings.thinking,
        1,
    );
    let mut failure = None;
    match patient(target, &first).await {
        Ok(answer) => {
            take(&mut record, &answer);
            known(&answer.finish_reason).clone_into(&mut record.finish_reason);
            record.letter = letter(&answer.text);
            record.exhausted = record.letter.is_none() && answer.finish_reason == "length";
            if record.exhausted {
                let second = request(question.short_prompt(order), SHORT, false, 2);
                match patient(target, &second).await {
                    Ok(answer) => {
                        take(&mut record, &answer);
                        record.letter = letter(&answer.text);
                    }
                    Err(error) => failure = Some(error),
                }
            }
        }
        Err(error) => failure = Some(error),
    }
    record.outcome = match (&failure, record.letter) {
        (Some(_), _) => Outcome::Error,
        (None, Some(letter)) if letter == right_letter(order) => Outcome::Right,
        (None, Some(_)) => Outcome::Wrong,
        (None, None) => Outcome::NoAnswer,
    };
    record.error = failure.as_ref().map(kind);
    record.seconds = start.elapsed().as_secs_f64();
    (record, failure.map(|error| error.to_string()))
}

fn take(record: &mut Record, answer: &Answer) {
    record.completion_tokens += answer.usage.map_or(0, |usage| usage.completion);
}

/// A server could say anything, and the file holds nothing but what is known.
fn known(finish_reason: &str) -> &'static str {
    match finish_reason {
        "stop" => "stop",
        "length" => "length",
        _ => "other",
    }
}

/// An error without its text.
fn kind(error: &AskError) -> String {
    match error {
        AskError::Connection(_) => "connection".to_owned(),
        AskError::Status { status, .. } => format!("HTTP {status}"),
        AskError::Broken(_) => "broken".to_owned(),
    }
}

/// Asks again after a failure that may pass.
async fn patient(target: &Target, request: &Ask) -> Result<Answer, AskError> {
    for pause in PAUSES {
        match ask(target, request).await {
            Err(error) if error.is_passing() => tokio::time::sleep(pause).await,
            other => return other,
        }
    }
    ask(target, request).await
}

/// Looks at the engine now and then.
struct Watch<'s> {
    source: Option<&'s Source>,
    start: Instant,
    next: Instant,
    last: Option<Counters>,
    health: Health,
}

impl<'s> Watch<'s> {
    async fn new(source: Option<&'s Source>) -> Self {
        let start = Instant::now();
        let mut watch = Self {
            source,
            start,
            next: start,
            last: None,
            health: Health::default(),
        };
        watch.look().await;
        watch
    }

    fn until_next(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    async fn look(&mut self) {
        self.next = Instant::now() + LOOK;
        let Some(source) = self.source else { return };
        let Some(now) = source.read().await else {
            self.health.silent += 1;
            return;
        };
        let health = &mut self.health;
        health.kv_usage = health.kv_usage.max(now.kv_usage.unwrap_or(0.0));
        health.running = health.running.max(now.running.unwrap_or(0.0));
        health.waiting = health.waiting.max(now.waiting.unwrap_or(0.0));
        if let Some(last) = &self.last {
            if now.restarted_since(last) {
                health.restarts += 1;
                health.preemptions += now.preemptions.unwrap_or(0.0);
            } else {
                health.preemptions += grown(last.preemptions, now.preemptions).unwrap_or(0.0);
            }
        }
        self.last = Some(now);
    }

    fn health(&self) -> Option<Health> {
        self.source?;
        Some(Health {
            seconds: self.start.elapsed().as_secs_f64(),
            ..self.health
        })
    }
}

struct Progress {
    shown: ui::Progress,
    start: Instant,
    told: Instant,
    total: usize,
    done: usize,
    right: usize,
    errors: usize,
}

impl Progress {
    fn new(total: usize) -> Self {
        let now = Instant::now();
        Self {
            shown: ui::progress(&format!("0 of {total} questions")),
            start: now,
            told: now,
            total,
            done: 0,
            right: 0,
            errors: 0,
        }
    }

    fn count(&mut self, record: &Record) {
        self.done += 1;
        self.right += usize::from(record.outcome == Outcome::Right);
        self.errors += usize::from(record.outcome == Outcome::Error);
        let text = self.text(self.start.elapsed());
        self.shown.set(&text);
        if !ui::can_show_progress() && self.told.elapsed() >= TELL {
            self.told = Instant::now();
            ui::err(&format!("{text}\n"));
        }
    }

    fn text(&self, elapsed: Duration) -> String {
        let mut text = format!(
            "{} of {} questions, {} right",
            self.done, self.total, self.right
        );
        if self.errors > 0 {
            let _ = write!(text, ", {} failed requests", self.errors);
        }
        let left = u32::try_from(self.total - self.done).unwrap_or(u32::MAX);
        let done = u32::try_from(self.done).unwrap_or(u32::MAX).max(1);
        let _ = write!(text, ", about {} left", time(elapsed / done * left));
        text
    }
}

/// `3 h 24 min`, `12 min`, `40 s`.
pub(super) fn time(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..90 => format!("{seconds} s"),
        90..5400 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_by_the_pace_so_far() {
        let mut progress = Progress::new(100);
        (progress.done, progress.right, progress.errors) = (25, 20, 1);
        assert_eq!(
            progress.text(Duration::from_secs(3060)),
            "25 of 100 questions, 20 right, 1 failed requests, about 2 h 33 min left"
        );
        assert_eq!(time(Duration::from_secs(89)), "89 s");
        assert_eq!(time(Duration::from_secs(90)), "2 min");
    }
}
