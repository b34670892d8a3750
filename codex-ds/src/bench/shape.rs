//! What one row measures: lengths, depth, concurrency, thinking.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A row's request. Lengths are tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape {
    /// The prompt behind the context.
    pub prompt: u64,
    /// The answer.
    pub generate: u64,
    /// The context before the prompt.
    pub depth: u64,
    /// Streams at a time.
    pub concurrency: u64,
    /// Whether the model thinks.
    pub thinking: bool,
}

impl Shape {
    /// Tokens of the whole prompt.
    #[must_use]
    pub fn prompt_tokens(&self) -> u64 {
        self.depth + self.prompt
    }

    /// Tokens that have to fit into the model's window.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.prompt_tokens() + self.generate
    }

    /// What follows the name of the test: depth, streams, thinking.
    #[must_use]
    pub fn suffix(&self) -> String {
        let mut text = String::new();
        if self.depth > 0 {
            let _ = write!(text, " @ d{}", self.depth);
        }
        if self.concurrency > 1 {
            let _ = write!(text, " c{}", self.concurrency);
        }
        if self.thinking {
            text.push_str(" think");
        }
        text
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pp{} tg{}{}", self.prompt, self.generate, self.suffix())
    }
}

/// Why a text is no shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found:?} in a shape; expected ppN tgN, then @ dN, cN or think, for example \"pp2048 tg128 @ d16384 c4\""
)]
pub struct ShapeError {
    found: String,
}

impl FromStr for Shape {
    type Err = ShapeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut shape = Self {
            prompt: 0,
            generate: 0,
            depth: 0,
            concurrency: 1,
            thinking: false,
        };
        for word in text.split_whitespace() {
            let error = || ShapeError {
                found: word.to_owned(),
            };
            let (name, number) = word.split_at(
                word.find(|c: char| c.is_ascii_digit())
                    .unwrap_or(word.len()),
            );
            let field = match name {
                "pp" => &mut shape.prompt,
                "tg" => &mut shape.generate,
                "d" | "@d" => &mut shape.depth,
                "c" => &mut shape.concurrency,
                "@" if number.is_empty() => continue,
                "think" if number.is_empty() => {
                    shape.thinking = true;
                    continue;
                }
                _ => return Err(error()),
            };
            *field = number.parse().map_err(|_| error())?;
        }
        let missing = |name: &str| ShapeError {
            found: format!("no {name}N"),
        };
        match shape {
            Self { prompt: 0..16, .. } => Err(missing("pp (at least pp16)")),
            Self { generate: 0, .. } => Err(missing("tg")),
            Self { concurrency: 0, .. } => Err(missing("c (at least c1)")),
            shape => Ok(shape),
        }
    }
}

/// Which values each axis takes.
#[derive(Clone, Debug)]
pub struct Axes {
    /// Prompt lengths.
    pub prompt: Vec<u64>,
    /// The answer's length.
    pub generate: u64,
    /// Depths.
    pub depth: Vec<u64>,
    /// Streams.
    pub concurrency: Vec<u64>,
    /// Thinking.
    pub thinking: Vec<bool>,
}

impl Axes {
    /// The shapes: each axis is walked from the first value of all others, since every combination
    /// would take hours and tell little more.
    #[must_use]
    pub fn shapes(&self) -> Vec<Shape> {
        let first = |values: &[u64], default| values.first().copied().unwrap_or(default);
        let base = Shape {
            prompt: first(&self.prompt, 2048),
            generate: self.generate,
            depth: first(&self.depth, 0),
            concurrency: first(&self.concurrency, 1),
            thinking: self.thinking.first().copied().unwrap_or(false),
        };
        let mut shapes = vec![base];
        let prompts = self.prompt.iter().map(|&prompt| Shape { prompt, ..base });
        let depths = self.depth.iter().map(|&depth| Shape { depth, ..base });
        let thinking = self
            .thinking
            .iter()
            .map(|&thinking| Shape { thinking, ..base });
        let streams = self.concurrency.iter().map(|&concurrency| Shape {
            concurrency,
            ..base
        });
        for shape in prompts.chain(depths).chain(thinking).chain(streams) {
            if !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
        shapes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_suite_walks_one_axis_at_a_time() {
        let axes = Axes {
            prompt: vec![2048, 16_384],
            generate: 128,
            depth: vec![0, 16_384],
            concurrency: vec![1, 2, 8],
            thinking: vec![false, true],
        };
        let names: Vec<String> = axes.shapes().iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "pp2048 tg128",
                "pp16384 tg128",
                "pp2048 tg128 @ d16384",
                "pp2048 tg128 think",
                "pp2048 tg128 c2",
                "pp2048 tg128 c8",
            ]
        );
    }

    #[test]
    fn what_is_no_shape_is_named() {
        for (text, found) in [
            ("pp2048", "no tgN"),
            ("tg128", "no pp (at least pp16)N"),
            ("pp2048 tg128 x4", "x4"),
            ("pp tg1", "pp"),
            ("pp99999999999999999999 tg1", "pp99999999999999999999"),
            ("pp64 tg1 c0", "no c (at least c1)N"),
        ] {
            let error = text.parse::<Shape>().expect_err(text);
            assert_eq!(error.found, found);
        }
    }

    proptest! {
        #[test]
        fn a_shape_is_read_as_it_is_written(
            prompt in 16..100_000_u64, generate in 1..5000_u64, depth in 0..100_000_u64,
            concurrency in 1..100_u64, thinking: bool,
        ) {
            let shape = Shape { prompt, generate, depth, concurrency, thinking };
            prop_assert_eq!(shape.to_string().parse::<Shape>(), Ok(shape));
        }

        #[test]
        fn any_text_is_a_shape_or_an_error(text in "\\PC*") {
            let _ = text.parse::<Shape>();
        }
    }
}
