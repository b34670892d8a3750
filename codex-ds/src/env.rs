//! Every environment variable that the programs read, in one place.

/// The profile's folder, where it is not `~/.codex-ds`. Set this when `codex-ds setup --home` was
/// used, so that launching finds the profile.
pub const HOME: &str = "CODEX_DS_HOME";

/// Where the demo and the tests keep fetched programs; default: the user's cache folder.
pub const CACHE: &str = "CODEX_DS_CACHE";

/// The variable that Codex reads its configuration folder from; set by us, never read.
pub const CODEX_HOME: &str = "CODEX_HOME";
