//! The policy of codex-ds: one table of rules, from which the guard decides and from which
//! Codex's own `rules/default.rules` is rendered. Data only: nothing here reads or writes.
//!
//! A rule about a program is a row of [`RULES`] with its examples. What a program does to the
//! paths in its arguments is a row of [`effects::EFFECTS`]; which paths matter is in [`paths`];
//! which programs run other programs is in [`wrappers`].

mod class;
pub mod effects;
mod execpolicy;
mod index;
pub mod paths;
mod pattern;
pub mod programs;
pub mod readonly;
mod table;
pub mod wrappers;

pub use class::{Class, Preset, UnknownPreset};
pub use execpolicy::execpolicy;
pub use pattern::{Matcher, Pattern, Test, is_form, on};
pub use table::{Form, RULES, forms};

/// One rule of the policy.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Stable name, `class.what`.
    pub id: &'static str,
    /// The class it can be switched off with.
    pub class: Class,
    /// What is denied, in a few words.
    pub title: &'static str,
    /// Why, in one sentence.
    pub why: &'static str,
    /// What to do instead: the model that was denied reads this.
    pub instead: &'static str,
    /// What it applies to.
    pub on: Matcher,
    /// The presets that deny it.
    pub presets: &'static [Preset],
    /// What Codex's execpolicy gets of it.
    pub execpolicy: Prefixes,
    /// Commands that it must deny (tests run them).
    pub deny: &'static [&'static str],
    /// Near misses that no rule may deny (tests run them).
    pub allow: &'static [&'static str],
}

impl Rule {
    /// A rule of both presets whose forms also go to execpolicy where a prefix can say them.
    const fn new(id: &'static str, class: Class, title: &'static str) -> Self {
        Self {
            id,
            class,
            title,
            why: "",
            instead: "",
            on: Matcher::Analysis,
            presets: &[Preset::Lab, Preset::Dev],
            execpolicy: Prefixes::None,
            deny: &[],
            allow: &[],
        }
    }

    const fn because(mut self, why: &'static str, instead: &'static str) -> Self {
        self.why = why;
        self.instead = instead;
        self
    }

    const fn on(mut self, patterns: &'static [Pattern]) -> Self {
        self.on = Matcher::Commands(patterns);
        self.execpolicy = Prefixes::Same;
        self
    }

    /// Forms that prefixes would say too bluntly: `prefixes` gives execpolicy others.
    const fn on_with_prefixes(mut self, patterns: &'static [Pattern]) -> Self {
        self.on = Matcher::Commands(patterns);
        self
    }

    const fn lab_only(mut self) -> Self {
        self.presets = &[Preset::Lab];
        self
    }

    const fn prefixes(mut self, patterns: &'static [Pattern]) -> Self {
        self.execpolicy = Prefixes::These(patterns);
        self
    }

    /// The forms of commands that it applies to.
    #[must_use]
    pub const fn patterns(&self) -> &'static [Pattern] {
        match self.on {
            Matcher::Commands(patterns) => patterns,
            Matcher::Analysis => &[],
        }
    }

    const fn denies(mut self, examples: &'static [&'static str]) -> Self {
        self.deny = examples;
        self
    }

    const fn passes(mut self, examples: &'static [&'static str]) -> Self {
        self.allow = examples;
        self
    }
}

/// What Codex's execpolicy, which knows only prefixes of plain commands, gets of a rule.
#[derive(Clone, Copy, Debug)]
pub enum Prefixes {
    /// Nothing: a prefix cannot say it.
    None,
    /// The forms that the rule itself names, as far as a prefix says all of them.
    Same,
    /// These forms, which are blunter than the rule.
    These(&'static [Pattern]),
}

/// The rule with this id.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}
