//! `wire.…`: what the endpoint makes of Codex's requests.

use crate::doctor::check::Check;

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[];
