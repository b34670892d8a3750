//! Masks what a stream says piece by piece.
//!
//! A model that repeats a key says it in pieces of a token, each in an event of its own, none of
//! which looks like a key. So the pieces are held back until there is enough text around them to
//! judge, masked together, and put back: a mask has the length of what it hides.

use std::collections::HashMap;
use std::ops::Range;

use codex_ds_wire::Redactor;
use codex_ds_wire::spans::{self, Kind, Node};

/// The bytes of text that are held back; half of them are let go at a time. A secret of up to half
/// of it is masked wherever it is cut: a private key of 4096 bits has 3.3 KB.
const HELD: usize = 16 << 10;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Held {
    events: Vec<Event>,
    bytes: usize,
}

#[derive(Debug)]
struct Event {
    us: u64,
    text: String,
    /// The growing texts that this event adds to, by their place, and where they stand in it.
    grows: Vec<(String, Range<usize>)>,
}

impl Held {
    /// Takes the next event, and gives those that may be written now, masked.
    pub(super) fn push(
        &mut self,
        redactor: &Redactor,
        us: u64,
        text: String,
    ) -> Vec<(u64, String)> {
        let grows = growing(&text);
        if grows.is_empty() {
            let mut done = self.finish(redactor);
            done.push((us, redactor.text(&text).into_owned()));
            return done;
        }
        self.bytes += grows.iter().map(|(_, span)| span.len()).sum::<usize>();
        self.events.push(Event { us, text, grows });
        if self.bytes <= HELD {
            return Vec::new();
        }
        self.mask(redactor);
        let mut left = self.bytes;
        let split = self.events.iter().position(|event| {
            let length: usize = event.grows.iter().map(|(_, span)| span.len()).sum();
            left -= length;
            left <= HELD / 2
        });
        let rest = self
            .events
            .split_off(split.map_or(self.events.len(), |at| at + 1));
        self.bytes = left;
        let done = std::mem::replace(&mut self.events, rest);
        done.into_iter()
            .map(|event| (event.us, event.text))
            .collect()
    }

    /// Gives all that is held back.
    pub(super) fn finish(&mut self, redactor: &Redactor) -> Vec<(u64, String)> {
        self.mask(redactor);
        self.bytes = 0;
        let events = std::mem::take(&mut self.events);
        events
            .into_iter()
            .map(|event| (event.us, event.text))
            .collect()
    }

    /// Masks each growing text as a whole, and what stands beside them in each event.
    fn mask(&mut self, redactor: &Redactor) {
        let mut texts: HashMap<&str, String> = HashMap::new();
        for event in &self.events {
            for (place, span) in &event.grows {
                texts
                    .entry(place)
                    .or_default()
                    .push_str(&event.text[span.clone()]);
            }
        }
        let masked: HashMap<String, String> = texts
            .into_iter()
            .map(|(place, text)| (place.to_owned(), redactor.text(&text).into_owned()))
            .collect();
        let mut at: HashMap<&str, usize> = HashMap::new();
        for event in &mut self.events {
            let mut text = event.text.clone();
            for (place, span) in &event.grows {
                let start = at.entry(place).or_default();
                let end = *start + span.len();
                text.replace_range(span.clone(), &masked[place][*start..end]);
                *start = end;
            }
            event.text = redactor.text(&text).into_owned();
        }
    }
}

/// The strings of an event that add to a text: those below a `delta`, but for names and ids. Taken
/// as they are written, so that their pieces joined are the whole text as it is written.
fn growing(text: &str) -> Vec<(String, Range<usize>)> {
    let Some(start) = data(text) else {
        return Vec::new();
    };
    let json = text[start..].lines().next().unwrap_or_default();
    let Ok(root) = spans::parse(json) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let item = root
        .get("item_id")
        .and_then(|id| id.text(json))
        .unwrap_or_default();
    let kind = root
        .get("type")
        .and_then(|kind| kind.text(json))
        .unwrap_or_default();
    let place = format!("{kind} {item}");
    if let Some(delta) = root.get("delta") {
        strings(delta, &place, &mut found);
    }
    for choice in root.get("choices").map(Node::elements).unwrap_or_default() {
        if let Some(delta) = choice.get("delta") {
            strings(delta, &place, &mut found);
        }
    }
    for (_, span) in &mut found {
        *span = span.start + start..span.end + start;
    }
    found
}

/// Where the data of an event begins, when it has exactly one line of it.
fn data(text: &str) -> Option<usize> {
    let mut found = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix("data:") {
            let space = usize::from(rest.starts_with(' '));
            if found.replace(at + "data:".len() + space).is_some() {
                return None;
            }
        }
        at += line.len();
    }
    found
}

fn strings(node: &Node, place: &str, found: &mut Vec<(String, Range<usize>)>) {
    match &node.kind {
        Kind::String if !node.inner().is_empty() => found.push((place.to_owned(), node.inner())),
        Kind::Object(members) => {
            for (name, value) in members {
                if !matches!(name.as_str(), "type" | "role" | "id" | "name") {
                    strings(value, &format!("{place}/{name}"), found);
                }
            }
        }
        Kind::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                strings(element, &format!("{place}/{index}"), found);
            }
        }
        Kind::String | Kind::Scalar => {}
    }
}

#[cfg(test)]
mod tests {
    use codex_ds_wire::sse;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn responses(delta: &str) -> Value {
        json!({"type": "response.output_text.delta", "item_id": "m", "delta": delta})
    }

    fn chat(delta: &str) -> Value {
        json!({"choices": [{"index": 0, "delta": {"content": delta}}]})
    }

    fn anthropic(delta: &str) -> Value {
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": delta}})
    }

    /// Streams `text` in pieces of `size` characters, and gives what would be written.
    fn written(text: &str, size: usize, event: fn(&str) -> Value) -> Vec<(u64, String)> {
        let characters: Vec<char> = text.chars().collect();
        let redactor = Redactor::default();
        let mut held = Held::default();
        let mut out = Vec::new();
        for (number, piece) in characters.chunks(size).enumerate() {
            let piece: String = piece.iter().collect();
            let event = sse::write(None, &event(&piece).to_string());
            out.extend(held.push(&redactor, number as u64, event));
        }
        out.extend(held.finish(&redactor));
        out
    }

    fn said(events: &[(u64, String)]) -> String {
        let mut text = String::new();
        for (_, event) in events {
            for (_, span) in growing(event) {
                text.push_str(&spans::unescape(&event[span]));
            }
        }
        text
    }

    #[test]
    fn a_key_in_pieces_is_masked_in_each_api() {
        let text = "It is \"sk-proj-Ab12Cd34Ef56Gh78\",\nso there.";
        let masked = "It is \"sk-*********************\",\nso there.";
        for event in [responses, chat, anthropic] {
            for size in 1..12 {
                let events = written(text, size, event);
                assert_eq!(said(&events), masked);
                let order: Vec<u64> = events.iter().map(|(us, _)| *us).collect();
                assert!(order.is_sorted() && order.len() == text.len().div_ceil(size));
            }
        }
    }

    #[test]
    fn a_long_key_is_masked_wherever_it_lies() {
        let lines = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n".repeat(100);
        let key = format!("-----BEGIN PRIVATE KEY-----\n{lines}-----END PRIVATE KEY-----");
        for before in [0, 7_000, HELD - 100, HELD + 5_000] {
            let text = format!("{}{key} end", "word ".repeat(before / 5));
            let said = said(&written(&text, 4, responses));
            assert!(!said.contains("MIIE"), "{before}");
            // Of the end's marker no more may be left, but what follows it is.
            assert!(said.contains("-----BEGIN PRIVATE KEY-----***") && said.ends_with(" end"));
        }
    }

    #[test]
    fn other_events_are_not_held_back_and_keep_the_order() {
        let redactor = Redactor::default();
        let mut held = Held::default();
        let event = |value: &Value| sse::write(None, &value.to_string());
        assert!(held.push(&redactor, 1, event(&responses("a"))).is_empty());
        let out = held.push(
            &redactor,
            2,
            event(&json!({"type": "response.output_text.done"})),
        );
        assert_eq!(out.iter().map(|(us, _)| *us).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(
            held.push(&redactor, 3, "data: [DONE]\n\n".to_owned()).len(),
            1
        );
    }

    proptest! {
        #[test]
        fn nothing_but_masks_changes(text in ".{0,200}", size in 1_usize..9) {
            let events = written(&text, size, chat);
            prop_assert_eq!(said(&events).len(), text.len());
        }
    }
}
