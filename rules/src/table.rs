//! The table of rules, in files by class.

// Rows read best as rows.
#[rustfmt::skip]
mod analysis;
#[rustfmt::skip]
mod cloud;
#[rustfmt::skip]
mod containers;
#[rustfmt::skip]
mod delete;
#[rustfmt::skip]
mod disk;
#[rustfmt::skip]
mod git;
#[rustfmt::skip]
mod guard;
#[rustfmt::skip]
mod hardware;
#[rustfmt::skip]
mod kubernetes;
#[rustfmt::skip]
mod network;
#[rustfmt::skip]
mod power;
#[rustfmt::skip]
mod publish;
#[rustfmt::skip]
mod secrets;
#[rustfmt::skip]
mod system;

use crate::{Pattern, Rule};

const PARTS: &[&[Rule]] = &[
    delete::RULES,
    disk::RULES,
    power::RULES,
    hardware::RULES,
    network::RULES,
    system::RULES,
    containers::RULES,
    kubernetes::RULES,
    git::RULES,
    cloud::RULES,
    publish::RULES,
    secrets::RULES,
    guard::RULES,
    analysis::RULES,
];

const COUNT: usize = {
    let mut count = 0;
    let mut part = 0;
    while part < PARTS.len() {
        count += PARTS[part].len();
        part += 1;
    }
    count
};

static ALL: [Rule; COUNT] = {
    let mut all = [PARTS[0][0]; COUNT];
    let (mut part, mut filled) = (0, 0);
    while part < PARTS.len() {
        let mut row = 0;
        while row < PARTS[part].len() {
            all[filled] = PARTS[part][row];
            filled += 1;
            row += 1;
        }
        part += 1;
    }
    all
};

/// Every rule.
pub static RULES: &[Rule] = &ALL;

/// A form of command, and the rule it belongs to.
pub type Form = (&'static Rule, &'static Pattern);

const FORMS: usize = {
    let (mut count, mut rule) = (0, 0);
    while rule < ALL.len() {
        count += ALL[rule].patterns().len();
        rule += 1;
    }
    count
};

/// Every form of every rule.
static ALL_FORMS: [Form; FORMS] = {
    const NONE: &Pattern = &crate::on(&[]);
    let mut all = [(&ALL[0], NONE); FORMS];
    let (mut rule, mut filled) = (0, 0);
    while rule < ALL.len() {
        let patterns = ALL[rule].patterns();
        let mut form = 0;
        while form < patterns.len() {
            all[filled] = (&ALL[rule], &patterns[form]);
            filled += 1;
            form += 1;
        }
        rule += 1;
    }
    all
};

crate::index::index!(ALL_FORMS, 1.programs);

/// The forms of commands of a program, in the order of the table.
pub fn forms(program: &str) -> impl Iterator<Item = Form> {
    INDEX.rows(program).map(|row| ALL_FORMS[row])
}
