//! What the end-to-end tests of codex-ds stand on: the built programs, the real Codex and LiteLLM,
//! and an environment of their own for each test.
//!
//! | module | holds |
//! | --- | --- |
//! | [`environment`] | [`TestEnvironment`]: folders, a cleared environment, running programs in it |
//! | [`run`] | what a program printed and how it ended, and the same without what varies |
//! | [`peers`] | the real programs, as `make peers` fetched them |
//! | [`litellm`] | a running LiteLLM |
//! | [`vllm`] | a running vLLM on CPU, for the opt-in tests |
//! | [`apiserver`] | a running kube-apiserver, for the opt-in tests |
//! | [`scenario`] | the steps that most tests share |
//! | [`mcp`] | a server of the Model Context Protocol, for a profile |
//! | [`proxy`] | a proxy that lets nothing through and remembers who asked |
//! | [`http`] | HTTP by hand |
//! | [`recording`] | a `codex-ds dump` in the background |
//! | [`terminal`] | a terminal for programs that want one |
//! | [`request`] | reading the requests that Codex sent |
//! | [`shown`] | what a document shows of a program's output |
//! | [`group`], `server` | child processes that end with the test |
//!
//! A missing program is a failure that says what to run, never a skipped test.

pub mod apiserver;
pub mod environment;
pub mod group;
pub mod http;
pub mod litellm;
pub mod mcp;
pub mod peers;
pub mod proxy;
pub mod recording;
pub mod request;
pub mod run;
pub mod scenario;
mod server;
pub mod shown;
pub mod terminal;
pub mod vllm;

pub use apiserver::ApiServer;
pub use environment::{TestEnvironment, each_codex};
pub use litellm::LiteLlm;
pub use proxy::RecordingProxy;
pub use run::Run;
pub use vllm::Vllm;
