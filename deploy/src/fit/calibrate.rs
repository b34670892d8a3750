//! What a running engine says of its memory.

use super::{GIB, Inputs, number};

/// What was measured on a running engine, as far as the text has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    /// The KV memory, GiB.
    pub available_gib: Option<f64>,
    /// The weights, GiB.
    pub weights_gib: Option<f64>,
    /// The tokens of the pool.
    pub tokens: Option<u64>,
    /// The blocks of the pool.
    pub blocks: Option<u64>,
    /// The utilization that the engine ran with.
    pub utilization: Option<f64>,
}

impl Calibration {
    /// Reads vLLM's boot log, or the text of `/metrics`; `None` where neither says anything of it.
    /// Of several boots in one log the last counts, of both ranks' lines the smaller memory.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut found = Self::default();
        for line in text.lines() {
            if let Some(gib) = after(line, "Available KV cache memory:") {
                found.available_gib = Some(gib);
            }
            if let Some(gib) = after(line, "Model loading took") {
                found.weights_gib = Some(gib);
            }
            if let Some(tokens) = after(line, "GPU KV cache size:") {
                found.tokens = Some(super::whole(tokens));
            }
            if line.starts_with("vllm:cache_config_info{") {
                found.blocks = label(line, "num_gpu_blocks").and_then(|blocks| blocks.parse().ok());
                found.utilization =
                    label(line, "gpu_memory_utilization").and_then(|share| share.parse().ok());
            }
        }
        (found.available_gib.is_some() || found.tokens.is_some() || found.blocks.is_some())
            .then_some(found)
    }

    /// The KV memory, GiB. The pool itself, where it is known, is nearer to what is used: it is the
    /// smaller rank's, while each rank logs its own.
    pub(super) fn kv_gib(&self, inputs: &Inputs<'_>) -> Option<f64> {
        let of_blocks = |blocks: f64| blocks * number(inputs.block_bytes()) / GIB;
        self.blocks
            .map(|blocks| of_blocks(number(blocks)))
            .or_else(|| {
                self.tokens.map(|tokens| {
                    let per_request = number(inputs.blocks_per_request());
                    let length = number(inputs.serve.max_model_len);
                    // The log cuts the tokens to a whole number; half a token more is nearest.
                    of_blocks(((number(tokens) + 0.5) * per_request / length).round())
                })
            })
            .or(self.available_gib)
    }
}

/// The number after `words`, thousands separated by commas or not.
fn after(line: &str, words: &str) -> Option<f64> {
    let (_, rest) = line.split_once(words)?;
    let number: String = rest
        .trim_start()
        .chars()
        .filter(|c| *c != ',')
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    number.trim_end_matches('.').parse().ok()
}

/// The value of a label in a line of Prometheus's text format.
fn label<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (_, rest) = line.split_once(&format!("{name}=\""))?;
    rest.split('"').next()
}
