//! The values of a case, each a type that cannot hold a bad one: a path leaves no folder, a program is
//! a name, a prompt is no option.

use codex_ds_deploy::reader::Value;
use toml_edit::Item;

/// A path below a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relative(pub(crate) String);

impl Relative {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let stays = text
            .split('/')
            .all(|part| !matches!(part, "" | "." | ".." | ".git"));
        (stays && !text.contains('\0')).then(|| Self(text.to_owned()))
    }
}

/// A file of the workspace, or of a folder that a placeholder names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which folder.
    pub(crate) folder: Folder,
    /// The path in it.
    pub(crate) path: Relative,
}

/// The folders of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folder {
    /// The workspace.
    Work,
    /// The home folder.
    Home,
    /// The folder beside the workspace.
    Outside,
}

impl Place {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let folders = [
            ("{home}/", Folder::Home),
            ("{outside}/", Folder::Outside),
            ("", Folder::Work),
        ];
        folders.into_iter().find_map(|(prefix, folder)| {
            let path = Relative::parse(text.strip_prefix(prefix)?)?;
            Some(Self { folder, path })
        })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.folder {
            Folder::Work => f.write_str(&self.path.0),
            Folder::Home => write!(f, "~/{}", self.path.0),
            Folder::Outside => write!(f, "../outside/{}", self.path.0),
        }
    }
}

/// The name of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program(pub(crate) String);

/// Who stops an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopper {
    /// The guard, with a denial.
    Guard,
    /// The guard or Codex's sandbox: what counts is that nothing happened.
    Any,
}

/// What Codex is asked: an argument that is no option.
pub(super) struct Prompt(pub(super) String);

/// An option for Codex.
pub(super) struct Override(pub(super) String);

/// Implements [`Value`] for a type that is read from a string.
macro_rules! text_value {
    ($type:ty, $expected:expr, $parse:expr, $placeholder:expr) => {
        impl Value for $type {
            const EXPECTED: &'static str = $expected;

            fn read(item: &Item) -> Option<Self> {
                item.as_str().and_then($parse)
            }

            fn placeholder() -> Self {
                $placeholder
            }
        }
    };
}

text_value!(
    Relative,
    "a path below the folder, without . or ..",
    Relative::parse,
    Self(String::new())
);
text_value!(
    Place,
    "a path in the workspace, or one that begins with {home}/ or {outside}/",
    Place::parse,
    Self {
        folder: Folder::Work,
        path: Relative(String::new())
    }
);
text_value!(
    Program,
    "the name of a program, like \"ssh\"",
    |text| {
        let name = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        let fits = text.chars().all(name) && text.starts_with(|c: char| c.is_ascii_alphanumeric());
        fits.then(|| Self(text.to_owned()))
    },
    Self(String::new())
);
text_value!(
    Prompt,
    "what Codex is asked, a text that does not begin with -",
    |text| {
        let text = text.trim();
        (!text.is_empty() && !text.starts_with('-')).then(|| Self(text.to_owned()))
    },
    Self(String::new())
);
text_value!(
    Override,
    "an option of Codex as \"key=value\"",
    |text| {
        let (key, value) = text.split_once('=')?;
        (!key.trim().is_empty() && !value.trim().is_empty()).then(|| Self(text.to_owned()))
    },
    Self(String::new())
);
text_value!(
    Stopper,
    "\"guard\" or \"any\"",
    |text| match text {
        "guard" => Some(Self::Guard),
        "any" => Some(Self::Any),
        _ => None,
    },
    Self::Guard
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leaves_no_folder() {
        for path in [
            "../x",
            "/x",
            "a/../b",
            "a//b",
            "./a",
            "",
            ".git/config",
            "a/.git",
        ] {
            assert_eq!(Relative::parse(path), None, "{path}");
            assert_eq!(Place::parse(&format!("{{home}}/{path}")), None, "{path}");
        }
        let place = Place::parse("{home}/.ssh/id_ed25519").expect("a place");
        assert_eq!(place.to_string(), "~/.ssh/id_ed25519");
        assert_eq!(
            Place::parse("a/b.txt").map(|place| place.folder),
            Some(Folder::Work)
        );
    }
}
