//! `instructions.…`: the model's instructions.

use crate::doctor::check::Check;

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[];
