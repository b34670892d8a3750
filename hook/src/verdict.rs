//! The answer, and what the model reads of it.

use std::borrow::Cow;
use std::fmt;

use codex_ds_rules::Rule;

use crate::limits;

/// What an analysis found out, or the denial that ended it.
pub(crate) type Eval<T> = Result<T, Box<Denial>>;

/// The guard's answer to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The command may run.
    Allow,
    /// The command must not run.
    Deny(Box<Denial>),
}

impl Verdict {
    /// Whether the command must not run.
    #[must_use]
    pub const fn is_deny(&self) -> bool {
        matches!(self, Self::Deny(_))
    }

    /// The denial, if it is one.
    #[must_use]
    pub fn denial(&self) -> Option<&Denial> {
        match self {
            Self::Allow => None,
            Self::Deny(denial) => Some(denial),
        }
    }
}

/// Why a command must not run. `Display` gives the text that the model reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The rule's id.
    pub rule: Cow<'static, str>,
    /// What the rule is about.
    pub title: Cow<'static, str>,
    /// What to do instead.
    pub instead: Cow<'static, str>,
    /// The part of the command that the rule denies, with expansions resolved.
    pub offending: String,
    /// Further lines for the reader: a bad policy file, a code for a grant.
    pub notes: Vec<String>,
}

#[expect(
    clippy::unnecessary_box_returns,
    reason = "a denial is the error of `Eval`, which carries it boxed"
)]
impl Denial {
    /// A denial by a rule of the table.
    pub(crate) fn new(id: &'static str, offending: impl Into<String>) -> Box<Self> {
        let rule = codex_ds_rules::rule(id);
        Box::new(Self {
            rule: Cow::Borrowed(id),
            title: Cow::Borrowed(rule.map_or("denied", |rule| rule.title)),
            instead: Cow::Borrowed(rule.map_or("ask the user", |rule| rule.instead)),
            offending: offending.into(),
            notes: Vec::new(),
        })
    }

    /// A denial by this rule.
    pub(crate) fn by(rule: &'static Rule, offending: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            rule: Cow::Borrowed(rule.id),
            title: Cow::Borrowed(rule.title),
            instead: Cow::Borrowed(rule.instead),
            offending: offending.into(),
            notes: Vec::new(),
        })
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = format!(". Instead: {}.", self.instead);
        for note in &self.notes {
            rest.push(' ');
            rest.push_str(note);
        }
        let head = format!("Guard rule {}: {}: `", self.rule, self.title);
        let room =
            limits::REASON_CHARS.saturating_sub(head.chars().count() + rest.chars().count() + 1);
        write!(f, "{head}{}`{rest}", shorten(&self.offending, room))
    }
}

/// Keeps the beginning and the end of a text that is too long.
fn shorten(text: &str, room: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= room {
        return Cow::Borrowed(text);
    }
    let keep = room.saturating_sub(1);
    let head: String = text.chars().take(keep - keep / 3).collect();
    let tail: String = text.chars().skip(count - keep / 3).collect();
    Cow::Owned(format!("{head}…{tail}"))
}
