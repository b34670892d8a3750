//! The sections of `docs/checks.md`, one for each check.

/// The documentation of the checks.
const DOCS: &str = include_str!("../../../docs/checks.md");

/// The section of the check called `id`: from its heading to the next one.
#[must_use]
pub(super) fn section(id: &str) -> Option<&'static str> {
    let heading = format!("\n### {id}\n");
    let begin = DOCS.find(&heading)? + 1;
    let rest = &DOCS[begin..];
    let end = rest[1..].find("\n#").map_or(rest.len(), |end| end + 1);
    Some(rest[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::super::checks;
    use super::*;

    /// The page is also the published list of ids: one that goes is a line in the changelog.
    #[test]
    fn every_check_has_a_section_and_every_section_a_check() {
        let described: Vec<&str> = DOCS
            .lines()
            .filter_map(|line| line.strip_prefix("### "))
            .collect();
        let ids: Vec<&str> = checks::all().map(|check| check.id).collect();
        assert_eq!(described, ids, "docs/checks.md has another order or set");
        for id in ids {
            let section = section(id).unwrap_or_default();
            let words = section.lines().skip(1).any(|line| line.len() > 20);
            assert!(words, "{id} is not described:\n{section}");
        }
    }

    #[test]
    fn every_report_has_a_check_that_tells() {
        let (_, reports) = DOCS.split_once("## Reports").expect("there is a table");
        let rows: Vec<&str> = reports
            .lines()
            .filter(|line| line.contains('#') && line.starts_with("| "))
            .collect();
        assert_eq!(rows.len(), 35);
        for row in rows {
            let cells: Vec<&str> = row.split(" | ").collect();
            let ids = cells.last().unwrap().trim_end_matches('|').trim();
            for id in ids.split(", ").map(|id| id.trim_matches('`')) {
                assert!(checks::all().any(|check| check.id == id), "{id} in {row}");
            }
        }
    }

    #[test]
    fn a_section_ends_at_the_next_heading() {
        let first = checks::all().next().unwrap();
        let text = section(first.id).unwrap();
        assert_eq!(text.matches("### ").count(), 1, "{text}");
    }
}
