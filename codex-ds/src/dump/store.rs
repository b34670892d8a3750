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

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::error::UserError;

/// The version of the format. A reader refuses a newer one.
pub const SCHEMA_VERSION: u32 = 1;
/// The folder in the profile.
pub const FOLDER: &str = "dumps";
/// What a session's file ends with.
pub const SUFFIX: &str = ".jsonl";

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

/// A request and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// The request.
    pub request: Request,
    /// The head of the answer.
    pub response: Option<Response>,
    /// The answer's body.
    pub events: Vec<Event>,
    /// The end; nothing when the session was killed before.
    pub end: Option<End>,
    /// The server's counters after it.
    pub counters: Option<Counters>,
}

impl Exchange {
    /// The answer's body, as far as it was written down.
    #[must_use]
    pub fn answer(&self) -> String {
        self.events
            .iter()
            .map(|event| event.text.as_str())
            .collect()
    }

    /// Whether the answer is a stream of events.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.response.as_ref().is_some_and(|response| {
            header(&response.headers, "content-type")
                .is_some_and(|kind| kind.starts_with("text/event-stream"))
        })
    }
}

/// The first header of this name.
#[must_use]
pub fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.as_str())
}

/// A session that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Its file.
    pub path: PathBuf,
    /// Its first line.
    pub header: Header,
    /// The requests in the order of their numbers.
    pub exchanges: Vec<Exchange>,
    /// The server's counters before the first request.
    pub counters: Option<Counters>,
    /// Lines that could not be read.
    pub skipped: usize,
}

impl Session {
    /// Reads a whole session.
    ///
    /// # Errors
    /// When the file cannot be read, is no session, or is from a newer codex-ds.
    pub fn read(path: &Path) -> Result<Self> {
        let mut session: Option<Self> = None;
        let mut skipped = 0;
        each_line(path, |line| {
            let Ok(line) = serde_json::from_slice::<Line>(line) else {
                skipped += 1;
                return;
            };
            match (line, &mut session) {
                (Line::Session(header), None) => {
                    session = Some(Self {
                        path: path.to_owned(),
                        header,
                        exchanges: Vec::new(),
                        counters: None,
                        skipped: 0,
                    });
                }
                (line, Some(session)) => session.add(line),
                _ => skipped += 1,
            }
        })?;
        let mut session = session.ok_or_else(|| no_session(path))?;
        session.skipped = skipped;
        session.exchanges.sort_by_key(|exchange| exchange.request.n);
        Ok(session)
    }

    fn add(&mut self, line: Line) {
        match line {
            // Its number says where it belongs.
            Line::Request(request) => self.exchanges.push(Exchange {
                request,
                response: None,
                events: Vec::new(),
                end: None,
                counters: None,
            }),
            Line::Response(response) => {
                if let Some(exchange) = self.open(response.n) {
                    exchange.response = Some(response);
                }
            }
            Line::Event(event) => {
                if let Some(exchange) = self.open(event.n) {
                    exchange.events.push(event);
                }
            }
            Line::End(end) => {
                if let Some(exchange) = self.open(end.n) {
                    exchange.end = Some(*end);
                }
            }
            Line::Counters(counters) if counters.n == 0 => self.counters = Some(counters),
            Line::Counters(counters) => {
                if let Some(exchange) = self.open(counters.n) {
                    exchange.counters = Some(counters);
                }
            }
            Line::Session(_) => self.skipped += 1,
        }
    }

    /// The exchange of this number, looked for from the end, where it mostly is.
    fn open(&mut self, n: u64) -> Option<&mut Exchange> {
        self.exchanges
            .iter_mut()
            .rev()
            .find(|exchange| exchange.request.n == n)
    }

    /// The request of this number.
    ///
    /// # Errors
    /// When there is none.
    pub fn exchange(&self, n: u64) -> Result<&Exchange> {
        self.exchanges
            .iter()
            .find(|exchange| exchange.request.n == n)
            .ok_or_else(|| {
                UserError::usage(format!(
                    "there is no request {n} in {}",
                    self.path.display()
                ))
                .hint(match self.exchanges.last() {
                    Some(last) => format!("requests go from 1 to {}", last.request.n),
                    None => "no request was recorded in it".to_owned(),
                })
                .into()
            })
    }

    /// The summaries.
    #[must_use]
    pub fn ends(&self) -> Vec<&End> {
        self.exchanges
            .iter()
            .filter_map(|exchange| exchange.end.as_ref())
            .collect()
    }
}

/// A session by its summaries alone: quick however long it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Its file.
    pub path: PathBuf,
    /// Its first line.
    pub header: Header,
    /// The ends, in the order in which they came.
    pub ends: Vec<End>,
    /// Requests that have no end.
    pub open: usize,
}

impl Summary {
    /// Reads the lines that matter for a list.
    ///
    /// # Errors
    /// When the file cannot be read, is no session, or is from a newer codex-ds.
    pub fn read(path: &Path) -> Result<Self> {
        let mut header = None;
        let mut ends = Vec::new();
        let mut requests = 0;
        each_line(path, |line| {
            // The tag is the first member, so that bodies need not be parsed.
            if line.starts_with(br#"{"type":"request""#) {
                requests += 1;
            } else if line.starts_with(br#"{"type":"end""#) {
                if let Ok(Line::End(end)) = serde_json::from_slice(line) {
                    ends.push(*end);
                }
            } else if header.is_none()
                && let Ok(Line::Session(found)) = serde_json::from_slice(line)
            {
                header = Some(found);
            }
        })?;
        Ok(Self {
            path: path.to_owned(),
            header: header.ok_or_else(|| no_session(path))?,
            open: usize::saturating_sub(requests, ends.len()),
            ends,
        })
    }

    /// The session's name: its file's, without the suffix.
    #[must_use]
    pub fn name(&self) -> String {
        name(&self.path)
    }
}

/// The name of a session's file, without the suffix.
#[must_use]
pub fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(SUFFIX).unwrap_or(&name).to_owned()
}

/// Hands each line to `take`; checks the version in the first.
fn each_line(path: &Path, mut take: impl FnMut(&[u8])) -> Result<()> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut line = Vec::new();
    let mut first = true;
    loop {
        line.clear();
        let length = reader
            .read_until(b'\n', &mut line)
            .with_context(|| format!("cannot read {}", path.display()))?;
        if length == 0 {
            return Ok(());
        }
        let text = line.trim_ascii();
        if std::mem::take(&mut first)
            && let Ok(version) = serde_json::from_slice::<Version>(text)
            && version.schema_version > SCHEMA_VERSION
        {
            return Err(UserError::usage(format!(
                "{} was written by a newer codex-ds: its schema_version is {}, this one reads up \
                 to {SCHEMA_VERSION}",
                path.display(),
                version.schema_version
            ))
            .hint("update codex-ds")
            .into());
        }
        if !text.is_empty() {
            take(text);
        }
    }
}

fn no_session(path: &Path) -> anyhow::Error {
    UserError::usage(format!(
        "{} is no recorded session: its first line is none of codex-ds dump",
        path.display()
    ))
    .hint("list the sessions: codex-ds dump ls")
    .into()
}

/// The files of all sessions in `folder`, the newest first: their names begin with their time.
///
/// # Errors
/// When the folder is there and cannot be read.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs_err::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(SUFFIX) {
            files.push(path);
        }
    }
    files.sort_unstable_by(|a, b| b.cmp(a));
    Ok(files)
}

/// The file that `wanted` names: a path, a session's name or the beginning of one; the newest
/// session when nothing is.
///
/// # Errors
/// When there is none, or more than one fits.
pub fn find(folder: &Path, wanted: Option<&str>) -> Result<PathBuf> {
    let files = files(folder)?;
    let Some(wanted) = wanted else {
        return files.into_iter().next().ok_or_else(|| {
            UserError::not_ready(format!(
                "there is no recorded session in {}",
                folder.display()
            ))
            .hint("record one: codex-ds dump -- exec \"hi\"")
            .into()
        });
    };
    let path = Path::new(wanted);
    if path.is_file() {
        return Ok(path.to_owned());
    }
    // A whole name may be how another one begins.
    if let Some(file) = files.iter().find(|file| name(file) == wanted) {
        return Ok(file.clone());
    }
    let found: Vec<&PathBuf> = files
        .iter()
        .filter(|file| name(file).starts_with(wanted))
        .collect();
    match found[..] {
        [one] => Ok(one.clone()),
        [] => Err(UserError::usage(format!(
            "there is no session {wanted:?} in {}",
            folder.display()
        ))
        .hint("list them: codex-ds dump ls")
        .into()),
        _ => Err(UserError::usage(format!(
            "{} sessions begin with {wanted:?}: {}",
            found.len(),
            found
                .iter()
                .map(|file| name(file))
                .collect::<Vec<_>>()
                .join(", ")
        ))
        .hint("give more of the name")
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, lines: &str) -> PathBuf {
        let path = folder.join(name);
        fs_err::write(&path, lines).expect("a file");
        path
    }

    const HEADER: &str =
        r#"{"type":"session","schema_version":1,"started_ms":1,"upstream":null,"redacted":true}"#;
    const REQUEST: &str = r#"{"type":"request","n":1,"at_ms":2,"method":"POST","path":"/v1/responses","headers":[],"bytes":2,"body":"{}"}"#;

    #[test]
    fn a_torn_line_is_skipped_and_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let torn = &REQUEST[..40];
        let lines = format!("{HEADER}\n{torn}\n{REQUEST}\n{{\"type\":\"response\",\"n\":1,\"us\"");
        let session = Session::read(&write(folder.path(), "a.jsonl", &lines)).expect("readable");
        assert_eq!((session.exchanges.len(), session.skipped), (1, 2));
        assert_eq!(session.exchanges[0].request.body.as_deref(), Some("{}"));
        let summary = Summary::read(&session.path).expect("readable");
        // The torn one was a request, too.
        assert_eq!((summary.ends.len(), summary.open), (0, 2));
    }

    #[test]
    fn what_is_newer_or_no_session_is_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        for (lines, says) in [
            (
                HEADER.replace("\"schema_version\":1", "\"schema_version\":9"),
                "schema_version is 9",
            ),
            (String::new(), "no recorded session"),
            ("hello\n".to_owned(), "no recorded session"),
            (REQUEST.to_owned(), "no recorded session"),
        ] {
            let path = write(folder.path(), "a.jsonl", &lines);
            for error in [
                Session::read(&path).expect_err("refused"),
                Summary::read(&path).expect_err("refused"),
            ] {
                assert!(error.to_string().contains(says), "{error}");
            }
        }
    }

    #[test]
    fn sessions_are_found_by_name_and_by_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(find(folder.path(), None).is_err());
        let old = write(folder.path(), "2026-01-01T00-00-00Z.jsonl", HEADER);
        let new = write(folder.path(), "2026-01-02T00-00-00Z.jsonl", HEADER);
        write(folder.path(), "notes.txt", "");
        let found = |wanted: Option<&str>| find(folder.path(), wanted);
        assert_eq!(found(None).expect("the newest"), new);
        assert_eq!(found(Some("2026-01-01")).expect("one"), old);
        assert_eq!(found(Some(&old.to_string_lossy())).expect("a path"), old);
        assert!(
            found(Some("2026"))
                .expect_err("two")
                .to_string()
                .contains("2 sessions")
        );
        assert!(found(Some("2025")).is_err());
        let second = write(folder.path(), "2026-01-02T00-00-00Z_2.jsonl", HEADER);
        assert_eq!(found(None).expect("the newest"), second);
        assert_eq!(
            found(Some("2026-01-02T00-00-00Z")).expect("the whole name"),
            new
        );
    }
}
