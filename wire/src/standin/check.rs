//! What vLLM 0.32.0 refuses, in the order in which it looks.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::config::{Config, Model};
use super::error::ApiError;
use super::flaw::{self, Flaw};
use super::prompt;
use crate::chat;
use crate::responses::{Input, Item, Request, Tool};

/// How Codex starts the request by which it shortens a long conversation.
const COMPACTION: &str = "You are performing a CONTEXT CHECKPOINT COMPACTION";

/// Tool types that the schema of `/v1/responses` knows.
const TOOL_TYPES: [&str; 18] = [
    "apply_patch",
    "code_interpreter",
    "computer",
    "computer_use_preview",
    "custom",
    "file_search",
    "function",
    "image_generation",
    "local_shell",
    "mcp",
    "namespace",
    "programmatic_tool_calling",
    "shell",
    "tool_search",
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
];

const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const TIERS: [&str; 5] = ["auto", "default", "flex", "scale", "priority"];

/// A request that was accepted, in the terms that both APIs share.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// The served model.
    pub model: Model,
    /// What the model would see.
    pub prompt: String,
    /// The offered functions by the flat name that the model sees.
    pub functions: HashMap<String, FunctionName>,
    /// Whether tool calls are parsed out of the model's markup.
    pub parse_calls: bool,
    /// Whether the model thinks.
    pub thinking: bool,
    /// How the answer is sent.
    pub delivery: Delivery,
    /// The longest answer, in tokens.
    pub max_output: Option<u64>,
    /// Whether this is Codex's request for a summary.
    pub compaction: bool,
}

/// How an answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// As one JSON body.
    Whole,
    /// As a stream; on chat without the usage.
    Stream,
    /// As a stream that tells the usage.
    StreamWithUsage,
}

/// A function's name as the client knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FunctionName {
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// The flat name by which the model knows a function in a namespace.
pub(super) fn flat_name(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(
        || name.to_owned(),
        |namespace| format!("{namespace}__{name}"),
    )
}

fn literal(value: &Value, field: &'static str, allowed: &[&str]) -> Result<(), ApiError> {
    let Some(value) = value.as_str().filter(|value| !allowed.contains(value)) else {
        return Ok(());
    };
    let quoted: Vec<String> = allowed.iter().map(|value| format!("'{value}'")).collect();
    let (last, others) = quoted
        .split_last()
        .expect("each list of allowed values has some");
    let expected = format!("{} or {last}", others.join(", "));
    Err(ApiError::schema(
        field,
        &format!(
            "{{'type': 'literal_error', 'loc': '{field}', 'msg': \"Input should be {expected}\", \
             'input': '{value}', 'ctx': {{'expected': \"{expected}\"}}}}"
        ),
    ))
}

fn missing(field: &'static str) -> ApiError {
    ApiError::schema(
        field,
        &format!("{{'type': 'missing', 'loc': '{field}', 'msg': 'Field required'}}"),
    )
}

pub(super) fn model(config: &Config, name: Option<&str>) -> Result<Model, ApiError> {
    let served = &config.models;
    let found = match name.filter(|name| !name.is_empty()) {
        None => served.first(),
        Some(name) => served.iter().find(|model| model.id == name),
    };
    found.cloned().ok_or_else(|| {
        let aliases: Vec<&str> = served.iter().map(|model| model.id.as_str()).collect();
        ApiError::no_model(name.unwrap_or_default(), &aliases.join(", "))
    })
}

fn fits(model: &Model, prompt: &str, cut_allowed: bool) -> Result<(), ApiError> {
    let limit = model.max_model_len;
    if cut_allowed || prompt::tokens(prompt.len()) <= limit {
        return Ok(());
    }
    let floor = limit + 1;
    Err(ApiError::bad_value(
        "input_tokens",
        &format!(
            "This model's maximum context length is {limit} tokens. However, your prompt contains \
             at least {floor} input tokens, which exceeds this limit even without any output \
             tokens. Please reduce the length of the input prompt."
        ),
        Some(floor),
    ))
}

fn max_output(
    model: &Model,
    field: &'static str,
    wanted: Option<u64>,
) -> Result<Option<u64>, ApiError> {
    let limit = model.max_model_len;
    match wanted {
        Some(wanted) if wanted > limit => Err(ApiError::bad_value(
            field,
            &format!(
                "{field}={wanted} cannot be greater than max_model_len={limit}. Please request \
                 fewer output tokens."
            ),
            Some(wanted),
        )),
        _ => Ok(wanted),
    }
}

/// Checks the body of `POST /v1/responses`.
pub(super) fn responses(
    body: &Value,
    request: &Request,
    config: &Config,
) -> Result<Asked, ApiError> {
    if body.get("input").is_none_or(Value::is_null) {
        return Err(missing("body.input"));
    }
    flaw::refuse(config.flaw, body)?;
    literal(
        &body["reasoning"]["effort"],
        "body.reasoning.effort",
        &EFFORTS,
    )?;
    literal(&body["service_tier"], "body.service_tier", &TIERS)?;
    let background = body["background"] == true;
    if background && body["store"] == false {
        return Err(ApiError::bad(
            "background",
            "background can only be used when `store` is true",
        ));
    }
    let mut functions = tools_of_responses(request)?;
    if config.flaw == Some(Flaw::NamespaceDropped) {
        functions.retain(|_, known| known.namespace.is_none());
    }
    if request.tools.is_empty() && request.tool_choice == "required" {
        return Err(ApiError::bad(
            "tool_choice",
            "Tool choice 'required' must be specified with 'tools' parameter.",
        ));
    }
    let model = model(config, request.model.as_deref())?;
    if background {
        return Err(ApiError::unsupported(
            "background",
            "This vLLM engine does not support `store=True` and therefore does not support the \
             background mode. To enable these features, set the environment variable \
             `VLLM_ENABLE_RESPONSES_API_STORE=1` when launching the vLLM server.",
        ));
    }
    if let Some(id) = body["previous_response_id"].as_str() {
        return Err(ApiError::no_response(id));
    }
    if let Input::Items(items) = &request.input {
        items.iter().try_for_each(|item| input_item(item, &model))?;
    }
    let max_output = max_output(&model, "max_output_tokens", request.max_output_tokens)?;
    // Only functions reach the prompt: web_search, tool_search and their like are dropped.
    let shown: Vec<&Value> = body["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|tool| {
            matches!(
                tool["type"].as_str(),
                Some("function" | "namespace" | "custom")
            )
        })
        .collect();
    let prompt = prompt::of_responses(request, &json!(shown), config.developer_as_user());
    fits(
        &model,
        &prompt,
        request.truncation.as_deref() == Some("auto") || config.flaw == Some(Flaw::Truncates),
    )?;
    let thinks_always = config.flaw == Some(Flaw::ThinksAlways);
    Ok(Asked {
        compaction: request.tools.is_empty() && last_user_text(request).starts_with(COMPACTION),
        parse_calls: config.tool_parser
            && !request.tools.is_empty()
            && request.tool_choice != "none",
        thinking: thinks_always || request.reasoning.effort.as_deref() != Some("none"),
        delivery: if request.stream {
            Delivery::StreamWithUsage
        } else {
            Delivery::Whole
        },
        model,
        prompt,
        functions,
        max_output,
    })
}

fn tools_of_responses(request: &Request) -> Result<HashMap<String, FunctionName>, ApiError> {
    let mut functions = HashMap::new();
    for (index, tool) in request.tools.iter().enumerate() {
        match tool {
            Tool::Function(function) => {
                let name = FunctionName {
                    namespace: None,
                    name: function.name.clone(),
                };
                functions.insert(function.name.clone(), name);
            }
            Tool::Namespace(namespace) => {
                for tool in &namespace.tools {
                    let Tool::Function(function) = tool else {
                        continue;
                    };
                    let flat = flat_name(Some(&namespace.name), &function.name);
                    functions.insert(
                        flat,
                        FunctionName {
                            namespace: Some(namespace.name.clone()),
                            name: function.name.clone(),
                        },
                    );
                }
            }
            Tool::Other(tool) => {
                let kind = tool["type"].as_str().unwrap_or_default();
                if kind == "custom" && tool["format"]["type"] == "grammar" {
                    return Err(ApiError::bad(
                        "tools",
                        "Custom tools with a grammar format are not supported; only free-form \
                         text custom tools are accepted.",
                    ));
                }
                if !TOOL_TYPES.contains(&kind) {
                    return Err(ApiError::tool_type(index, kind));
                }
            }
        }
    }
    Ok(functions)
}

fn input_item(item: &Item, model: &Model) -> Result<(), ApiError> {
    match item {
        Item::Reasoning(thought) if thought.encrypted_content.is_some() => Err(ApiError::bad(
            "input",
            "Encrypted content is not supported.",
        )),
        Item::Message(message) => {
            let image = |part: &Value| part["type"] == "input_image";
            if message
                .content
                .as_array()
                .is_some_and(|parts| parts.iter().any(image))
            {
                return Err(ApiError::refused(format!(
                    "{} is not a multimodal model",
                    model.id
                )));
            }
            Ok(())
        }
        Item::Other(_) => Err(ApiError::bad(
            "input",
            &format!("Unsupported input item type: {}", item.kind()),
        )),
        _ => Ok(()),
    }
}

fn last_user_text(request: &Request) -> String {
    match &request.input {
        Input::Text(text) => text.clone(),
        Input::Items(items) => items
            .iter()
            .rev()
            .find_map(|item| match item {
                Item::Message(message) if message.role == "user" => Some(message.text()),
                _ => None,
            })
            .unwrap_or_default(),
    }
}

/// Checks the body of `POST /v1/chat/completions`.
pub(super) fn chat(
    body: &Value,
    request: &chat::Request,
    config: &Config,
) -> Result<Asked, ApiError> {
    if !body["messages"].is_array() {
        return Err(missing("body.messages"));
    }
    flaw::refuse(config.flaw, body)?;
    literal(&body["reasoning_effort"], "body.reasoning_effort", &EFFORTS)?;
    let mut functions = HashMap::new();
    for (index, tool) in request.tools.iter().enumerate() {
        let kind = tool["type"].as_str().unwrap_or("function");
        if kind != "function" {
            return Err(ApiError::schema(
                "body.tools",
                &format!(
                    "{{'type': 'literal_error', 'loc': 'body.tools.{index}.type', 'msg': \
                     \"Input should be 'function'\", 'input': '{kind}', 'ctx': {{'expected': \
                     \"'function'\"}}}}"
                ),
            ));
        }
        let name = tool["function"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        functions.insert(
            name.clone(),
            FunctionName {
                namespace: None,
                name,
            },
        );
    }
    let model = model(config, request.model.as_deref())?;
    let choice = request.tool_choice.as_str().unwrap_or("auto");
    if !request.tools.is_empty() && !config.tool_parser {
        match choice {
            "none" => {}
            "required" => {
                return Err(ApiError::refused(
                    "tool_choice=\"required\" requires --tool-call-parser to be set",
                ));
            }
            _ => {
                return Err(ApiError::refused(
                    "\"auto\" tool choice requires --enable-auto-tool-choice and \
                     --tool-call-parser to be set",
                ));
            }
        }
    }
    let (field, wanted) = match request.max_completion_tokens {
        Some(wanted) => ("max_completion_tokens", Some(wanted)),
        None => ("max_tokens", request.max_tokens),
    };
    let max_output = max_output(&model, field, wanted)?;
    let prompt = prompt::of_chat(&request.messages, &body["tools"]);
    fits(&model, &prompt, config.flaw == Some(Flaw::Truncates))?;
    let switched_off = ["thinking", "enable_thinking"]
        .iter()
        .any(|switch| request.chat_template_kwargs.get(*switch) == Some(&Value::Bool(false)));
    let last_user = request
        .messages
        .iter()
        .rev()
        .find(|message| message.role == "user");
    Ok(Asked {
        compaction: request.tools.is_empty()
            && last_user.is_some_and(|message| message.text().starts_with(COMPACTION)),
        parse_calls: config.tool_parser && !request.tools.is_empty() && choice != "none",
        thinking: config.flaw == Some(Flaw::ThinksAlways)
            || (!switched_off && request.reasoning_effort.as_deref() != Some("none")),
        delivery: match (request.stream, request.stream_options.include_usage) {
            (false, _) => Delivery::Whole,
            (true, false) => Delivery::Stream,
            (true, true) => Delivery::StreamWithUsage,
        },
        model,
        prompt,
        functions,
        max_output,
    })
}
