//! The Codex model catalog of codex-ds: a lean entry for each served model.
