//! Runs: prompts fitted, shapes warmed up, answers timed, and spoiled runs found and repeated.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::figures::{Figures, Timing};
use super::prompt::{self, Fit};
use super::shape::Shape;
use crate::engine::ask::{Answer, Ask, AskError, Usage, ask};
use crate::engine::counters::{Counters, Source, grown};
use crate::engine::target::Target;
use crate::error::UserError;
use crate::setup::endpoint::Kind;

/// How often the engine is looked at while a run goes on. Each look costs its server a few
/// milliseconds, so it is rare.
const LOOK: Duration = Duration::from_millis(500);
/// How long a run waits for other clients to end.
const IDLE_PATIENCE: Duration = Duration::from_secs(30);
/// How long the engine may take to count our own last request as ended.
const SETTLE: Duration = Duration::from_secs(2);
/// What the engine may count beside ours, as a part and as a number of tokens: a router's health
/// checks are no client.
const TOLERANCE: (f64, f64) = (0.01, 16.0);

/// Something that runs go through.
#[derive(Clone, Debug)]
pub struct Route {
    /// "router" or "native".
    pub name: &'static str,
    /// Where it leads.
    pub target: Target,
    /// The time of a round trip, seconds.
    pub latency: f64,
}

impl Route {
    /// Measures the round trip: the mean of three requests for the list of models, as llama-benchy
    /// does it.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn new(name: &'static str, target: Target) -> Result<Self> {
        const TIMES: u32 = 3;
        let mut sum = Duration::ZERO;
        // The first one opens the connection and is not counted.
        for time in 0..=TIMES {
            let mut request = target.client.get(format!("{}/models", target.base));
            if let Some(key) = &target.key {
                request = request.bearer_auth(key.expose());
            }
            let start = Instant::now();
            let answer = request.send().await.context("cannot list the models")?;
            answer.bytes().await.context("cannot list the models")?;
            if time > 0 {
                sum += start.elapsed();
            }
        }
        Ok(Self {
            name,
            target,
            latency: sum.as_secs_f64() / f64::from(TIMES),
        })
    }
}

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// What was measured.
    pub figures: Figures,
    /// Tokens of each prompt.
    pub prompts: Vec<u64>,
    /// Tokens of each answer.
    pub completions: Vec<u64>,
    /// Tokens that one step of speculative decoding made on average.
    pub acceptance: Option<f64>,
    /// The part of the prompts that came from the prefix cache.
    pub hit_rate: Option<f64>,
    /// How another client spoiled it.
    pub spoiled: Option<String>,
    /// How long it took, seconds.
    pub seconds: f64,
}

/// What runs are made with.
#[derive(Debug)]
pub struct Bench {
    /// The engine's counters, where they can be read.
    pub source: Option<Source>,
    /// Where `/tokenize` may be, with the model's name there.
    pub tokenizer: Option<Target>,
    number: u64,
}

impl Bench {
    /// A bench whose prompts nobody has sent before.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new(source: Option<Source>, native: Option<&Target>) -> Result<Self> {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).context("the system gives no random numbers")?;
        Ok(Self {
            source,
            tokenizer: native
                .filter(|target| matches!(target.kind, Kind::Vllm(_)))
                .cloned(),
            number: u64::from_le_bytes(seed) >> 28,
        })
    }

    /// A number that no other request has.
    fn next(&mut self) -> u64 {
        // Odd, so that all 2^36 numbers come before one comes again, and the first words differ.
        self.number = self.number.wrapping_add(0x0005_DEEC_E66D) & ((1 << 36) - 1);
        self.number
    }

    fn ask(&mut self, fit: &Fit, shape: &Shape, name: &str) -> Ask {
        let number = self.next();
        let (system, user) = fit.text(number);
        Ask {
            system,
            user,
            max_tokens: shape.generate,
            exact: true,
            thinking: shape.thinking,
            id: format!("codex-ds-bench-{name}-{number:09x}"),
        }
    }

    /// The words for a shape's prompt, and its length in tokens: by `/tokenize`, else by the usage
    /// of requests for one token.
    ///
    /// # Errors
    /// When the endpoint does not answer.
    pub async fn fit(&mut self, route: &Route, shape: &Shape) -> Result<(Fit, u64), AskError> {
        if let Some(tokenizer) = self.tokenizer.clone() {
            let found = prompt::fit(shape.depth, shape.prompt, 12, async |fit: &Fit| {
                let ask = self.ask(fit, shape, "count");
                tokenize(&tokenizer, &ask).await.ok_or(())
            })
            .await;
            match found {
                Ok(found) => return Ok(found),
                // Not every server has it; then the usage tells.
                Err(()) => self.tokenizer = None,
            }
        }
        let one = Shape {
            generate: 1,
            ..*shape
        };
        prompt::fit(shape.depth, shape.prompt, 6, async |fit: &Fit| {
            let answer = ask(&route.target, &self.ask(fit, &one, "count")).await?;
            usage(&answer).map(|usage| usage.prompt)
        })
        .await
    }

    /// One run of `shape` through `route`.
    ///
    /// # Errors
    /// When a stream of it fails.
    pub async fn run(
        &mut self,
        route: &Route,
        shape: &Shape,
        fit: &Fit,
        name: &str,
    ) -> Result<Run, AskError> {
        let before = self.idle().await;
        let asks: Vec<Ask> = (0..shape.concurrency)
            .map(|_| self.ask(fit, shape, name))
            .collect();
        let watch = self.source.as_ref().and_then(Watch::start);
        let origin = Instant::now();
        let answers = join_all(asks.iter().map(|one| ask(&route.target, one))).await;
        let seconds = origin.elapsed().as_secs_f64();
        let most = watch.map_or(0.0, Watch::stop);
        let answers: Vec<Answer> = answers.into_iter().collect::<Result<_, _>>()?;
        let usages: Vec<Usage> = answers.iter().map(usage).collect::<Result<_, _>>()?;
        let timings: Vec<Timing> = answers
            .iter()
            .filter_map(|answer| Timing::of(answer, origin))
            .collect();
        if timings.len() < answers.len() {
            return Err(AskError::Broken("an answer brought no token".to_owned()));
        }
        let after = self.settled(before.as_ref()).await;
        let mut run = Run {
            figures: Figures::of(&timings, route.latency),
            prompts: usages.iter().map(|usage| usage.prompt).collect(),
            completions: usages.iter().map(|usage| usage.completion).collect(),
            seconds,
            ..Run::default()
        };
        if let (Some(before), Some(after)) = (before, after) {
            let own = Own {
                streams: shape.concurrency,
                prompt: run.prompts.iter().sum(),
                completion: run.completions.iter().sum(),
            };
            run.spoiled = spoiled(&before, &after, most, &own);
            run.acceptance = acceptance(&before, &after);
            run.hit_rate = hit_rate(&before, &after);
        }
        if run.hit_rate.is_none() {
            let cached: Option<u64> = usages.iter().map(|usage| usage.cached).sum();
            let prompts: u64 = run.prompts.iter().sum();
            run.hit_rate = cached.map(|cached| part(cached, prompts));
        }
        Ok(run)
    }

    /// Waits until the engine is idle, and gives its counters then.
    async fn idle(&self) -> Option<Counters> {
        let source = self.source.as_ref()?;
        let deadline = Instant::now() + IDLE_PATIENCE;
        loop {
            let counters = source.read().await?;
            if counters.busy() <= 0.0 || Instant::now() >= deadline {
                return Some(counters);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The counters after a run, when the engine has counted its end.
    async fn settled(&self, before: Option<&Counters>) -> Option<Counters> {
        let source = self.source.as_ref()?;
        let busy_before = before.map_or(0.0, Counters::busy);
        let deadline = Instant::now() + SETTLE;
        loop {
            let counters = source.read().await?;
            if counters.busy() <= busy_before || Instant::now() >= deadline {
                return Some(counters);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Looks at the engine while a run goes on, on a thread of its own: on the run's own thread each
/// look would hold up the events that come meanwhile, and their times.
struct Watch {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<f64>,
}

impl Watch {
    fn start(source: &Source) -> Option<Self> {
        let source = source.apart()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .ok()?;
        let (stop, mut stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                let mut most = 0.0_f64;
                loop {
                    tokio::select! {
                        _ = &mut stopped => return most,
                        () = tokio::time::sleep(LOOK) => {}
                    }
                    if let Some(counters) = source.read().await {
                        most = most.max(counters.busy());
                    }
                }
            })
        });
        Some(Self { stop, thread })
    }

    /// The most requests that were in the engine.
    fn stop(self) -> f64 {
        // When it has ended already, there is nobody to tell.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or(0.0)
    }
}

fn usage(answer: &Answer) -> Result<Usage, AskError> {
    answer.usage.ok_or_else(|| {
        AskError::Broken(
            "the stream holds no usage, by which tokens are counted (stream_options.include_usage)"
                .to_owned(),
        )
    })
}

async fn tokenize(target: &Target, ask: &Ask) -> Option<u64> {
    let body = json!({
        "model": target.model,
        "messages": ask.messages(),
        "add_generation_prompt": true,
        "chat_template_kwargs": ask.template(),
    });
    let mut request = target
        .client
        .post(format!("{}/tokenize", target.root()))
        .json(&body);
    if let Some(key) = &target.key {
        request = request.bearer_auth(key.expose());
    }
    let answer = request.send().await.ok()?.error_for_status().ok()?;
    answer.json::<Value>().await.ok()?["count"].as_u64()
}

/// What a run itself put into the engine.
#[derive(Clone, Copy, Debug)]
struct Own {
    streams: u64,
    prompt: u64,
    completion: u64,
}

#[expect(clippy::cast_precision_loss, reason = "no count reaches 2^52")]
fn number(value: u64) -> f64 {
    value as f64
}

fn part(of: u64, whole: u64) -> f64 {
    number(of) / number(whole.max(1))
}

/// How another client spoiled a run, by the engine's own counters: it was busy before, it held more
/// requests than ours, or it read or wrote more tokens.
fn spoiled(before: &Counters, after: &Counters, most: f64, own: &Own) -> Option<String> {
    if before.busy() > 0.0 {
        return Some(format!(
            "{:.0} requests of others were in the engine when it began",
            before.busy()
        ));
    }
    let others = most - number(own.streams);
    if others > 0.0 {
        return Some(format!(
            "{others:.0} requests of others ran at the same time"
        ));
    }
    if after.restarted_since(before) {
        return Some("the engine was restarted".to_owned());
    }
    let more = |before, after, own: u64, what: &str| {
        let extra = grown(before, after)? - number(own);
        let allowed = TOLERANCE.0 * number(own) + TOLERANCE.1;
        (extra > allowed).then(|| format!("the engine {what} {extra:.0} tokens of others"))
    };
    more(
        before.prompt_tokens,
        after.prompt_tokens,
        own.prompt,
        "read",
    )
    .or_else(|| {
        more(
            before.generation_tokens,
            after.generation_tokens,
            own.completion,
            "wrote",
        )
    })
}

/// vLLM's mean acceptance length: 1 + accepted tokens / drafts.
fn acceptance(before: &Counters, after: &Counters) -> Option<f64> {
    let drafts = grown(before.drafts, after.drafts)?;
    let accepted = grown(before.accepted, after.accepted)?;
    (drafts > 0.0).then(|| 1.0 + accepted / drafts)
}

fn hit_rate(before: &Counters, after: &Counters) -> Option<f64> {
    let queries = grown(before.prefix_queries, after.prefix_queries)?;
    let hits = grown(before.prefix_hits, after.prefix_hits)?;
    (queries > 0.0).then(|| hits / queries)
}

/// The error for a user when a shape cannot be measured at all.
#[must_use]
pub fn failed(route: &Route, shape: &Shape, error: &AskError) -> UserError {
    let failure = UserError::new(format!("{shape} through {}: {error}", route.target.base));
    match error {
        AskError::Status { status: 400, message } if message.contains("max") => failure
            .hint("is the window too small for it? take shorter --pp, --depth or --tg"),
        AskError::Status { status: 400 | 422, .. } => failure.hint(
            "the server has to know min_tokens, ignore_eos and chat_template_kwargs, as vLLM and SGLang do",
        ),
        AskError::Status { status: 401 | 403, .. } => {
            failure.hint("the server does not take this key: --api-key-env or --api-key-file")
        }
        _ => failure.hint("does the server still answer? try codex-ds exec \"say hello\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_client_is_found_by_what_the_engine_counts() {
        let at = |busy, prompt, generation| Counters {
            running: Some(busy),
            waiting: Some(0.0),
            prompt_tokens: Some(prompt),
            generation_tokens: Some(generation),
            ..Counters::default()
        };
        let own = Own {
            streams: 2,
            prompt: 4096,
            completion: 256,
        };
        let before = at(0.0, 1000.0, 1000.0);
        let clean = at(0.0, 5096.0, 1256.0);
        assert_eq!(spoiled(&before, &clean, 2.0, &own), None);
        // A health check of a router.
        assert_eq!(spoiled(&before, &at(0.0, 5106.0, 1257.0), 2.0, &own), None);
        for (before, after, most, why) in [
            (
                at(1.0, 1000.0, 1000.0),
                clean,
                2.0,
                "1 requests of others were in the engine when it began",
            ),
            (
                before,
                clean,
                3.0,
                "1 requests of others ran at the same time",
            ),
            (
                before,
                at(0.0, 9192.0, 1256.0),
                2.0,
                "the engine read 4096 tokens of others",
            ),
            (
                before,
                at(0.0, 5096.0, 1400.0),
                2.0,
                "the engine wrote 144 tokens of others",
            ),
            (before, at(0.0, 10.0, 10.0), 2.0, "the engine was restarted"),
        ] {
            assert_eq!(spoiled(&before, &after, most, &own).as_deref(), Some(why));
        }
        // An engine that tells nothing convicts nobody.
        assert_eq!(
            spoiled(&Counters::default(), &Counters::default(), 0.0, &own),
            None
        );
    }

    #[test]
    fn acceptance_and_hits_are_of_the_run_alone() {
        let before = Counters {
            drafts: Some(100.0),
            accepted: Some(300.0),
            prefix_queries: Some(1000.0),
            prefix_hits: Some(1000.0),
            ..Counters::default()
        };
        let after = Counters {
            drafts: Some(132.0),
            accepted: Some(396.0),
            prefix_queries: Some(3000.0),
            prefix_hits: Some(1500.0),
            ..Counters::default()
        };
        assert_eq!(acceptance(&before, &after), Some(4.0));
        assert_eq!(hit_rate(&before, &after), Some(0.25));
        assert_eq!(acceptance(&before, &before), None);
    }
}
