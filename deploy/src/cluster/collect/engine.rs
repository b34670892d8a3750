//! Asks the engine: its counts, and one token.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::{Canary, Metrics};
use crate::kubectl::{Kubectl, KubectlError};
use crate::site::Site;

/// What kubectl and the API server say when an answer does not come in time.
const SILENCE: &[&str] = &[
    "(Timeout)",
    "context deadline exceeded",
    "Client.Timeout exceeded",
    "request canceled",
    "timed out",
];

/// How long the engine's counts may take: they are there at once, or it hangs.
const COUNTS: Duration = Duration::from_secs(15);

/// The engine's own counts around one token, through the API server's proxy: what reaches the
/// cluster reaches the engine.
pub(super) fn ask(
    kubectl: &dyn Kubectl,
    site: &Site,
    canary: Option<Duration>,
) -> (Option<Metrics>, Canary) {
    let base = format!(
        "/api/v1/namespaces/{}/services/{}:api/proxy",
        site.namespace,
        site.service()
    );
    let metrics_path = format!("{base}/metrics");
    let limit = |limit: Duration| format!("--request-timeout={}s", limit.as_secs().max(1));
    let counts = limit(COUNTS.min(canary.unwrap_or(COUNTS)));
    let read = || {
        kubectl
            .run(&["get", "--raw", &metrics_path, &counts], None)
            .ok()
            .map(|text| read_metrics(&text))
    };
    let before = read();
    let Some(canary) = canary else {
        return (before, Canary::Untried);
    };
    let path = format!("{base}/v1/chat/completions");
    let outcome = kubectl.run(
        &["create", "--raw", &path, "--filename=-", &limit(canary)],
        Some(&request(site).to_string()),
    );
    let canary = match outcome {
        Ok(answer) if answer.contains("\"choices\"") => Canary::Came,
        Ok(answer) => Canary::Failed(answer.chars().take(200).collect()),
        Err(KubectlError::Slow { .. }) => Canary::Silent,
        Err(KubectlError::Failed { message, .. })
            if SILENCE.iter().any(|words| message.contains(words)) =>
        {
            Canary::Silent
        }
        Err(error) => Canary::Failed(error.to_string()),
    };
    let mut metrics = before;
    if let (Some(metrics), Some(after)) = (&mut metrics, read()) {
        metrics.generated[1] = after.generated[0];
        metrics.worked[1] = after.worked[0];
    }
    (metrics, canary)
}

/// One token, asked for as a coding agent asks: with a tool that the model may choose. An engine
/// without its tool parser refuses that, and no other request shows it.
fn request(site: &Site) -> Value {
    json!({
        "model": site.model.served_name.as_str(),
        "messages": [{ "role": "user", "content": "1" }],
        "tools": [{ "type": "function", "function": { "name": "none", "parameters": { "type": "object" } } }],
        "tool_choice": "auto",
        "max_tokens": 1,
        "temperature": 0,
    })
}

/// Reads what the engine counts from Prometheus's text format. The name of before 0.10 for the use
/// of the KV pool counts too.
pub(in crate::cluster) fn read_metrics(text: &str) -> Metrics {
    let sum = |names: &[&str]| -> f64 {
        text.lines()
            .filter_map(|line| {
                let (name, value) = line.rsplit_once(' ')?;
                let bare = name.split('{').next()?;
                names.contains(&bare).then(|| value.parse::<f64>().ok())?
            })
            // Not `sum`: of nothing that is -0.
            .fold(0.0, |total, value| total + value)
    };
    let generated = sum(&["vllm:generation_tokens_total"]);
    let worked = sum(&["vllm:iteration_tokens_total_sum"]);
    Metrics {
        running: sum(&["vllm:num_requests_running"]),
        waiting: sum(&["vllm:num_requests_waiting"]),
        kv_usage: sum(&["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"]),
        generated: [generated, generated],
        worked: [worked, worked],
        blocks: text
            .lines()
            .find(|line| line.starts_with("vllm:cache_config_info{"))
            .and_then(|line| line.split("num_gpu_blocks=\"").nth(1))
            .and_then(|rest| rest.split('"').next())
            .and_then(|blocks| blocks.parse().ok()),
    }
}
