//! What an error means, where a router or Codex words it badly.
//!
//! Each row is what was measured on LiteLLM 1.108.7, vLLM 0.32.0 and Codex 0.163.0 and 0.171.0, or
//! a report of their users, which it names.

use super::Failure;

/// What a failure means.
#[derive(Debug, PartialEq, Eq)]
pub struct Meaning {
    /// Statuses that it comes with; all of them where there is none.
    status: &'static [u16],
    /// What the server says, one of these; anything where there is none.
    words: &'static [&'static str],
    /// What it means.
    pub means: &'static str,
    /// What Codex shows of it, where that misleads.
    pub codex_shows: Option<&'static str>,
    /// What to do.
    pub remedy: &'static str,
}

/// The message that Codex has for every 500.
pub const HIGH_DEMAND: &str =
    "We’re currently experiencing high demand, which may cause temporary errors.";

const MEANINGS: &[Meaning] = &[
    Meaning {
        status: &[],
        words: &["No connected db."],
        means: "LiteLLM does not know this key: without a database it knows its master key alone, and looks any other one up where there is nothing",
        codex_shows: Some("a 400 with \"No connected db.\""),
        remedy: "give the profile the router's LITELLM_MASTER_KEY: codex-ds setup --api-key-env NAME, or --api-key-file FILE",
    },
    Meaning {
        status: &[429],
        words: &["No deployments available", "cooldown"],
        means: "LiteLLM has set the server behind it aside after an error, and hides that error",
        codex_shows: Some("exceeded retry limit, last status: 429 Too Many Requests"),
        remedy: "ask the server behind the router itself; in the router's configuration, router_settings: {disable_cooldowns: true, num_retries: 0} lets its errors through",
    },
    Meaning {
        status: &[],
        words: &["tool choice requires", "requires --tool-call-parser"],
        means: "vLLM was started without a tool parser",
        codex_shows: None,
        remedy: "start it with --enable-auto-tool-choice --tool-call-parser and the model's parser (deepseek_v4)",
    },
    Meaning {
        status: &[],
        words: &[
            "maximum context length",
            "exceeds the available context size",
        ],
        means: "the prompt is longer than the server's window",
        codex_shows: Some(
            "the server's JSON: Codex does not take it for a full window, and does not compact",
        ),
        remedy: "run codex-ds setup again: it takes the window from the server, and compacts before it is full",
    },
    Meaning {
        status: &[],
        words: &[
            "'type' of tool must be 'function'",
            "namespace not supported",
            "invalid_string",
        ],
        means: "the server takes no tool but functions, and Codex sends an MCP server's tools as a namespace",
        codex_shows: None,
        remedy: "go through LiteLLM's bridge (the default route), use a newer server, or do without MCP servers: codex-ds setup --mcp none",
    },
    Meaning {
        status: &[],
        words: &[
            "Unexpected message role",
            "System message must be",
            "roles must alternate",
        ],
        means: "the model's chat template does not take what Codex sends: several developer messages at the start",
        codex_shows: None,
        remedy: "go through LiteLLM's bridge, or give vLLM a --chat-template that takes them",
    },
    Meaning {
        status: &[],
        words: &[
            "UnsupportedParams",
            "does not support parameters",
            "invalid reasoning value",
        ],
        means: "a field of the request is not passed on, or a reasoning level is not known",
        codex_shows: None,
        remedy: "in LiteLLM's configuration, allowed_openai_params: [\"reasoning_effort\"] for this model; or choose another model_reasoning_effort",
    },
    Meaning {
        status: &[],
        words: &["messages can not be empty", "messages cannot be empty"],
        means: "the router passes Responses requests to a server that takes Chat Completions (BerriAI/litellm#13130)",
        codex_shows: None,
        remedy: "in LiteLLM's configuration, model: hosted_vllm/NAME with use_chat_completions_api: true",
    },
    Meaning {
        status: &[],
        words: &[
            "Encrypted content is not supported",
            "Unsupported input item type",
        ],
        means: "the server does not take back what it answered in an earlier turn",
        codex_shows: None,
        remedy: "use the default route through LiteLLM's bridge, or a newer server",
    },
    Meaning {
        status: &[404],
        words: &["does not exist", "Invalid model name", "model_not_found"],
        means: "no such model is served",
        codex_shows: Some("unexpected status 404 Not Found, after six tries"),
        remedy: "codex-ds setup asks the server which models it has; --model NAME chooses one",
    },
    Meaning {
        status: &[404, 405, 501],
        words: &[],
        means: "the server has no /v1/responses, which is all that Codex speaks",
        codex_shows: Some("unexpected status 404 Not Found, after six tries"),
        remedy: "use vLLM 0.25.1 or later, or LiteLLM with use_chat_completions_api: true in front; is the address the one up to and with /v1?",
    },
    Meaning {
        status: &[401, 403],
        words: &[],
        means: "the server does not take the key",
        codex_shows: Some("unexpected status 401 Unauthorized, after six tries"),
        remedy: "codex-ds setup --api-key-env NAME, or --api-key-file FILE",
    },
    Meaning {
        status: &[413],
        words: &[],
        means: "a proxy in between takes no body of this size: a long session ends there, long before the model's window is full",
        codex_shows: Some("unexpected status 413 Payload Too Large"),
        remedy: "raise the proxy's limit (nginx: client_max_body_size 64m;)",
    },
    Meaning {
        status: &[429],
        words: &[],
        means: "the server counts too many requests",
        codex_shows: Some("exceeded retry limit, last status: 429 Too Many Requests"),
        remedy: "wait, or raise the limit of the router or the key",
    },
    Meaning {
        status: &[500],
        words: &[],
        means: "the server failed; its log has the reason",
        codex_shows: Some(HIGH_DEMAND),
        remedy: "look into the log of the server, and of the one behind it",
    },
    Meaning {
        status: &[502, 503, 504],
        words: &[],
        means: "the server behind the router or proxy is not there",
        codex_shows: None,
        remedy: "is it still loading its model? Ask it directly: curl its /health",
    },
];

const NO_STREAM: Meaning = Meaning {
    status: &[],
    words: &[],
    means: "no stream of events came: a proxy's page in the way, or a server that does not stream",
    codex_shows: Some(
        "stream disconnected before completion: stream closed before response.completed",
    ),
    remedy: "send the address to the model server itself, past login pages and caches",
};

const UNFINISHED: Meaning = Meaning {
    status: &[],
    words: &[],
    means: "the stream has no end: the server or a proxy in between broke it off",
    codex_shows: Some(
        "stream disconnected before completion: stream closed before response.completed",
    ),
    remedy: "raise the read time-out of the proxy in between, and look into the server's log",
};

const SILENT: Meaning = Meaning {
    status: &[],
    words: &[],
    means: "the request was taken, and nothing came: the engine hangs, is full, or waits for a peer that is gone; /health does not tell",
    codex_shows: Some(
        "nothing, then: stream disconnected before completion: idle timeout waiting for SSE",
    ),
    remedy: "see whether others keep it busy (codex-ds doctor --only engine); if not, the engine has to be started again (codex-ds deploy recover)",
};

/// What a failure means, if that is known.
#[must_use]
pub fn meaning(failure: &Failure) -> Option<&'static Meaning> {
    match failure {
        Failure::Refused { status, said } => MEANINGS.iter().find(|meaning| {
            (meaning.status.is_empty() || meaning.status.contains(status))
                && (meaning.words.is_empty()
                    || meaning.words.iter().any(|words| said.contains(words)))
        }),
        Failure::Failed(said) => MEANINGS.iter().find(|meaning| {
            meaning.status.is_empty() && meaning.words.iter().any(|words| said.contains(words))
        }),
        Failure::Other { .. } => Some(&NO_STREAM),
        Failure::Unfinished { .. } => Some(&UNFINISHED),
        Failure::Silent(_) => Some(&SILENT),
        Failure::Transport(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_known_by_its_status_and_words() {
        let of = |status, said: &str| {
            let said = said.to_owned();
            meaning(&Failure::Refused { status, said }).map(|meaning| meaning.means)
        };
        for (status, said, expected) in [
            (400, "No connected db.", "LiteLLM does not know this key"),
            (
                429,
                "No deployments available for selected model, Try again in 60 seconds",
                "LiteLLM has set the server behind it aside",
            ),
            (429, "Rate limit", "the server counts too many requests"),
            (404, "The model `x` does not exist.", "no such model"),
            (404, "Not Found", "the server has no /v1/responses"),
            (500, "boom", "the server failed"),
        ] {
            let found = of(status, said).unwrap_or_default();
            assert!(found.starts_with(expected), "{status} {said}: {found}");
        }
        assert_eq!(of(418, "teapot"), None);
    }
}
