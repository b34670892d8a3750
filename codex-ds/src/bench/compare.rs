//! `--compare FILE`: each row against an earlier result, with a verdict that respects the noise.

use serde::Serialize;

use super::document::{Document, Row};
use super::stats::{Summary, Verdict, compare};

/// The figures that are compared: name, where it stands, and whether more is better.
const FIGURES: [(&str, Read, bool); 4] = [
    ("prefill t/s", |row| row.prefill.as_ref(), true),
    ("decode t/s", |row| row.decode.as_ref(), true),
    ("each t/s", |row| row.decode_each.as_ref(), true),
    ("TTFT ms", |row| row.ttft_ms.as_ref(), false),
];

type Read = fn(&Row) -> Option<&Summary>;

/// One figure of a row, before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The row's test.
    pub test: String,
    /// The row's route.
    pub route: String,
    /// The figure.
    pub figure: &'static str,
    /// The earlier mean.
    pub before: f64,
    /// The mean now.
    pub after: f64,
    /// The change as a part of the earlier mean.
    pub change: f64,
    /// The noise that was allowed for, as a part of the earlier mean.
    pub noise: f64,
    /// What that means.
    pub verdict: Verdict,
}

/// What a comparison found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// When the earlier result was made.
    pub date: String,
    /// The changes.
    pub changes: Vec<Change>,
    /// What could not be compared, and why.
    pub notes: Vec<String>,
}

impl Comparison {
    /// Of two results.
    #[must_use]
    pub fn of(before: &Document, after: &Document) -> Self {
        let mut changes = Vec::new();
        let mut notes = Vec::new();
        let model = |document: &Document| document.routes.first().map(|r| r.model.clone());
        if model(before) != model(after) {
            notes.push(format!(
                "the earlier result is of another model: {}",
                model(before).unwrap_or_default()
            ));
        }
        let twin = |rows: &[Row], row: &Row| {
            rows.iter()
                .find(|other| other.shape == row.shape && other.route == row.route)
                .cloned()
        };
        for row in &after.rows {
            let Some(earlier) = twin(&before.rows, row) else {
                notes.push(format!(
                    "{} ({}): not in the earlier result",
                    row.test, row.route
                ));
                continue;
            };
            if row.spoiled || earlier.spoiled {
                notes.push(format!(
                    "{} ({}): another client spoiled it",
                    row.test, row.route
                ));
                continue;
            }
            for (figure, read, more_is_better) in FIGURES {
                // Of one stream it is the same as all streams.
                if figure == "each t/s" && row.shape.concurrency == 1 {
                    continue;
                }
                let (Some(old), Some(new)) = (read(&earlier), read(row)) else {
                    continue;
                };
                let (verdict, noise) = compare(old, new, more_is_better);
                changes.push(Change {
                    test: row.test.clone(),
                    route: row.route.clone(),
                    figure,
                    before: old.mean,
                    after: new.mean,
                    change: if old.mean > 0.0 {
                        new.mean / old.mean - 1.0
                    } else {
                        0.0
                    },
                    noise,
                    verdict,
                });
            }
        }
        for row in &before.rows {
            if twin(&after.rows, row).is_none() {
                notes.push(format!(
                    "{} ({}): only in the earlier result",
                    row.test, row.route
                ));
            }
        }
        Self {
            date: before.date.clone(),
            changes,
            notes,
        }
    }

    /// Whether a figure became worse.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.changes
            .iter()
            .any(|change| change.verdict == Verdict::Worse)
    }
}
