//! End-to-end tests of codex-ds with the real Codex and LiteLLM.
