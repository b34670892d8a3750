//! Recipes: what is known of one serving image with one model.
//!
//! A recipe is a TOML file; adding one needs no code. Those of [`BUILT_IN`] come with the program, a
//! user's own is named by its path.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use codex_ds_catalog::{FAMILIES, Family};

use crate::flags::Settings;
use crate::names::{AbsolutePath, ImageRef};
use crate::reader::{Faults, Section, Source, Value};
use crate::serve::Serve;

/// The recipes that come with the program: their id and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("eugr-b12x", include_str!("../recipes/eugr-b12x.toml")),
    ("anemll-0.1.1", include_str!("../recipes/anemll-0.1.1.toml")),
];

/// What is known of one serving image with one model.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The key by which a site names it.
    pub id: String,
    /// What a list shows.
    pub title: String,
    /// Where the values are from.
    pub source: String,
    /// The model's family in the catalog of the agent's side.
    pub family: &'static Family,
    /// The image.
    pub image: ImageRef,
    /// The model's repository, for staging.
    pub repository: String,
    /// Folders of the container that hold compiled kernels and must outlive it.
    pub caches: Vec<AbsolutePath>,
    /// How many minutes a cold start takes, as measured by the recipe's source.
    pub cold_start_minutes: u64,
    /// The defaults of a site's `[serve]`.
    pub serve: Serve,
    /// Options of both ranks.
    pub flags: Settings,
    /// Options of the head alone: what only the API server uses.
    pub head_flags: Settings,
    /// Variables of both ranks.
    pub env: Settings,
    /// The fields of `--speculative-config` beside the number of tokens.
    pub speculative: Settings,
    /// The least number of speculative tokens that works.
    pub least_speculative_tokens: u64,
    /// Options that the image refuses, and why.
    pub rejected_flags: Vec<(String, String)>,
    /// Variables that break the image or do nothing in it, and why.
    pub rejected_env: Vec<(String, String)>,
    /// The constants of the memory arithmetic.
    pub fit: FitConstants,
}

/// The constants of the memory arithmetic; see [`crate::fit`] for what they mean.
#[derive(Clone, Debug)]
pub struct FitConstants {
    /// The weights of one rank, GiB.
    pub weights_gib: f64,
    /// What is neither weights nor KV, GiB: measured bounds, since it cannot be derived.
    pub overhead_gib: RangeInclusive<f64>,
    /// How the image packs the KV groups into its pool.
    pub packing: Packing,
    /// Whether the engine schedules asynchronously when not told.
    pub async_default: bool,
    /// How many batches of tokens it keeps reserved when it does.
    pub async_batches: u64,
    /// Tokens of a block.
    pub block_tokens: u64,
    /// The sliding window, tokens.
    pub window: u64,
    /// Layers with a sliding window, all of them.
    pub window_layers: u64,
    /// Layers whose KV is compressed four times, with an indexer.
    pub c4_layers: u64,
    /// Layers whose KV is compressed 128 times.
    pub c128_layers: u64,
    /// The most tokens that the model takes.
    pub model_limit: u64,
    /// The sizes for each dtype of the KV cache that the image takes.
    pub pages: Vec<Pages>,
}

/// How an image packs the KV groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Groups weighted by their bytes (vLLM 0.25 and 0.26).
    Weighted,
    /// Groups laid over one another, block for block (vLLM 0.33).
    Overlay,
}

impl Value for Packing {
    const EXPECTED: &'static str = "\"weighted\" (vLLM 0.25, 0.26) or \"overlay\" (vLLM 0.33)";

    fn read(item: &toml_edit::Item) -> Option<Self> {
        match item.as_str()? {
            "weighted" => Some(Self::Weighted),
            "overlay" => Some(Self::Overlay),
            _ => None,
        }
    }

    fn placeholder() -> Self {
        Self::Weighted
    }
}

/// The bytes of one layer's page, for a dtype of the KV cache.
#[derive(Clone, Debug)]
pub struct Pages {
    /// The dtype, as `--kv-cache-dtype` has it.
    pub dtype: String,
    /// The main page: of a c4 layer's block, and of a sliding window's.
    pub main: u64,
    /// The indexer's page of a c4 layer's block.
    pub index: u64,
    /// The page of a c128 layer's block.
    pub c128: u64,
}

impl Recipe {
    /// The recipe of this id that comes with the program.
    #[must_use]
    pub fn built_in(id: &str) -> Option<&'static Self> {
        Self::built_ins().iter().find(|recipe| recipe.id == id)
    }

    /// The recipes that come with the program.
    ///
    /// # Panics
    /// Never for recipes that pass their test.
    #[must_use]
    pub fn built_ins() -> &'static [Self] {
        static RECIPES: LazyLock<Vec<Recipe>> = LazyLock::new(|| {
            BUILT_IN
                .iter()
                .map(|(id, text)| Recipe::parse(id, text).expect("a test reads every one"))
                .collect()
        });
        &RECIPES
    }

    /// Reads a recipe.
    ///
    /// # Errors
    /// Every fault of the file, by its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, Faults> {
        let source = Source::new(file, text);
        let document = source.document()?;
        let root = source.root(&document);
        let recipe = Self::read(&root);
        root.finish();
        source.finish()?;
        Ok(recipe)
    }

    fn read(root: &Section<'_>) -> Self {
        let family: String = root.need("family");
        let family = FAMILIES
            .iter()
            .find(|known| known.id == family)
            .unwrap_or_else(|| {
                let ids: Vec<&str> = FAMILIES.iter().map(|family| family.id).collect();
                root.fault(
                    "family",
                    format!("{family:?}"),
                    &format!("a family of the catalog: {}", ids.join(", ")),
                );
                &FAMILIES[0]
            });
        let recipe = Self {
            id: root.need("id"),
            title: root.need("title"),
            source: root.need("source"),
            family,
            image: root.need("image"),
            repository: root.need("repository"),
            caches: root.get("caches").unwrap_or_default(),
            cold_start_minutes: root.int("cold_start_minutes", 1..=600, None),
            serve: Serve::read(root.needed_section("serve"), None),
            flags: Settings::options(root.section("flags")),
            head_flags: Settings::options(root.section("head_flags")),
            env: Settings::variables(root.section("env")),
            speculative: Settings::options(root.section("speculative")),
            least_speculative_tokens: root.int("least_speculative_tokens", 0..=16, Some(0)),
            rejected_flags: reasons(root.section("rejected_flags")),
            rejected_env: reasons(root.section("rejected_env")),
            fit: FitConstants::read(root.needed_section("fit")),
        };
        if recipe.pages(&recipe.serve.kv_cache_dtype).is_none() {
            root.fault(
                "fit",
                format!("no [[fit.pages]] for {}", recipe.serve.kv_cache_dtype),
                "one for the dtype of [serve]",
            );
        }
        recipe
    }

    /// The page sizes for a dtype of the KV cache; `None` where the image does not take it.
    #[must_use]
    pub fn pages(&self, dtype: &str) -> Option<&Pages> {
        self.fit.pages.iter().find(|pages| pages.dtype == dtype)
    }
}

fn reasons(section: Section<'_>) -> Vec<(String, String)> {
    let reasons = section
        .names()
        .into_iter()
        .map(|name| {
            let why = section.need(&name);
            (name, why)
        })
        .collect();
    section.finish();
    reasons
}

impl FitConstants {
    fn read(section: Section<'_>) -> Self {
        let low = section.float("overhead_gib_low", 0.0..=64.0, None);
        let constants = Self {
            weights_gib: section.float("weights_gib", 1.0..=1024.0, None),
            overhead_gib: low..=section.float("overhead_gib_high", low..=64.0, None),
            packing: section.need("packing"),
            async_default: section.need("async_default"),
            async_batches: section.int("async_batches", 1..=8, None),
            block_tokens: section.int("block_tokens", 1..=4096, None),
            window: section.int("window", 1..=1 << 20, None),
            window_layers: section.int("window_layers", 0..=1024, None),
            c4_layers: section.int("c4_layers", 1..=1024, None),
            c128_layers: section.int("c128_layers", 0..=1024, None),
            model_limit: section.int("model_limit", 1024..=1 << 24, None),
            pages: section
                .list("pages")
                .into_iter()
                .map(|pages| {
                    let size = 1..=1 << 24;
                    let read = Pages {
                        dtype: pages.need("dtype"),
                        main: pages.int("main", size.clone(), None),
                        index: pages.int("index", size.clone(), None),
                        c128: pages.int("c128", size, None),
                    };
                    pages.finish();
                    read
                })
                .collect(),
        };
        section.finish();
        constants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_recipe_can_be_read() {
        for (id, text) in BUILT_IN {
            let recipe = Recipe::parse(id, text).unwrap_or_else(|faults| panic!("{faults}"));
            assert_eq!(recipe.id, *id);
            assert_eq!(
                recipe
                    .head_flags
                    .iter()
                    .find(|(name, _)| *name == "enable-prompt-tokens-details"),
                Some(("enable-prompt-tokens-details", None)),
                "{id}: without it the router cannot report cached tokens"
            );
        }
    }

    #[test]
    fn a_family_that_the_catalog_lacks_is_named_with_those_that_it_has() {
        let text = BUILT_IN[0]
            .1
            .replace("family = \"deepseek-v4-flash\"", "family = \"llama\"");
        let faults = Recipe::parse("my.toml", &text).unwrap_err();
        let shown = faults.to_string();
        assert!(shown.contains("my.toml:"), "{shown}");
        assert!(shown.contains("family: found \"llama\""), "{shown}");
        assert!(shown.contains("deepseek-v4-flash, "), "{shown}");
    }

    #[test]
    fn a_recipe_must_have_pages_for_its_own_dtype() {
        let text = BUILT_IN[0]
            .1
            .replace("kv_cache_dtype = \"fp8\"", "kv_cache_dtype = \"bf16\"");
        let shown = Recipe::parse("my.toml", &text).unwrap_err().to_string();
        assert!(shown.contains("no [[fit.pages]] for bf16"), "{shown}");
    }
}
