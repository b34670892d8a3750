//! A request as the parts of its prompt, in the order in which a server renders them.

use super::diverge::{Place, diverge};
use crate::body::Json;
use crate::spans::{Kind, Node, step};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    Tools,
    System,
    Conversation,
}

pub(super) struct Segment<'a> {
    block: Block,
    pointer: String,
    node: &'a Node,
}

/// A request in the order of the prompt.
pub(super) struct Rendered<'a> {
    pub(super) json: &'a Json<'a>,
    pub(super) segments: Vec<Segment<'a>>,
}

impl<'a> Rendered<'a> {
    pub(super) fn of(json: &'a Json<'_>) -> Self {
        let mut segments = Vec::new();
        for (block, names) in [
            (Block::Tools, &["tools"][..]),
            (Block::System, &["instructions", "system"]),
            (Block::Conversation, &["input", "messages"]),
        ] {
            for name in names {
                let Some(node) = json.root.get(name) else {
                    continue;
                };
                let pointer = step("", name);
                match &node.kind {
                    Kind::Array(elements) => {
                        segments.extend(elements.iter().enumerate().map(|(index, node)| Segment {
                            block,
                            pointer: step(&pointer, &index.to_string()),
                            node,
                        }));
                    }
                    Kind::String => segments.push(Segment {
                        block,
                        pointer,
                        node,
                    }),
                    Kind::Object(_) | Kind::Scalar => {}
                }
            }
        }
        Self { json, segments }
    }

    pub(super) fn bytes(&self) -> usize {
        self.segments
            .iter()
            .map(|segment| segment.node.span.len())
            .sum()
    }

    fn block(&self, block: Block) -> Vec<&Segment<'a>> {
        self.segments
            .iter()
            .filter(|segment| segment.block == block)
            .collect()
    }

    /// Where `self` and `new` part, and how many bytes of `self` were before it.
    pub(super) fn parts_from(&self, new: &Self) -> Option<(Place, usize)> {
        let mut kept = 0;
        for block in [Block::Tools, Block::System, Block::Conversation] {
            let (olds, news) = (self.block(block), new.block(block));
            for (old, new_segment) in olds.iter().zip(&news) {
                let found = diverge(
                    self.json.text,
                    old.node,
                    new.json.text,
                    new_segment.node,
                    &new_segment.pointer,
                );
                if let Some(place) = found {
                    let inside = place.before.saturating_sub(old.node.span.start);
                    return Some((place, kept + inside));
                }
                kept += old.node.span.len();
            }
            // Behind the conversation nothing comes: there, one is the beginning of the other.
            if olds.len() != news.len() && block != Block::Conversation {
                let next = |rendered: &Self, segments: &[&Segment<'a>]| {
                    segments.get(olds.len().min(news.len())).map_or_else(
                        || rendered.behind(segments),
                        |segment| (segment.pointer.clone(), segment.node.span.start),
                    )
                };
                let ((old_pointer, before), (new_pointer, after)) =
                    (next(self, &olds), next(new, &news));
                let pointer = if news.len() > olds.len() {
                    new_pointer
                } else {
                    old_pointer
                };
                return Some((
                    Place {
                        pointer,
                        before,
                        after,
                    },
                    kept,
                ));
            }
        }
        None
    }

    /// The place behind the last of these segments.
    fn behind(&self, segments: &[&Segment<'a>]) -> (String, usize) {
        segments.last().map_or_else(
            || (String::new(), self.json.root.span.start),
            |last| (last.pointer.clone(), last.node.span.end),
        )
    }
}

/// The first thinking that lies before a message which is new: see
/// [`Extension::thinking_behind`](super::Extension::thinking_behind).
pub(super) fn thinking_behind(old: &Rendered<'_>, new: &Rendered<'_>) -> Option<String> {
    let olds = old.block(Block::Conversation);
    let news = new.block(Block::Conversation);
    let of = |rendered: &Rendered<'_>, segment: &Segment<'_>, name: &str| {
        segment
            .node
            .get(name)
            .and_then(|node| node.text(rendered.json.text))
            .unwrap_or_default()
    };
    let speaks = |rendered: &Rendered<'_>, segment: &Segment<'_>| {
        matches!(
            of(rendered, segment, "role").as_str(),
            "user" | "developer" | "system"
        )
    };
    let thinks = |segment: &Segment<'_>| of(old, segment, "type") == "reasoning";
    if !news
        .iter()
        .skip(olds.len())
        .any(|segment| speaks(new, segment))
    {
        return None;
    }
    let after_last = olds
        .iter()
        .rposition(|segment| speaks(old, segment))
        .map_or(0, |at| at + 1);
    olds[after_last..]
        .iter()
        .find(|segment| thinks(segment))
        .map(|segment| segment.pointer.clone())
}
