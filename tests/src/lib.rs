//! What the end-to-end tests of codex-ds stand on: the built programs, the real Codex and LiteLLM,
//! and an environment of their own for each test.
//!
//! | module | holds |
//! | --- | --- |
//! | [`environment`] | [`TestEnvironment`]: folders, a cleared environment, running programs in it |
//! | [`run`] | what a program printed and how it ended, and the same without what varies |
//! | [`peers`] | the real programs, as `make peers` fetched them |
//! | [`litellm`] | a running LiteLLM |
//! | [`proxy`] | a proxy that lets nothing through and remembers who asked |
//! | [`request`] | reading the requests that Codex sent |
//! | [`group`] | child processes that end with the test |
//!
//! A missing program is a failure that says what to run, never a skipped test.

pub mod environment;
pub mod group;
pub mod litellm;
pub mod peers;
pub mod proxy;
pub mod request;
pub mod run;

pub use environment::TestEnvironment;
pub use litellm::LiteLlm;
pub use peers::each_codex;
pub use proxy::RecordingProxy;
pub use run::Run;
