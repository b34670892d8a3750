//! Exit codes. Scripts depend on them: they are part of the public interface.

/// Everything was done, or there was nothing to do.
pub const OK: u8 = 0;
/// The command ran and found a failure, or could not finish.
pub const FAILURE: u8 = 1;
/// The command line or a configuration file is wrong; nothing was changed.
pub const USAGE: u8 = 2;
/// `--dry-run` found that something would change. The same number as [`USAGE`], as `diff` and
/// `terraform plan` have it; standard error is empty here and not empty there.
pub const CHANGES: u8 = 2;
/// Nothing failed, but something could not be shown: `codex-ds validate`.
pub const INCONCLUSIVE: u8 = 4;
/// The command could not begin: no Codex, no profile, another set-up running.
pub const NOT_READY: u8 = 3;
