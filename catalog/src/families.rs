//! The table of model families.
//!
//! A row says what cannot be asked of the server: which reasoning levels the family's chat template
//! tells apart, and which of them it takes when none is named. Codex sends any level verbatim, so a
//! level that the template does not know is at best a lie in the picker, at worst a 400.

/// One reasoning level of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// The word that goes into `reasoning.effort`.
    pub effort: &'static str,
    /// What it does, as Codex's picker shows it.
    pub description: &'static str,
}

/// What is known of a family of models.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// The family's key, stable across releases.
    pub id: &'static str,
    /// The name shown to people; empty in the generic row, where the served id is the name.
    pub name: &'static str,
    /// How a served id starts, vendor prefix aside, in lower case and with `-` for `_` and space.
    pub stems: &'static [&'static str],
    /// The levels, from the lightest to the heaviest. Empty: not known, so none is offered.
    pub levels: &'static [Level],
    /// The level for a profile that names none; `None` leaves it to the server.
    pub default_level: Option<&'static str>,
    /// What a prompt may hold. Text only, also where the model reads images: the profile offers
    /// no tool that makes one.
    pub input_modalities: &'static [&'static str],
    /// Where the row's facts are from.
    pub source: &'static str,
    /// What whoever serves the family should know.
    pub note: Option<&'static str>,
}

impl Family {
    /// Whether the family has this reasoning level.
    #[must_use]
    pub fn has_level(&self, effort: &str) -> bool {
        self.levels.iter().any(|level| level.effort == effort)
    }

    /// The level that thinks least, for a profile meant to be fast.
    #[must_use]
    pub fn lightest(&self) -> Option<&'static Level> {
        self.levels.first()
    }
}

const TEXT: &[&str] = &["text"];

/// Every family, the generic row last. A served id belongs to the first row that has a stem for it.
pub const FAMILIES: &[Family] = &[
    Family {
        id: "deepseek-v4-flash",
        name: "DeepSeek V4 Flash",
        stems: &["deepseek-v4-flash", "deepseekv4-flash"],
        levels: &[
            Level {
                effort: "none",
                description: "Closes thinking at once: fastest, for small and clear tasks",
            },
            Level {
                effort: "low",
                description: "Thinks with no instruction on how long (medium is the same)",
            },
            Level {
                effort: "high",
                description: "Told to think exhaustively: the default",
            },
            Level {
                effort: "max",
                description: "Told to think still harder: slowest",
            },
        ],
        default_level: Some("high"),
        input_modalities: TEXT,
        source: "measured: the prompts that vLLM 0.32's deepseek_v4 renderer makes for each level",
        note: Some(
            "vLLM's Responses route renders Codex's instructions as a user turn; \
             LiteLLM's bridge puts them in the system slot",
        ),
    },
    Family {
        id: "deepseek-v4.1-flash",
        name: "DeepSeek V4.1 Flash",
        stems: &[
            "deepseek-v4.1-flash",
            "deepseek-v4-1-flash",
            "deepseekv4.1-flash",
        ],
        levels: &[
            Level {
                effort: "none",
                description: "Closes thinking at once: fastest, for small and clear tasks",
            },
            Level {
                effort: "low",
                description: "Reasoning effort 50 of 100",
            },
            Level {
                effort: "high",
                description: "Reasoning effort 75 of 100: the default",
            },
            Level {
                effort: "max",
                description: "Reasoning effort 100 of 100: slowest",
            },
        ],
        default_level: Some("high"),
        input_modalities: TEXT,
        source: "vLLM 0.32's deepseek_v41 tokenizer and encoding, read; no weights run",
        note: Some("minimal and medium are refused by vLLM, not mapped to a neighbour"),
    },
    Family {
        id: "glm-5.3-flash",
        name: "GLM-5.3-Flash",
        stems: &["glm-5.3-flash", "glm5.3-flash", "glm-5-3-flash"],
        levels: &[
            Level {
                effort: "low",
                description: "Thinks briefly: fastest, thinking cannot be switched off",
            },
            Level {
                effort: "high",
                description: "Thinks thoroughly: the default here",
            },
            Level {
                effort: "max",
                description: "The template's own default: several times the tokens of high",
            },
        ],
        default_level: Some("high"),
        input_modalities: TEXT,
        source: "Z.ai's thinking guide and the model's chat template as vllm-project/recipes#852 \
                 quotes it; cost of max from MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks#87; \
                 not measured by us",
        note: Some(
            "none makes vLLM's parser treat the thoughts as the answer; any other word means max",
        ),
    },
    Family {
        id: "qwen3.8-flash-next",
        name: "Qwen3.8-Flash-Next",
        stems: &[
            "qwen3.8-flash-next",
            "qwen-3.8-flash-next",
            "qwen3-8-flash-next",
        ],
        levels: &[
            Level {
                effort: "none",
                description: "Thinking off: fastest, for small and clear tasks",
            },
            Level {
                effort: "low",
                description: "Thinks briefly",
            },
            Level {
                effort: "xhigh",
                description: "Thinks at length: the model's own default",
            },
        ],
        default_level: Some("xhigh"),
        input_modalities: TEXT,
        source: "the model's LM Studio page (levels, default, thinking switch) and \
                 joryirving/home-ops#10144 (medium changes nothing, xhigh can run away); \
                 not measured by us",
        note: Some(
            "Qwen templates want one system message, first; changing the level drops the cached prefix",
        ),
    },
    Family {
        id: "gpt-oss",
        name: "gpt-oss",
        stems: &["gpt-oss"],
        levels: &[
            Level {
                effort: "low",
                description: "Thinks briefly: fastest",
            },
            Level {
                effort: "medium",
                description: "Balanced: the model's own default",
            },
            Level {
                effort: "high",
                description: "Thinks at length: slowest",
            },
        ],
        default_level: Some("medium"),
        input_modalities: TEXT,
        source: "OpenAI's model card; not measured by us",
        note: Some("vLLM's harmony path may refuse namespace tools: use it without MCP servers"),
    },
    GENERIC,
];

/// The row for a model of no known family: no level is offered and none is sent, because a level
/// that the chat template or the router does not know is refused (LiteLLM) or ignored in silence.
const GENERIC: Family = Family {
    id: "generic",
    name: "",
    stems: &[],
    levels: &[],
    default_level: None,
    input_modalities: TEXT,
    source: "conservative: nothing is known of the model",
    note: None,
};

/// The family of a served id; the generic row if no other knows it.
///
/// Case, vendor prefix (`deepseek-ai/…`, `hosted_vllm/…`, a folder) and suffix (`-cc`, `-0731`,
/// `-dspark`, `:latest`, `-fp8`) do not matter. The stem has to come first in what is left: a name
/// that holds it later is another model taught by this one (`Qwen3.5-9B-DeepSeek-V4-Flash`).
#[must_use]
pub fn family(id: &str) -> &'static Family {
    let name = id
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
        .replace(['_', ' '], "-");
    FAMILIES
        .iter()
        .find(|family| {
            family
                .stems
                .iter()
                .any(|stem| starts_with_word(&name, stem))
        })
        .unwrap_or(&GENERIC)
}

/// Whether `name` is `stem`, or `stem` and then something that begins a new word.
fn starts_with_word(name: &str, stem: &str) -> bool {
    name.strip_prefix(stem).is_some_and(|rest| {
        rest.chars()
            .next()
            .is_none_or(|c| !c.is_ascii_alphanumeric() && c != '.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn served_ids_are_recognised() {
        let cases = [
            ("deepseek-v4-flash", "deepseek-v4-flash"),
            ("deepseek-v4-flash-cc", "deepseek-v4-flash"),
            ("DeepSeek-V4-Flash-0731", "deepseek-v4-flash"),
            ("deepseek-ai/DeepSeek-V4-Flash", "deepseek-v4-flash"),
            (
                "hosted_vllm/deepseek-ai/DeepSeek_V4_Flash-dspark",
                "deepseek-v4-flash",
            ),
            ("/models/DeepSeek-V4-Flash/", "deepseek-v4-flash"),
            ("deepseek-v4-flash:latest", "deepseek-v4-flash"),
            (
                "deepseek-ai/DeepSeek-V4.1-Flash-1017",
                "deepseek-v4.1-flash",
            ),
            ("deepseek-v4-1-flash", "deepseek-v4.1-flash"),
            ("zai-org/GLM-5.3-Flash-FP8", "glm-5.3-flash"),
            ("Qwen/Qwen3.8-Flash-Next", "qwen3.8-flash-next"),
            ("openai/gpt-oss-120b", "gpt-oss"),
            ("gpt-oss:20b", "gpt-oss"),
            ("deepseek-v4-pro", "generic"),
            ("deepseek-v4-flashy", "generic"),
            ("Jackrong/Qwen3.5-9B-DeepSeek-V4-Flash", "generic"),
            ("zai-org/GLM-5.3", "generic"),
            ("", "generic"),
            ("///", "generic"),
        ];
        for (id, expected) in cases {
            assert_eq!(family(id).id, expected, "{id}");
        }
    }

    #[test]
    fn rows_hold_together() {
        for row in FAMILIES {
            if let Some(default) = row.default_level {
                assert!(row.has_level(default), "{}: {default}", row.id);
            }
            for stem in row.stems {
                assert_eq!(family(stem).id, row.id, "{stem} is shadowed by another row");
            }
        }
        assert_eq!(FAMILIES.last(), Some(&GENERIC));
    }

    #[test]
    fn deepseek_v4_does_not_offer_medium() {
        let row = family("deepseek-v4-flash");
        let efforts: Vec<_> = row.levels.iter().map(|level| level.effort).collect();
        assert_eq!(efforts, ["none", "low", "high", "max"]);
        assert_eq!(row.lightest().map(|level| level.effort), Some("none"));
    }
}
