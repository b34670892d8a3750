//! How much work one analysis may take. Passing a budget denies, so that no input makes the guard
//! slow or lets a command through unread. They bound work, not time: a busy machine gives the
//! same verdict.

/// The budgets of one analysis. `guard.toml` may set them, up to the most of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Bytes of one script: 30 times the longest command in the corpora. Linux itself takes at
    /// most 128 KiB for one argument (`MAX_ARG_STRLEN`), and `bash -c` gets the command as one.
    pub bytes: u32,
    /// Levels of nesting, of syntax and of scripts inside scripts together.
    pub depth: u32,
    /// Commands, words and expansions in one script as written.
    pub nodes: u32,
    /// Commands and words evaluated for one request, counting every turn of a loop.
    pub steps: u32,
    /// Words that one word, or the words of one command, may expand to.
    pub words: u32,
    /// Turns of a loop over known values; what follows counts as unknown.
    pub turns: u32,
    /// Variables, functions, aliases and the like at one place: each way through a script that
    /// sets one copies the list.
    pub names: u32,
    /// Looks at the disk: links that are followed, scripts that are read.
    pub lookups: u32,
    /// Bytes of a script file that are read; a longer file counts as unreadable.
    pub file_bytes: u32,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            bytes: 128 << 10,
            depth: 100,
            nodes: 50_000,
            steps: 20_000,
            words: 1_000,
            turns: 200,
            names: 2_000,
            lookups: 4_000,
            file_bytes: 64 << 10,
        }
    }
}

/// A key of `[budgets]`, the field it sets, and the most it may be set to.
pub(crate) type Key = (&'static str, fn(&mut Budgets) -> &mut u32, u32);

/// What `guard.toml` may set. Of thirty kinds of scripts that are as long as allowed (names, branches,
/// arrays, links, paths, loops, descriptors), the worst takes 0.1 s of processor time by default and
/// 5 s with all of these at their most, in a release build; the profile gives the guard sixty.
pub(crate) const KEYS: &[Key] = &[
    ("bytes", |b| &mut b.bytes, 128 << 10),
    ("depth", |b| &mut b.depth, 100),
    ("nodes", |b| &mut b.nodes, 200_000),
    ("steps", |b| &mut b.steps, 100_000),
    ("words", |b| &mut b.words, 10_000),
    ("turns", |b| &mut b.turns, 2_000),
    ("names", |b| &mut b.names, 10_000),
    ("lookups", |b| &mut b.lookups, 40_000),
    ("file_bytes", |b| &mut b.file_bytes, 1 << 20),
];

/// Whether a count has passed a budget.
pub(crate) fn passes(count: usize, budget: u32) -> bool {
    u32::try_from(count).map_or(true, |count| count > budget)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;

    fn with(key: &str, value: &str) -> Result<Budgets, String> {
        let policy = Policy::parse(&format!("[budgets]\n{key} = {value}\n"));
        policy.map(|p| p.budgets).map_err(|e| e.to_string())
    }

    #[test]
    fn each_key_sets_its_budget_up_to_its_most() {
        for (key, field, most) in KEYS {
            let mut budgets = with(key, &most.to_string()).unwrap();
            assert_eq!(*field(&mut budgets), *most, "{key}");
            for value in ["0", "-1", &(most + 1).to_string(), "\"7\"", "1.5"] {
                let error = with(key, value).unwrap_err();
                let expected = format!(
                    "budgets.{key}: found {value}, expected a whole number from 1 to {most}"
                );
                assert_eq!(error, expected);
            }
        }
        let error = with("time", "1").unwrap_err();
        assert!(
            error.starts_with("unknown key \"time\" in [budgets]"),
            "{error}"
        );
    }

    #[test]
    fn the_documentation_has_each_key() {
        let text = include_str!("../../docs/guard.md");
        for (key, field, most) in KEYS {
            let default = *field(&mut Budgets::default());
            let row = format!("| `{key}` | {default} | {most} | ");
            assert!(text.contains(&row), "docs/guard.md has no row {row:?}");
        }
    }
}
