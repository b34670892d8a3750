//! Which levels of reasoning are accepted, and what they do.

use std::time::Duration;

use codex_ds_catalog as catalog;
use serde_json::json;

use super::stream::{Ask, FEW_TOKENS, ask, message};
use super::{Failure, Target};

/// The level with which a model of this name thinks least, if its family is known.
#[must_use]
pub fn lightest(model: &str) -> Option<&'static str> {
    catalog::family(model).lightest().map(|level| level.effort)
}

/// The lightest level with which it does think.
#[must_use]
pub fn light(model: &str) -> Option<&'static str> {
    let levels = catalog::family(model).levels;
    levels
        .iter()
        .map(|level| level.effort)
        .find(|effort| *effort != "none")
}

/// What a level did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thought {
    /// Tokens of thinking, as the server counts them.
    pub tokens: u64,
    /// Bytes of thinking that came.
    pub bytes: usize,
    /// Whether the text holds the mark that ends thinking: it was cut out nowhere.
    pub aloud: bool,
}

impl Thought {
    /// Whether the model thought at all.
    #[must_use]
    pub fn is_some(self) -> bool {
        self.tokens > 0 || self.bytes > 0 || self.aloud
    }
}

/// Asks for a few tokens with a level.
///
/// # Errors
/// When the level is refused, or no answer comes.
pub async fn level(target: &Target, effort: &str, limit: Duration) -> Result<Thought, Failure> {
    let input = json!([message("user", "Say yes.")]);
    let asked = Ask::new(&input, FEW_TOKENS, limit).effort(effort);
    let answer = ask(target, asked).await?;
    let usage = answer.reply.usage.unwrap_or_default();
    Ok(Thought {
        tokens: usage.output_tokens_details.reasoning_tokens,
        bytes: answer.reply.reasoning_bytes,
        aloud: answer.reply.text.contains("</think>"),
    })
}
