//! `endpoint.…`: what answers at the endpoint.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use semver::Version;

use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;
use crate::doctor::targets::{self, Place, failed};
use crate::probe::endpoint;
use crate::probe::{Failure, Target};
use crate::setup::endpoint::{Kind, nearest};

/// How long a look-up may take. A busy router still answers in a second or two.
pub(super) const LIMIT: Duration = Duration::from_secs(6);
/// Above [`LIMIT`], so that a server that hangs is named as such.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "endpoint.kind",
        title: "it is a server that we know, and new enough",
        requires: &["network.speaks"],
        cost: Cost::Network,
        deadline: DEADLINE,
        run: |context| Box::pin(kind(context)),
    },
    Check {
        id: "endpoint.health",
        title: "the server calls itself healthy",
        requires: &["endpoint.kind"],
        cost: Cost::Network,
        deadline: DEADLINE,
        run: |context| Box::pin(health(context)),
    },
    Check {
        id: "endpoint.key",
        title: "the server takes the key",
        requires: &["endpoint.kind", "config.key"],
        cost: Cost::Network,
        deadline: DEADLINE,
        run: |context| Box::pin(key(context)),
    },
    Check {
        id: "endpoint.models",
        title: "the server has the profile's models",
        requires: &["endpoint.key"],
        cost: Cost::Network,
        deadline: DEADLINE,
        run: |context| Box::pin(models(context)),
    },
    Check {
        id: "endpoint.window",
        title: "no window in the catalog is larger than the server's",
        requires: &["endpoint.models", "catalog.sound"],
        cost: Cost::Network,
        deadline: DEADLINE,
        run: |context| Box::pin(window(context)),
    },
];

/// The first vLLM that gives a namespace's tools back under their own names
/// (vllm-project/vllm#47024).
const VLLM: Version = Version::new(0, 25, 1);

/// The kind of server at each address, asked once.
pub(super) struct Kinds(Vec<(String, Result<Kind, Failure>)>);

impl Kinds {
    /// The kind of server that a target is.
    pub(super) fn of(&self, target: &Target) -> Kind {
        self.0
            .iter()
            .find(|(base, _)| base == target.base.as_str())
            .and_then(|(_, kind)| kind.clone().ok())
            .unwrap_or(Kind::Unknown)
    }
}

/// The kind of server at each address.
pub(super) async fn kinds(context: &Context) -> Arc<Kinds> {
    let places = targets::places(context);
    context
        .once(async move {
            let asked = places.into_iter().map(|place| async move {
                let kind = endpoint::kind(&place.target, LIMIT).await;
                (place.target.base.to_string(), kind)
            });
            Kinds(futures_util::future::join_all(asked).await)
        })
        .await
}

async fn kind(context: Arc<Context>) -> Result<Outcome> {
    let kinds = kinds(&context).await;
    let mut findings = Vec::new();
    for (base, kind) in &kinds.0 {
        findings.push(match kind {
            Err(failure) => failed(base, failure).source(base),
            Ok(kind) => {
                context.version("server", kind.name());
                known(base, kind)
            }
        });
    }
    let seen: Vec<&str> = findings.iter().map(|f| f.text.as_str()).collect();
    Ok(Outcome::of(seen.join("; "), findings))
}

fn known(base: &str, kind: &Kind) -> Finding {
    let text = format!("{base} is {}", kind.name());
    match kind {
        Kind::Vllm(version) if Version::parse(version).is_ok_and(|found| found < VLLM) => {
            Finding::warn(format!("{text}, which flattens the names of MCP tools"))
                .measured(version)
                .expected(format!("{VLLM} or later"))
                .source(format!("{base}: /version"))
                .remedy("update vLLM, or use the profile without MCP servers")
                .command("codex-ds setup --mcp none")
        }
        _ => Finding::note(text),
    }
}

async fn health(context: Arc<Context>) -> Result<Outcome> {
    let kinds = kinds(&context).await;
    targets::each_place(&context, |place| {
        let kinds = kinds.clone();
        async move {
            let kind = kinds.of(&place.target);
            match endpoint::health(&place.target, &kind, LIMIT).await {
                Ok(()) => Finding::note("it is, by its own word"),
                // Not everyone has such an answer.
                Err(Failure::Refused { status: 404, .. }) if kind == Kind::Other => {
                    Finding::note("it does not say")
                }
                Err(failure) => Finding::fail(format!(
                    "{} says that it is not: {failure}",
                    kind.name()
                ))
                .measured(failure.to_string())
                .expected("200")
                .source(format!(
                    "GET {}{}",
                    place.target.root(),
                    endpoint::health_path(&kind)
                ))
                .remedy("its engine has died, or is loading: look at its log, and start it again")
                .command("codex-ds deploy status"),
            }
        }
    })
    .await
}

async fn key(context: Arc<Context>) -> Result<Outcome> {
    targets::each_place(&context, taken).await
}

async fn taken(place: Place) -> Finding {
    let (with, wants) = tokio::join!(
        endpoint::models(&place.target, LIMIT),
        endpoint::wants_key(&place.target, LIMIT)
    );
    let source = format!("GET {}/models", place.target.base);
    match (with, wants) {
        (Ok(_), Ok(true)) => Finding::note("it wants one, and takes ours"),
        (Ok(_), _) => Finding::note("it wants none"),
        (
            Err(
                failure @ Failure::Refused {
                    status: 400 | 401 | 403 | 500,
                    ..
                },
            ),
            Ok(true),
        ) => {
            let what = if place.target.key.is_some() {
                "the key is refused"
            } else {
                "the server wants a key, and the profile has none"
            };
            failed(what, &failure)
                .expected("200")
                .source(source)
                .remedy("give the profile the server's key (of LiteLLM: its LITELLM_MASTER_KEY)")
                .command("codex-ds setup --api-key-file FILE")
        }
        // It has no list of models, which says nothing of the key.
        (Err(failure), _) => Finding::note(format!("not to be told: {failure}")),
    }
}

/// How long a prompt may be for a target's model, tokens; nothing where the server does not say.
pub(super) async fn served_window(target: &Target) -> Option<u64> {
    let models = endpoint::models(target, LIMIT).await.ok()?;
    let served = models.into_iter().find(|model| model.id == target.model)?;
    served.limit
}

async fn window(context: Arc<Context>) -> Result<Outcome> {
    targets::each_way(&context, |way| {
        let slugs = super::catalog::slugs(&context);
        async move {
            let slug = slugs.into_iter().find(|slug| slug.id == way.target.model);
            let served = served_window(&way.target).await;
            vec![match (slug, served) {
                (Some(slug), Some(served)) if slug.context > served => Finding::fail(
                    "the catalog's window is larger than the server's: a session ends with an \
                     error before Codex thinks of compacting",
                )
                .measured(format!("{} tokens in the catalog", slug.context))
                .expected(format!("at most the server's {served}"))
                .source(format!("GET {}/models", way.target.base))
                .remedy("set-up takes the window from the server")
                .command("codex-ds setup"),
                (Some(slug), Some(served)) => {
                    Finding::note(format!("{} of {served} tokens", slug.context))
                }
                (None, _) => Finding::note("not to be told: the model is not in the catalog"),
                (_, None) => Finding::note("not to be told: the server does not say its window"),
            }]
        }
    })
    .await
}

async fn models(context: Arc<Context>) -> Result<Outcome> {
    targets::each_place(&context, |place| {
        let context = context.clone();
        async move {
            let source = format!("GET {}/models", place.target.base);
            let models = match endpoint::models(&place.target, LIMIT).await {
                Ok(models) => models,
                Err(failure) => {
                    return failed("the models cannot be listed", &failure).source(source);
                }
            };
            let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
            let wanted = context
                .routes
                .iter()
                .filter(|route| place.profiles.contains(&route.profile));
            let lost: Vec<&str> = wanted
                .map(|route| route.model.as_str())
                .filter(|model| !ids.contains(model))
                .collect();
            match lost.first() {
                None => Finding::note(ids.join(", ")),
                Some(model) => Finding::fail(format!("{} is not served", lost.join(", ")))
                    .measured(ids.join(", "))
                    .expected(lost.join(", "))
                    .source(source)
                    .remedy(match nearest(model, &ids) {
                        Some(near) => format!("did you mean {near}? Set-up asks the server again"),
                        None => "set-up asks the server again, and takes what it has".to_owned(),
                    })
                    .command("codex-ds setup"),
            }
        }
    })
    .await
}
