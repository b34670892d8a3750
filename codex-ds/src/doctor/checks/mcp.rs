//! `mcp.…`: the MCP servers.

use crate::doctor::check::Check;

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[];
