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
    let call =
        |id: &str| json!({"type": "function_call", "name": "f", "arguments": "{}", "call_id": id});
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
