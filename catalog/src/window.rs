//! How much of the server's context Codex may use, and when it compacts. All numbers are tokens.

/// The window when the server has room for it: what a coding session needs, and what two DGX Sparks
/// hold beside the weights.
pub const DEFAULT_CONTEXT: u64 = 131_072;
/// Below this there is no room for Codex's prompt (up to 3,500 tokens with MCP servers), one tool
/// output and the compaction that has to follow it.
pub const MINIMUM_CONTEXT: u64 = 16_384;
/// More than any model offers; a larger number is a slip of the keyboard.
pub const MAXIMUM_CONTEXT: u64 = 16 * 1024 * 1024;
/// The longest tool output that Codex keeps in the conversation, on a window of 40,000 or more.
pub const TOOL_OUTPUT: u64 = 10_000;
/// Room for Codex's request for a summary and the summary itself. It is an ordinary request over
/// the whole conversation, so it has to fit too.
const COMPACTION: u64 = 4_096;

/// The context that Codex works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// `context_window`: the largest conversation.
    pub context: u64,
    /// `auto_compact_token_limit`: Codex summarises the conversation when the last answer's usage
    /// reached this.
    pub compact_at: u64,
    /// `truncation_policy`: where Codex cuts a tool's output.
    pub tool_output: u64,
}

/// Why there is no window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// The wanted window does not fit the server.
    #[error(
        "a context of {wanted} tokens was asked for, but the server's max_model_len is \
         {max_model_len}: ask for at most {max_model_len}, or serve with a larger --max-model-len"
    )]
    AboveServer {
        /// The window asked for.
        wanted: u64,
        /// What the server takes.
        max_model_len: u64,
    },
    /// The window is too small to work in.
    #[error(
        "a context of {context} tokens is too small: Codex's prompt, one tool output and the \
         compaction after it need {MINIMUM_CONTEXT}: ask for more, or serve with a larger --max-model-len"
    )]
    TooSmall {
        /// The window asked for, or the server's `max_model_len`.
        context: u64,
    },
    /// The window is larger than any model's.
    #[error("a context of {wanted} tokens is more than any model has (at most {MAXIMUM_CONTEXT})")]
    TooLarge {
        /// The window asked for.
        wanted: u64,
    },
}

/// The window for a server that takes `max_model_len` tokens (`None`: it does not say), where the
/// user `wanted` a certain one or left it open.
///
/// Left open it is [`DEFAULT_CONTEXT`], or 90 % of `max_model_len` if that is lower, so that the
/// answer has room as well: vLLM counts both against the limit and refuses a longer prompt with a
/// 400 that Codex does not take for an overflow.
///
/// # Errors
/// See [`WindowError`].
pub fn window(max_model_len: Option<u64>, wanted: Option<u64>) -> Result<Window, WindowError> {
    let context = match (max_model_len, wanted) {
        (Some(max_model_len), Some(wanted)) if wanted > max_model_len => {
            return Err(WindowError::AboveServer {
                wanted,
                max_model_len,
            });
        }
        (_, Some(wanted)) if wanted > MAXIMUM_CONTEXT => {
            return Err(WindowError::TooLarge { wanted });
        }
        (_, Some(wanted)) => wanted,
        (None, None) => DEFAULT_CONTEXT,
        // A server just above the minimum is used whole: compaction leaves half of it free anyway.
        (Some(max), None) => (max - max.div_ceil(10))
            .max(MINIMUM_CONTEXT)
            .min(max)
            .min(DEFAULT_CONTEXT),
    };
    if context < MINIMUM_CONTEXT {
        return Err(WindowError::TooSmall { context });
    }
    let tool_output = TOOL_OUTPUT.min(context / 4);
    let reserve = (tool_output + COMPACTION).max(context / 25 * 4);
    // Whole thousands: the number is read by people in the profile.
    let compact_at = (context - reserve) / 1000 * 1000;
    Ok(Window {
        context,
        compact_at,
        tool_output,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_windows() {
        let cases = [
            // max_model_len, wanted, context, compact_at, tool_output
            (None, None, 131_072, 110_000, 10_000),
            (Some(1_048_576), None, 131_072, 110_000, 10_000),
            (Some(1_048_576), Some(1_048_576), 1_048_576, 880_000, 10_000),
            (Some(131_072), None, 117_964, 99_000, 10_000),
            (Some(131_072), Some(131_072), 131_072, 110_000, 10_000),
            (Some(65_536), None, 58_982, 44_000, 10_000),
            (Some(32_768), None, 29_491, 18_000, 7_372),
            (Some(16_384), None, 16_384, 8_000, 4_096),
        ];
        for (max_model_len, wanted, context, compact_at, tool_output) in cases {
            assert_eq!(
                window(max_model_len, wanted),
                Ok(Window {
                    context,
                    compact_at,
                    tool_output
                }),
                "{max_model_len:?} {wanted:?}"
            );
        }
    }

    #[test]
    fn refusals_name_the_numbers() {
        let texts: Vec<_> = [
            (Some(32_768), Some(65_536)),
            (Some(8_192), None),
            (None, Some(8_192)),
            (None, Some(u64::MAX)),
        ]
        .into_iter()
        .map(|(max, wanted)| window(max, wanted).unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(texts.join("\n"));
    }

    proptest! {
        #[test]
        fn a_window_fits(max in proptest::option::of(any::<u64>()), wanted in proptest::option::of(0..2_000_000_u64)) {
            if let Ok(Window { context, compact_at, tool_output }) = window(max, wanted) {
                prop_assert!(context >= MINIMUM_CONTEXT);
                prop_assert!(max.is_none_or(|max| context <= max));
                prop_assert!(wanted.is_none_or(|wanted| context == wanted));
                prop_assert!(compact_at + tool_output + COMPACTION <= context);
                prop_assert!(compact_at >= context * 2 / 5);
            }
        }
    }
}
