//! Whether a request extends the one before it, as a prefix cache sees it.
//!
//! The parts are compared in the order in which a server renders them: tools, system text, then
//! the conversation. What the model is not given (ids, empty members, `client_metadata`) does not
//! count. A cause is named only where the two texts prove it.

use std::collections::BTreeSet;

use crate::body::{Body, Json};
use crate::breakdown::{Breakdown, Section};
use crate::spans::{Kind, Node, step};
use crate::text::{ceil_char_boundary, floor_char_boundary};

/// Bytes shown before and after the place where two texts part.
const EXCERPT: (usize, usize) = (30, 60);

/// How a request stands to the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// All of the shorter one is the beginning of the other: the cache can serve it.
    Extends(Extension),
    /// They part before that.
    Breaks(Break),
    /// The texts do not tell, and why.
    Unknown(String),
}

/// See [`Standing::Extends`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// Bytes of the rendered parts that both share.
    pub kept: usize,
    /// Bytes that were added.
    pub added: usize,
    /// The first thinking that a template may leave out from now on, as a JSON pointer. DeepSeek
    /// V4's encoding keeps thinking only after the last user or developer message, so that a new
    /// one can break the cache there although the request extends.
    pub thinking_behind: Option<String>,
}

/// See [`Standing::Breaks`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// Where in the requests, as a JSON pointer.
    pub pointer: String,
    /// The first byte of the earlier body that differs.
    pub before: usize,
    /// The first byte of the later body that differs.
    pub after: usize,
    /// The earlier body around it.
    pub before_text: String,
    /// The later body around it.
    pub after_text: String,
    /// Bytes of the earlier request's rendered parts before the place.
    pub kept: usize,
    /// Bytes of the earlier request's rendered parts behind it, which the cache lost.
    pub lost: usize,
    /// What the payload proves to be the cause.
    pub cause: Option<String>,
}

/// Members that no template renders.
const UNSEEN: [&str; 6] = [
    "id",
    "call_id",
    "tool_call_id",
    "status",
    "phase",
    "encrypted_content",
];

/// Switches that change what some templates render, and not others.
const SWITCHES: [&str; 7] = [
    "reasoning",
    "reasoning_effort",
    "thinking",
    "chat_template_kwargs",
    "tool_choice",
    "text",
    "response_format",
];

/// Compares the bodies of two consecutive requests of a conversation.
#[must_use]
pub fn compare(before: &Body<'_>, after: &Body<'_>) -> Standing {
    let (Some(before), Some(after)) = (before.json(), after.json()) else {
        return Standing::Unknown("a body is no JSON".to_owned());
    };
    let old = Rendered::of(before);
    let new = Rendered::of(after);
    if old.segments.is_empty() || new.segments.is_empty() {
        return Standing::Unknown("a body has no conversation".to_owned());
    }
    if let (Some(a), Some(b)) = (before.root.get("model"), after.root.get("model"))
        && let Some(place) = diverge(before.text, a, after.text, b, "/model")
    {
        let cause = Some("another model".to_owned());
        return Standing::Breaks(old.broken(&new, place, 0, cause));
    }
    if let Some((place, kept)) = old.parts_from(&new) {
        let cause = cause(&old, &new, &place);
        return Standing::Breaks(old.broken(&new, place, kept, cause));
    }
    let changed = SWITCHES.iter().find(|name| {
        let value = |json: &Json<'_>| {
            json.root
                .get(name)
                .map(|node| json.text[node.span.clone()].to_owned())
        };
        value(before) != value(after)
    });
    if let Some(name) = changed {
        return Standing::Unknown(format!(
            "/{name} changed, which some templates render at the start of the prompt"
        ));
    }
    Standing::Extends(Extension {
        kept: old.bytes().min(new.bytes()),
        added: new.bytes().saturating_sub(old.bytes()),
        thinking_behind: thinking_behind(&old, &new),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Tools,
    System,
    Conversation,
}

struct Segment<'a> {
    block: Block,
    pointer: String,
    node: &'a Node,
}

/// A request in the order of the prompt.
struct Rendered<'a> {
    json: &'a Json<'a>,
    segments: Vec<Segment<'a>>,
}

impl<'a> Rendered<'a> {
    fn of(json: &'a Json<'_>) -> Self {
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

    fn bytes(&self) -> usize {
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
    fn parts_from(&self, new: &Self) -> Option<(Place, usize)> {
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

    fn broken(&self, new: &Self, place: Place, kept: usize, cause: Option<String>) -> Break {
        Break {
            before: place.before,
            after: place.after,
            before_text: excerpt(self.json.text, place.before),
            after_text: excerpt(new.json.text, place.after),
            kept,
            lost: self.bytes().saturating_sub(kept),
            pointer: place.pointer,
            cause,
        }
    }
}

/// Where two bodies part.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    pointer: String,
    before: usize,
    after: usize,
}

/// Where two values part for the model; `None` when they do not.
fn diverge(a_text: &str, a: &Node, b_text: &str, b: &Node, pointer: &str) -> Option<Place> {
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

fn excerpt(text: &str, at: usize) -> String {
    let start = floor_char_boundary(text, at.saturating_sub(EXCERPT.0));
    let end = ceil_char_boundary(text, at.saturating_add(EXCERPT.1));
    text[start..end].to_owned()
}

/// What the payload proves.
fn cause(old: &Rendered<'_>, new: &Rendered<'_>, place: &Place) -> Option<String> {
    if place.pointer.starts_with("/tools") {
        return Some(tools_cause(old, new));
    }
    let old_parts = Breakdown::of_json(old.json);
    let new_parts = Breakdown::of_json(new.json);
    let (a, b) = (old_parts.at(place.before), new_parts.at(place.after));
    // The same part on both sides, or the payload does not tell what became of what.
    let (a, b) = (a?, b?);
    if (a.section, &a.name) != (b.section, &b.name) {
        return None;
    }
    match a.section {
        Section::Environment => Some(environment_cause(
            &a.text(old.json.text),
            &b.text(new.json.text),
        )),
        Section::System | Section::Agents => Some(format!("the text of {} changed", a.name)),
        Section::History => Some(format!("an earlier item was rewritten: {}", a.name)),
        _ => None,
    }
}

fn tools_cause(old: &Rendered<'_>, new: &Rendered<'_>) -> String {
    let names = |rendered: &Rendered<'_>| -> Vec<String> {
        Breakdown::of_json(rendered.json)
            .parts
            .into_iter()
            .filter(|part| part.section == Section::Tools)
            .map(|part| part.name)
            .collect()
    };
    let (old, new) = (names(old), names(new));
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    let (old_set, new_set) = (set(&old), set(&new));
    let list = |names: Vec<&String>| {
        names
            .into_iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let added = list(new_set.difference(&old_set).collect());
    let removed = list(old_set.difference(&new_set).collect());
    match (added.is_empty(), removed.is_empty()) {
        (false, true) => format!("tools were added: {added}"),
        (true, false) => format!("tools were removed: {removed}"),
        (false, false) => format!("tools were added ({added}) and removed ({removed})"),
        (true, true) if old != new => "the same tools in another order".to_owned(),
        (true, true) => "a tool's definition changed".to_owned(),
    }
}

/// Which line of the environment changed, by its tag.
fn environment_cause(old: &str, new: &str) -> String {
    let line = old
        .lines()
        .zip(new.lines())
        .find(|(a, b)| a != b)
        .map(|(_, b)| b.trim());
    let tag = line
        .and_then(|line| line.strip_prefix('<'))
        .and_then(|line| line.split(['>', ' ', '/']).next())
        .filter(|tag| !tag.is_empty());
    tag.map_or_else(
        || "the environment changed".to_owned(),
        |tag| format!("the environment changed: {tag}"),
    )
}

fn thinking_behind(old: &Rendered<'_>, new: &Rendered<'_>) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::spans;

    fn of(before: &Value, after: &Value) -> Standing {
        let (before, after) = (before.to_string(), after.to_string());
        compare(&Body::read(&before), &Body::read(&after))
    }

    fn message(role: &str, text: &str) -> Value {
        json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
    }

    fn request(tools: &[&str], items: &[Value]) -> Value {
        let tools: Vec<Value> = tools
            .iter()
            .map(|name| json!({"type": "function", "name": name}))
            .collect();
        json!({"model": "m", "input": items, "tools": tools, "client_metadata": {"turn": 1}})
    }

    #[track_caller]
    fn broken(before: &Value, after: &Value) -> Break {
        match of(before, after) {
            Standing::Breaks(found) => found,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_longer_conversation_extends_and_metadata_does_not_count() {
        let before = request(&["a"], &[message("user", "hi")]);
        let mut after = request(&["a"], &[message("user", "hi"), message("assistant", "ho")]);
        after["client_metadata"]["turn"] = json!(2);
        let Standing::Extends(found) = of(&before, &after) else {
            panic!()
        };
        assert_eq!(found.added, message("assistant", "ho").to_string().len());
        assert_eq!(found.thinking_behind, None);
        assert!(matches!(of(&after, &before), Standing::Extends(_)));
        assert!(matches!(
            of(&after, &after),
            Standing::Extends(Extension { added: 0, .. })
        ));
    }

    #[test]
    fn ids_are_no_break() {
        let call = |id: &str| json!({"type": "function_call", "name": "f", "arguments": "{}", "call_id": id});
        let with = |id: &str| request(&[], &[call(id)]);
        assert!(matches!(of(&with("a"), &with("b")), Standing::Extends(_)));
    }

    #[test]
    fn the_break_is_named_to_the_byte() {
        let before = request(
            &["a"],
            &[message("user", "abcdef"), message("assistant", "x")],
        );
        let after = request(
            &["a"],
            &[message("user", "abcXef"), message("assistant", "x")],
        );
        let found = broken(&before, &after);
        assert_eq!(found.pointer, "/input/0/content/0/text");
        let (before, after) = (before.to_string(), after.to_string());
        assert_eq!(&before[found.before..=found.before], "d");
        assert_eq!(&after[found.after..=found.after], "X");
        assert!(found.before_text.contains("abcdef") && found.after_text.contains("abcXef"));
        assert_eq!(
            found.cause.as_deref(),
            Some("an earlier item was rewritten: user")
        );
        assert!(found.lost > message("assistant", "x").to_string().len());
        assert!(found.kept > 20);
    }

    #[test]
    fn causes_are_named_where_the_payload_proves_them() {
        let items = [message("developer", "be brief"), message("user", "hi")];
        let base = request(&["a", "b"], &items);
        let env = |cwd: &str| {
            let text = format!("<environment_context>\n  <cwd>{cwd}</cwd>\n</environment_context>");
            request(&["a"], &[message("user", &text)])
        };
        for (before, after, pointer, cause) in [
            (
                &base,
                &request(&["a", "b", "c"], &items),
                "/tools/2",
                "tools were added: c",
            ),
            (
                &base,
                &request(&["a"], &items),
                "/tools/1",
                "tools were removed: b",
            ),
            (
                &base,
                &request(&["b", "a"], &items),
                "/tools/0/name",
                "the same tools in another order",
            ),
            (
                &base,
                &request(
                    &["a", "b"],
                    &[message("developer", "be terse"), message("user", "hi")],
                ),
                "/input/0/content/0/text",
                "the text of instructions changed",
            ),
            (
                &env("/a"),
                &env("/b"),
                "/input/0/content/0/text",
                "the environment changed: cwd",
            ),
        ] {
            let found = broken(before, after);
            assert_eq!(
                (found.pointer.as_str(), found.cause.as_deref()),
                (pointer, Some(cause))
            );
        }
        // An item that is gone may have been anything: no cause.
        let found = broken(&base, &request(&["a", "b"], &[message("user", "hi")]));
        assert_eq!(found.cause, None);
    }

    #[test]
    fn another_model_breaks_and_another_effort_is_unknown() {
        let base = request(&["a"], &[message("user", "hi")]);
        let mut model = base.clone();
        model["model"] = json!("n");
        assert_eq!(broken(&base, &model).pointer, "/model");
        let mut effort = base.clone();
        effort["reasoning"] = json!({"effort": "high"});
        assert!(matches!(of(&base, &effort), Standing::Unknown(why) if why.contains("/reasoning")));
    }

    #[test]
    fn a_new_message_puts_earlier_thinking_at_risk() {
        let thought =
            json!({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]});
        let mut items = vec![message("user", "hi"), thought, message("assistant", "ho")];
        let before = request(&[], &items);
        items.push(message("assistant", "more"));
        let Standing::Extends(found) = of(&before, &request(&[], &items)) else {
            panic!()
        };
        assert_eq!(found.thinking_behind, None);
        items.push(message("user", "go on"));
        let Standing::Extends(found) = of(&before, &request(&[], &items)) else {
            panic!()
        };
        assert_eq!(found.thinking_behind.as_deref(), Some("/input/1"));
    }

    #[test]
    fn what_is_no_conversation_is_unknown() {
        for (a, b) in [("x", "{}"), ("{}", "{}"), ("[]", "3")] {
            assert!(matches!(
                compare(&Body::read(a), &Body::read(b)),
                Standing::Unknown(_)
            ));
        }
    }

    proptest! {
        #[test]
        fn a_request_extends_itself_and_any_pair_has_an_answer(
            a in prop::collection::vec(spans::tests::json(), 1..4),
            b in prop::collection::vec(spans::tests::json(), 0..4),
            tools in prop::collection::vec(spans::tests::json(), 0..3),
        ) {
            let one = json!({"tools": tools, "input": a});
            let same = matches!(of(&one, &one), Standing::Extends(_));
            prop_assert!(same);
            let longer: Vec<Value> = a.iter().chain(&b).cloned().collect();
            let extended = json!({"tools": tools, "input": longer});
            let same = matches!(of(&one, &extended), Standing::Extends(_));
            prop_assert!(same);
            if let Standing::Breaks(found) = of(&one, &json!({"tools": b, "input": a})) {
                prop_assert!(found.before <= one.to_string().len());
                prop_assert!(found.kept + found.lost >= found.kept);
            }
        }

        #[test]
        fn any_bytes_have_an_answer(a in prop::collection::vec(any::<u8>(), 0..64), b in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = compare(&Body::read(&a), &Body::read(&b));
        }
    }
}
