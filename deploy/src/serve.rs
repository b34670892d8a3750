//! `[serve]`: what the engine is told, with a recipe's values for what a site does not say.

use crate::flags::Settings;
use crate::reader::Section;

/// What the engine is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Serve {
    /// The port of the API on the head.
    pub api_port: u16,
    /// The port of the rendezvous on the head.
    pub master_port: u16,
    /// The longest request, tokens.
    pub max_model_len: u64,
    /// Requests that run at once.
    pub max_num_seqs: u64,
    /// Tokens of a step.
    pub max_num_batched_tokens: u64,
    /// The share of memory that the engine may take.
    pub gpu_memory_utilization: f64,
    /// The dtype of the KV cache.
    pub kv_cache_dtype: String,
    /// Whether prefixes are cached.
    pub prefix_caching: bool,
    /// Whether it schedules asynchronously; `None` leaves it to the engine.
    pub async_scheduling: Option<bool>,
    /// From how many tokens on a prompt's prefill is long, and takes turns with decoding; 0 is off.
    pub long_prefill_token_threshold: u64,
    /// The largest CUDA graph; `None` makes it from the requests and the speculative tokens.
    pub cudagraph_capture: Option<u64>,
    /// Tokens that the drafter proposes a step; 0 is off.
    pub speculative_tokens: u64,
    /// Options of both ranks over the recipe's.
    pub flags: Settings,
    /// Options of the head over the recipe's.
    pub head_flags: Settings,
    /// Variables of both ranks over the recipe's.
    pub env: Settings,
}

/// The largest CUDA graph that vLLM captures, tokens.
pub const MOST_CAPTURED: u64 = 512;

impl Serve {
    /// Reads the table; `base` has the values for keys that are not there.
    #[must_use]
    pub fn read(section: Section<'_>, base: Option<&Self>) -> Self {
        let max_model_len = section.int(
            "max_model_len",
            256..=1 << 24,
            base.map(|b| b.max_model_len),
        );
        if !max_model_len.is_multiple_of(256) {
            section.fault(
                "max_model_len",
                max_model_len.to_string(),
                &format!(
                    "a multiple of 256, the block's size: {} or {}",
                    max_model_len / 256 * 256,
                    (max_model_len / 256 + 1) * 256
                ),
            );
        }
        let prefix_caching = match base {
            Some(base) => section.get("prefix_caching").unwrap_or(base.prefix_caching),
            None => section.need("prefix_caching"),
        };
        let kv_cache_dtype = match base {
            Some(base) => section
                .get("kv_cache_dtype")
                .unwrap_or_else(|| base.kv_cache_dtype.clone()),
            None => section.need("kv_cache_dtype"),
        };
        let serve = Self {
            api_port: section.port("api_port", 1..=65535, base.map(|b| b.api_port)),
            master_port: section.port("master_port", 1..=65535, base.map(|b| b.master_port)),
            max_model_len,
            max_num_seqs: section.int("max_num_seqs", 1..=1024, base.map(|b| b.max_num_seqs)),
            max_num_batched_tokens: section.int(
                "max_num_batched_tokens",
                256..=1 << 20,
                base.map(|b| b.max_num_batched_tokens),
            ),
            gpu_memory_utilization: section.float(
                "gpu_memory_utilization",
                0.5..=0.88,
                base.map(|b| b.gpu_memory_utilization),
            ),
            kv_cache_dtype,
            prefix_caching,
            async_scheduling: section
                .get("async_scheduling")
                .or(base.and_then(|b| b.async_scheduling)),
            long_prefill_token_threshold: section.int(
                "long_prefill_token_threshold",
                0..=1 << 20,
                Some(base.map_or(0, |b| b.long_prefill_token_threshold)),
            ),
            cudagraph_capture: section
                .get::<Captured>("cudagraph_capture")
                .map(|captured| captured.0)
                .or(base.and_then(|b| b.cudagraph_capture)),
            speculative_tokens: section.int(
                "speculative_tokens",
                0..=16,
                base.map(|b| b.speculative_tokens),
            ),
            flags: Settings::options(section.section("flags")),
            head_flags: Settings::options(section.section("head_flags")),
            env: Settings::variables(section.section("env")),
        };
        section.finish();
        serve
    }

    /// The largest CUDA graph: what the table says, else every request with its speculative tokens,
    /// which is what both published stacks set (36 = 6 × 6, 48 = 8 × 6).
    #[must_use]
    pub fn captured(&self) -> u64 {
        self.cudagraph_capture
            .unwrap_or_else(|| self.steps().min(MOST_CAPTURED))
    }

    /// The tokens of a decode step with every request running.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.max_num_seqs * (self.speculative_tokens + 1)
    }
}

/// The size of a CUDA graph.
struct Captured(u64);

impl crate::reader::Value for Captured {
    const EXPECTED: &'static str = "a whole number from 1 to 512";

    fn read(item: &toml_edit::Item) -> Option<Self> {
        let number = u64::try_from(item.as_integer()?).ok()?;
        (1..=MOST_CAPTURED)
            .contains(&number)
            .then_some(Self(number))
    }

    fn placeholder() -> Self {
        Self(1)
    }
}
