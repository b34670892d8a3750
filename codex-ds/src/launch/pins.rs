//! The `-c` options that win over every file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// The longest value of one pin, bytes. Linux takes 128 KiB for one argument.
const LONGEST: usize = 100 * 1024;

/// Whether Codex may take a folder's `.codex` into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// As the user said with `codex-ds trust`.
    Trusted,
    /// Every other folder.
    Untrusted,
}

impl Trust {
    fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
        }
    }
}

/// The trust of folders by the key that Codex looks up: the path as text, bytes that are none
/// replaced, as Codex does it.
#[derive(Debug, Default)]
pub(super) struct Folders {
    by_key: BTreeMap<String, Trust>,
    bytes: usize,
}

impl Folders {
    /// Adds a folder under this spelling of its path. What was added first stays. Gives `false` when
    /// there is no more room.
    pub(super) fn add(&mut self, folder: &Path, trust: Trust) -> bool {
        let key = folder.to_string_lossy();
        if self.by_key.contains_key(&*key) {
            return true;
        }
        let bytes = self.bytes + entry(&key, trust).len() + 1;
        if bytes > LONGEST {
            return false;
        }
        self.bytes = bytes;
        self.by_key.insert(key.into_owned(), trust);
        true
    }

    /// The value of `projects`.
    fn value(&self) -> String {
        let entries: Vec<String> = self
            .by_key
            .iter()
            .map(|(key, trust)| entry(key, *trust))
            .collect();
        format!("{{{}}}", entries.join(","))
    }
}

fn entry(key: &str, trust: Trust) -> String {
    format!("{}={{trust_level=\"{}\"}}", quoted(key), trust.as_str())
}

/// The pins as arguments.
///
/// `features.hooks` keeps the guard on, `features.unified_exec_tty` closes the input of a running
/// terminal, which no hook sees.
pub(super) fn arguments(folders: &Folders, developer_instructions: Option<&str>) -> Vec<OsString> {
    let mut values = vec![
        "features.hooks=true".to_owned(),
        "features.unified_exec_tty=false".to_owned(),
        format!("projects={}", folders.value()),
    ];
    values.extend(
        developer_instructions.map(|text| format!("developer_instructions={}", quoted(text))),
    );
    values
        .into_iter()
        .flat_map(|value| ["-c".into(), value.into()])
        .collect()
}

/// Whether a text can be handed over in one argument.
pub(super) fn fits(text: &str) -> bool {
    quoted(text).len() <= LONGEST
}

/// A TOML basic string on one line. JSON's escapes are TOML's too; DEL alone JSON leaves as it is.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007F")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn renders_the_pins() {
        let mut folders = Folders::default();
        assert!(folders.add(Path::new("/no/such \"folder\""), Trust::Untrusted));
        assert!(folders.add(Path::new("/no/such/b"), Trust::Trusted));
        assert!(folders.add(Path::new("/no/such/b"), Trust::Untrusted));
        assert_eq!(
            arguments(&folders, Some("two\nlines")),
            [
                "-c",
                "features.hooks=true",
                "-c",
                "features.unified_exec_tty=false",
                "-c",
                r#"projects={"/no/such \"folder\""={trust_level="untrusted"},"/no/such/b"={trust_level="trusted"}}"#,
                "-c",
                r#"developer_instructions="two\nlines""#,
            ]
        );
    }

    #[test]
    fn stays_below_what_one_argument_may_have() {
        let mut folders = Folders::default();
        let fits = (0..10_000)
            .take_while(|n| {
                folders.add(Path::new(&format!("/no/such/folder/{n}")), Trust::Untrusted)
            })
            .count();
        assert!(fits > 1000 && fits < 10_000, "{fits}");
        assert!(folders.value().len() <= LONGEST + 2);
    }

    proptest! {
        /// Whatever a path holds, the value is TOML with this one key.
        #[test]
        fn a_key_survives_toml(key in any::<String>()) {
            let text = format!("projects={{{}}}", entry(&key, Trust::Untrusted));
            let document: toml_edit::DocumentMut = text.parse().expect("TOML");
            let table = document["projects"].as_inline_table().expect("a table");
            prop_assert_eq!(table.iter().map(|(key, _)| key).collect::<Vec<_>>(), [key.as_str()]);
        }
    }
}
