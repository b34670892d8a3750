//! A stand-in model server that behaves like vLLM 0.32.0 from outside, and says what a script
//! tells it to.
//!
//! It checks requests as vLLM does and answers with vLLM's own error bodies and event sequences
//! ([`Config`] stands for the command line that a vLLM was started with), plays a [`Script`], and
//! records what it was sent. A token is four bytes, rounded up, in `/tokenize`, in `usage` and in
//! `/metrics` alike.
//!
//! ```
//! use codex_ds_wire::standin::{Config, Script, StandIn, Turn};
//!
//! let script = Script::new(vec![
//!     Turn::call("exec_command", serde_json::json!({"cmd": "ls"})).reasoning("I will look."),
//!     Turn::text("There is nothing."),
//! ]);
//! let server = StandIn::start(Config::default(), script)?;
//! assert!(server.base_url().starts_with("http://127.0.0.1:"));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | `config` | what the server pretends to be |
//! | `script` | what its model says |
//! | `state` | what was asked, and counters |
//! | `routes` | the paths |
//! | `check`, `error` | what vLLM refuses, and in which words |
//! | `flaw` | what a server gets wrong in every answer |
//! | `prompt` | tokens and the prefix cache |
//! | `answer` | a turn, for one request |
//! | `responses`, `chat` | an answer in the form of each API |
//! | `steps` | an answer in time |
//! | `metrics` | `/metrics` |

mod answer;
mod chat;
mod check;
mod config;
mod error;
mod flaw;
mod metrics;
mod prompt;
mod responses;
mod routes;
mod script;
mod state;
mod steps;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

pub use config::{Config, Flavor, Model};
pub use flaw::Flaw;
pub use script::{Fault, Script, ScriptError, ToolCall, Turn};
pub use state::{Play, Recorded};

/// A running stand-in. It has a thread of its own, so it serves synchronous and asynchronous code
/// alike; dropped, it stops, and open streams break off.
pub struct StandIn {
    address: SocketAddr,
    state: Arc<state::State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StandIn {
    /// Starts a server on 127.0.0.1. It accepts connections when this returns.
    ///
    /// # Errors
    /// The port is taken, or the system gives no socket or thread.
    pub fn start(config: Config, script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, config.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let state = Arc::new(state::State::new(config, script));
        let app = routes::router(Arc::clone(&state));
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("stand-in".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        // The listener is bound, and axum retries a failed accept: it ends only by
                        // being dropped.
                        _ = routes::serve(listener, app) => {}
                        // Also when the handle is gone without a word.
                        _ = stopped => {}
                    }
                });
            })?;
        Ok(Self {
            address,
            state,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where the OpenAI-compatible API is: `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.root_url())
    }

    /// The server itself: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn root_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Address and port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every request so far, in the order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.state.requests()
    }

    /// The requests so far for an answer of the model, in the order of arrival.
    #[must_use]
    pub fn model_requests(&self) -> Vec<Recorded> {
        let mut requests = self.state.requests();
        requests.retain(Recorded::is_model_request);
        requests
    }

    /// When each request for an answer was read and answered, in the order in which they began:
    /// the truth that a client's measurements can be held against.
    #[must_use]
    pub fn plays(&self) -> Vec<Play> {
        self.state.plays()
    }

    /// Adds a turn at the end of the script.
    pub fn push(&self, turn: Turn) {
        self.state.push(turn);
    }

    /// The number of turns that were not played yet; those that stay do not count.
    #[must_use]
    pub fn unplayed(&self) -> usize {
        self.state.unplayed()
    }

    /// Waits until `n` requests for an answer of the model have arrived; false when they have not
    /// after `timeout`.
    #[must_use]
    pub fn wait_for(&self, n: usize, timeout: Duration) -> bool {
        self.state.wait_for(n, timeout)
    }
}

impl std::fmt::Debug for StandIn {
    /// Shows the address alone: what was recorded holds keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("StandIn").field(&self.address).finish()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was printed when it happened, and a test saw its request fail.
            let _ = thread.join();
        }
    }
}
