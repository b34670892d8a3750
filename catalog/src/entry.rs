//! One catalog entry, and the file's text.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::families::{Family, family};
use crate::window::{Window, WindowError, window};

/// A base prompt for a profile that has an instructions file: Codex wants the field, and the file
/// (`model_instructions_file`) takes its place in every request.
pub const INSTRUCTIONS: &str = "You are a coding agent.";

/// What `/v1/models` says of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The name that requests use; it becomes the entry's slug.
    pub id: String,
    /// The longest prompt and answer together, in tokens; vLLM says it, LiteLLM does not.
    pub max_model_len: Option<u64>,
}

/// How Codex's requests reach the model. It only changes what people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Through a router that turns them into chat completions.
    Bridge,
    /// Through a router, to the engine's own Responses API.
    Native,
    /// To the engine, with no router between.
    Direct,
}

impl Route {
    /// What stands behind the name, and the description of the way.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Route::Bridge => (" (bridge)", "self-hosted, through the router's chat bridge"),
            Route::Native => (
                " (native)",
                "self-hosted, through the engine's own Responses API",
            ),
            Route::Direct => ("", "self-hosted, with no router between"),
        }
    }
}

/// One entry to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The model.
    pub served: Served,
    /// The context window that the user asked for, in tokens.
    pub context: Option<u64>,
    /// The way to it.
    pub route: Route,
}

/// Why there is no catalog.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// Codex refuses a catalog without a model.
    #[error("the catalog would be empty: give at least one served model")]
    NoModel,
    /// A model without a name.
    #[error("a served model has an empty id")]
    EmptyId,
    /// Codex refuses an entry without a prompt.
    #[error("the base instructions are empty")]
    NoInstructions,
    /// A model's window cannot be.
    #[error("model `{id}`")]
    Window {
        /// The model.
        id: String,
        /// What is wrong with its window.
        source: WindowError,
    },
}

/// The least that Codex 0.163 and 0.171 load, and the fields whose defaults would change the
/// request: [`crate::fields::FIELDS`] says what each is for.
fn entry(
    request: &Request,
    row: &Family,
    window: Window,
    instructions: &str,
    priority: usize,
) -> Value {
    let (suffix, description) = request.route.words();
    let id = &request.served.id;
    let name = if row.name.is_empty() {
        id.as_str()
    } else {
        row.name
    };
    let levels: Vec<_> = row
        .levels
        .iter()
        .map(|level| json!({ "effort": level.effort, "description": level.description }))
        .collect();
    json!({
        "slug": id,
        "display_name": format!("{name}{suffix}"),
        "description": description,
        "supported_reasoning_levels": levels,
        "default_reasoning_level": row.default_level,
        "default_reasoning_summary": "none",
        "shell_type": "unified_exec",
        "visibility": "list",
        "supported_in_api": true,
        "priority": priority,
        "support_verbosity": false,
        "truncation_policy": { "mode": "tokens", "limit": window.tool_output },
        "experimental_supported_tools": [],
        "base_instructions": instructions,
        "apply_patch_tool_type": null,
        "context_window": window.context,
        "auto_compact_token_limit": window.compact_at,
        "input_modalities": row.input_modalities,
        "supports_search_tool": false,
        "use_responses_lite": false,
        "include_skills_usage_instructions": false,
        "include_plugin_usage_instructions": false,
        "include_apps_usage_instructions": false,
        "multi_agent_version": "disabled",
        "tool_mode": "direct",
    })
}

/// The text of `model-catalog.json` for these models, in their order, with a newline at the end.
///
/// `instructions` is each entry's base prompt: [`INSTRUCTIONS`] where the profile has an
/// instructions file. Of two requests with one id the first counts, because Codex takes a slug once.
///
/// # Errors
/// No model, a model without an id, empty instructions, or a window that cannot be.
pub fn render(entries: &[Request], instructions: &str) -> Result<String, CatalogError> {
    if entries.is_empty() {
        return Err(CatalogError::NoModel);
    }
    if instructions.trim().is_empty() {
        return Err(CatalogError::NoInstructions);
    }
    let mut seen = HashSet::new();
    let mut models = Vec::new();
    for request in entries {
        let Served { id, max_model_len } = &request.served;
        if id.trim().is_empty() {
            return Err(CatalogError::EmptyId);
        }
        if !seen.insert(id.as_str()) {
            continue;
        }
        let window =
            window(*max_model_len, request.context).map_err(|source| CatalogError::Window {
                id: id.clone(),
                source,
            })?;
        models.push(entry(
            request,
            family(id),
            window,
            instructions,
            models.len() + 1,
        ));
    }
    // `{:#}` is indented JSON; keys keep the order they were given.
    Ok(format!("{:#}\n", json!({ "models": models })))
}
