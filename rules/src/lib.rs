//! The policy of codex-ds: one table of rules.
