//! What the handle and the server share: the script, the record and the counters.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::config::Config;
use super::prompt::PrefixCache;
use super::script::{Script, Turn};

/// One request as it arrived.
#[derive(Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The HTTP method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The headers in the order in which they came, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Recorded {
    /// The body as JSON, `Null` if it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The first header of this name, in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Whether this is a request for an answer of the model.
    #[must_use]
    pub fn is_model_request(&self) -> bool {
        let path = self.path.split('?').next().unwrap_or_default();
        self.method == "POST" && matches!(path, "/v1/responses" | "/v1/chat/completions")
    }
}

impl fmt::Debug for Recorded {
    /// Shows no header and no body: they hold keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} ({} bytes)",
            self.method,
            self.path,
            self.body.len()
        )
    }
}

/// When a request for an answer was read and answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Play {
    /// The request's `x-request-id`.
    pub id: Option<String>,
    /// When the request's head had arrived.
    pub arrived: Instant,
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Of these, from the prefix cache.
    pub cached_tokens: u64,
    /// When each event was sent, and the tokens that it brought; an answer that is no stream is one.
    pub sent: Vec<(Instant, u64)>,
}

/// Where a request came from, for its [`Play`].
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    pub at: Instant,
    pub id: Option<String>,
}

/// Counters of one model, named as in vLLM's `/metrics`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    pub running: u64,
    pub prompt_tokens: u64,
    pub generation_tokens: u64,
    pub prefix_cache_queries: u64,
    pub prefix_cache_hits: u64,
    pub stopped: u64,
    pub at_length: u64,
    pub aborted: u64,
    /// Tokens of the prompts in work.
    pub held: u64,
    pub drafts: u64,
    pub drafted: u64,
    pub accepted: u64,
}

#[derive(Debug, Default)]
struct Inner {
    unplayed: Vec<Turn>,
    recorded: Vec<Recorded>,
    counters: BTreeMap<String, Counters>,
    cache: PrefixCache,
    plays: Vec<Play>,
    ids: u64,
}

/// The shared state.
#[derive(Debug)]
pub(super) struct State {
    pub config: Config,
    inner: Mutex<Inner>,
    arrived: Condvar,
}

impl State {
    pub(super) fn new(config: Config, script: Script) -> Self {
        let counters = config
            .models
            .iter()
            .map(|model| (model.id.clone(), Counters::default()))
            .collect();
        let inner = Inner {
            unplayed: script.turns,
            counters,
            ..Inner::default()
        };
        Self {
            config,
            inner: Mutex::new(inner),
            arrived: Condvar::new(),
        }
    }

    // A panic elsewhere leaves the state whole: no lock is held over a step that can fail.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn record(&self, request: Recorded) {
        self.lock().recorded.push(request);
        self.arrived.notify_all();
    }

    pub(super) fn requests(&self) -> Vec<Recorded> {
        self.lock().recorded.clone()
    }

    pub(super) fn plays(&self) -> Vec<Play> {
        self.lock().plays.clone()
    }

    pub(super) fn push(&self, turn: Turn) {
        self.lock().unplayed.push(turn);
    }

    pub(super) fn unplayed(&self) -> usize {
        let inner = self.lock();
        inner.unplayed.iter().filter(|turn| !turn.stays).count()
    }

    pub(super) fn wait_for(&self, n: usize, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut inner = self.lock();
        loop {
            if inner
                .recorded
                .iter()
                .filter(|request| request.is_model_request())
                .count()
                >= n
            {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            inner = self
                .arrived
                .wait_timeout(inner, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// The first unplayed turn that fits a request with this body.
    pub(super) fn next_turn(&self, body: &str) -> Turn {
        let mut inner = self.lock();
        let fits = |turn: &Turn| turn.when.as_deref().is_none_or(|when| body.contains(when));
        match inner.unplayed.iter().position(fits) {
            Some(index) => {
                let mut turn = if inner.unplayed[index].stays {
                    inner.unplayed[index].clone()
                } else {
                    inner.unplayed.remove(index)
                };
                turn.fill(body);
                turn
            }
            None => Turn::text("Done."),
        }
    }

    /// A number for the ids of the next answer.
    pub(super) fn next_id(&self) -> u64 {
        let mut inner = self.lock();
        inner.ids += 1;
        inner.ids
    }

    pub(super) fn counters(&self) -> BTreeMap<String, Counters> {
        self.lock().counters.clone()
    }

    /// Looks a prompt up in the prefix cache and starts counting its answer.
    pub(super) fn admit(
        self: &Arc<Self>,
        model: &str,
        prompt: &str,
        arrival: Arrival,
    ) -> (u64, Running) {
        let mut inner = self.lock();
        let cached = inner.cache.lookup(prompt);
        let prompt_tokens = super::prompt::tokens(prompt.len());
        let play = inner.plays.len();
        inner.plays.push(Play {
            id: arrival.id,
            arrived: arrival.at,
            prompt_tokens,
            cached_tokens: cached,
            sent: Vec::new(),
        });
        let counters = inner.counters.entry(model.to_owned()).or_default();
        counters.running += 1;
        counters.prompt_tokens += prompt_tokens;
        counters.prefix_cache_queries += prompt_tokens;
        counters.prefix_cache_hits += cached;
        counters.held += prompt_tokens;
        let end = End::Aborted;
        (
            cached,
            Running {
                state: Arc::clone(self),
                model: model.to_owned(),
                prompt_tokens,
                play,
                end,
            },
        )
    }
}

#[derive(Debug, Clone, Copy)]
enum End {
    Aborted,
    Stopped,
    AtLength,
}

/// A request in work. Dropped before its end, it counts as aborted, as when the client goes.
pub(super) struct Running {
    state: Arc<State>,
    model: String,
    prompt_tokens: u64,
    play: usize,
    end: End,
}

impl Running {
    fn count(&self, change: impl FnOnce(&mut Counters)) {
        change(
            self.state
                .lock()
                .counters
                .entry(self.model.clone())
                .or_default(),
        );
    }

    /// An event goes out with so many new tokens.
    pub(super) fn generated(&self, tokens: u64) {
        let mut inner = self.state.lock();
        inner.plays[self.play].sent.push((Instant::now(), tokens));
        let counters = inner.counters.entry(self.model.clone()).or_default();
        counters.generation_tokens += tokens;
    }

    /// As many tokens as `drafted` were guessed, and all but one of `tokens` were right.
    pub(super) fn speculated(&self, drafted: u64, tokens: u64) {
        self.count(|counters| {
            counters.drafts += 1;
            counters.drafted += drafted;
            counters.accepted += tokens.saturating_sub(1);
        });
    }

    /// The answer was sent to its end; `at_length` when that is the longest one asked for.
    pub(super) fn succeed(&mut self, at_length: bool) {
        self.end = if at_length {
            End::AtLength
        } else {
            End::Stopped
        };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let (end, held) = (self.end, self.prompt_tokens);
        self.count(|counters| {
            counters.running -= 1;
            counters.held -= held;
            match end {
                End::Aborted => counters.aborted += 1,
                End::Stopped => counters.stopped += 1,
                End::AtLength => counters.at_length += 1,
            }
        });
    }
}
