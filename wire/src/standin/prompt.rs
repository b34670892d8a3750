//! How the stand-in counts: the prompt it would render, its tokens, and its prefix cache.
//!
//! A token is four bytes, rounded up. That is no real tokenizer's count, but it is the same in
//! `/tokenize`, in `usage` and in `/metrics`, so that arithmetic over them can be tested.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::chat;
use crate::responses::{Input, Item, Request, text_of};

/// Tokens in a block of the prefix cache, vLLM's default; only whole blocks are reused.
const BLOCK: u64 = 16;

/// The number of tokens in `bytes` bytes.
pub(super) fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

/// The prompt of a Responses request: what stays the same from turn to turn comes first. A
/// developer message is a turn of the user or of the system.
pub(super) fn of_responses(request: &Request, tools: &Value, developer_as_user: bool) -> String {
    let mut prompt = String::new();
    if let Some(instructions) = &request.instructions {
        message(&mut prompt, "system", instructions);
    }
    offered(&mut prompt, tools);
    match &request.input {
        Input::Text(text) => message(&mut prompt, "user", text),
        Input::Items(items) => {
            let developer = if developer_as_user { "user" } else { "system" };
            for item in items {
                of_item(&mut prompt, item, developer);
            }
        }
    }
    prompt
}

fn of_item(prompt: &mut String, item: &Item, developer: &str) {
    match item {
        Item::Message(said) if said.role == "developer" => message(prompt, developer, &said.text()),
        Item::Message(said) => message(prompt, &said.role, &said.text()),
        Item::Reasoning(thought) => message(prompt, "thought", &thought.text()),
        Item::FunctionCall(call) | Item::CustomToolCall(call) => {
            message(prompt, "call", &format!("{} {}", call.name, call.arguments));
        }
        Item::FunctionCallOutput(output) | Item::CustomToolCallOutput(output) => {
            message(prompt, "tool", &output.text());
        }
        Item::Other(_) => {}
    }
}

/// The prompt of a Chat request.
pub(super) fn of_chat(messages: &[chat::Message], tools: &Value) -> String {
    let mut prompt = String::new();
    offered(&mut prompt, tools);
    for said in messages {
        if let Some(thought) = said.thinking() {
            message(&mut prompt, "thought", thought);
        }
        let text = text_of(&said.content);
        if !text.is_empty() || said.tool_calls.is_empty() {
            message(&mut prompt, &said.role, &text);
        }
        for call in &said.tool_calls {
            let name = call.function.name.as_deref().unwrap_or_default();
            message(
                &mut prompt,
                "call",
                &format!("{name} {}", call.function.arguments),
            );
        }
    }
    prompt
}

fn offered(prompt: &mut String, tools: &Value) {
    if tools.as_array().is_some_and(|tools| !tools.is_empty()) {
        message(prompt, "tools", &tools.to_string());
    }
}

fn message(prompt: &mut String, role: &str, text: &str) {
    prompt.push_str("<|");
    prompt.push_str(role);
    prompt.push_str("|>");
    prompt.push_str(text);
}

/// The blocks seen so far, each known by the hash of everything up to its end, as in vLLM.
#[derive(Debug, Default)]
pub(super) struct PrefixCache {
    seen: HashSet<u64>,
}

impl PrefixCache {
    /// The number of tokens of `prompt` that are cached; from now on, all of it is.
    pub(super) fn lookup(&mut self, prompt: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut hits = 0;
        let mut on_path = true;
        for block in prompt
            .as_bytes()
            .chunks_exact(4 * usize::try_from(BLOCK).unwrap_or(16))
        {
            block.hash(&mut hasher);
            let new = self.seen.insert(hasher.finish());
            on_path &= !new;
            hits += u64::from(on_path);
        }
        // vLLM computes at least one token, so a prompt is never wholly cached.
        let reusable = tokens(prompt.len()).saturating_sub(1) / BLOCK;
        hits.min(reusable) * BLOCK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_prompt_reuses_whole_blocks_of_a_shorter_one() {
        let mut cache = PrefixCache::default();
        let shared = "x".repeat(200);
        assert_eq!(cache.lookup(&shared), 0);
        assert_eq!(cache.lookup(&format!("{shared} and more")), 48);
        assert_eq!(cache.lookup(&format!("y{shared}")), 0);
    }

    #[test]
    fn a_repeated_prompt_still_computes_its_last_block() {
        let mut cache = PrefixCache::default();
        let prompt = "x".repeat(128);
        cache.lookup(&prompt);
        assert_eq!(cache.lookup(&prompt), 16);
    }
}
