//! A recorded session: one JSON object a line, appended as things happen.
//!
//! | line | holds |
//! | --- | --- |
//! | `session` | the first line: the schema's version, when, what was asked |
//! | `request` | a request, once its body was read |
//! | `response` | status and headers of its answer |
//! | `event` | one event of a streamed answer, or the next piece of another one |
//! | `end` | how it ended, and a summary: a list of requests needs nothing but these lines |
//! | `counters` | the server's prefix-cache counters after it |
//!
//! A line that cannot be read is skipped with a note: the last line of a session that was killed
//! is torn, and so is one in the middle where the disk was full for a while.

use serde::{Deserialize, Serialize};

mod files;
mod read;

pub use files::{SUFFIX, files, find, is_closed, name};
pub use read::{Exchange, Session, Summary};

/// The version of the format. A reader refuses a newer one.
pub const SCHEMA_VERSION: u32 = 1;
/// The folder in the profile.
pub const FOLDER: &str = "dumps";

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Session(Header),
    /// A request.
    Request(Request),
    /// The head of its answer.
    Response(Response),
    /// A piece of its answer.
    Event(Event),
    /// Its end.
    End(Box<End>),
    /// The server's counters after it.
    Counters(Counters),
}

/// See [`Line::Session`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// When it began, milliseconds since 1970.
    pub started_ms: u64,
    /// The server that was asked; nothing when the dump answered itself.
    pub upstream: Option<String>,
    /// The arguments of the Codex that was run.
    #[serde(default)]
    pub codex_args: Vec<String>,
    /// Whether secrets were masked.
    pub redacted: bool,
}

/// See [`Line::Request`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Its number in the session, from 1.
    pub n: u64,
    /// When it began, milliseconds since 1970.
    pub at_ms: u64,
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers in order, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body's length as it came, bytes.
    pub bytes: u64,
    /// Its `content-encoding`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Why the body is not here, or not whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The body, decoded.
    pub body: Option<String>,
}

impl Request {
    /// One of which only the number was read.
    pub(super) fn unread(n: u64) -> Self {
        Self {
            n,
            at_ms: 0,
            method: String::new(),
            path: String::new(),
            headers: Vec::new(),
            bytes: 0,
            encoding: None,
            note: Some("not read".to_owned()),
            body: None,
        }
    }
}

/// See [`Line::Response`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// The request's number.
    pub n: u64,
    /// Microseconds since the request began.
    pub us: u64,
    /// The status.
    pub status: u16,
    /// Headers in order, with names in lower case.
    pub headers: Vec<(String, String)>,
}

/// See [`Line::Event`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The request's number.
    pub n: u64,
    /// When its last byte came, microseconds since the request began.
    pub us: u64,
    /// The text as it came, secrets masked; the pieces joined are the body.
    pub text: String,
}

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The answer came to its end, whatever its status.
    Complete,
    /// The client went away; the server's answer was aborted.
    ClientGone,
    /// The recording was stopped before; client and server lost their connections with it.
    Stopped,
    /// The client's own request broke off or was malformed.
    ClientBroken(String),
    /// The server could not be reached.
    Unreachable(String),
    /// The server broke its answer off.
    UpstreamCut(String),
}

impl Outcome {
    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Complete => "complete".to_owned(),
            Self::ClientGone => "client gone".to_owned(),
            Self::Stopped => "cut off: the recording was stopped".to_owned(),
            Self::ClientBroken(why) => format!("broken request: {why}"),
            Self::Unreachable(why) => format!("server not reached: {why}"),
            Self::UpstreamCut(why) => format!("cut off by the server: {why}"),
        }
    }
}

/// What a request cost, tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Of the prompt.
    pub input: u64,
    /// Of the answer.
    pub output: u64,
    /// Of the answer, thinking.
    pub reasoning: u64,
    /// Of the prompt, from the prefix cache; nothing where the server does not say.
    pub cached: Option<u64>,
}

/// How a request stands to the one before it in its conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum Prefix {
    /// There is none before it.
    First,
    /// It extends that one.
    Extends {
        /// Which one.
        before: u64,
    },
    /// It does not.
    Breaks {
        /// Which one.
        before: u64,
        /// Where, as a JSON pointer.
        pointer: String,
        /// The share of the earlier prompt that the cache lost, thousandths.
        lost_permille: u64,
        /// Why, where the payload proves it.
        cause: Option<String>,
    },
    /// It cannot be told.
    Unknown {
        /// Why.
        why: String,
    },
}

impl Prefix {
    /// The request that it is compared with.
    #[must_use]
    pub fn before(&self) -> Option<u64> {
        match self {
            Self::Extends { before } | Self::Breaks { before, .. } => Some(*before),
            Self::Unknown { .. } | Self::First => None,
        }
    }
}

/// See [`Line::End`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The request's number.
    pub n: u64,
    /// Microseconds since the request began.
    pub us: u64,
    /// How.
    pub outcome: Outcome,
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The request's body, bytes, decoded.
    pub request_bytes: u64,
    /// The answer's body, bytes.
    pub response_bytes: u64,
    /// The answer's status.
    pub status: Option<u16>,
    /// The first thing that the model made, microseconds since the request began.
    pub first_token_us: Option<u64>,
    /// What it cost, by the server's word.
    pub tokens: Option<Tokens>,
    /// How it stands to the one before it; nothing where it is no request for an answer.
    pub prefix: Option<Prefix>,
    /// What the answer itself says went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Bytes that passed and were not written down.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl End {
    /// Whether this is a request for an answer of the model.
    #[must_use]
    pub fn is_model_request(&self) -> bool {
        is_model_request(&self.method, &self.path)
    }
}

/// Whether this is a request for an answer of the model.
#[must_use]
pub fn is_model_request(method: &str, path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    method == "POST"
        && ["/responses", "/chat/completions", "/messages"]
            .iter()
            .any(|end| path.ends_with(end))
}

/// See [`Line::Counters`]. Sums over all clients of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// The request that they were read after; 0 before the first.
    pub n: u64,
    /// Prompt tokens looked up in the prefix cache.
    pub queries: u64,
    /// Of these, found.
    pub hits: u64,
}

/// The first header of this name.
#[must_use]
pub fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests;
