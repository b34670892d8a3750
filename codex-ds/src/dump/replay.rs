//! `dump replay N --to URL`: the same request to another server, and what differs.

use std::time::{Duration, Instant};

use anyhow::Result;
use codex_ds_wire::Secret;
use codex_ds_wire::reply::{End, Reply};
use codex_ds_wire::sse::SseReader;
use codex_ds_wire::timing::Timing;
use codex_ds_wire::{spans, spans::Node};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::analysis;
use super::proxy;
use super::store::{self, Exchange, Session};
use super::text::{Align, count, one_line, table, time};
use super::upstream::{self, Upstream};
use super::{Place, report};
use crate::error::UserError;
use crate::setup::endpoint;
use crate::{exit, ui};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Send a recorded request again, and compare calls and times
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  codex-ds dump replay 3 --to http://127.0.0.1:8000/v1 --model deepseek-v4-flash --n 5

Exit codes: 0 every answer was complete; 1 one was not; 2 wrong usage; 3 nothing recorded")]
pub struct ReplayArgs {
    /// The request
    pub n: u64,
    /// The server to send it to
    #[arg(long, value_name = "URL")]
    pub to: String,
    /// How often
    #[arg(long = "n", value_name = "TIMES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub times: u32,
    /// Ask for another model: two routes to one server have two names
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The environment variable that holds the server's key, which is not in the record
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// Where sessions are.
    #[command(flatten)]
    pub place: Place,
    /// The session [default: the newest]
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// One answer.
struct Answer {
    status: Option<u16>,
    reply: Reply,
    timing: Timing,
    error: Option<String>,
}

impl Answer {
    fn is_complete(&self) -> bool {
        self.error.is_none()
            && self.status.is_some_and(|status| status < 400)
            && self.reply.end == End::Complete
    }
}

/// Runs the command.
pub(super) fn run(args: &ReplayArgs) -> Result<u8> {
    let path = store::find(&args.place.folder()?, args.session.as_deref())?;
    let session = Session::read(&path)?;
    let exchange = session.exchange(args.n)?;
    let body = body(args, exchange)?;
    if session.header.redacted && body.contains("****") {
        ui::warn(
            "the record has secrets masked, or holds asterisks: the server gets them as they stand",
        );
    }
    let key = match &args.api_key_env {
        Some(name) => Some(Secret::new(std::env::var(name).map_err(|_| {
            UserError::usage(format!("--api-key-env {name}: that variable is not set"))
                .hint(format!("export {name}=…"))
        })?)),
        None => None,
    };
    let upstream = Upstream::new(&endpoint::base_url("--to", &args.to)?, None)?;
    let path = exchange
        .request
        .path
        .strip_prefix(upstream::NATIVE_PREFIX)
        .unwrap_or(&exchange.request.path);
    let _progress = ui::progress("waiting for the server");
    let answers = super::runtime()?.block_on(async {
        let mut answers = Vec::new();
        for _ in 0..args.times {
            answers.push(ask(&upstream, path, &body, key.as_ref()).await);
        }
        answers
    });
    let (reply, timing) = analysis::answer(exchange);
    let recorded = Answer {
        status: exchange.response.as_ref().map(|response| response.status),
        reply,
        timing,
        error: None,
    };
    let complete = answers.iter().all(Answer::is_complete);
    if args.json {
        ui::json(&json!({
            "schema_version": report::SCHEMA_VERSION,
            "n": args.n,
            "to": args.to,
            "recorded": answer_json(&recorded, &recorded),
            "answers": answers.iter().map(|answer| answer_json(answer, &recorded)).collect::<Vec<_>>(),
        }));
    } else {
        ui::out(&text(&recorded, &answers));
    }
    Ok(if complete { exit::OK } else { exit::FAILURE })
}

fn body(args: &ReplayArgs, exchange: &Exchange) -> Result<String> {
    let n = args.n;
    let whole = exchange
        .request
        .body
        .clone()
        .filter(|_| exchange.request.note.is_none());
    let body = whole.filter(|body| !body.is_empty()).ok_or_else(|| {
        UserError::usage(format!("request {n} has no body, or it was not kept whole"))
            .hint("codex-ds dump show lists the requests")
    })?;
    let Some(model) = &args.model else {
        return Ok(body);
    };
    let root = spans::parse(&body).ok();
    let old = root
        .as_ref()
        .and_then(|root: &Node| root.get("model"))
        .ok_or_else(|| {
            UserError::usage(format!(
                "--model {model}: the body of request {n} names no model"
            ))
            .hint("leave --model away")
        })?;
    let mut changed = body.clone();
    changed.replace_range(old.span.clone(), &Value::from(model.as_str()).to_string());
    Ok(changed)
}

async fn ask(upstream: &Upstream, path: &str, body: &str, key: Option<&Secret>) -> Answer {
    let mut answer = Answer {
        status: None,
        reply: Reply::default(),
        timing: Timing::default(),
        error: None,
    };
    let asked = async {
        let start = Instant::now();
        let us = || u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut request = upstream
            .client()
            .post(upstream.target(path))
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .body(body.to_owned());
        if let Some(key) = key {
            request = request.bearer_auth(key.expose());
        }
        let response = request.send().await?;
        answer.status = Some(response.status().as_u16());
        let kind = response.headers().get("content-type");
        let streams = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let mut reader = SseReader::new();
        let mut events = Vec::new();
        let mut whole = Vec::new();
        let mut first = None;
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            let (at, chunk) = (us(), chunk?);
            first.get_or_insert(at);
            if streams {
                events.extend(
                    reader
                        .push(&chunk)
                        .into_iter()
                        .map(|event| (at, event.data)),
                );
            } else {
                whole.extend_from_slice(&chunk);
            }
        }
        let end = us();
        events.extend(reader.finish().map(|event| (end, event.data)));
        if streams {
            let events = events.iter().map(|(at, data)| (*at, data.as_str()));
            answer.timing = Timing::read(events, end, &mut answer.reply);
        } else {
            answer.reply.whole(&whole);
            answer.timing = Timing::whole(first, end);
        }
        Ok::<(), reqwest::Error>(())
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => answer.error = Some(proxy::causes(&error)),
        Err(_) => answer.error = Some(format!("no end within {} s", PATIENCE.as_secs())),
    }
    answer
}

fn calls(reply: &Reply) -> Vec<(String, Value)> {
    reply
        .calls
        .iter()
        .map(|call| {
            // The same arguments may be written with other spaces.
            let arguments = serde_json::from_str(&call.arguments)
                .unwrap_or_else(|_| Value::from(call.arguments.as_str()));
            (call.name.clone(), arguments)
        })
        .collect()
}

/// How the calls of an answer compare with the recorded ones.
fn verdict(answer: &Reply, recorded: &Reply) -> &'static str {
    let (a, b) = (calls(answer), calls(recorded));
    let names = |calls: &[(String, Value)]| -> Vec<String> {
        calls.iter().map(|(name, _)| name.clone()).collect()
    };
    match () {
        () if a.is_empty() && b.is_empty() => "none",
        () if a == b => "same",
        () if names(&a) == names(&b) => "same tools, other arguments",
        () => "other tools",
    }
}

fn text(recorded: &Answer, answers: &[Answer]) -> String {
    let mut rows = vec![
        [
            "", "status", "first", "total", "in", "out", "tokens/s", "calls", "",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let mut row = |name: String, answer: &Answer, calls: String| {
        let usage = answer.reply.usage.filter(|usage| usage.input_tokens > 0);
        let output = usage.map(|usage| usage.output_tokens);
        let pace = output.and_then(|tokens| answer.timing.tokens_per_second(tokens));
        let failure = match (&answer.error, &answer.reply.end) {
            (Some(error), _) => one_line(error),
            (None, End::Failed(why)) => one_line(why),
            (None, End::Missing) => "no end".to_owned(),
            (None, End::Complete) => String::new(),
        };
        rows.push(vec![
            name,
            or_dash(answer.status.map(|status| status.to_string())),
            or_dash(answer.timing.first_token().map(time)),
            time(answer.timing.end),
            or_dash(usage.map(|usage| count(usage.input_tokens))),
            or_dash(output.map(count)),
            or_dash(pace.map(|pace| format!("{pace:.1}"))),
            calls,
            failure,
        ]);
    };
    let names: Vec<&str> = recorded
        .reply
        .calls
        .iter()
        .map(|call| call.name.as_str())
        .collect();
    let calls = match &names[..] {
        [] => "none".to_owned(),
        names => one_line(&names.join(", ")),
    };
    row("recorded".to_owned(), recorded, calls);
    for (index, answer) in answers.iter().enumerate() {
        let verdict = verdict(&answer.reply, &recorded.reply).to_owned();
        row(format!("replay {}", index + 1), answer, verdict);
    }
    let mut align = [Align::Right; 9];
    (align[0], align[7], align[8]) = (Align::Left, Align::Left, Align::Left);
    table(&align, &rows)
}

fn answer_json(answer: &Answer, recorded: &Answer) -> Value {
    let usage = answer.reply.usage.filter(|usage| usage.input_tokens > 0);
    json!({
        "status": answer.status,
        "error": answer.error,
        "complete": answer.is_complete(),
        "first_token_us": answer.timing.first_token(),
        "end_us": answer.timing.end,
        "input_tokens": usage.map(|usage| usage.input_tokens),
        "output_tokens": usage.map(|usage| usage.output_tokens),
        "calls": calls(&answer.reply).into_iter().map(|(name, arguments)| json!({"name": name, "arguments": arguments})).collect::<Vec<_>>(),
        "calls_compared": verdict(&answer.reply, &recorded.reply),
    })
}
