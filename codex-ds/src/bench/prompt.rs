//! Prompts of an exact length that no prefix cache knows.
//!
//! Each begins with six words that no other begins with: a cache keeps whole blocks from the start,
//! so what differs must stand there. All words of that list have four letters and are common, so
//! that every tokenizer counts each beginning alike. What follows is prose, since the speed of
//! speculative decoding depends on how natural the text is.

use std::fmt::Write as _;

/// The prose.
const TEXT: &str = include_str!("../../assets/bench-text.txt");

/// 64 words, so that six of them make 2^36 beginnings.
const WORDS: [&str; 64] = [
    "able", "area", "army", "away", "baby", "back", "ball", "bank", "base", "bath", "bear", "beat",
    "bird", "blue", "boat", "body", "book", "born", "camp", "card", "care", "case", "city", "club",
    "cold", "cost", "dark", "data", "date", "deep", "door", "east", "face", "fact", "farm", "film",
    "fire", "fish", "food", "foot", "form", "four", "game", "girl", "gold", "hair", "half", "hall",
    "hand", "head", "high", "home", "hour", "idea", "king", "lake", "land", "life", "line", "list",
    "moon", "name", "road", "room",
];

/// What the model is asked to do, so that it has reason to go on. Short prompts have no room for it.
const REQUEST: &str = "\n\nContinue this story in the same manner, at length.";
/// The shortest prompt with [`REQUEST`], tokens.
const ROOM_FOR_REQUEST: u64 = 128;

/// What one token more costs: a word that stands alone in every vocabulary.
const PAD: &str = " and";
/// The most that is filled up with [`PAD`].
const MOST_PADS: u64 = 24;

/// How many words make the wanted number of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// Words of the context.
    pub depth_words: u64,
    /// Words of the prompt.
    pub prompt_words: u64,
    /// [`PAD`]s.
    pub pads: u64,
    /// Whether [`REQUEST`] follows.
    pub asks: bool,
    /// Whether there is a context.
    pub has_depth: bool,
}

impl Fit {
    /// The `system` and the `user` message of the request that `number` is unique to.
    #[must_use]
    pub fn text(&self, number: u64) -> (String, String) {
        let mut system = String::new();
        let mut user = String::new();
        let first = if self.has_depth {
            &mut system
        } else {
            &mut user
        };
        for place in 0..6 {
            let index = usize::try_from((number >> (6 * place)) & 63).unwrap_or(0);
            let _ = write!(first, "{} ", WORDS[index]);
        }
        first.push('\n');
        if self.has_depth {
            fill(&mut system, 0, self.depth_words);
        }
        fill(&mut user, self.depth_words, self.prompt_words);
        for _ in 0..self.pads {
            user.push_str(PAD);
        }
        if self.asks {
            user.push_str(REQUEST);
        }
        (system, user)
    }
}

fn fill(text: &mut String, skip: u64, words: u64) {
    let all = TEXT.split_ascii_whitespace().cycle();
    let take = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    for word in all.skip(take(skip)).take(take(words)) {
        text.push_str(word);
        text.push(' ');
    }
    text.truncate(text.trim_end_matches(' ').len());
}

/// Finds the words for a prompt of `depth` + `prompt` tokens by asking `count`, at most `attempts`
/// times. Gives the nearest that it found, with its length.
///
/// # Errors
/// When `count` fails.
///
/// # Panics
/// Never: there is one attempt at least.
pub async fn fit<E>(
    depth: u64,
    prompt: u64,
    attempts: u32,
    mut count: impl AsyncFnMut(&Fit) -> Result<u64, E>,
) -> Result<(Fit, u64), E> {
    let target = depth + prompt;
    // English prose; corrected by the first answer.
    let mut tokens_per_word = 1.3;
    let mut fit = Fit {
        asks: prompt >= ROOM_FOR_REQUEST,
        has_depth: depth > 0,
        depth_words: words(depth, tokens_per_word),
        prompt_words: words(prompt.saturating_sub(40), tokens_per_word),
        pads: 0,
    };
    let mut best: Option<(Fit, u64)> = None;
    for _ in 0..attempts.max(1) {
        let length = count(&fit).await?;
        if best.is_none_or(|(_, before)| target.abs_diff(length) < target.abs_diff(before)) {
            best = Some((fit, length));
        }
        let off = target.abs_diff(length);
        if off == 0 {
            break;
        }
        if length < target && off + fit.pads <= MOST_PADS {
            fit.pads += off;
            continue;
        }
        let all = fit.depth_words + fit.prompt_words;
        if all > 0 {
            // What does not grow with the words is about twenty tokens.
            let grown = length.saturating_sub(fit.pads + 20).max(1);
            #[expect(clippy::cast_precision_loss, reason = "no prompt has 2^52 tokens")]
            {
                tokens_per_word = grown as f64 / all as f64;
            }
        }
        fit.pads = 0;
        if length < target {
            let more = words(off, tokens_per_word).max(1);
            let deeper = if fit.has_depth {
                more * depth / target
            } else {
                0
            };
            fit.depth_words += deeper;
            fit.prompt_words += more - deeper;
        } else {
            // One word fewer than needed is filled up by pads; one too many would go on for ever.
            let less = words(off, tokens_per_word) + 1;
            let from_prompt = less.min(fit.prompt_words);
            if from_prompt == 0 {
                break;
            }
            fit.prompt_words -= from_prompt;
        }
    }
    Ok(best.expect("there was an attempt"))
}

fn words(tokens: u64, tokens_per_word: f64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no prompt has 2^52 tokens, and none is negative"
    )]
    let words = (tokens as f64 / tokens_per_word) as u64;
    words
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Fits against a tokenizer.
    fn fitted(depth: u64, prompt: u64, tokens: impl Fn(&str) -> u64) -> (u64, u32) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let mut asked = 0;
        let (fit, length) = runtime
            .block_on(fit(depth, prompt, 12, async |fit: &Fit| {
                asked += 1;
                let (system, user) = fit.text(77);
                Ok::<u64, Infallible>(tokens(&system) + tokens(&user) + 7)
            }))
            .expect("counting does not fail");
        let (system, user) = fit.text(1234);
        assert_eq!(tokens(&system) + tokens(&user) + 7, length, "another start");
        (length, asked)
    }

    #[test]
    fn any_tokenizer_is_met_exactly() {
        let bytes = |text: &str| text.len().div_ceil(4) as u64;
        let words = |text: &str| text.split_whitespace().count() as u64;
        // Long words are several tokens, as real ones have it.
        let pieces = |text: &str| {
            let parts = text.split_whitespace().map(|word| word.len().div_ceil(5));
            parts.sum::<usize>() as u64
        };
        for (depth, prompt) in [(0, 64), (0, 512), (0, 2048), (0, 16_384), (16_384, 2048)] {
            for count in [&bytes as &dyn Fn(&str) -> u64, &words, &pieces] {
                let (length, asked) = fitted(depth, prompt, count);
                assert_eq!(length, depth + prompt);
                assert!(asked <= 8, "{asked} attempts for {depth} + {prompt}");
            }
        }
    }

    #[test]
    fn no_two_prompts_begin_alike() {
        let fit = Fit {
            prompt_words: 100,
            ..Fit::default()
        };
        let start = |number| fit.text(number).1[..30].to_owned();
        assert_ne!(start(1), start(2));
        assert_ne!(start(1), start(1 << 35));
        let deep = Fit {
            has_depth: true,
            depth_words: 10,
            ..fit
        };
        let (system, user) = deep.text(1);
        assert!(
            system.starts_with("area able") && user.starts_with("and one"),
            "{user}"
        );
    }
}
