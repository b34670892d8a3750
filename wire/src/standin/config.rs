//! What the stand-in pretends to be.

use super::flaw::Flaw;
use crate::Secret;

/// Which server the stand-in looks like from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Flavor {
    /// vLLM's own OpenAI-compatible server.
    #[default]
    Vllm,
    /// A LiteLLM router: `/v1/models` says nothing of the server behind it (`owned_by` is
    /// "openai", no `max_model_len`, the limit as `max_input_tokens`), `/health/liveliness` answers, and `/version`, `/tokenize`
    /// and `/metrics` do not exist. Model requests are answered as by vLLM, which a router passes
    /// through.
    Router,
}

/// One served model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The name under which it is served.
    pub id: String,
    /// The longest sequence, in tokens.
    pub max_model_len: u64,
    /// The path or repository it was loaded from.
    pub root: String,
}

impl Model {
    /// A model of DeepSeek V4 Flash's family with a limit of `max_model_len` tokens.
    pub fn new(id: impl Into<String>, max_model_len: u64) -> Self {
        Self {
            id: id.into(),
            max_model_len,
            root: "deepseek-ai/DeepSeek-V4-Flash".to_owned(),
        }
    }
}

/// How the stand-in is started; the fields stand for vLLM's command-line options.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The served models (`--served-model-name`). A request without a model gets the first.
    pub models: Vec<Model>,
    /// What `/version` says.
    pub version: String,
    /// `--enable-auto-tool-choice` with `--tool-call-parser`. Without it vLLM refuses tools on
    /// Chat Completions, and on Responses answers 200 with the model's raw markup as text.
    pub tool_parser: bool,
    /// `--reasoning-parser`. Without it the thinking stands in the text, before `</think>`.
    pub reasoning_parser: bool,
    /// `--enable-prompt-tokens-details`. Without it vLLM's chat usage says nothing of cached
    /// tokens.
    pub prompt_tokens_details: bool,
    /// vLLM or a router in front of it.
    pub flavor: Flavor,
    /// `--api-key`: what `/v1/…` wants as bearer token.
    pub api_key: Option<Secret>,
    /// What it gets wrong.
    pub flaw: Option<Flaw>,
    /// What `/metrics` says of each model beside what is counted, or in its place: the series' name
    /// and its value.
    pub metrics: Vec<(&'static str, f64)>,
    /// The port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
}

impl Default for Config {
    /// A well-started vLLM 0.32.0 that serves `deepseek-v4-flash` and `deepseek-v4-flash-cc` with
    /// 262,144 tokens, without a key, on a free port.
    fn default() -> Self {
        Self {
            models: vec![
                Model::new("deepseek-v4-flash", 262_144),
                Model::new("deepseek-v4-flash-cc", 262_144),
            ],
            version: "0.32.0".to_owned(),
            tool_parser: true,
            reasoning_parser: true,
            prompt_tokens_details: false,
            flavor: Flavor::Vllm,
            api_key: None,
            flaw: None,
            metrics: Vec::new(),
            port: 0,
        }
    }
}

impl Config {
    /// The default, but as a router.
    #[must_use]
    pub fn router() -> Self {
        Self {
            flavor: Flavor::Router,
            ..Self::default()
        }
    }

    /// With something that it gets wrong.
    #[must_use]
    pub fn flaw(mut self, flaw: Flaw) -> Self {
        self.flaw = Some(flaw);
        self
    }

    /// Whether a developer message is rendered as a user turn.
    pub(super) fn developer_as_user(&self) -> bool {
        self.flavor == Flavor::Vllm || self.flaw == Some(Flaw::DeveloperAsUser)
    }
}
