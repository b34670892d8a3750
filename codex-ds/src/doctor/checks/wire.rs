//! `wire.…`: what the endpoint makes of Codex's requests, on each route of the profile.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::endpoint::{DEADLINE, LIMIT, served_window};
use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;
use crate::doctor::targets::{self, Way, failed};
use crate::probe::conversation::{self, Call, Called, NAMESPACE, NUMBER, RoundTrip, Slot, TOOL};
use crate::probe::limits::{self, Flow};
use crate::probe::{Failure, endpoint, reasoning, stream};

/// How long a few tokens may take: a busy engine lets a request wait.
const FEW_LIMIT: Duration = Duration::from_secs(20);
/// How long a turn with thinking may take.
const TURN_LIMIT: Duration = Duration::from_secs(60);

const fn deep(
    id: &'static str,
    title: &'static str,
    requires: &'static [&'static str],
    run: fn(Arc<Context>) -> crate::doctor::check::Running,
) -> Check {
    Check {
        id,
        title,
        requires,
        cost: Cost::Deep,
        deadline: Duration::from_secs(150),
        run,
    }
}

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "wire.path",
        title: "there is a Responses API",
        requires: &["endpoint.key"],
        cost: Cost::Network,
        deadline: DEADLINE,
        run: |context| Box::pin(path(context)),
    },
    Check {
        id: "wire.answer",
        title: "the model answers, in a stream with an end",
        requires: &["wire.path", "endpoint.models", "endpoint.health"],
        cost: Cost::Network,
        deadline: Duration::from_secs(25),
        run: |context| Box::pin(answer(context)),
    },
    deep(
        "wire.developer",
        "several developer messages are accepted",
        &["wire.answer"],
        |context| Box::pin(developer(context)),
    ),
    deep(
        "wire.instructions",
        "the instructions land in the system slot",
        &["wire.developer"],
        |context| Box::pin(instructions(context)),
    ),
    deep(
        "wire.tool-call",
        "a tool call arrives, and its pieces add up to it",
        &["wire.developer"],
        |context| Box::pin(tool_call(context)),
    ),
    deep(
        "wire.thinking",
        "thinking is kept apart from the answer",
        &["wire.developer"],
        |context| Box::pin(thinking(context)),
    ),
    deep(
        "wire.history",
        "the next turn is accepted, with the thinking and the tool's answer",
        &["wire.tool-call"],
        |context| Box::pin(history(context)),
    ),
    deep(
        "wire.namespace",
        "an MCP server's tool reaches the model, and its call comes back under its name",
        &["wire.history"],
        |context| Box::pin(namespace(context)),
    ),
    deep(
        "wire.effort",
        "each reasoning level is accepted, and none means none",
        &["wire.answer"],
        |context| Box::pin(effort(context)),
    ),
    deep(
        "wire.long-prompt",
        "a prompt that is too long is refused, at once and in words",
        &["wire.answer"],
        |context| Box::pin(long_prompt(context)),
    ),
    deep(
        "wire.buffering",
        "nothing in between holds the stream back",
        &["wire.answer"],
        |context| Box::pin(buffering(context)),
    ),
];

async fn path(context: Arc<Context>) -> Result<Outcome> {
    targets::each_way(&context, |way| async move {
        vec![match endpoint::has_responses(&way.target, LIMIT).await {
            Ok(Ok(())) => Finding::note("it is there"),
            Ok(Err(status)) => {
                let said = "there is no /v1/responses".to_owned();
                failed("no Responses API", &Failure::Refused { status, said })
                    .expected("/v1/responses")
            }
            Err(failure) => failed("no Responses API", &failure).expected("/v1/responses"),
        }]
    })
    .await
}

async fn answer(context: Arc<Context>) -> Result<Outcome> {
    targets::each_way(&context, |way| async move {
        let input = json!([stream::message("user", "Say yes.")]);
        vec![
            match stream::few_tokens(&way.target, &input, FEW_LIMIT).await {
                Ok(answer) => {
                    Finding::note(format!("answered in {:.1} s", answer.took.as_secs_f64()))
                }
                Err(failure) => failed("no answer of the model", &failure)
                    .expected("a stream of events up to response.completed"),
            },
        ]
    })
    .await
}

/// The round trips of a tool, one for each route: three checks judge them.
struct RoundTrips(Vec<(String, Result<RoundTrip, Failure>)>);

async fn round_trips(context: &Context) -> Arc<RoundTrips> {
    let ways = targets::ways(context);
    context
        .once(async move {
            let trips = ways.into_iter().map(|way| async move {
                let trip = conversation::round_trip(&way.target, false, TURN_LIMIT).await;
                (way.profile, trip)
            });
            RoundTrips(futures_util::future::join_all(trips).await)
        })
        .await
}

async fn judged(
    context: &Context,
    what: &'static str,
    judge: fn(&RoundTrip) -> Finding,
) -> Result<Outcome> {
    let trips = round_trips(context).await;
    targets::each_way(context, |way| {
        let trips = trips.clone();
        async move {
            let found = trips.0.iter().find(|(profile, _)| *profile == way.profile);
            match found {
                Some((_, Ok(trip))) => vec![judge(trip)],
                Some((_, Err(failure))) => vec![failed(what, failure)],
                None => Vec::new(),
            }
        }
    })
    .await
}

async fn tool_call(context: Arc<Context>) -> Result<Outcome> {
    judged(&context, "the request with a tool is refused", |trip| {
        called(trip, |call| {
            if call.name == TOOL {
                arguments(call)
            } else {
                Finding::fail("another tool was called than the one there is")
                    .measured(&call.name)
                    .expected(TOOL)
            }
        })
    })
    .await
}

/// Judges the call of a first turn; where there is none, says why.
fn called(trip: &RoundTrip, judge: impl Fn(&Call) -> Finding) -> Finding {
    match trip.called() {
        Called::Yes(call) => judge(&call),
        Called::Markup(text) => Finding::fail(
            "the call stands in the text: the server has no tool parser, and says 200",
        )
        .measured(text)
        .expected(format!("a function_call of {TOOL}"))
        .remedy(
            "start vLLM with --enable-auto-tool-choice --tool-call-parser and the model's \
                     parser (deepseek_v4)",
        ),
        Called::No(text) => Finding::fail("the model did not call the tool that it was told to")
            .measured(text)
            .expected(format!("a function_call of {TOOL}"))
            .remedy(
                "if it says that there is no such tool, tools are lost on this route; else the \
                 model or its chat template does not know tools",
            ),
        Called::TooLong => Finding::warn("the model came to no call in 600 tokens")
            .expected(format!("a function_call of {TOOL}"))
            .remedy("choose a lower model_reasoning_effort, or run this again"),
    }
}

fn arguments(call: &Call) -> Finding {
    if !call.streamed.is_empty() && call.streamed != call.arguments {
        return Finding::fail("the arguments of the call are not those that were streamed")
            .measured(&call.arguments)
            .expected(&call.streamed)
            .remedy(
                "Codex takes those of the complete call: update the router (BerriAI/litellm#27144), \
                 or use the native route",
            );
    }
    if !call.is_as_told() {
        return Finding::fail("the arguments of the call are not what the model was told")
            .measured(&call.arguments)
            .expected(json!({ "name": conversation::NAME }).to_string())
            .remedy("is the server's tool parser the one for this model?");
    }
    Finding::note(format!("{TOOL} was called with {}", call.arguments))
}

async fn thinking(context: Arc<Context>) -> Result<Outcome> {
    judged(&context, "the request with a tool is refused", |trip| {
        if trip.thinks_aloud() {
            Finding::fail("the model's thinking stands in its answer: there is no reasoning parser")
                .measured("</think> in the text")
                .expected("an item of type reasoning")
                .remedy("start vLLM with --reasoning-parser and the model's parser (deepseek_v4)")
        } else if trip.first.reply.reasoning_bytes > 0 {
            Finding::note(format!(
                "{} bytes of thinking, apart",
                trip.first.reply.reasoning_bytes
            ))
        } else {
            Finding::note("no thinking came, and none in the text")
        }
    })
    .await
}

async fn history(context: Arc<Context>) -> Result<Outcome> {
    judged(
        &context,
        "the request with a tool is refused",
        |trip| match &trip.second {
            None => Finding::note("not to be told: the model called no tool"),
            Some(Err(failure)) => failed("the second turn is refused", failure).expected(
                "the tool's answer is accepted, with the call and the thinking before it",
            ),
            Some(Ok(answer)) if answer.reply.text.contains(NUMBER) => {
                Finding::note("the model read the tool's answer")
            }
            Some(Ok(answer)) => Finding::warn("the model did not repeat what the tool answered")
                .measured(&answer.reply.text)
                .expected(NUMBER)
                .remedy("if this happens again, the tool's answer is lost on this route"),
        },
    )
    .await
}

async fn namespace(context: Arc<Context>) -> Result<Outcome> {
    targets::each_way(&context, |way| async move {
        let trip = match conversation::round_trip(&way.target, true, TURN_LIMIT).await {
            Ok(trip) => trip,
            Err(failure) => {
                return vec![
                    failed("the request with an MCP tool is refused", &failure)
                        .expected("a tool of type namespace is accepted"),
                ];
            }
        };
        let finding = called(&trip, name);
        match &trip.second {
            Some(Err(failure)) => vec![
                finding,
                failed(
                    "the second turn, with the MCP tool's answer, is refused",
                    failure,
                ),
            ],
            _ => vec![finding],
        }
    })
    .await
}

fn name(call: &Call) -> Finding {
    if call.namespace.as_deref() == Some(NAMESPACE) && call.name == TOOL {
        return Finding::note(format!("{NAMESPACE} and {TOOL} come back apart"));
    }
    let found = match &call.namespace {
        Some(namespace) => format!("namespace {namespace}, name {}", call.name),
        None => format!("name {}, no namespace", call.name),
    };
    Finding::fail("the call comes back under another name: Codex says \"unsupported call\" to it")
        .measured(found)
        .expected(format!("namespace {NAMESPACE}, name {TOOL}"))
        .remedy(
            "update the server (vLLM 0.25.1, vllm-project/vllm#47024) or the router \
             (BerriAI/litellm#32536); until then do without MCP servers",
        )
        .command("codex-ds setup --mcp none")
}

async fn developer(context: Arc<Context>) -> Result<Outcome> {
    targets::each_way(&context, |way| async move {
        vec![
            match conversation::developer(&way.target, TURN_LIMIT).await {
                Ok(()) => Finding::note("they are"),
                Err(failure) => failed("developer messages are refused", &failure)
                    .expected("two developer messages before the user's, as Codex sends them"),
            },
        ]
    })
    .await
}

async fn instructions(context: Arc<Context>) -> Result<Outcome> {
    targets::each_way(&context, |way| async move {
        vec![match conversation::slots(&way.target, TURN_LIMIT).await {
            Ok(slots) => {
                let measured = format!(
                    "{} tokens as developer, {} as system, {} as user",
                    slots.developer, slots.system, slots.user
                );
                landed(&way, slots.slot()).measured(measured)
            }
            Err(failure) => Finding::note(format!("not to be told: {failure}")),
        }]
    })
    .await
}

fn landed(way: &Way, slot: Slot) -> Finding {
    match slot {
        Slot::System => Finding::note("they do"),
        Slot::Unknown => Finding::note("the counts do not tell"),
        // That is what the native route is: the default one is for those who mind.
        Slot::User if way.profile == "native" => {
            Finding::note("they are a turn of the user, as vLLM renders developer messages")
        }
        Slot::User => Finding::warn("they are a turn of the user: the model minds them less")
            .expected("as many tokens as developer as as system")
            .remedy(
                "put LiteLLM in front with use_chat_completions_api: true: its bridge puts them \
                 into the system slot",
            ),
    }
}

async fn effort(context: Arc<Context>) -> Result<Outcome> {
    targets::each_way(&context, |way| {
        let slugs = super::catalog::slugs(&context);
        async move {
            let offered = slugs.into_iter().find(|slug| slug.id == way.target.model);
            let levels = offered.map_or_else(Vec::new, |slug| slug.levels);
            if levels.is_empty() {
                return vec![Finding::note("the catalog offers no levels for this model")];
            }
            let target = &way.target;
            let asked = levels.iter().map(|level| async move {
                (level, reasoning::level(target, level, TURN_LIMIT).await)
            });
            let asked = futures_util::future::join_all(asked).await;
            let mut findings: Vec<Finding> = asked
                .iter()
                .filter_map(|(level, thought)| thought_at(level, thought))
                .collect();
            if findings.is_empty() {
                findings.push(Finding::note(format!("{} are accepted", levels.join(", "))));
            }
            findings
        }
    })
    .await
}

/// What is wrong with what a level did, if anything.
fn thought_at(level: &str, thought: &Result<reasoning::Thought, Failure>) -> Option<Finding> {
    match thought {
        Err(failure) => Some(
            failed(&format!("the level {level} is refused"), failure)
                .expected("each level of the catalog is accepted"),
        ),
        Ok(thought) if level == "none" && thought.is_some() => Some(
            Finding::fail("the model thinks although the level is none")
                .measured(format!(
                    "{} tokens, {} bytes of thinking",
                    thought.tokens, thought.bytes
                ))
                .expected("0 tokens of thinking")
                .remedy(
                    "the level does not reach the chat template: is --tokenizer-mode the model's \
                     (deepseek_v4), and does the router pass reasoning_effort on?",
                ),
        ),
        Ok(_) => None,
    }
}

async fn long_prompt(context: Arc<Context>) -> Result<Outcome> {
    targets::each_way(&context, |way| {
        let slugs = super::catalog::slugs(&context);
        async move {
            let served = served_window(&way.target).await;
            let slug = slugs.into_iter().find(|slug| slug.id == way.target.model);
            let window = served.or(slug.map(|slug| slug.context));
            let Some(window) = window.filter(|window| *window <= limits::LONGEST) else {
                return vec![Finding::note("nobody says how long a prompt may be")];
            };
            let answer = limits::too_long(&way.target, window, TURN_LIMIT).await;
            vec![too_long(window, served.is_some(), answer)]
        }
    })
    .await
}

/// Judges what came of a prompt that is longer than `window`; `told` where the server told it.
fn too_long(window: u64, told: bool, answer: Result<stream::Answer, Failure>) -> Finding {
    let expected = format!("400, with the limit of {window} tokens in words");
    match answer {
        Err(Failure::Refused { status: 400, said }) => match limits::window_in(&said) {
            Some(found) if found < window => Finding::fail(format!(
                "the window is {found} tokens, not {window}: a session ends there, before Codex \
                 thinks of compacting"
            ))
            .measured(said)
            .expected(expected)
            .remedy("take the true window; a router may tell what it was built with instead")
            .command(format!("codex-ds setup --context {found}")),
            Some(found) => Finding::note(format!("refused, with the limit of {found} tokens")),
            None => Finding::warn("a prompt that is too long is refused in other words")
                .measured(said)
                .expected(expected)
                .remedy("a session that is too long will end with these words"),
        },
        Err(failure @ Failure::Refused { .. }) => {
            failed("a long prompt does not get through", &failure).expected(expected)
        }
        Err(failure) => Finding::warn("a prompt that is too long is not refused, and not answered")
            .measured(failure.to_string())
            .expected(expected)
            .remedy("a session that is too long will wait for its time-out there"),
        Ok(_) if !told => Finding::note(format!("a prompt of {window} tokens is taken")),
        Ok(answer) => {
            let tokens = answer.reply.usage.unwrap_or_default().input_tokens;
            Finding::fail("a prompt that is longer than the window is answered: it was cut, or the window is another")
                .measured(format!("an answer to {tokens} tokens"))
                .expected(expected)
                .remedy("the model forgets the beginning without a word: switch the server's truncation off")
        }
    }
}

async fn buffering(context: Arc<Context>) -> Result<Outcome> {
    targets::each_way(&context, |way| async move {
        let answer = match limits::many_events(&way.target, TURN_LIMIT).await {
            Ok(answer) => answer,
            Err(failure) => return vec![failed("no answer of the model", &failure)],
        };
        let first = answer.arrivals.first().copied().unwrap_or_default();
        let measured = format!(
            "{} events, the first after {:.2} s, the last after {:.2} s, the longest gap {:.2} s",
            answer.arrivals.len(),
            first.as_secs_f64(),
            answer.took.as_secs_f64(),
            limits::longest_gap(&answer.arrivals).as_secs_f64()
        );
        vec![match limits::flow(&answer.arrivals) {
            Flow::Steady => Finding::note("it comes bit by bit").measured(measured),
            Flow::Unknown => Finding::note("too fast or too short to tell").measured(measured),
            Flow::HeldBack => Finding::fail("the whole answer comes at once, when it is complete")
                .measured(measured)
                .expected("events as the model makes them")
                .remedy(
                    "a proxy in between holds it back, and a long answer meets its time-out: \
                         switch its buffering off (nginx: proxy_buffering off;)",
                ),
        }]
    })
    .await
}
