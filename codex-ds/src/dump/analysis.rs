//! What a recorded request comes to: its parts, its answer, its times, and what the cache did.

use codex_ds_wire::body::Body;
use codex_ds_wire::breakdown::Breakdown;
use codex_ds_wire::prefix::{self, Standing};
use codex_ds_wire::reply::Reply;
use codex_ds_wire::sse::SseReader;
use codex_ds_wire::timing::Timing;

use super::store::{Exchange, Session, Tokens};
use super::writer;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Analysis {
    /// The parts; nothing where the body was not kept whole.
    pub(super) breakdown: Option<Breakdown>,
    /// How it stands to the request of this number, which came before it, to the byte.
    pub(super) standing: Option<(u64, Standing)>,
    /// The tokens of that one, by the server's count.
    pub(super) tokens_before: Option<u64>,
    /// How much of it the server had cached.
    pub(super) cached: Cached,
    pub(super) reply: Reply,
    pub(super) timing: Timing,
}

impl Analysis {
    pub(super) fn of(session: &Session, exchange: &Exchange) -> Self {
        let (reply, timing) = answer(exchange);
        // Parsed once: the body of a long conversation has megabytes.
        let body = exchange.whole_body().map(Body::read);
        let standing = body
            .as_ref()
            .and_then(|body| standing(session, exchange, body));
        Self {
            breakdown: body.as_ref().map(Breakdown::of),
            tokens_before: standing
                .as_ref()
                .and_then(|(before, _)| tokens_before(session, *before)),
            standing,
            cached: cached(session, exchange),
            reply,
            timing,
        }
    }

    pub(super) fn tokens(&self) -> Option<Tokens> {
        writer::tokens(&self.reply)
    }
}

/// What came back, and when.
pub(super) fn answer(exchange: &Exchange) -> (Reply, Timing) {
    let mut reply = Reply::default();
    let last = exchange.events.last().map_or(0, |event| event.us);
    let end = exchange.end.as_ref().map_or(last, |end| end.us);
    let timing = if exchange.is_stream() {
        let events = events(exchange);
        Timing::read(
            events.iter().map(|(us, data)| (*us, data.as_str())),
            end,
            &mut reply,
        )
    } else {
        reply.whole(exchange.answer().as_bytes());
        Timing::whole(exchange.events.first().map(|event| event.us), end)
    };
    (reply, timing)
}

/// The events of a streamed answer: when, and their data.
pub(super) fn events(exchange: &Exchange) -> Vec<(u64, String)> {
    let mut reader = SseReader::new();
    let mut events = Vec::new();
    for piece in &exchange.events {
        let found = reader.push(piece.text.as_bytes());
        events.extend(found.into_iter().map(|event| (piece.us, event.data)));
    }
    let last = exchange.events.last().map_or(0, |piece| piece.us);
    events.extend(reader.finish().map(|event| (last, event.data)));
    events
}

fn standing(session: &Session, exchange: &Exchange, body: &Body<'_>) -> Option<(u64, Standing)> {
    let before = exchange.end.as_ref()?.prefix.as_ref()?.before()?;
    let earlier = Body::read(session.exchange(before).ok()?.whole_body()?);
    Some((before, prefix::compare(&earlier, body)))
}

/// How much of a prompt the server says it had cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cached {
    /// By the usage of the answer.
    Usage(u64),
    /// By the server's counters, which moved by exactly this prompt.
    Counters(u64),
    /// The usage says 0, and nothing shows that it ever says anything else: over LiteLLM's bridge a
    /// 0 means nothing.
    Zero,
    /// It says nothing.
    Silent,
}

impl Cached {
    /// The tokens, where they are known.
    pub(super) fn tokens(self) -> Option<u64> {
        match self {
            Self::Usage(tokens) | Self::Counters(tokens) => Some(tokens),
            Self::Zero | Self::Silent => None,
        }
    }
}

/// What the server says of its cache for one request.
fn cached(session: &Session, exchange: &Exchange) -> Cached {
    let Some(tokens) = exchange.end.as_ref().and_then(|end| end.tokens) else {
        return Cached::Silent;
    };
    if let Some(cached) = tokens.cached.filter(|cached| *cached > 0) {
        return Cached::Usage(cached);
    }
    if let Some(hits) = hits(session, exchange, tokens.input) {
        return Cached::Counters(hits);
    }
    let says_more = session
        .ends()
        .iter()
        .any(|end| end.tokens.is_some_and(|tokens| tokens.cached > Some(0)));
    match tokens.cached {
        Some(_) if says_more => Cached::Usage(0),
        Some(_) => Cached::Zero,
        None => Cached::Silent,
    }
}

/// The counters' step at this request, where nobody else's prompt is in it.
fn hits(session: &Session, exchange: &Exchange, input: u64) -> Option<u64> {
    let after = exchange.counters?;
    let before = session
        .exchanges
        .iter()
        .rev()
        .filter(|other| other.request.n < exchange.request.n)
        .find_map(|other| other.counters)
        .or(session.counters)?;
    let queries = after.queries.checked_sub(before.queries)?;
    (queries == input).then(|| after.hits.saturating_sub(before.hits))
}

fn tokens_before(session: &Session, before: u64) -> Option<u64> {
    let earlier = session.exchange(before).ok()?;
    earlier.end.as_ref()?.tokens.map(|tokens| tokens.input)
}
