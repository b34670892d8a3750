//! What the names in a snippet stand for: imports, constants, and calls of the table.

use super::calls::{Reader, plain};
use super::table::{CALLS, Does, EXEC_RUNS};
use super::tokens::Token;

/// Names of calls that are also those of harmless methods: they count only as they stand in the
/// table.
const COMMON: &[&str] = &[
    "open", "eval", "exec", "rename", "copy", "rm", "touch", "chmod", "unlink", "kill", "spawn",
    "rmdir", "system2", "move", "truncate", "chown",
];

impl Reader<'_, '_> {
    /// Learns what names stand for: imports, and names set to constants.
    pub(super) fn names(&mut self, tokens: &[Token]) {
        for (i, token) in tokens.iter().enumerate() {
            let Token::Name(name) = token else {
                continue;
            };
            match (name.as_str(), tokens.get(i + 1..)) {
                (
                    "import",
                    Some(
                        [
                            Token::Name(module),
                            Token::Name(word),
                            Token::Name(alias),
                            ..,
                        ],
                    ),
                ) if word == "as" => {
                    self.aliases.insert(alias.clone(), module.clone());
                }
                ("from", Some([Token::Name(module), Token::Name(word), rest @ ..]))
                    if word == "import" =>
                {
                    let mut rest = rest;
                    while let [Token::Name(item), after @ ..] = rest {
                        let mut alias = item;
                        let mut after = after;
                        if let [Token::Name(word), Token::Name(other), tail @ ..] = after
                            && word == "as"
                        {
                            alias = other;
                            after = tail;
                        }
                        self.aliases
                            .insert(alias.clone(), format!("{module}.{item}"));
                        match after {
                            [Token::Sign(','), tail @ ..] => rest = tail,
                            _ => break,
                        }
                    }
                }
                (_, Some([Token::Sign('='), first, ..])) if *first != Token::Sign('=') => {
                    if let Token::Name(module) = first
                        && !matches!(tokens.get(i + 3), Some(Token::Sign('(')))
                    {
                        self.aliases.insert(name.clone(), module.clone());
                    } else {
                        let end = tokens[i + 2..]
                            .iter()
                            .position(|t| {
                                matches!(t, Token::Sign(';')) || matches!(t, Token::Name(_))
                            })
                            .map_or(tokens.len(), |n| i + 2 + n);
                        self.constants
                            .insert(name.clone(), tokens[i + 2..end].to_vec());
                    }
                }
                _ => {}
            }
        }
    }

    /// A name with its first part resolved.
    pub(super) fn resolved(&self, name: &str) -> String {
        let mut name = name.to_owned();
        for _ in 0..4 {
            let head = name.split('.').next().unwrap_or_default();
            match self.aliases.get(head) {
                Some(module) if module.split('.').next() != Some(head) => {
                    name = format!("{module}{}", &name[head.len()..]);
                }
                _ => break,
            }
        }
        name
    }

    pub(super) fn does(&self, name: &str) -> Option<Does> {
        if name == "exec"
            && EXEC_RUNS.contains(
                &self
                    .program
                    .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'),
            )
        {
            return Some(Does::Runs);
        }
        let exact = CALLS.iter().find(|(call, _)| *call == name);
        // A last name that is in the table by itself counts behind any object.
        let last = name.rsplit('.').next().unwrap_or(name);
        let by_last = || {
            CALLS
                .iter()
                .find(|(call, _)| *call == last && !COMMON.contains(&last))
        };
        exact.or_else(by_last).map(|(_, does)| *does)
    }
}

/// Whether a call looks up another by its name: `getattr(os, "system")`.
pub(super) fn looked_up(full: &str, args: &[Token]) -> bool {
    let texts: String = args
        .iter()
        .filter_map(|token| match token {
            Token::Text(text) => plain(text),
            _ => None,
        })
        .collect();
    matches!(full, "getattr" | "__getattribute__" | "globals")
        && CALLS
            .iter()
            .any(|(call, _)| call.rsplit('.').next() == Some(texts.as_str()))
}
