//! Reading the requests that Codex sent.

use codex_ds_wire::standin::Recorded;
use serde_json::Value;

/// The types of the tools that a request offers, in order.
#[must_use]
pub fn tool_types(request: &Recorded) -> Vec<String> {
    tools(request, "type")
}

/// The names of the tools that a request offers, in order; an MCP server's is its namespace.
#[must_use]
pub fn tool_names(request: &Recorded) -> Vec<String> {
    tools(request, "name")
}

fn tools(request: &Recorded, key: &str) -> Vec<String> {
    let body = request.json();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| text(&tool[key])).collect()
}

/// What the tools answered in the conversation that a request carries, in order.
#[must_use]
pub fn tool_outputs(request: &Recorded) -> Vec<String> {
    let body = request.json();
    let input = body["input"].as_array().cloned().unwrap_or_default();
    input
        .iter()
        .filter(|item| item["type"] == "function_call_output")
        .map(|item| text(&item["output"]))
        .collect()
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
