//! `cluster.…`: the serving stack of a site.

use crate::doctor::check::Check;

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[];
