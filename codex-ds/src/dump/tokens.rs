//! Exact token counts, from the server that has the tokenizer.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use codex_ds_wire::breakdown::{Breakdown, Part};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use reqwest::{Client, Url};
use serde::Deserialize;
use serde_json::json;

use super::profile::Profile;
use super::store::{Exchange, Session};
use super::upstream;

/// Bytes of a token, where nobody counts: about what English and code come to.
pub(super) const BYTES_PER_TOKEN: u64 = 4;

/// Token counts of the parts of a breakdown, in their order, where a server counted.
pub(super) type Counts = Option<Vec<u64>>;

/// How many texts are counted at the same time.
const AT_ONCE: usize = 8;

/// Who is asked to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// Nobody.
    Nobody,
    /// The server that was asked, if it is one of the profile's. A session that somebody else
    /// recorded names their server, which must not be told what is in it.
    Ours,
    /// The server that was asked, whoever's it is; the profile's where none was.
    Anyone,
}

impl Ask {
    /// The server to ask for a recorded request, by its root.
    pub(super) fn whom(
        self,
        session: &Session,
        exchange: &Exchange,
        profile: &Profile,
    ) -> Option<Url> {
        let main = profile.base_url.as_ref().map(upstream::root);
        let native = profile.native_url.as_ref().map(upstream::root);
        let recorded = recorded(session);
        let ours = recorded.is_some() && (recorded == main || recorded == native);
        match self {
            Self::Nobody => None,
            Self::Ours if !ours => None,
            Self::Anyone if recorded.is_none() => main,
            // What went under that prefix went to the profile's second server.
            _ if ours && exchange.request.path.starts_with(upstream::NATIVE_PREFIX) => native,
            _ => recorded,
        }
    }
}

/// The server that a session's requests went to, by its root.
fn recorded(session: &Session) -> Option<Url> {
    Url::parse(session.header.upstream.as_deref()?).ok()
}

/// Counts the tokens of texts with vLLM's `POST /tokenize`, which is not part of OpenAI's API.
#[derive(Debug)]
pub(super) struct Counter {
    client: Client,
    url: Url,
    model: String,
    patience: Duration,
}

#[derive(Deserialize)]
struct Answer {
    count: u64,
}

impl Counter {
    /// For the server at `root`, and one of its models. All counts of a request together may take
    /// as long as `patience`.
    pub(super) fn new(client: Client, root: &Url, model: &str, patience: Duration) -> Self {
        let mut url = root.clone();
        url.set_path(&format!("{}/tokenize", root.path().trim_end_matches('/')));
        Self {
            client,
            url,
            model: model.to_owned(),
            patience,
        }
    }

    /// The tokens of each part that the model is given, in the order of the parts, 0 for the
    /// others.
    ///
    /// # Errors
    /// In words, when the server does not count, or not in time.
    pub(super) async fn count(
        &self,
        breakdown: &Breakdown,
        body: &str,
    ) -> Result<Vec<u64>, String> {
        let text = |part: &Part| part.section.is_prompt().then(|| part.text(body));
        let texts: Vec<Option<String>> = breakdown.parts.iter().map(text).collect();
        let distinct: BTreeSet<&str> = texts.iter().flatten().map(String::as_str).collect();
        let asked = stream::iter(distinct)
            .map(async |text| Ok::<_, String>((text, self.ask(text).await?)))
            .buffer_unordered(AT_ONCE)
            .try_collect::<HashMap<&str, u64>>();
        let known = tokio::time::timeout(self.patience, asked)
            .await
            .map_err(|_| format!("{} did not count in time", self.url))??;
        let count = |text: &Option<String>| text.as_deref().map_or(0, |text| known[text]);
        Ok(texts.iter().map(count).collect())
    }

    async fn ask(&self, text: &str) -> Result<u64, String> {
        let asked = json!({"model": self.model, "prompt": text, "add_special_tokens": false});
        let told =
            |error: reqwest::Error| format!("{}: {}", self.url, super::proxy::causes(&error));
        let answer = self.client.post(self.url.clone()).json(&asked).send().await;
        let answer = answer.and_then(reqwest::Response::error_for_status);
        let answer: Answer = answer.map_err(told)?.json().await.map_err(told)?;
        Ok(answer.count)
    }
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
