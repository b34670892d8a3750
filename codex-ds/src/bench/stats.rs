//! Means, deviations, percentiles, and whether two means differ by more than their noise.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Several values of one figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The sample's standard deviation (n − 1); 0 for one value.
    pub std: f64,
    /// The values.
    pub values: Vec<f64>,
}

impl Summary {
    /// Of these values; `None` when there is none.
    #[must_use]
    pub fn of(values: Vec<f64>) -> Option<Self> {
        let n = count(&values);
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let std = if n > 1.0 {
            (squares / (n - 1.0)).sqrt()
        } else {
            0.0
        };
        Some(Self { mean, std, values })
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody makes 2^52 runs")]
fn count(values: &[f64]) -> f64 {
    values.len() as f64
}

/// Percentiles of a time, milliseconds, to three digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// Nine of ten are below.
    pub p90: f64,
    /// 99 of 100 are below.
    pub p99: f64,
}

impl Percentiles {
    /// Of times in milliseconds; `None` when there is none.
    ///
    /// # Panics
    /// Never: the histogram's bounds are constants.
    #[must_use]
    pub fn of(times: &[f64]) -> Option<Self> {
        /// An hour, microseconds.
        const HOUR: u64 = 3_600_000_000;
        if times.is_empty() {
            return None;
        }
        let mut histogram =
            Histogram::<u64>::new_with_bounds(1, HOUR, 3).expect("the bounds are in order");
        for time in times {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a float is cut to the range of the integer"
            )]
            histogram.saturating_record(((time * 1e3).round() as u64).max(1));
        }
        #[expect(clippy::cast_precision_loss, reason = "an hour has few microseconds")]
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
        Some(Self {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
        })
    }
}

/// How a figure compares with an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better by more than the noise.
    Better,
    /// Worse by more than the noise.
    Worse,
    /// Within the noise.
    Same,
    /// One side has a single run, so its noise is not known.
    Unclear,
}

impl Verdict {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Unclear => "one run: no verdict",
        }
    }
}

/// A change that nobody would notice, as a part of the earlier mean: below it, two figures are the
/// same however small their noise is.
const NEGLIGIBLE: f64 = 0.01;

/// Compares two figures by Welch's t-test at 95 %, and gives the noise that it allowed for, as a
/// part of the earlier mean.
#[must_use]
pub fn compare(before: &Summary, after: &Summary, more_is_better: bool) -> (Verdict, f64) {
    let (n, m) = (count(&before.values), count(&after.values));
    if n < 2.0 || m < 2.0 || before.mean <= 0.0 {
        return (Verdict::Unclear, 0.0);
    }
    let (a, b) = (before.std.powi(2) / n, after.std.powi(2) / m);
    let freedom = if a + b > 0.0 {
        (a + b).powi(2) / (a.powi(2) / (n - 1.0) + b.powi(2) / (m - 1.0))
    } else {
        n + m - 2.0
    };
    let noise = (critical(freedom) * (a + b).sqrt()).max(NEGLIGIBLE * before.mean);
    let change = after.mean - before.mean;
    let verdict = if change.abs() <= noise {
        Verdict::Same
    } else if (change > 0.0) == more_is_better {
        Verdict::Better
    } else {
        Verdict::Worse
    };
    (verdict, noise / before.mean)
}

/// Student's t, two-sided 95 %, for so many degrees of freedom, rounded down to a row of the table.
fn critical(freedom: f64) -> f64 {
    const TABLE: [(f64, f64); 16] = [
        (1.0, 12.706),
        (2.0, 4.303),
        (3.0, 3.182),
        (4.0, 2.776),
        (5.0, 2.571),
        (6.0, 2.447),
        (7.0, 2.365),
        (8.0, 2.306),
        (9.0, 2.262),
        (10.0, 2.228),
        (12.0, 2.179),
        (15.0, 2.131),
        (20.0, 2.086),
        (30.0, 2.042),
        (60.0, 2.000),
        (120.0, 1.980),
    ];
    TABLE
        .iter()
        .rev()
        .find(|(row, _)| *row <= freedom)
        .map_or(TABLE[0].1, |(_, t)| *t)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Summary {
        Summary::of(values.to_vec()).expect("values")
    }

    #[test]
    fn mean_and_deviation_are_the_samples() {
        let summary = of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert!((summary.mean - 5.0).abs() < 1e-12);
        assert!((summary.std - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert!(of(&[3.0]).std.abs() < 1e-12);
        assert_eq!(Summary::of(vec![]), None);
    }

    #[test]
    fn percentiles_are_of_the_values() {
        let times: Vec<f64> = (1..=100).map(f64::from).collect();
        let percentiles = Percentiles::of(&times).expect("values");
        for (found, expected) in [
            (percentiles.p50, 50.0),
            (percentiles.p90, 90.0),
            (percentiles.p99, 99.0),
        ] {
            assert!((found / expected - 1.0).abs() < 0.001, "{percentiles:?}");
        }
    }

    #[test]
    fn a_verdict_respects_the_noise() {
        let verdict =
            |before: &[f64], after: &[f64], more| compare(&of(before), &of(after), more).0;
        let steady = [100.0, 101.0, 99.0];
        assert_eq!(
            verdict(&steady, &[110.0, 111.0, 109.0], true),
            Verdict::Better
        );
        assert_eq!(verdict(&steady, &[90.0, 91.0, 89.0], true), Verdict::Worse);
        // Of a time, less is better.
        assert_eq!(
            verdict(&steady, &[90.0, 91.0, 89.0], false),
            Verdict::Better
        );
        // The same change in a noisy series says nothing.
        assert_eq!(
            verdict(&[80.0, 120.0, 100.0], &[90.0, 131.0, 109.0], true),
            Verdict::Same
        );
        // Without any noise, less than one percent is still nothing.
        assert_eq!(verdict(&[100.0; 3], &[100.9; 3], true), Verdict::Same);
        assert_eq!(verdict(&[100.0; 3], &[101.1; 3], true), Verdict::Better);
        assert_eq!(verdict(&[100.0], &[50.0, 50.0], true), Verdict::Unclear);
    }
}
