//! A running vLLM on CPU: the real front end, tokenizer and parsers of DeepSeek V4 before a model
//! without weights, which says what it is told.

use std::net::{Ipv4Addr, TcpListener};

use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::group::Group;
use crate::{peers, server};

/// The part of vLLM that makes the model say what it is told.
const SCRIPTED: &str = include_str!("../peers/vllm/scripted.py");

/// The window of a well-started one, tokens.
const WINDOW: u64 = 32_768;

/// The real vLLM, which serves `deepseek-v4-flash` with DeepSeek V4's tokenizer, tool parser and
/// reasoning parser.
#[derive(Debug)]
pub struct Vllm {
    base_url: String,
    // Before the folders, which it uses.
    _group: Group,
    _environment: TestEnvironment,
}

impl Vllm {
    /// Starts it with a model that says to each request the second of the first pair whose first
    /// stands in the prompt. It answers when this returns.
    ///
    /// # Panics
    /// When it was not fetched or does not come up; then with what it printed.
    #[must_use]
    pub fn start(answers: &[(&str, &str)]) -> Self {
        let parsers = [
            "--tool-call-parser",
            "deepseek_v4",
            "--enable-auto-tool-choice",
            "--reasoning-parser",
            "deepseek_v4",
        ];
        Self::start_with(answers, WINDOW, &parsers)
    }

    /// The same with another window, tokens, and without parsers: as badly started servers are.
    ///
    /// # Panics
    /// As [`Vllm::start`].
    #[must_use]
    pub fn start_badly(answers: &[(&str, &str)], window: u64) -> Self {
        Self::start_with(answers, window, &[])
    }

    fn start_with(answers: &[(&str, &str)], window: u64, parsers: &[&str]) -> Self {
        let folder = peers::vllm();
        let environment = TestEnvironment::new();
        let answers: Value = answers
            .iter()
            .map(|(when, say)| json!({"when": when, "say": say}))
            .collect();
        let answers = environment.write("answers.json", &answers.to_string());
        // A copy, so that Python leaves its own next to this one.
        environment.write("scripted.py", SCRIPTED);
        // vLLM takes no port 0. Between here and there another program may take this one; then
        // the start fails and says so.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|socket| socket.local_addr())
            .expect("a port is free")
            .port();
        let mut command = environment
            .program(folder.join("bin/vllm"), ["serve"])
            .env("PYTHONPATH", environment.root())
            .env("SCRIPTED_ANSWERS", answers)
            .env("HF_HUB_OFFLINE", "1")
            .env("VLLM_NO_USAGE_STATS", "1")
            .env("DO_NOT_TRACK", "1")
            .env("VLLM_HOST_IP", "127.0.0.1")
            .env("VLLM_TARGET_DEVICE", "cpu")
            .env("VLLM_CPU_KVCACHE_SPACE", "1")
            .env("VLLM_CPU_OMP_THREADS_BIND", "nobind")
            .env("OMP_NUM_THREADS", "1")
            .into_command();
        command
            .arg(folder.join("model"))
            .args(["--served-model-name", "deepseek-v4-flash"])
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args([
                "--load-format",
                "dummy",
                "--dtype",
                "bfloat16",
                "--enforce-eager",
            ])
            .args(["--max-model-len", &window.to_string()])
            .args(["--max-num-seqs", "4"])
            .args(["--tokenizer-mode", "deepseek_v4"])
            .args(parsers)
            .args(["--logits-processors", "scripted:Scripted"]);
        // The socket is bound long before, so from this line on a request is answered.
        let (group, ()) = server::start(command, |line| {
            line.contains("Application startup complete").then_some(())
        });
        Self {
            base_url: format!("http://127.0.0.1:{port}/v1"),
            _group: group,
            _environment: environment,
        }
    }

    /// Where it answers, with `/v1`. It wants no key.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }
}
