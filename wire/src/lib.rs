//! Responses and Chat types, SSE, redaction, and the stand-in model server of codex-ds.
