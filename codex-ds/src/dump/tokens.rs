//! Exact token counts, from the server that has the tokenizer.

use std::collections::HashMap;
use std::time::Duration;

use codex_ds_wire::breakdown::{Breakdown, Part};
use reqwest::{Client, Url};
use serde::Deserialize;
use serde_json::json;

/// How long all counts of a report may take together.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of a token, where nobody counts: about what English and code come to.
pub(super) const BYTES_PER_TOKEN: u64 = 4;

/// Counts the tokens of texts with vLLM's `POST /tokenize`, which is not part of OpenAI's API.
#[derive(Debug)]
pub(super) struct Counter {
    client: Client,
    url: Url,
    model: String,
    known: HashMap<String, u64>,
}

#[derive(Deserialize)]
struct Answer {
    count: u64,
}

impl Counter {
    /// For the server at `root`, and one of its models.
    pub(super) fn new(client: Client, root: &Url, model: &str) -> Self {
        let mut url = root.clone();
        url.set_path(&format!("{}/tokenize", root.path().trim_end_matches('/')));
        Self {
            client,
            url,
            model: model.to_owned(),
            known: HashMap::new(),
        }
    }

    /// The tokens of each part that the model is given, in the order of the parts, 0 for the
    /// others; nothing when the server does not count.
    pub(super) async fn count(&mut self, breakdown: &Breakdown, body: &str) -> Option<Vec<u64>> {
        let all = async {
            let mut counts = Vec::new();
            for part in &breakdown.parts {
                counts.push(self.part(part, body).await?);
            }
            Some(counts)
        };
        tokio::time::timeout(PATIENCE, all).await.ok().flatten()
    }

    async fn part(&mut self, part: &Part, body: &str) -> Option<u64> {
        if !part.section.is_prompt() {
            return Some(0);
        }
        let text = part.text(body);
        if let Some(count) = self.known.get(&text) {
            return Some(*count);
        }
        let asked = json!({"model": self.model, "prompt": text, "add_special_tokens": false});
        let answer = self
            .client
            .post(self.url.clone())
            .json(&asked)
            .send()
            .await
            .ok()?;
        let answer: Answer = answer.error_for_status().ok()?.json().await.ok()?;
        self.known.insert(text, answer.count);
        Some(answer.count)
    }
}
