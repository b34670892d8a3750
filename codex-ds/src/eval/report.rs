//! What a run, or several, come to.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::run::time;
use super::stats::{mcnemar, wilson};
use super::store::{Outcome, Record, Results};
use crate::text::{Align, plain, table};

/// Counts of outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    right: u64,
    wrong: u64,
    no_answer: u64,
    errors: u64,
}

impl Tally {
    fn of<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        let mut tally = Self::default();
        for record in records {
            *match record.outcome {
                Outcome::Right => &mut tally.right,
                Outcome::Wrong => &mut tally.wrong,
                Outcome::NoAnswer => &mut tally.no_answer,
                Outcome::Error => &mut tally.errors,
            } += 1;
        }
        tally
    }

    /// Questions that the model answered, in whatever way. A failed request says nothing of it.
    fn answered(&self) -> u64 {
        self.right + self.wrong + self.no_answer
    }

    fn share(&self) -> Option<f64> {
        (self.answered() > 0).then(|| number(self.right) / number(self.answered()))
    }

    fn json(&self) -> Value {
        let interval = wilson(self.right, self.answered());
        json!({
            "right": self.right,
            "wrong": self.wrong,
            "no_answer": self.no_answer,
            "errors": self.errors,
            "accuracy": self.share(),
            "wilson_95": interval.map(|(low, high)| [low, high]),
        })
    }

    fn cells(&self, name: &str) -> Vec<String> {
        let percent = |share: f64| format!("{:.1}", share * 100.0);
        vec![
            name.to_owned(),
            self.answered().to_string(),
            self.right.to_string(),
            self.share()
                .map(|share| percent(share) + "%")
                .unwrap_or_default(),
            wilson(self.right, self.answered())
                .map(|(low, high)| format!("{}–{}%", percent(low), percent(high)))
                .unwrap_or_default(),
        ]
    }
}

#[expect(clippy::cast_precision_loss, reason = "no run has 2^52 of anything")]
fn number(value: u64) -> f64 {
    value as f64
}

fn domains(results: &Results) -> BTreeMap<&str, Tally> {
    let mut domains: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in &results.records {
        let name = if record.domain.is_empty() {
            "(none)"
        } else {
            &record.domain
        };
        domains.entry(name).or_default().push(record);
    }
    domains
        .into_iter()
        .map(|(name, records)| (name, Tally::of(records)))
        .collect()
}

/// What answers cost: the mean and the most of their tokens, and the mean of their seconds.
fn cost(results: &Results) -> Option<(f64, u64, f64)> {
    let answered: Vec<&Record> = results
        .records
        .iter()
        .filter(|record| record.outcome != Outcome::Error)
        .collect();
    let n = number(answered.len() as u64);
    let tokens: u64 = answered.iter().map(|record| record.completion_tokens).sum();
    let most = answered
        .iter()
        .map(|record| record.completion_tokens)
        .max()?;
    let seconds: f64 = answered.iter().map(|record| record.seconds).sum();
    Some((number(tokens) / n, most, seconds / n))
}

/// How many budgets ended early, and how many of these questions were answered all the same.
fn exhausted(results: &Results) -> (usize, usize) {
    let exhausted = || results.records.iter().filter(|record| record.exhausted);
    (
        exhausted().count(),
        exhausted().filter(|record| record.letter.is_some()).count(),
    )
}

/// A run for a terminal.
pub(super) fn text(results: &Results) -> String {
    let header = &results.header;
    let mut text = format!(
        "{} by {}, seed {}, {} tokens, thinking {}\n\n",
        plain(&header.questions),
        plain(&header.model),
        header.seed,
        header.max_tokens,
        if header.thinking { "on" } else { "off" }
    );
    let all = Tally::of(&results.records);
    let mut cells = vec![
        ["", "answered", "right", "accuracy", "95 % (Wilson)"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let domains = domains(results);
    if domains.len() > 1 {
        cells.extend(
            domains
                .iter()
                .map(|(name, tally)| tally.cells(&plain(name))),
        );
    }
    cells.push(all.cells("all"));
    let mut align = [Align::Right; 5];
    align[0] = Align::Left;
    text.push_str(&table(&align, &cells));
    let (early, rescued) = exhausted(results);
    let _ = write!(
        text,
        "\n{} without an answer of the wanted form; {early} ran out of tokens, {rescued} of them answered when asked again in short\nfailed requests: {} (not counted; asked again on the next start)\n",
        all.no_answer, all.errors
    );
    if let Some((mean, most, seconds)) = cost(results) {
        let _ = writeln!(
            text,
            "{mean:.0} tokens an answer, {most} at most; {seconds:.1} s a question"
        );
    }
    if let Some(health) = &results.health {
        let _ = writeln!(
            text,
            "engine, watched for {}: KV cache at most {:.0}% full, {:.0} requests at most, {:.0} waiting, {:.0} preemptions, {} restarts{}",
            time(Duration::from_secs_f64(health.seconds.max(0.0))),
            health.kv_usage * 100.0,
            health.running,
            health.waiting,
            health.preemptions,
            health.restarts,
            if health.silent > 0 {
                format!(", {} looks without an answer", health.silent)
            } else {
                String::new()
            }
        );
    }
    text
}

/// A run as JSON.
pub(super) fn json(results: &Results) -> Value {
    let (early, rescued) = exhausted(results);
    let domains: serde_json::Map<String, Value> = domains(results)
        .iter()
        .map(|(name, tally)| ((*name).to_owned(), tally.json()))
        .collect();
    let cost = cost(results);
    json!({
        "run": results.header,
        "all": Tally::of(&results.records).json(),
        "domains": domains,
        "exhausted": early,
        "answered_in_short": rescued,
        "tokens_mean": cost.map(|cost| cost.0),
        "tokens_most": cost.map(|cost| cost.1),
        "seconds_mean": cost.map(|cost| cost.2),
        "health": results.health,
    })
}

/// Two runs over the questions that both answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Questions that both answered.
    pub common: u64,
    /// Right in both.
    pub both: u64,
    /// Right in the first alone.
    pub only_first: u64,
    /// Right in the second alone.
    pub only_second: u64,
    /// McNemar's exact test.
    pub p: f64,
}

impl Pair {
    /// Of two runs; a question is known by its id.
    #[must_use]
    pub fn of(first: &Results, second: &Results) -> Self {
        let answered = |results: &Results| -> BTreeMap<String, bool> {
            results
                .records
                .iter()
                .filter(|record| record.outcome != Outcome::Error)
                .map(|record| (record.id.clone(), record.outcome == Outcome::Right))
                .collect()
        };
        let second = answered(second);
        let mut pair = Self {
            common: 0,
            both: 0,
            only_first: 0,
            only_second: 0,
            p: 1.0,
        };
        for (id, first) in answered(first) {
            let Some(second) = second.get(&id) else {
                continue;
            };
            pair.common += 1;
            match (first, *second) {
                (true, true) => pair.both += 1,
                (true, false) => pair.only_first += 1,
                (false, true) => pair.only_second += 1,
                (false, false) => {}
            }
        }
        pair.p = mcnemar(pair.only_first, pair.only_second);
        pair
    }

    /// What it means.
    fn verdict(&self) -> &'static str {
        /// What is called evidence, as usual.
        const LEVEL: f64 = 0.05;
        match (self.p < LEVEL, self.only_first > self.only_second) {
            (false, _) => "no evidence that they differ",
            (true, true) => "the first is better",
            (true, false) => "the second is better",
        }
    }

    /// For a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        if self.common == 0 {
            return "no question was answered in both\n".to_owned();
        }
        format!(
            "{} questions in common: {} right in both, {} in the first alone, {} in the second alone\n\
             McNemar's exact test: p = {:.3}: {}\n",
            self.common,
            self.both,
            self.only_first,
            self.only_second,
            self.p,
            self.verdict()
        )
    }

    /// As JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "common": self.common,
            "right_in_both": self.both,
            "right_in_first_alone": self.only_first,
            "right_in_second_alone": self.only_second,
            "mcnemar_p": self.p,
            "verdict": self.verdict(),
        })
    }
}
