//! Dates without a calendar library: seconds since 1970 as UTC.

/// `2026-11-30T16-05-11Z`, which sorts by time and is a file's name everywhere.
pub(crate) fn file_name(ms: u64) -> String {
    let (date, seconds) = split(ms);
    format!(
        "{date}T{:02}-{:02}-{:02}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// `2026-11-30 16:05:11`.
pub(crate) fn shown(ms: u64) -> String {
    let (date, seconds) = split(ms);
    format!(
        "{date} {:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// `2026-11-30T16:05:11.123Z` (ISO 8601), as HAR wants it.
pub(crate) fn iso(ms: u64) -> String {
    format!("{}.{:03}Z", shown(ms).replace(' ', "T"), ms % 1000)
}

fn split(ms: u64) -> (String, u64) {
    let seconds = ms / 1000;
    let (year, month, day) = civil(seconds / 86_400);
    (format!("{year:04}-{month:02}-{day:02}"), seconds % 86_400)
}

/// Year, month and day of a day since 1970 (Howard Hinnant, "chrono-compatible low-level date
/// algorithms", `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times_are_right() {
        // By `date --utc --date @SECONDS`.
        assert_eq!(shown(0), "1970-01-01 00:00:00");
        assert_eq!(shown(951_782_400_000), "2000-02-29 00:00:00");
        assert_eq!(file_name(1_796_054_711_999), "2026-11-30T16-05-11Z");
        assert_eq!(iso(4_107_542_399_007), "2100-02-28T23:59:59.007Z");
        assert_eq!(shown(4_107_542_400_000), "2100-03-01 00:00:00");
    }
}
