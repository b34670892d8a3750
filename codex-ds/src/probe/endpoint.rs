//! What answers at an endpoint, with which models, and to which key.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

use super::{Failure, Target};
use crate::setup::endpoint::Kind;

/// What kind of server answers, by what each alone has.
///
/// # Errors
/// When nothing answers.
pub async fn kind(target: &Target, limit: Duration) -> Result<Kind, Failure> {
    let get = |path: &str| super::text(target.get(&format!("{}{path}", target.root())), limit);
    let (router, version) = tokio::join!(get("/health/liveliness"), get("/version"));
    match (router, version) {
        (Ok(_), _) => Ok(Kind::LiteLlm),
        (_, Ok(body)) => {
            let json: Value = serde_json::from_str(&body).unwrap_or_default();
            Ok(match json["version"].as_str() {
                Some(version) => Kind::Vllm(version.to_owned()),
                None => Kind::Other,
            })
        }
        (Err(Failure::Refused { .. }), Err(Failure::Refused { .. })) => Ok(Kind::Other),
        (Err(failure), _) => Err(failure),
    }
}

/// Where a server says how it is. LiteLLM's `/health` would send a request to every model.
#[must_use]
pub fn health_path(kind: &Kind) -> &'static str {
    match kind {
        Kind::LiteLlm => "/health/readiness",
        _ => "/health",
    }
}

/// Whether the server calls itself healthy.
///
/// # Errors
/// When it does not, or has no such answer.
pub async fn health(target: &Target, kind: &Kind, limit: Duration) -> Result<(), Failure> {
    let url = format!("{}{}", target.root(), health_path(kind));
    super::text(target.get(&url), limit).await.map(|_| ())
}

/// A served model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its name.
    pub id: String,
    /// The longest sequence, tokens, where the server says it.
    pub limit: Option<u64>,
}

/// The served models, asked for with the target's key, or with none.
///
/// # Errors
/// When they are refused, or the answer is no list.
pub async fn models(target: &Target, limit: Duration) -> Result<Vec<Model>, Failure> {
    let body = super::text(target.request(Method::GET, "/models"), limit).await?;
    let json: Value = serde_json::from_str(&body).unwrap_or_default();
    let list = json["data"].as_array().ok_or_else(|| Failure::Other {
        found: super::excerpt(&body),
        expected: "a list of models",
    })?;
    Ok(list
        .iter()
        .filter_map(|model| {
            Some(Model {
                id: model["id"].as_str()?.to_owned(),
                limit: ["max_model_len", "max_input_tokens"]
                    .iter()
                    .find_map(|key| model[key].as_u64()),
            })
        })
        .collect())
}

/// Whether the server wants a key at all.
///
/// # Errors
/// When nothing answers.
pub async fn wants_key(target: &Target, limit: Duration) -> Result<bool, Failure> {
    let without = Target {
        key: None,
        ..target.clone()
    };
    match models(&without, limit).await {
        Ok(_) => Ok(false),
        // LiteLLM says 500 to no key at all (measured).
        Err(Failure::Refused { .. }) => Ok(true),
        Err(failure) => Err(failure),
    }
}

/// Whether there is a Responses API: an empty request is refused by whoever has it, before any
/// model is asked.
///
/// # Errors
/// When nothing answers.
pub async fn has_responses(target: &Target, limit: Duration) -> Result<Result<(), u16>, Failure> {
    let request = target
        .request(Method::POST, "/responses")
        .json(&serde_json::json!({}));
    match super::text(request, limit).await {
        Err(Failure::Refused {
            status: status @ (404 | 405 | 501),
            ..
        }) => Ok(Err(status)),
        Ok(_) | Err(Failure::Refused { .. }) => Ok(Ok(())),
        Err(failure) => Err(failure),
    }
}
