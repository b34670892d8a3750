//! The paths of the stand-in.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Extension, Request, State as Extract};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

use super::answer::Answer;
use super::check::{self, Asked, Delivery};
use super::config::{Config, Flavor};
use super::error::ApiError;
use super::flaw::{self, Flaw, SMALL_BODY};
use super::responses::Stamp;
use super::script::{Fault, Turn};
use super::state::{Arrival, Recorded, Running, State};
use super::steps::Step;
use super::{chat, metrics, prompt, responses, steps};

/// What the stand-in answers when Codex asks for a summary of a long conversation.
const SUMMARY: &str = "Summary: the user asked for a task; it is under way.";

type Shared = Extract<Arc<State>>;

/// The application.
pub(super) fn router(state: Arc<State>) -> Router {
    let shared = Router::new()
        .route("/health", get(async || ()))
        .route("/v1/models", get(models))
        .route("/v1/responses", post(create_response))
        .route("/v1/responses/{id}", get(stored_response))
        .route("/v1/chat/completions", post(create_chat));
    let own = match state.config.flavor {
        Flavor::Vllm => shared
            .route("/version", get(version))
            .route("/metrics", get(metrics_page))
            .route("/tokenize", post(tokenize)),
        Flavor::Router => shared
            .route("/health/liveliness", get(async || Json("I'm alive!")))
            .route(
                "/health/readiness",
                get(async || Json(json!({"status": "healthy"}))),
            ),
    };
    own.fallback(async || ApiError::http(StatusCode::NOT_FOUND))
        .method_not_allowed_fallback(async || ApiError::http(StatusCode::METHOD_NOT_ALLOWED))
        .layer(middleware::from_fn_with_state(Arc::clone(&state), admit))
        .layer(DefaultBodyLimit::disable())
        .with_state(state)
}

/// Serves until it is dropped.
pub(super) async fn serve(listener: std::net::TcpListener, app: Router) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(|stream| {
        // Each event is a small write that must not wait for the one before to be confirmed.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, app).await
}

/// Records every request, then asks for the key.
async fn admit(Extract(state): Shared, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let id = parts.headers.get("x-request-id");
    parts.extensions.insert(Arrival {
        at: std::time::Instant::now(),
        id: id.and_then(|id| id.to_str().ok()).map(str::to_owned),
    });
    let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    state.record(Recorded {
        method: parts.method.to_string(),
        path: parts
            .uri
            .path_and_query()
            .map(ToString::to_string)
            .unwrap_or_default(),
        headers: parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), text(value.as_bytes())))
            .collect(),
        body: body.to_vec(),
    });
    if let Some(error) = flaw::shut(state.config.flaw, parts.uri.path()) {
        return error.into_response();
    }
    if state.config.flaw == Some(Flaw::SmallBodies) && body.len() > SMALL_BODY {
        return too_large();
    }
    let guarded = parts.uri.path().starts_with("/v1") && parts.method != Method::OPTIONS;
    if let Some(key) = state.config.api_key.as_ref().filter(|_| guarded) {
        let sent = parts
            .headers
            .get(header::AUTHORIZATION)
            .map(|value| text(value.as_bytes()));
        let token = sent
            .as_deref()
            .and_then(|sent| sent.split_once(' '))
            .and_then(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer").then_some(token));
        if token != Some(key.expose()) {
            return unauthorized(state.config.flavor, token.is_some());
        }
    }
    next.run(Request::from_parts(parts, Body::from(body))).await
}

/// As nginx says it.
fn too_large() -> Response {
    let page = "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n\
                <center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx</center>\r\n\
                </body>\r\n</html>\r\n";
    (StatusCode::PAYLOAD_TOO_LARGE, Html(page)).into_response()
}

/// LiteLLM without a database answers a wrong key with 400 (LiteLLM 1.108.7).
fn unauthorized(flavor: Flavor, has_token: bool) -> Response {
    let (status, body) = match (flavor, has_token) {
        (Flavor::Vllm, _) => (StatusCode::UNAUTHORIZED, json!({"error": "Unauthorized"})),
        (Flavor::Router, true) => (
            StatusCode::BAD_REQUEST,
            json!({"error": {
                "message": "No connected db.", "type": "no_db_connection", "code": "400",
            }}),
        ),
        (Flavor::Router, false) => (
            StatusCode::UNAUTHORIZED,
            json!({"error": {
                "message": "Authentication Error, No api key passed in.",
                "type": "auth_error", "param": "None", "code": "401",
            }}),
        ),
    };
    (status, Json(body)).into_response()
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

async fn version(Extract(state): Shared) -> Json<Value> {
    Json(json!({"version": state.config.version}))
}

async fn metrics_page(Extract(state): Shared) -> Response {
    let kind = [(
        header::CONTENT_TYPE,
        "text/plain; version=1.0.0; charset=utf-8",
    )];
    (kind, metrics::page(&state)).into_response()
}

async fn models(Extract(state): Shared) -> Json<Value> {
    let created = now();
    let card = |model: &super::Model| match state.config.flavor {
        Flavor::Router => json!({
            "id": model.id, "object": "model", "created": 1_677_610_602, "owned_by": "openai",
            "max_input_tokens": model.max_model_len,
        }),
        Flavor::Vllm => json!({
            "id": model.id, "object": "model", "created": created, "owned_by": "vllm",
            "root": model.root, "parent": null, "max_model_len": model.max_model_len,
            "permission": [{
                "id": format!("modelperm-{}", model.id), "object": "model_permission",
                "created": created, "allow_create_engine": false, "allow_sampling": true,
                "allow_logprobs": true, "allow_search_indices": false, "allow_view": true,
                "allow_fine_tuning": false, "organization": "*", "group": null,
                "is_blocking": false,
            }],
        }),
    };
    let cards: Vec<Value> = state.config.models.iter().map(card).collect();
    Json(json!({"object": "list", "data": cards}))
}

async fn stored_response(axum::extract::Path(id): axum::extract::Path<String>) -> ApiError {
    ApiError::no_response(&id)
}

fn parse(body: &Bytes) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::schema(
            "body",
            &format!(
                "{{'type': 'json_invalid', 'loc': 'body.{}', 'msg': 'JSON decode error', \
                 'input': {{}}, 'ctx': {{'error': '{error}'}}}}",
                error.column()
            ),
        )
    })
}

async fn tokenize(Extract(state): Shared, body: Bytes) -> Result<Json<Value>, ApiError> {
    let body = parse(&body)?;
    let asked = crate::chat::Request::deserialize(&body).unwrap_or_default();
    let model = check::model(&state.config, asked.model.as_deref())?;
    let messages = || prompt::of_chat(&asked.messages, &body["tools"]).len();
    let count = prompt::tokens(body["prompt"].as_str().map_or_else(messages, str::len));
    let tokens: Vec<u64> = (0..count).collect();
    Ok(Json(json!({
        "count": count, "max_model_len": model.max_model_len, "tokens": tokens,
        "token_strs": null,
    })))
}

async fn create_response(
    Extract(state): Shared,
    Extension(arrival): Extension<Arrival>,
    raw: Bytes,
) -> Result<Response, ApiError> {
    let body = parse(&raw)?;
    let request = crate::responses::Request::deserialize(&body).unwrap_or_default();
    let asked = check::responses(&body, &request, &state.config)?;
    let (turn, stamp) = take_turn(&state, &asked, &raw).await;
    if let Some(response) = failure(&turn) {
        return Ok(response);
    }
    let (answer, running) = answer(&state, &turn, &asked, &stamp, arrival).await;
    if asked.delivery != Delivery::Whole {
        let steps = responses::stream(&body, &asked, &answer, &stamp);
        return Ok(streamed(steps, &answer, &state.config, turn, running));
    }
    Ok(whole(
        responses::whole(&body, &asked, &answer, &stamp),
        &answer,
        &turn,
        running,
    )
    .await)
}

async fn create_chat(
    Extract(state): Shared,
    Extension(arrival): Extension<Arrival>,
    raw: Bytes,
) -> Result<Response, ApiError> {
    let body = parse(&raw)?;
    let request = crate::chat::Request::deserialize(&body).unwrap_or_default();
    let asked = check::chat(&body, &request, &state.config)?;
    let (turn, stamp) = take_turn(&state, &asked, &raw).await;
    if let Some(response) = failure(&turn) {
        return Ok(response);
    }
    let (answer, running) = answer(&state, &turn, &asked, &stamp, arrival).await;
    if asked.delivery != Delivery::Whole {
        let steps = chat::stream(&asked, &answer, &state.config, &stamp);
        return Ok(streamed(steps, &answer, &state.config, turn, running));
    }
    Ok(whole(
        chat::whole(&asked, &answer, &state.config, &stamp),
        &answer,
        &turn,
        running,
    )
    .await)
}

/// The turn for a request, after its delay.
async fn take_turn(state: &State, asked: &Asked, raw: &Bytes) -> (Turn, Stamp) {
    let turn = if asked.compaction {
        Turn::text(SUMMARY)
    } else {
        state.next_turn(&String::from_utf8_lossy(raw))
    };
    sleep(Duration::from_millis(turn.delay_ms)).await;
    let stamp = Stamp {
        id: format!("{:030x}", state.next_id()),
        created: now(),
    };
    (turn, stamp)
}

/// The answer, when its prompt was read.
async fn answer(
    state: &Arc<State>,
    turn: &Turn,
    asked: &Asked,
    stamp: &Stamp,
    arrival: Arrival,
) -> (Answer, Running) {
    let start = Instant::from_std(arrival.at);
    let (cached, running) = state.admit(&asked.model.id, &asked.prompt, arrival);
    let answer = Answer::new(turn, asked, &state.config, cached, &stamp.id);
    let uncached = answer.prompt_tokens.saturating_sub(cached);
    sleep_until(steps::ready(
        start,
        uncached,
        turn.prefill_tokens_per_second,
    ))
    .await;
    (answer, running)
}

/// What a fault answers instead of the model.
fn failure(turn: &Turn) -> Option<Response> {
    match turn.fault.as_ref()? {
        Fault::Status { code, body } => {
            let status = StatusCode::from_u16(*code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Some(match body {
                Some(body) => {
                    let kind = [(header::CONTENT_TYPE, "application/json")];
                    (status, kind, body.clone()).into_response()
                }
                None => ApiError::scripted(status).into_response(),
            })
        }
        Fault::Html200 => Some(
            Html("<!doctype html><title>Sign in</title><p>Please sign in.</p>").into_response(),
        ),
        Fault::Cut { .. } | Fault::Stall { .. } | Fault::MalformedArguments => None,
    }
}

fn streamed(
    steps: Vec<Step>,
    answer: &Answer,
    config: &Config,
    turn: Turn,
    running: Running,
) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")];
    let steps = if config.flaw == Some(Flaw::Buffers) {
        steps::held_back(steps)
    } else {
        steps
    };
    let body = steps::play(steps, answer.incomplete, turn, running);
    (kind, Body::from_stream(body)).into_response()
}

async fn whole(body: Value, answer: &Answer, turn: &Turn, mut running: Running) -> Response {
    match turn.fault {
        Some(Fault::Stall { .. }) => std::future::pending().await,
        Some(Fault::Cut { .. }) => {
            let cut = futures_util::stream::once(async {
                Err::<Bytes, _>(std::io::Error::from(std::io::ErrorKind::ConnectionReset))
            });
            return Body::from_stream(cut).into_response();
        }
        _ => {}
    }
    sleep_until(steps::ready(
        Instant::now(),
        answer.output_tokens,
        turn.tokens_per_second,
    ))
    .await;
    running.generated(answer.output_tokens);
    running.succeed(answer.incomplete);
    Json(body).into_response()
}
