//! Where two JSON values part for the model, to the byte.

use crate::spans::{Kind, Node, step};

/// Members that no template renders.
const UNSEEN: [&str; 6] = [
    "id",
    "call_id",
    "tool_call_id",
    "status",
    "phase",
    "encrypted_content",
];

/// Where two bodies part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) pointer: String,
    pub(super) before: usize,
    pub(super) after: usize,
}

/// Where two values part for the model; `None` when they do not.
pub(super) fn diverge(
    a_text: &str,
    a: &Node,
    b_text: &str,
    b: &Node,
    pointer: &str,
) -> Option<Place> {
    let (a_raw, b_raw) = (&a_text[a.span.clone()], &b_text[b.span.clone()]);
    if a_raw == b_raw {
        return None;
    }
    let at = |before: usize, after: usize, pointer: &str| {
        Some(Place {
            pointer: pointer.to_owned(),
            before,
            after,
        })
    };
    match (&a.kind, &b.kind) {
        (Kind::Object(_), Kind::Object(_)) => {
            let (a_seen, b_seen) = (seen(a, a_text), seen(b, b_text));
            for ((a_name, a_value), (b_name, b_value)) in a_seen.iter().zip(&b_seen) {
                if a_name != b_name {
                    return at(
                        a_value.span.start,
                        b_value.span.start,
                        &step(pointer, b_name),
                    );
                }
                let inner = diverge(a_text, a_value, b_text, b_value, &step(pointer, b_name));
                if inner.is_some() {
                    return inner;
                }
            }
            let shared = a_seen.len().min(b_seen.len());
            let end = |members: &[&(String, Node)], node: &Node| {
                members
                    .get(shared)
                    .map_or(node.span.end - 1, |(_, value)| value.span.start)
            };
            let name = a_seen
                .get(shared)
                .or(b_seen.get(shared))
                .map(|(name, _)| name);
            // Equal but for white space, order aside, and what is not rendered: no name is left.
            name.and_then(|name| at(end(&a_seen, a), end(&b_seen, b), &step(pointer, name)))
        }
        (Kind::Array(a_elements), Kind::Array(b_elements)) => {
            for (index, (a_element, b_element)) in a_elements.iter().zip(b_elements).enumerate() {
                let pointer = step(pointer, &index.to_string());
                let inner = diverge(a_text, a_element, b_text, b_element, &pointer);
                if inner.is_some() {
                    return inner;
                }
            }
            if a_elements.len() == b_elements.len() {
                return None;
            }
            let shared = a_elements.len().min(b_elements.len());
            let end = |elements: &[Node], node: &Node| {
                elements
                    .get(shared)
                    .map_or(node.span.end - 1, |element| element.span.start)
            };
            at(
                end(a_elements, a),
                end(b_elements, b),
                &step(pointer, &shared.to_string()),
            )
        }
        _ => {
            let same = a_raw
                .bytes()
                .zip(b_raw.bytes())
                .take_while(|(a, b)| a == b)
                .count();
            at(a.span.start + same, b.span.start + same, pointer)
        }
    }
}

/// The members that count.
fn seen<'n>(node: &'n Node, text: &str) -> Vec<&'n (String, Node)> {
    node.members()
        .iter()
        .filter(|(name, value)| {
            !UNSEEN.contains(&name.as_str()) && &text[value.span.clone()] != "null"
        })
        .collect()
}
