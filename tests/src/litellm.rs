//! A running LiteLLM with the two routes that a profile uses.

use crate::environment::TestEnvironment;
use crate::group::Group;
use crate::{http, peers, server};

/// LiteLLM refuses to start with a weaker key than this form. It protects nothing here.
pub const MASTER_KEY: &str = "sk-2f9d1c7a5b8e4063a1d2c3b4e5f60718";

/// The real LiteLLM in front of a server: `deepseek-v4-flash-cc` is translated to Chat
/// Completions, `deepseek-v4-flash` is passed through as Responses.
#[derive(Debug)]
pub struct LiteLlm {
    base_url: String,
    // Before the folders, which it uses.
    _group: Group,
    _environment: TestEnvironment,
}

impl LiteLlm {
    /// Starts it in front of `upstream`, a base URL that ends in `/v1`. It answers when this
    /// returns.
    ///
    /// # Panics
    /// When it was not fetched or does not come up; then with what it printed.
    #[must_use]
    pub fn start(upstream: &str) -> Self {
        let environment = TestEnvironment::new();
        let config = environment.write("litellm.yaml", &config(upstream));
        let mut command = environment
            .program(
                peers::litellm(),
                ["--host", "127.0.0.1", "--port", "0", "--num_workers", "1"],
            )
            .env("LITELLM_MASTER_KEY", MASTER_KEY)
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .into_command();
        command.arg("--config").arg(config);
        let (group, address) = server::start(command, listening);
        let health = http::get(&address, "/health/liveliness");
        assert!(health.starts_with("HTTP/1.1 200"), "{health}");
        Self {
            base_url: format!("http://{address}/v1"),
            _group: group,
            _environment: environment,
        }
    }

    /// Where it answers, with `/v1`. The key is [`MASTER_KEY`].
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }
}

/// The address in uvicorn's line that it listens, which comes when the application is ready.
fn listening(line: &str) -> Option<String> {
    let (_, url) = line.split_once("Uvicorn running on http://")?;
    url.split_whitespace().next().map(str::to_owned)
}

fn config(upstream: &str) -> String {
    format!(
        "model_list:
  - model_name: deepseek-v4-flash-cc
    litellm_params:
      model: hosted_vllm/deepseek-v4-flash
      api_base: {upstream}
      api_key: none
      use_chat_completions_api: true
  - model_name: deepseek-v4-flash
    litellm_params:
      model: hosted_vllm/deepseek-v4-flash
      api_base: {upstream}
      api_key: none
general_settings:
  master_key: os.environ/LITELLM_MASTER_KEY
router_settings:
  disable_cooldowns: true
  num_retries: 0
"
    )
}
