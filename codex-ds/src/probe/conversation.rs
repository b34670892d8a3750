//! Tool calls, their replay in the next turn, and where the instructions land.

use std::time::Duration;

use serde_json::{Value, json};

use super::stream::{Answer, Ask, ask, few_tokens, message};
use super::{Failure, Target, reasoning};

/// The tool that the model is told to call.
pub const TOOL: &str = "lookup_number";
/// The namespace in which an MCP server's tools stand.
pub const NAMESPACE: &str = "mcp__probe";
/// What the model is told to look up.
pub const NAME: &str = "Oslo";
/// What the tool answers.
pub const NUMBER: &str = "4711";

/// The longest answer of a turn, tokens: thinking, and one call.
const TOKENS: u64 = 600;

/// Two turns: the model is told to call a tool, then given its answer.
#[derive(Clone, Debug)]
pub struct RoundTrip {
    /// The first turn.
    pub first: Answer,
    /// The second, where the first had a call.
    pub second: Option<Result<Answer, Failure>>,
}

/// What the first turn came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Called {
    /// The tool was called.
    Yes(Call),
    /// The call stands in the text, in the model's own markup.
    Markup(String),
    /// The model said something else.
    No(String),
    /// The model came to no end within the longest answer asked for.
    TooLong,
}

/// A call as Codex gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The namespace.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// The arguments of the complete call.
    pub arguments: String,
    /// The arguments as they were streamed; nothing where they were not.
    pub streamed: String,
}

impl Call {
    /// Whether the arguments are those that the model was told.
    #[must_use]
    pub fn is_as_told(&self) -> bool {
        serde_json::from_str::<Value>(&self.arguments)
            .is_ok_and(|arguments| arguments["name"] == NAME)
    }
}

/// How calls look where no parser took them out of the text: DeepSeek's, Hermes', Mistral's, Qwen's.
const MARKUP: &[&str] = &[
    "｜DSML｜",
    "|DSML|",
    "tool▁call",
    "<tool_call",
    "<|tool_call",
    "[TOOL_CALLS]",
    "<function=",
];

impl RoundTrip {
    /// What the first turn came to.
    #[must_use]
    pub fn called(&self) -> Called {
        if let Some(item) = self.first.call() {
            let text = |key: &str| item[key].as_str().map(str::to_owned);
            return Called::Yes(Call {
                namespace: text("namespace"),
                name: text("name").unwrap_or_default(),
                arguments: text("arguments").unwrap_or_default(),
                streamed: self.first.deltas.first().cloned().unwrap_or_default(),
            });
        }
        let said = &self.first.reply.text;
        if MARKUP.iter().any(|mark| said.contains(mark)) {
            Called::Markup(super::excerpt(said))
        } else if self.first.is_cut {
            Called::TooLong
        } else {
            Called::No(super::excerpt(said))
        }
    }

    /// Whether the thinking came as text, with the mark that ends it.
    #[must_use]
    pub fn thinks_aloud(&self) -> bool {
        self.first.reply.text.contains("</think>")
    }
}

/// Has the model call a tool, alone or in a namespace, and gives it the answer: as Codex does, with
/// its thinking and its call sent back.
///
/// # Errors
/// When the first turn fails.
pub async fn round_trip(
    target: &Target,
    in_namespace: bool,
    limit: Duration,
) -> Result<RoundTrip, Failure> {
    let function = json!({
        "type": "function",
        "name": TOOL,
        "description": "Looks up the number of a name.",
        "strict": false,
        "parameters": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    });
    let tools = if in_namespace {
        json!([{
            "type": "namespace",
            "name": NAMESPACE,
            "description": "Tools in the mcp__probe namespace.",
            "tools": [function],
        }])
    } else {
        json!([function])
    };
    let task = format!(
        "Call the tool {TOOL} once, with the name \"{NAME}\". Then answer with the number that it \
         gives, and nothing else."
    );
    let mut input = vec![
        message("developer", "You are a test of the connection. Be brief."),
        message("user", &task),
    ];
    let turn = |input: &[Value]| {
        let asked = Ask::new(&json!(input), TOKENS, limit).tools(tools.clone());
        match reasoning::light(&target.model) {
            Some(effort) => asked.effort(effort),
            None => asked,
        }
    };
    let first = ask(target, turn(&input)).await?;
    let call_id = first.call().map(|call| call["call_id"].clone());
    let second = match call_id {
        None => None,
        Some(call_id) => {
            input.extend(first.items.iter().filter_map(sent_back));
            input.push(json!({
                "type": "function_call_output", "call_id": call_id, "output": NUMBER,
            }));
            Some(ask(target, turn(&input)).await)
        }
    };
    Ok(RoundTrip { first, second })
}

/// An item as Codex sends it in the next turn: the fields that it knows.
fn sent_back(item: &Value) -> Option<Value> {
    let keys: &[&str] = match item["type"].as_str()? {
        "reasoning" => &["type", "id", "summary", "content", "encrypted_content"],
        "function_call" => &["type", "name", "namespace", "arguments", "call_id"],
        "message" => &["type", "role", "content"],
        _ => return None,
    };
    let kept = keys.iter().filter_map(|key| {
        let value = item.get(*key)?;
        // Codex leaves an absent namespace out, and sends an absent seal as null.
        (!value.is_null() || *key == "encrypted_content")
            .then(|| ((*key).to_owned(), value.clone()))
    });
    Some(Value::Object(kept.collect()))
}

/// Where developer messages land, in the tokens of three prompts that differ in the role alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// As `developer`.
    pub developer: u64,
    /// As `system`.
    pub system: u64,
    /// As `user`.
    pub user: u64,
}

/// Where the instructions land.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// In the system slot.
    System,
    /// In turns of the user.
    User,
    /// The counts do not tell.
    Unknown,
}

impl Slots {
    /// What the counts tell.
    #[must_use]
    pub fn slot(self) -> Slot {
        if self.developer == 0 || self.system == 0 {
            Slot::Unknown
        } else if self.developer != self.system {
            Slot::User
        } else if self.user == self.system {
            Slot::Unknown
        } else {
            Slot::System
        }
    }
}

const INSTRUCTIONS: &str = "You are a test of the connection.";
const PERMISSIONS: &str = "Be brief.";

/// Sends two developer messages before the user's, as Codex does with its instructions and its
/// permissions.
///
/// # Errors
/// When they are not accepted.
pub async fn developer(target: &Target, limit: Duration) -> Result<(), Failure> {
    let input = json!([
        message("developer", INSTRUCTIONS),
        message("developer", PERMISSIONS),
        message("user", "Say yes."),
    ]);
    few_tokens(target, &input, limit).await.map(|_| ())
}

/// Counts the same prompt with its first messages in each role. An answer stands between them and
/// the user's, since DeepSeek's template joins turns of the user, and tells no role then.
///
/// # Errors
/// When one of them is not accepted: then there is nothing to compare.
pub async fn slots(target: &Target, limit: Duration) -> Result<Slots, Failure> {
    let count = |role: &'static str| async move {
        let input = json!([
            message(role, INSTRUCTIONS),
            message(role, PERMISSIONS),
            {"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": "Yes."}]},
            message("user", "Say yes."),
        ]);
        let answer = few_tokens(target, &input, limit).await?;
        Ok::<_, Failure>(answer.reply.usage.unwrap_or_default().input_tokens)
    };
    let (developer, system, user) =
        tokio::try_join!(count("developer"), count("system"), count("user"))?;
    Ok(Slots {
        developer,
        system,
        user,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_is_told_by_the_counts() {
        let slot = |developer, system, user| {
            Slots {
                developer,
                system,
                user,
            }
            .slot()
        };
        // Measured on vLLM 0.32.0 with DeepSeek V4's tokenizer, through LiteLLM's bridge and past it.
        assert_eq!(slot(23, 23, 24), Slot::System);
        assert_eq!(slot(25, 23, 24), Slot::User);
        assert_eq!(slot(20, 20, 20), Slot::Unknown);
        assert_eq!(slot(0, 0, 1), Slot::Unknown);
    }

    #[test]
    fn items_go_back_as_codex_sends_them() {
        let item = json!({
            "type": "function_call", "id": "fc_1", "name": "f", "namespace": null,
            "arguments": "{}", "call_id": "c", "status": "completed", "async": null,
        });
        assert_eq!(
            sent_back(&item),
            Some(json!({
                "type": "function_call", "name": "f", "arguments": "{}", "call_id": "c",
            }))
        );
        assert_eq!(sent_back(&json!({"type": "web_search_call"})), None);
    }
}
