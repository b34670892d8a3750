//! What the memory of the two nodes holds.
//!
//! ```text
//! budget   = utilization × memory of the smaller node
//! KV       = budget − weights − overhead          (each node stores all of the KV: one KV head)
//! blocks   = ⌊KV / bytes of a pool block⌋
//! capacity = blocks / blocks of one full request × its tokens
//! ```
//!
//! The pool's arithmetic is vLLM's own for DeepSeek V4 (window, ratio-4 and ratio-128 layers); it
//! reproduces published pools to the token. The overhead cannot be derived: a recipe has measured
//! bounds, and [`calibrate`] narrows them from a boot log or `/metrics`.

use std::ops::RangeInclusive;

use crate::recipe::{FitConstants, Packing, Pages};
use crate::serve::Serve;
use crate::site::Site;

pub mod calibrate;
mod knobs;
#[cfg(test)]
mod tests;

pub use calibrate::Calibration;
pub use knobs::{Knob, knobs, nearest, refusal};

/// A share of memory above which published stacks began to swap.
pub const HIGHEST_UTILIZATION: f64 = 0.86;

/// What a configuration needs and holds, for one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The memory of the smaller node, GiB.
    pub memory_gib: f64,
    /// What the engine may take, GiB.
    pub budget_gib: f64,
    /// The weights, GiB.
    pub weights_gib: f64,
    /// What is neither weights nor KV, GiB.
    pub overhead_gib: RangeInclusive<f64>,
    /// The KV pool, GiB; 0 where nothing is left.
    pub kv_gib: RangeInclusive<f64>,
    /// What is left for the system, GiB.
    pub host_gib: f64,
    /// The tokens of the KV pool, as vLLM's log counts them.
    pub tokens: RangeInclusive<u64>,
    /// How many requests of the full length fit at once.
    pub concurrency: RangeInclusive<f64>,
    /// Whether the overhead was measured.
    pub calibrated: bool,
    /// Whether one request of the full length fits.
    pub verdict: Verdict,
}

/// Whether one request of the full length fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// At both bounds of the overhead.
    Fits,
    /// At the lower bound only.
    Tight,
    /// At neither: the engine would refuse to start.
    Refused,
}

impl Verdict {
    /// A word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Tight => "may not fit",
            Self::Refused => "does not fit",
        }
    }
}

/// The KV pool that a number of bytes makes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool {
    /// Its blocks.
    pub blocks: u64,
    /// The blocks of one request of the full length.
    pub blocks_per_request: u64,
    /// Its tokens, as vLLM's log counts them.
    pub tokens: u64,
    /// How many requests of the full length fit at once.
    pub concurrency: f64,
}

/// All that the arithmetic needs, so that one value can be changed and the rest kept.
#[derive(Clone, Debug)]
pub struct Inputs<'s> {
    constants: &'s FitConstants,
    pages: &'s Pages,
    serve: Serve,
    memory_gib: f64,
    weights_gib: f64,
    overhead_gib: RangeInclusive<f64>,
    calibrated: bool,
}

impl<'s> Inputs<'s> {
    /// The inputs of a site, with what was measured on it where that is known.
    ///
    /// # Panics
    /// Never: a site's dtype has its pages in the recipe.
    #[must_use]
    pub fn new(site: &'s Site, measured: Option<&Calibration>) -> Self {
        let constants = &site.recipe.fit;
        let mut inputs = Self {
            constants,
            pages: site
                .recipe
                .pages(&site.serve.kv_cache_dtype)
                .expect("reading a site checks that its recipe has the dtype"),
            serve: site.serve.clone(),
            memory_gib: site.head.mem_gib.min(site.worker.mem_gib),
            weights_gib: site.model.weights_gib,
            overhead_gib: constants.overhead_gib.clone(),
            calibrated: false,
        };
        if let Some(measured) = measured {
            if let Some(weights) = measured.weights_gib {
                inputs.weights_gib = weights;
            }
            if let Some(kv) = measured.kv_gib(&inputs) {
                let utilization = measured
                    .utilization
                    .unwrap_or(inputs.serve.gpu_memory_utilization);
                let overhead = utilization * inputs.memory_gib - inputs.weights_gib - kv;
                inputs.overhead_gib = overhead..=overhead;
                inputs.calibrated = true;
            }
        }
        inputs
    }

    /// What they come to.
    #[must_use]
    pub fn fit(&self) -> Fit {
        let budget_gib = self.serve.gpu_memory_utilization * self.memory_gib;
        let kv = |overhead: f64| (budget_gib - self.weights_gib - overhead).max(0.0);
        let kv_gib = kv(*self.overhead_gib.end())..=kv(*self.overhead_gib.start());
        let low = self.pool(bytes(*kv_gib.start()));
        let high = self.pool(bytes(*kv_gib.end()));
        Fit {
            memory_gib: self.memory_gib,
            budget_gib,
            weights_gib: self.weights_gib,
            overhead_gib: self.overhead_gib.clone(),
            host_gib: self.memory_gib - budget_gib,
            tokens: low.tokens..=high.tokens,
            concurrency: low.concurrency..=high.concurrency,
            kv_gib,
            calibrated: self.calibrated,
            verdict: if low.concurrency >= 1.0 {
                Verdict::Fits
            } else if high.concurrency >= 1.0 {
                Verdict::Tight
            } else {
                Verdict::Refused
            },
        }
    }

    /// The pool that `kv_bytes` make.
    #[must_use]
    pub fn pool(&self, kv_bytes: u64) -> Pool {
        self.pool_of(kv_bytes / self.block_bytes())
    }

    /// The pool of so many blocks.
    #[must_use]
    pub fn pool_of(&self, blocks: u64) -> Pool {
        let blocks_per_request = self.blocks_per_request();
        let concurrency = number(blocks) / number(blocks_per_request);
        Pool {
            blocks,
            blocks_per_request,
            tokens: whole(concurrency * number(self.serve.max_model_len)),
            concurrency,
        }
    }

    /// The bytes of one block of the pool.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        match self.constants.packing {
            Packing::Weighted => {
                self.window_bytes() + self.main_group_bytes() - self.c4_main_bytes()
            }
            Packing::Overlay => self.main_group_bytes().max(self.window_bytes()),
        }
    }

    /// The window layers lie in two groups; this is a block of one of them.
    fn window_bytes(&self) -> u64 {
        self.constants.window_layers / 2 * self.pages.main
    }

    fn c4_main_bytes(&self) -> u64 {
        self.constants.c4_layers * self.pages.main
    }

    /// A block of the group that holds the compressed KV.
    fn main_group_bytes(&self) -> u64 {
        self.c4_main_bytes()
            + self.constants.c4_layers * self.pages.index
            + self.constants.c128_layers * self.pages.c128
    }

    /// The blocks of one request of the full length.
    fn blocks_per_request(&self) -> u64 {
        let constants = self.constants;
        let length = self.serve.max_model_len;
        let is_async = self
            .serve
            .async_scheduling
            .unwrap_or(constants.async_default);
        let in_flight =
            self.serve.max_num_batched_tokens * if is_async { constants.async_batches } else { 1 };
        // A window's blocks cover it and the tokens of the batches that are under way.
        let windowed =
            |window: u64, block: u64| (window - 1 + in_flight).min(length).div_ceil(block) + 1;
        let main = length.div_ceil(constants.block_tokens);
        // vLLM's own block sizes for these layers: 64 tokens of window, and the compressors' states
        // in blocks of 4 (window 8) and 8.
        let window = 2 * windowed(constants.window, 64);
        let c4_state = windowed(8, 4);
        let c128_state = windowed(constants.window, 8);
        match constants.packing {
            Packing::Overlay => main + window + c4_state + c128_state,
            Packing::Weighted => {
                let pages = self.pages;
                (main * self.main_group_bytes()
                    + window * self.window_bytes()
                    + c4_state * constants.c4_layers * (pages.main + pages.index)
                    + c128_state * constants.c128_layers * pages.main)
                    .div_ceil(self.main_group_bytes())
            }
        }
    }
}

const GIB: f64 = 1_073_741_824.0;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "amounts of memory and tokens are far below 2^52 and not negative"
)]
fn whole(number: f64) -> u64 {
    number.max(0.0) as u64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "amounts of memory and tokens are far below 2^52"
)]
fn number(whole: u64) -> f64 {
    whole as f64
}

fn bytes(gib: f64) -> u64 {
    whole(gib * GIB)
}
