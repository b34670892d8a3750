//! What goes over the wire between Codex and a model server: lenient types, server-sent events,
//! redaction, and a stand-in server that behaves like vLLM from outside.
//!
//! | module | holds |
//! | --- | --- |
//! | [`secret`] | [`Secret`]: a string that cannot be printed |
//! | [`responses`], [`chat`] | lenient types of the two APIs |
//! | [`sse`] | server-sent events |
//! | [`redact`] | masks secrets in headers, bodies and text |
//! | [`body`] | a request's body, parsed once for those below |
//! | [`spans`] | where each value of a JSON text stands, to the byte |
//! | [`breakdown`], [`prefix`] | what a request is made of, and whether it extends the last one |
//! | [`reply`], [`timing`] | what came back, and when |
//! | [`metrics`] | a server's `/metrics` |
//! | [`standin`] | [`standin::StandIn`]: the model server of the tests, the demo and the benchmarks |
//!
//! The crate knows nothing of Codex's configuration, prints nothing, and opens no socket but the
//! stand-in's, which listens on 127.0.0.1.

pub mod body;
pub mod breakdown;
pub mod chat;
mod lenient;
pub mod metrics;
pub mod prefix;
pub mod redact;
mod redact_rules;
pub mod reply;
pub mod responses;
pub mod secret;
pub mod spans;
pub mod sse;
pub mod standin;
mod text;
pub mod timing;

pub use redact::Redactor;
pub use secret::Secret;
