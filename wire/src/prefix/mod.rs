//! Whether a request extends the one before it, as a prefix cache sees it.
//!
//! The parts are compared in the order in which a server renders them: tools, system text, then
//! the conversation. What the model is not given (ids, empty members, `client_metadata`) does not
//! count. A cause is named only where the two texts prove it.

use crate::body::{Body, Json};
use crate::text::{ceil_char_boundary, floor_char_boundary};

mod cause;
mod diverge;
mod rendered;

use diverge::{Place, diverge};
use rendered::Rendered;

/// Bytes shown on each side of the place where two texts part.
const EXCERPT: usize = 60;

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
        return Standing::Breaks(broken(&old, &new, place, 0, cause));
    }
    if let Some((place, kept)) = old.parts_from(&new) {
        let cause = cause::of(&old, &new, &place);
        return Standing::Breaks(broken(&old, &new, place, kept, cause));
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
        thinking_behind: rendered::thinking_behind(&old, &new),
    })
}

fn broken(
    old: &Rendered<'_>,
    new: &Rendered<'_>,
    place: Place,
    kept: usize,
    cause: Option<String>,
) -> Break {
    Break {
        before: place.before,
        after: place.after,
        before_text: excerpt(old.json.text, place.before),
        after_text: excerpt(new.json.text, place.after),
        kept,
        lost: old.bytes().saturating_sub(kept),
        pointer: place.pointer,
        cause,
    }
}

fn excerpt(text: &str, at: usize) -> String {
    let start = floor_char_boundary(text, at.saturating_sub(EXCERPT));
    let end = ceil_char_boundary(text, at.saturating_add(EXCERPT));
    text[start..end].to_owned()
}

#[cfg(test)]
mod tests;
