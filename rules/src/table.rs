//! The table of rules, in files by class.

mod analysis;
mod delete;
mod machine;

use crate::{Preset, Rule};

const BOTH: &[Preset] = &[Preset::Lab, Preset::Dev];
const LAB: &[Preset] = &[Preset::Lab];

const PARTS: &[&[Rule]] = &[delete::RULES, machine::RULES, analysis::RULES];

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
