//! The fields of a catalog entry that matter, as Codex 0.163.0 and 0.171.0 read them.
//!
//! Found by giving each field a missing, a null and a wrong value and running `codex debug models`
//! (the same in both versions); `tests/real_codex.rs` does it again. Fields that are not here are
//! not looked at: Codex ignores what it does not know.

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// A string or null.
    TextOrNull,
    /// A boolean.
    Bool,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A whole number of 64 bits, or null.
    Int64OrNull,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of these words, or null.
    OneOfOrNull(&'static [&'static str]),
    /// One of these words, or null; Codex takes any other word and ignores it.
    KnownOrNull(&'static [&'static str]),
    /// A list of strings.
    TextList,
    /// A list of these words.
    ListOf(&'static [&'static str]),
    /// A list of [`Kind::Level`].
    Levels,
    /// `{"effort", "description"}`.
    Level,
    /// `{"mode", "limit"}`.
    Truncation,
}

/// One field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether Codex refuses the file without it.
    pub required: bool,
    /// What it does to the profile.
    pub purpose: &'static str,
}

const fn required(name: &'static str, kind: Kind, purpose: &'static str) -> Field {
    Field {
        name,
        kind,
        required: true,
        purpose,
    }
}

const fn optional(name: &'static str, kind: Kind, purpose: &'static str) -> Field {
    Field {
        name,
        kind,
        required: false,
        purpose,
    }
}

/// The keys of [`Kind::Truncation`].
pub(crate) const TRUNCATION: &[(&str, Kind)] = &[
    ("mode", Kind::OneOf(&["bytes", "tokens"])),
    ("limit", Kind::Int64),
];

/// The keys of [`Kind::Level`]. Codex takes any word as an effort.
pub(crate) const LEVEL: &[(&str, Kind)] = &[("effort", Kind::Text), ("description", Kind::Text)];

/// Every field that an entry of ours has, in the file's order. `base_instructions` is required
/// unless `model_messages.instructions_template` stands in for it.
pub const FIELDS: &[Field] = &[
    required(
        "slug",
        Kind::Text,
        "the model's name in a request; config.toml has to say the same",
    ),
    required("display_name", Kind::Text, "the name in the picker"),
    optional("description", Kind::TextOrNull, "the line below it"),
    required(
        "supported_reasoning_levels",
        Kind::Levels,
        "the levels in the picker",
    ),
    optional(
        "default_reasoning_level",
        Kind::TextOrNull,
        "sent where the profile names no level",
    ),
    optional(
        "default_reasoning_summary",
        Kind::OneOf(&["auto", "concise", "detailed", "none"]),
        "none: no summary is asked for, which no engine of ours writes",
    ),
    required(
        "shell_type",
        Kind::OneOf(&[
            "default",
            "local",
            "shell_command",
            "unified_exec",
            "disabled",
        ]),
        "the shell tool; disabled removes it",
    ),
    required(
        "visibility",
        Kind::OneOf(&["list", "hide", "none"]),
        "whether the picker shows it",
    ),
    required(
        "supported_in_api",
        Kind::Bool,
        "whether a provider with a key may use it",
    ),
    required("priority", Kind::Int32, "the order in the picker"),
    required(
        "support_verbosity",
        Kind::Bool,
        "false: no text.verbosity in the request",
    ),
    required(
        "truncation_policy",
        Kind::Truncation,
        "where a tool's output is cut",
    ),
    required(
        "experimental_supported_tools",
        Kind::TextList,
        "empty: no further tool",
    ),
    optional(
        "base_instructions",
        Kind::TextOrNull,
        "the prompt without an instructions file",
    ),
    optional(
        "apply_patch_tool_type",
        Kind::OneOfOrNull(&["freeform"]),
        "null: freeform is a custom tool with a grammar, which vLLM refuses",
    ),
    optional(
        "context_window",
        Kind::Int64OrNull,
        "the largest conversation, in tokens",
    ),
    optional(
        "auto_compact_token_limit",
        Kind::Int64OrNull,
        "when it is summarised, in tokens",
    ),
    optional(
        "input_modalities",
        Kind::ListOf(&["text", "image", "audio"]),
        "what a prompt may hold",
    ),
    optional(
        "supports_search_tool",
        Kind::Bool,
        "false: true puts a tool_search tool in the place of every MCP tool",
    ),
    optional(
        "use_responses_lite",
        Kind::Bool,
        "false: true moves the tools where vLLM refuses them",
    ),
    optional(
        "include_skills_usage_instructions",
        Kind::Bool,
        "false: saves 2.6 KB a request",
    ),
    optional(
        "include_plugin_usage_instructions",
        Kind::Bool,
        "false: the profile has no plugins",
    ),
    optional(
        "include_apps_usage_instructions",
        Kind::Bool,
        "false: the profile has no apps",
    ),
    optional(
        "multi_agent_version",
        Kind::KnownOrNull(&["disabled", "v1", "v2"]),
        "disabled: saves 9 KB a request and a namespace tool",
    ),
    optional(
        "tool_mode",
        Kind::KnownOrNull(&["direct", "code_mode", "code_mode_only"]),
        "direct: the others are custom tools with a grammar, which vLLM refuses",
    ),
];
