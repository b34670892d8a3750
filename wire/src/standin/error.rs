//! vLLM's error bodies, word for word (vLLM 0.32.0).

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// An error answer: `{"error": {"message", "type", "param", "code"}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    status: StatusCode,
    message: String,
    kind: &'static str,
    param: Option<&'static str>,
}

impl ApiError {
    fn new(
        status: StatusCode,
        kind: &'static str,
        param: Option<&'static str>,
        message: String,
    ) -> Self {
        Self {
            status,
            message,
            kind,
            param,
        }
    }

    /// A value that vLLM itself finds wrong. It adds the parameter to the message.
    pub(super) fn bad(param: &'static str, message: &str) -> Self {
        Self::bad_value(param, message, None)
    }

    /// As [`ApiError::bad`], with the offending number.
    pub(super) fn bad_value(param: &'static str, message: &str, value: Option<u64>) -> Self {
        let value = value
            .map(|value| format!(", value={value}"))
            .unwrap_or_default();
        let message = format!("{message} (parameter={param}{value})");
        Self::new(
            StatusCode::BAD_REQUEST,
            "BadRequestError",
            Some(param),
            message,
        )
    }

    /// A refusal that names no parameter.
    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "BadRequestError",
            None,
            message.into(),
        )
    }

    /// A refusal in OpenAI's terms, which vLLM uses for features of the Responses API.
    pub(super) fn unsupported(param: &'static str, message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "invalid_request_error",
            Some(param),
            message.into(),
        )
    }

    /// A stored response that is not there.
    pub(super) fn no_response(id: &str) -> Self {
        let message = format!("Response with id '{id}' not found.");
        Self::new(
            StatusCode::NOT_FOUND,
            "invalid_request_error",
            Some("response_id"),
            message,
        )
    }

    /// A field that the schema refuses; `detail` is one of its validation errors.
    pub(super) fn schema(param: &'static str, detail: &str) -> Self {
        let message = format!("1 validation error:\n  {detail}");
        Self::new(StatusCode::BAD_REQUEST, "Bad Request", Some(param), message)
    }

    /// A tool of a type that the schema does not know. The schema tries each tool type in turn,
    /// so there are many errors for one tool.
    pub(super) fn tool_type(index: usize, kind: &str) -> Self {
        let message = format!(
            "27 validation errors:\n  {{'type': 'literal_error', 'loc': 'body.tools.{index}.FunctionTool.type', \
             'msg': \"Input should be 'function'\", 'input': '{kind}', \
             'ctx': {{'expected': \"'function'\"}}}}\n  ...and 26 more errors"
        );
        Self::new(
            StatusCode::BAD_REQUEST,
            "Bad Request",
            Some("body.tools"),
            message,
        )
    }

    /// A model that is not served.
    pub(super) fn no_model(model: &str, served: &str) -> Self {
        let message = format!("The model `{model}` does not exist. Valid aliases: {served}.");
        Self::new(
            StatusCode::NOT_FOUND,
            "NotFoundError",
            Some("model"),
            message,
        )
    }

    /// A path or method that does not exist.
    pub(super) fn http(status: StatusCode) -> Self {
        let phrase = status.canonical_reason().unwrap_or("Error");
        Self::new(status, phrase, None, phrase.to_owned())
    }

    /// The body of a scripted status.
    pub(super) fn scripted(status: StatusCode) -> Self {
        let kind = match status.as_u16() {
            400..500 => "BadRequestError",
            503 => "ServiceUnavailableError",
            _ => "InternalServerError",
        };
        let phrase = status.canonical_reason().unwrap_or("Error");
        Self::new(status, kind, None, phrase.to_owned())
    }

    /// The body.
    pub(super) fn body(&self) -> Value {
        json!({"error": {
            "message": self.message,
            "type": self.kind,
            "param": self.param,
            "code": self.status.as_u16(),
        }})
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, axum::Json(self.body())).into_response()
    }
}
