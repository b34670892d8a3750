//! Reading a session: as a whole, or by its summaries alone.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::{Counters, End, Event, Header, Line, Request, Response, SCHEMA_VERSION, header, name};
use crate::error::UserError;

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

    /// The request's body, where it was kept whole.
    #[must_use]
    pub fn whole_body(&self) -> Option<&str> {
        let body = self.request.body.as_deref();
        body.filter(|_| self.request.note.is_none())
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
        Self::read_those(path, |_| true)
    }

    /// Reads what a report of request `n` takes: of the others only their ends and counters, and
    /// of the one that it is compared with the body, too. A session may hold a conversation of
    /// megabytes a hundred times.
    ///
    /// # Errors
    /// When the file cannot be read, is no session, or is from a newer codex-ds.
    pub fn read_around(path: &Path, n: u64) -> Result<Self> {
        let mut before = None;
        each_line(path, |line| {
            if beginning(line) == Some(("end", n))
                && let Some(Line::End(end)) = parse(line)
            {
                before = end.prefix.and_then(|prefix| prefix.before());
            }
        })?;
        Self::read_those(path, |other| other == n || Some(other) == before)
    }

    /// Reads the requests of these numbers, and of the others their ends and counters.
    fn read_those(path: &Path, wanted: impl Fn(u64) -> bool) -> Result<Self> {
        let mut session: Option<Self> = None;
        let mut skipped = 0;
        each_line(path, |line| {
            let skips = beginning(line).filter(|(_, n)| !wanted(*n));
            let line = match skips {
                Some(("request", n)) => Some(Line::Request(Request::unread(n))),
                Some(("response" | "event", _)) => return,
                _ => parse(line),
            };
            let Some(line) = line else {
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
                if let Some(Line::End(end)) = parse(line) {
                    ends.push(*end);
                }
            } else if header.is_none()
                && let Some(Line::Session(found)) = parse(line)
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

/// The kind of a line and the number of its request, which are its first members.
fn beginning(line: &[u8]) -> Option<(&str, u64)> {
    // An event's kind and the longest number have fewer.
    let start = &line[..line.len().min(64)];
    let valid = start.utf8_chunks().next()?.valid();
    let (kind, rest) = valid.strip_prefix("{\"type\":\"")?.split_once('"')?;
    let number = rest.strip_prefix(",\"n\":")?;
    let end = number.find(|c: char| !c.is_ascii_digit())?;
    Some((kind, number[..end].parse().ok()?))
}

/// Reads a line by its kind: to read a tagged enum, serde first copies all that it holds.
fn parse(line: &[u8]) -> Option<Line> {
    let read = match beginning(line) {
        Some(("request", _)) => serde_json::from_slice(line).map(Line::Request),
        Some(("event", _)) => serde_json::from_slice(line).map(Line::Event),
        Some(("end", _)) => serde_json::from_slice(line).map(Line::End),
        _ => serde_json::from_slice(line),
    };
    read.ok()
}

fn no_session(path: &Path) -> anyhow::Error {
    UserError::usage(format!(
        "{} is no recorded session: its first line is none of codex-ds dump",
        path.display()
    ))
    .hint("list the sessions: codex-ds dump ls")
    .into()
}
