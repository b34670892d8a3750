//! What a share of right answers says: its interval, and whether two runs differ.

/// Wilson's interval at 95 % for `right` of `all`, as shares. Unlike the textbook's it holds for few
/// questions and for shares near 0 and 1 (E. B. Wilson, 1927).
#[must_use]
pub fn wilson(right: u64, all: u64) -> Option<(f64, f64)> {
    /// The normal distribution's quantile for 95 %, two-sided.
    const Z: f64 = 1.959_963_984_540_054;
    if all == 0 {
        return None;
    }
    let (right, n) = (number(right), number(all));
    let share = right / n;
    let middle = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    Some((
        ((middle - half) / scale).max(0.0),
        ((middle + half) / scale).min(1.0),
    ))
}

/// McNemar's exact test, two-sided: how likely it is that two equally good runs differ on
/// `only_first` + `only_second` questions and split them at least as unevenly as this.
#[must_use]
pub fn mcnemar(only_first: u64, only_second: u64) -> f64 {
    let n = only_first + only_second;
    let few = only_first.min(only_second);
    if n == 0 {
        return 1.0;
    }
    // In logarithms, since 2^n soon is no float.
    let mut log_term = -number(n) * std::f64::consts::LN_2;
    let mut sum = log_term.exp();
    for k in 1..=few {
        log_term += (number(n - k + 1) / number(k)).ln();
        sum += log_term.exp();
    }
    (2.0 * sum).min(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "no file has 2^52 questions")]
fn number(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 5e-4, "{found} {expected}");
    }

    #[test]
    fn the_interval_is_wilsons() {
        // 89 of 100: 81.4 to 93.7 %.
        let (low, high) = wilson(89, 100).expect("an interval");
        close(low, 0.8137);
        close(high, 0.9375);
        let (low, high) = wilson(0, 10).expect("an interval");
        close(low, 0.0);
        close(high, 0.2775);
        let (low, high) = wilson(10, 10).expect("an interval");
        close(low, 0.7225);
        close(high, 1.0);
        assert_eq!(wilson(0, 0), None);
    }

    #[test]
    fn the_test_is_exact() {
        // By the binomial distribution: 2 · P(X ≤ 1 | 8, ½) = 2 · 9 / 256.
        close(mcnemar(1, 7), 18.0 / 256.0);
        close(mcnemar(7, 1), 18.0 / 256.0);
        close(mcnemar(0, 6), 2.0 / 64.0);
        close(mcnemar(5, 5), 1.0);
        close(mcnemar(0, 0), 1.0);
        let many = mcnemar(900, 1100);
        assert!(many > 0.0 && many < 1e-4, "{many}");
    }
}
