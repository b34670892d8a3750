//! The MCP servers of codex-ds, and a handshake with each.
//!
//! Codex says nothing of a server that does not start: the tool is simply missing. So a server is a
//! row with a pinned version here, is started the way Codex starts it, and is believed only when it
//! has listed its tools.
//!
//! - [`mod@servers`]: the table of servers that a profile can have;
//! - [`mod@launch`]: the program, arguments and environment that start one, as values;
//! - [`mod@install`]: a folder of the profile with the servers in it, for a machine without `uvx` or
//!   without a network later on;
//! - [`mod@handshake`]: the MCP handshake, and what it shows or why it failed.
//!
//! **Architecture invariant**: no process outlives the call that started it, however the call ends.

pub mod handshake;
pub mod install;
pub mod launch;
mod network;
pub mod process;
pub mod servers;

pub use handshake::{Handshake, McpError, ServerInfo, Step, Tool, handshake};
pub use install::{InstallError, Installed, install, install_with};
pub use launch::{Command, Launcher, command};
pub use servers::{ListError, SERVERS, Server, parse_list, server};
