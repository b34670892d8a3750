//! Codex's hook protocol: one JSON object on stdin; the answer is the exit status, with the
//! reason on stderr. Exit 2 with a reason is the one form that stops a command whatever else
//! happens; silence allows. Everything else fails open in Codex, so nothing else is ever done.

use std::borrow::Cow;

use serde_json::Value as Json;

/// What Codex asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A shell command.
    Command {
        /// The script that bash gets.
        command: String,
        /// The session's working directory.
        cwd: Option<String>,
    },
    /// A patch for `apply_patch`.
    Patch {
        /// The patch.
        patch: String,
        /// The session's working directory.
        cwd: Option<String>,
    },
    /// A tool that runs no command.
    Tool {
        /// Its name.
        name: String,
        /// Its arguments.
        input: Json,
        /// The session's working directory.
        cwd: Option<String>,
    },
}

impl Request {
    /// The folder of the request.
    #[must_use]
    pub fn cwd(&self) -> Option<&str> {
        match self {
            Self::Command { cwd, .. } | Self::Patch { cwd, .. } | Self::Tool { cwd, .. } => {
                cwd.as_deref()
            }
        }
    }

    /// What is asked for, word for word.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Command { command, .. } => Cow::Borrowed(command),
            Self::Patch { patch, .. } => Cow::Borrowed(patch),
            Self::Tool { name, input, .. } => Cow::Owned(format!("{name} {input}")),
        }
    }

    /// The tool's name.
    #[must_use]
    pub fn tool(&self) -> &str {
        match self {
            Self::Command { .. } => "Bash",
            Self::Patch { .. } => "apply_patch",
            Self::Tool { name, .. } => name,
        }
    }
}

/// Why a request could not be understood. Each one is a denial.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// Stdin could not be read.
    #[error("the request could not be read: {0}")]
    Read(String),
    /// The request is longer than the limit.
    #[error("the request is longer than {} bytes", crate::limits::REQUEST_BYTES)]
    Size,
    /// The request is not JSON.
    #[error("the request is not JSON: {0}")]
    Json(String),
    /// The request has not the shape that Codex 0.163 to 0.171 sends.
    #[error("unknown request: {0}")]
    Shape(&'static str),
}

/// Tools that run a shell command under the names of Codex's present and earlier versions.
const SHELLS: &[&str] = &[
    "Bash",
    "exec_command",
    "shell",
    "shell_command",
    "local_shell",
    "unified_exec",
    "container.exec",
];

/// Reads a request.
///
/// # Errors
/// It is not a request that a supported Codex sends.
pub fn parse(bytes: &[u8]) -> Result<Request, ProtocolError> {
    if bytes.len() as u64 > crate::limits::REQUEST_BYTES {
        return Err(ProtocolError::Size);
    }
    let json: Json =
        serde_json::from_slice(bytes).map_err(|e| ProtocolError::Json(e.to_string()))?;
    let Some(request) = json.as_object() else {
        return Err(ProtocolError::Shape("it is not an object"));
    };
    let Some(tool) = request.get("tool_name").and_then(Json::as_str) else {
        return Err(ProtocolError::Shape("tool_name is missing or not a string"));
    };
    let cwd = match request.get("cwd") {
        None | Some(Json::Null) => None,
        Some(Json::String(cwd)) => Some(cwd.clone()),
        Some(_) => return Err(ProtocolError::Shape("cwd is not a string")),
    };
    let input = request.get("tool_input");
    let command = || {
        let command = input
            .and_then(|input| input.get("command").or_else(|| input.get("cmd")))
            .ok_or(ProtocolError::Shape("tool_input.command is missing"))?;
        match command {
            Json::String(text) => Ok(text.clone()),
            Json::Array(words) => {
                let words: Option<Vec<&str>> = words.iter().map(Json::as_str).collect();
                let words =
                    words.ok_or(ProtocolError::Shape("a word of the command is no string"))?;
                Ok(words
                    .iter()
                    .map(|word| crate::text::quoted(word))
                    .collect::<Vec<_>>()
                    .join(" "))
            }
            _ => Err(ProtocolError::Shape("tool_input.command is not a string")),
        }
    };
    if SHELLS.contains(&tool) {
        return Ok(Request::Command {
            command: command()?,
            cwd,
        });
    }
    match tool {
        "apply_patch" | "Edit" | "Write" => {
            let patch = match input {
                Some(Json::String(patch)) => patch.clone(),
                Some(Json::Object(object)) if object.contains_key("input") => object["input"]
                    .as_str()
                    .ok_or(ProtocolError::Shape("tool_input.input is not a string"))?
                    .to_owned(),
                _ => command()?,
            };
            Ok(Request::Patch { patch, cwd })
        }
        _ => Ok(Request::Tool {
            name: tool.to_owned(),
            input: input.cloned().unwrap_or_default(),
            cwd,
        }),
    }
}
