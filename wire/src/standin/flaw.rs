//! What a server gets wrong in every answer, each as users have met it.

use axum::http::StatusCode;
use serde_json::Value;

use super::error::ApiError;

/// One thing that the server gets wrong, whatever the turn. [`Fault`](super::Fault) is what goes
/// wrong in one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// There is no `/v1/responses`, as before the Responses API.
    ResponsesMissing,
    /// The engine has died behind an API that lives on.
    EngineDead,
    /// The tools of a namespace do not reach the model, and nothing says so (llama.cpp; LiteLLM
    /// before BerriAI/litellm#32536).
    NamespaceDropped,
    /// A tool in a namespace is refused, as by the harmony models (vllm-project/vllm#49493).
    NamespaceRefused,
    /// A call of `say` in `mcp__echo` comes back as `mcp__echo__say` (vllm-project/vllm#46737).
    NamespaceFlat,
    /// The same call comes back as `mcp__echo.say` (openai/codex#23186).
    NamespaceDotted,
    /// A call's arguments are `{}` where it is complete, whatever was streamed before
    /// (BerriAI/litellm#27144).
    ArgumentsLost,
    /// Developer messages are rendered as user turns, as vLLM does on Responses; a router's bridge
    /// puts them into the system slot.
    DeveloperAsUser,
    /// The chat template knows no developer role (vllm-project/vllm#42407).
    DeveloperRefused,
    /// The chat template takes one system message, the first (vllm-project/vllm#42475).
    SystemOnce,
    /// A conversation with tool calls in it is refused (openai/codex#8829).
    HistoryRefused,
    /// The model thinks although it was told not to.
    ThinksAlways,
    /// One reasoning level is refused (ollama/ollama#17331).
    EffortRefused(&'static str),
    /// A proxy in between holds the events back until the answer is complete.
    Buffers,
    /// A proxy in between takes no body of more than a megabyte, nginx's default.
    SmallBodies,
    /// A prompt that is too long is cut, and answered as if nothing were missing.
    Truncates,
}

/// The most bytes of a body that [`Flaw::SmallBodies`] lets through.
pub(super) const SMALL_BODY: usize = 1 << 20;

/// Whether the flaw takes a path away, and what is answered there.
pub(super) fn shut(flaw: Option<Flaw>, path: &str) -> Option<ApiError> {
    let status = match (flaw, path) {
        (Some(Flaw::ResponsesMissing), "/v1/responses") => StatusCode::NOT_FOUND,
        (Some(Flaw::EngineDead), "/health" | "/health/readiness") => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => return None,
    };
    Some(ApiError::http(status))
}

/// Why a body is refused for the flaw alone, in the words of the servers that have it.
pub(super) fn refuse(flaw: Option<Flaw>, body: &Value) -> Result<(), ApiError> {
    let list = |field: &str| body[field].as_array().map_or(&[][..], Vec::as_slice);
    let messages = [list("input"), list("messages")].concat();
    let of_role = |role: &str| messages.iter().filter(|item| item["role"] == role).count();
    let error = match flaw {
        Some(Flaw::NamespaceRefused)
            if list("tools").iter().any(|tool| tool["type"] == "namespace") =>
        {
            ApiError::refused("tool type namespace not supported")
        }
        Some(Flaw::DeveloperRefused) if of_role("developer") > 0 => {
            ApiError::refused("Unexpected message role.")
        }
        Some(Flaw::SystemOnce) if of_role("developer") + of_role("system") > 1 => {
            ApiError::refused("System message must be at the beginning.")
        }
        Some(Flaw::HistoryRefused)
            if messages
                .iter()
                .any(|item| item["type"] == "function_call_output" || item["role"] == "tool") =>
        {
            ApiError::schema(
                "body.input",
                "{'type': 'string_type', 'loc': 'body.input.str', 'msg': 'Input should be a valid \
                 string'}",
            )
        }
        Some(Flaw::EffortRefused(effort))
            if body["reasoning"]["effort"] == effort || body["reasoning_effort"] == effort =>
        {
            ApiError::refused(format!("invalid reasoning value: \"{effort}\""))
        }
        _ => return Ok(()),
    };
    Err(error)
}
