//! What each rank of the engine is started with.
//!
//! Whatever the ranks have to agree on is made once and given to both; the head adds the API, the
//! worker its wait for the head.

use serde_json::json;

use crate::names::Hca;
use crate::site::{Node, Site};

/// One of the two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// Rank 0: the API, and the rendezvous.
    Head,
    /// Rank 1: no API.
    Worker,
}

impl Rank {
    /// The word for it in names and labels.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Worker => "worker",
        }
    }

    /// Its node.
    #[must_use]
    pub fn node(self, site: &Site) -> &Node {
        match self {
            Self::Head => &site.head,
            Self::Worker => &site.worker,
        }
    }
}

/// The words of `vllm serve` for a rank.
#[must_use]
pub fn arguments(site: &Site, rank: Rank) -> Vec<String> {
    let serve = &site.serve;
    let mut words = vec![
        "vllm".to_owned(),
        "serve".to_owned(),
        site.model.path.to_string(),
    ];
    let mut value = |name: &str, value: &dyn std::fmt::Display| {
        words.push(format!("--{name}={value}"));
    };
    value("served-model-name", &site.model.served_name);
    value("tensor-parallel-size", &2);
    value("distributed-executor-backend", &"mp");
    value("nnodes", &2);
    value("node-rank", &u8::from(rank == Rank::Worker));
    value("master-addr", &site.head.control_ip);
    value("master-port", &serve.master_port);
    value("kv-cache-dtype", &serve.kv_cache_dtype);
    value("block-size", &site.recipe.fit.block_tokens);
    value("max-model-len", &serve.max_model_len);
    value("max-num-seqs", &serve.max_num_seqs);
    value("max-num-batched-tokens", &serve.max_num_batched_tokens);
    value("gpu-memory-utilization", &serve.gpu_memory_utilization);
    value("max-cudagraph-capture-size", &serve.captured());
    if serve.long_prefill_token_threshold > 0 {
        value(
            "long-prefill-token-threshold",
            &serve.long_prefill_token_threshold,
        );
    }
    if serve.speculative_tokens > 0 {
        value("speculative-config", &speculative(site));
    }
    words.push(switch("enable-prefix-caching", serve.prefix_caching));
    if let Some(on) = serve.async_scheduling {
        words.push(switch("async-scheduling", on));
    }
    words.extend(options(&site.recipe.flags.overlaid(&serve.flags)));
    match rank {
        Rank::Worker => words.push("--headless".to_owned()),
        Rank::Head => {
            words.push("--host=0.0.0.0".to_owned());
            words.push(format!("--port={}", serve.api_port));
            words.extend(options(&site.recipe.head_flags.overlaid(&serve.head_flags)));
        }
    }
    words
}

fn switch(name: &str, on: bool) -> String {
    if on {
        format!("--{name}")
    } else {
        format!("--no-{name}")
    }
}

fn options(settings: &crate::flags::Settings) -> impl Iterator<Item = String> {
    settings.iter().map(|(name, value)| match value {
        Some(value) => format!("--{name}={value}"),
        None => format!("--{name}"),
    })
}

fn speculative(site: &Site) -> String {
    let mut config = serde_json::Map::new();
    let fields = &site.recipe.speculative;
    if let Some(method) = fields.value("method") {
        config.insert("method".to_owned(), json!(method));
    }
    config.insert(
        "num_speculative_tokens".to_owned(),
        json!(site.serve.speculative_tokens),
    );
    for (name, value) in fields.iter().filter(|(name, _)| *name != "method") {
        config.insert(
            name.to_owned(),
            value.map_or(json!(true), |text| json!(text)),
        );
    }
    serde_json::Value::Object(config).to_string()
}

/// The variables of a rank: where it is, how NCCL talks, and the image's own.
#[must_use]
pub fn environment(site: &Site, rank: Rank) -> Vec<(String, String)> {
    let node = rank.node(site);
    let control = node.control_if.as_str();
    let hca: Vec<&str> = node.hca.iter().map(Hca::as_str).collect();
    let mut variables = vec![
        ("VLLM_HOST_IP", node.control_ip.to_string()),
        ("NCCL_SOCKET_IFNAME", control.to_owned()),
        ("GLOO_SOCKET_IFNAME", control.to_owned()),
        ("TP_SOCKET_IFNAME", control.to_owned()),
        ("NCCL_IB_DISABLE", "0".to_owned()),
        ("NCCL_IB_HCA", hca.join(",")),
        ("NCCL_IB_ROCE_VERSION_NUM", "2".to_owned()),
        (
            "NCCL_IB_MERGE_NICS",
            u8::from(site.nccl.merge_nics).to_string(),
        ),
        ("NCCL_NET_GDR_LEVEL", "0".to_owned()),
        ("NCCL_DEBUG", site.nccl.debug.clone()),
    ];
    if let Some(index) = node.gid_index {
        variables.push(("NCCL_IB_GID_INDEX", index.to_string()));
    }
    let mut variables: Vec<(String, String)> = variables
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let own = site
        .recipe
        .env
        .overlaid(&site.nccl.env)
        .overlaid(&site.serve.env);
    for (name, value) in own.iter() {
        let value = value.unwrap_or("1").to_owned();
        match variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => variables.push((name.to_owned(), value)),
        }
    }
    variables
}

/// A shell script that waits for the head's rendezvous, then becomes the words after it. Bash opens
/// the port itself, so the image needs no other tool.
#[must_use]
pub fn wait_for_head(site: &Site) -> String {
    format!(
        "until (exec 3<>/dev/tcp/{}/{}) 2>/dev/null; do sleep 3; done; exec \"$@\"",
        site.head.control_ip, site.serve.master_port
    )
}
