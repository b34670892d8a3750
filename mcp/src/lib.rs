//! The MCP servers of codex-ds, and a handshake with each.
