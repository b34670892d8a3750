//! Puts the pieces of each exchange together, masks them, and appends them to the session's file.

use std::collections::{HashMap, VecDeque};
use std::io::Write;

use codex_ds_wire::body::Body;
use codex_ds_wire::prefix::{self, Standing};
use codex_ds_wire::reply::{self, Brings, Reply};
use codex_ds_wire::sse::SseReader;

use super::decode;
use super::held::Held;
use super::lines::Lines;
use super::masks::Masks;
use super::pieces::Pieces;
use super::recorder::{Message, OnEnd, OnFailure, WriterOptions};
use super::store::{self, End, Event, Header, Line, Outcome, Prefix, Request, Response, Tokens};

/// The most bytes of a request's body that are kept: far more than a context of a million tokens.
pub(super) const KEPT_REQUEST: usize = 8 << 20;
/// The most bytes of an answer that are written down.
pub(super) const KEPT_ANSWER: u64 = 64 << 20;
/// How many conversations are compared at the same time.
const CONVERSATIONS: usize = 8;

/// An exchange in the making.
struct Open {
    at_ms: u64,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    request_bytes: u64,
    decoded_bytes: u64,
    model: Option<String>,
    prefix: Option<Prefix>,
    request_ended: bool,
    request_written: bool,
    status: Option<u16>,
    pieces: Pieces,
    held: Held,
    answer_bytes: u64,
    unwritten: u64,
    stream: bool,
    events: SseReader,
    whole: Vec<u8>,
    reply: Reply,
    first_token_us: Option<u64>,
}

/// The last request of a conversation.
struct Last {
    conversation: String,
    n: u64,
    body: String,
}

/// See the module.
pub(super) struct Writer {
    lines: Lines,
    masks: Masks,
    on_end: Option<OnEnd>,
    on_failure: OnFailure,
    open: HashMap<u64, Open>,
    last: VecDeque<Last>,
    /// Requests whose end is gathered, and not told yet.
    ended: Vec<End>,
    failed: bool,
}

impl Writer {
    pub(super) fn new(sink: Box<dyn Write + Send>, options: WriterOptions) -> Self {
        Self {
            lines: Lines::new(sink),
            masks: Masks::new(options.redactor),
            on_end: options.on_end,
            on_failure: options.on_failure,
            open: HashMap::new(),
            last: VecDeque::new(),
            ended: Vec::new(),
            failed: false,
        }
    }

    /// Writes the first line.
    pub(super) fn begin(&mut self, mut header: Header) {
        for arg in &mut header.codex_args {
            *arg = self.masks.text(arg).into_owned();
        }
        self.line(&Line::Session(header));
    }

    pub(super) fn take(&mut self, message: Message) {
        match message {
            Message::Begin {
                n,
                at_ms,
                method,
                path,
                headers,
            } => {
                self.masks.learn(&headers);
                self.open.insert(
                    n,
                    Open {
                        at_ms,
                        method,
                        path,
                        headers,
                        body: Vec::new(),
                        request_bytes: 0,
                        decoded_bytes: 0,
                        model: None,
                        prefix: None,
                        request_ended: false,
                        request_written: false,
                        status: None,
                        pieces: Pieces::default(),
                        held: Held::default(),
                        answer_bytes: 0,
                        unwritten: 0,
                        stream: false,
                        events: SseReader::with_limit(KEPT_REQUEST),
                        whole: Vec::new(),
                        reply: Reply::default(),
                        first_token_us: None,
                    },
                );
            }
            Message::RequestChunk { n, bytes } => {
                if let Some(open) = self.open.get_mut(&n) {
                    open.request_bytes += bytes.len() as u64;
                    let room = KEPT_REQUEST.saturating_sub(open.body.len());
                    open.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
                }
            }
            Message::RequestEnd { n, lost } => {
                if let Some(open) = self.open.get_mut(&n) {
                    open.request_ended = true;
                }
                self.request(n, lost);
            }
            Message::Response {
                n,
                us,
                status,
                headers,
            } => self.response(n, us, status, &headers),
            Message::Chunk { n, us, bytes } => self.chunk(n, us, &bytes),
            Message::End {
                n,
                us,
                outcome,
                lost,
            } => self.end(n, us, outcome, lost),
            Message::Counters(counters) => self.line(&Line::Counters(counters)),
            Message::Flush(done) => {
                self.flush();
                // Whoever waits is told by that.
                drop(done);
            }
        }
    }

    /// Writes the request, once. `lost` bytes of its body were not handed over.
    fn request(&mut self, n: u64, lost: u64) {
        let Some(mut open) = self.open.remove(&n) else {
            return;
        };
        if !open.request_written {
            open.request_written = true;
            let request = self.put_together(n, &mut open, lost);
            self.line(&Line::Request(request));
        }
        self.open.insert(n, open);
    }

    fn put_together(&mut self, n: u64, open: &mut Open, lost: u64) -> Request {
        let raw = std::mem::take(&mut open.body);
        let encoding = store::header(&open.headers, "content-encoding").map(str::to_owned);
        let over = open.request_bytes.saturating_sub(raw.len() as u64);
        let mut note = (over > 0).then(|| {
            format!(
                "only the first {} of {} bytes were kept",
                raw.len(),
                open.request_bytes
            )
        });
        if !open.request_ended {
            note = Some("the body broke off, or was answered before its end".to_owned());
        }
        if lost > 0 {
            note = Some("the disk was too slow to keep the body".to_owned());
        }
        open.decoded_bytes = open.request_bytes;
        let body = match decode::decode(encoding.as_deref(), raw, KEPT_REQUEST) {
            Ok(decoded) => {
                if decoded.cut {
                    note = Some(format!(
                        "only the first {KEPT_REQUEST} decoded bytes were kept"
                    ));
                }
                if encoding.is_some() {
                    open.decoded_bytes = decoded.bytes.len() as u64;
                }
                text(decoded.bytes, note.is_some())
            }
            Err(why) => {
                note.get_or_insert(why);
                None
            }
        };
        if body.is_none() {
            note.get_or_insert_with(|| "the body is no text, and was not kept".to_owned());
        }
        let body = body.map(|body| self.masks.text(&body).into_owned());
        let asks = store::is_model_request(&open.method, &open.path);
        if let Some(body) = body.as_deref().filter(|_| note.is_none()) {
            let read = Body::read(body);
            open.model = read.string("model");
            if asks {
                open.prefix = Some(self.standing(n, &open.headers, body, &read));
            }
        } else if asks {
            open.prefix = Some(Prefix::Unknown {
                why: "the body was not kept whole".to_owned(),
            });
        }
        Request {
            n,
            at_ms: open.at_ms,
            method: open.method.clone(),
            path: self.masks.text(&open.path).into_owned(),
            headers: self.masks.headers(open.headers.clone()),
            bytes: open.request_bytes,
            encoding,
            note,
            body,
        }
    }

    /// How a request stands to the last one of its conversation, which it then is itself.
    fn standing(
        &mut self,
        n: u64,
        headers: &[(String, String)],
        text: &str,
        body: &Body<'_>,
    ) -> Prefix {
        let Some(conversation) = conversation(headers, body) else {
            return Prefix::Unknown {
                why: "it names no conversation (prompt_cache_key)".to_owned(),
            };
        };
        let at = self
            .last
            .iter()
            .position(|last| last.conversation == conversation);
        let before = at.and_then(|at| self.last.remove(at));
        let prefix = before.map_or(Prefix::First, |before| {
            let earlier = Body::read(&before.body);
            summary(before.n, prefix::compare(&earlier, body))
        });
        self.last.push_back(Last {
            conversation,
            n,
            body: text.to_owned(),
        });
        if self.last.len() > CONVERSATIONS {
            self.last.pop_front();
        }
        prefix
    }

    fn response(&mut self, n: u64, us: u64, status: u16, headers: &[(String, String)]) {
        // A server may answer before it has read the whole request; the record has them in order.
        self.request(n, 0);
        let masked = self.masks.headers(headers.to_vec());
        let Some(open) = self.open.get_mut(&n) else {
            return;
        };
        open.status = Some(status);
        open.stream = store::header(headers, "content-type")
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        self.line(&Line::Response(Response {
            n,
            us,
            status,
            headers: masked,
        }));
    }

    fn chunk(&mut self, n: u64, us: u64, bytes: &[u8]) {
        let Some(mut open) = self.open.remove(&n) else {
            return;
        };
        open.answer_bytes += bytes.len() as u64;
        if open.answer_bytes > KEPT_ANSWER {
            open.unwritten += bytes.len() as u64;
        } else {
            if open.stream {
                for event in open.events.push(bytes) {
                    if open.reply.event(&event.data) != Brings::Other {
                        open.first_token_us.get_or_insert(us);
                    }
                }
            } else if open.whole.len() < KEPT_REQUEST {
                open.whole.extend_from_slice(bytes);
            }
            let mut done = Vec::new();
            open.pieces.push(bytes, |piece| done.push(piece));
            for piece in done {
                self.piece(n, us, piece, &mut open);
            }
        }
        self.open.insert(n, open);
    }

    fn piece(&mut self, n: u64, us: u64, piece: Vec<u8>, open: &mut Open) {
        let text = String::from_utf8(piece)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let done = match self.masks.redactor() {
            Some(redactor) => open.held.push(redactor, us, text),
            None => vec![(us, text)],
        };
        self.events(n, done);
    }

    fn events(&mut self, n: u64, events: Vec<(u64, String)>) {
        for (us, text) in events {
            self.line(&Line::Event(Event { n, us, text }));
        }
    }

    fn end(&mut self, n: u64, us: u64, outcome: Outcome, lost: u64) {
        self.request(n, lost);
        let Some(mut open) = self.open.remove(&n) else {
            return;
        };
        if let Some(rest) = open.pieces.finish() {
            self.piece(n, us, rest, &mut open);
        }
        if let Some(redactor) = self.masks.redactor() {
            let held = open.held.finish(redactor);
            self.events(n, held);
        }
        if open.stream {
            if let Some(event) = open.events.finish() {
                open.reply.event(&event.data);
            }
        } else {
            open.reply.whole(&open.whole);
        }
        // A client may hang up on the answer's last event, before the server ends the stream.
        let outcome = match outcome {
            Outcome::ClientGone if open.stream && open.reply.end == reply::End::Complete => {
                Outcome::Complete
            }
            other => other,
        };
        let failure = match &open.reply.end {
            reply::End::Failed(why) => Some(self.masks.text(why).into_owned()),
            reply::End::Missing if open.status >= Some(400) => {
                said(&open.whole).map(|text| self.masks.text(&text).into_owned())
            }
            reply::End::Missing if open.stream && outcome == Outcome::Complete => {
                Some("the stream ended without its last event".to_owned())
            }
            reply::End::Missing | reply::End::Complete => None,
        };
        let end = End {
            n,
            us,
            outcome,
            path: self.masks.text(&open.path).into_owned(),
            method: open.method,
            model: open.model,
            request_bytes: open.decoded_bytes,
            response_bytes: open.answer_bytes,
            status: open.status,
            first_token_us: open.first_token_us,
            tokens: tokens(&open.reply),
            prefix: open.prefix,
            failure,
            lost_bytes: lost + open.unwritten,
        };
        self.line(&Line::End(Box::new(end.clone())));
        self.ended.push(end);
    }

    fn line(&mut self, line: &Line) {
        let result = self.lines.push(line);
        self.check(result);
    }

    /// Writes what was gathered, and tells of the requests that ended with it.
    pub(super) fn flush(&mut self) {
        let result = self.lines.flush();
        self.check(result);
        for end in std::mem::take(&mut self.ended) {
            if let Some(told) = &mut self.on_end {
                told(&end);
            }
        }
    }

    fn check(&mut self, result: std::io::Result<()>) {
        if let Err(error) = result
            && !std::mem::replace(&mut self.failed, true)
        {
            (self.on_failure)(&error);
        }
    }
}

/// How an answer that is no JSON begins: what a server or a proxy before it says in words.
fn said(answer: &[u8]) -> Option<String> {
    const BEGINNING: usize = 200;
    let text = String::from_utf8_lossy(answer);
    let text: Vec<&str> = text.split_whitespace().collect();
    let text: String = text.join(" ").chars().take(BEGINNING).collect();
    (!text.is_empty()).then_some(text)
}

/// What a reply cost, where the server says.
pub(super) fn tokens(reply: &Reply) -> Option<Tokens> {
    // Nobody sends a prompt of no tokens: the server did not count.
    let usage = reply.usage.filter(|usage| usage.input_tokens > 0)?;
    Some(Tokens {
        input: usage.input_tokens,
        output: usage.output_tokens,
        reasoning: usage.output_tokens_details.reasoning_tokens,
        cached: reply
            .tells_cached
            .then_some(usage.input_tokens_details.cached_tokens),
    })
}

fn text(mut bytes: Vec<u8>, cut: bool) -> Option<String> {
    if cut && let Err(error) = std::str::from_utf8(&bytes) {
        // The cut may have split a character.
        if error.error_len().is_none() {
            bytes.truncate(error.valid_up_to());
        }
    }
    String::from_utf8(bytes).ok()
}

/// What ties requests to each other: Codex's `prompt_cache_key`, else its session's header.
fn conversation(headers: &[(String, String)], body: &Body<'_>) -> Option<String> {
    body.string("prompt_cache_key").or_else(|| {
        ["session-id", "session_id", "thread-id"]
            .iter()
            .find_map(|name| store::header(headers, name))
            .map(str::to_owned)
    })
}

fn summary(before: u64, standing: Standing) -> Prefix {
    match standing {
        Standing::Extends(_) => Prefix::Extends { before },
        Standing::Breaks(found) => Prefix::Breaks {
            before,
            pointer: found.pointer,
            lost_permille: (found.lost as u64 * 1000)
                .checked_div((found.kept + found.lost) as u64)
                .unwrap_or(0),
            cause: found.cause,
        },
        Standing::Unknown(why) => Prefix::Unknown { why },
    }
}
