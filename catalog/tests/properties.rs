//! What holds for every catalog: a rendered one is sound, and no text makes the check fall over.

use codex_ds_catalog::{INSTRUCTIONS, Problem, Request, Route, Served, check, render};
use proptest::prelude::*;
use serde_json::Value;

fn request(id: &str, max_model_len: Option<u64>, context: Option<u64>, route: Route) -> Request {
    Request {
        served: Served {
            id: id.to_owned(),
            max_model_len,
        },
        context,
        route,
    }
}

#[test]
fn the_deepseek_entries() {
    let text = render(
        &[
            request("deepseek-v4-flash-cc", None, None, Route::Bridge),
            request("deepseek-v4-flash", Some(1_048_576), None, Route::Native),
        ],
        INSTRUCTIONS,
    )
    .unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn an_unknown_model_is_offered_no_level() {
    let text = render(
        &[request("acme/coder", Some(65_536), None, Route::Direct)],
        INSTRUCTIONS,
    )
    .unwrap();
    let catalog: Value = serde_json::from_str(&text).unwrap();
    let model = &catalog["models"][0];
    assert_eq!(model["display_name"], "acme/coder");
    assert_eq!(model["supported_reasoning_levels"], serde_json::json!([]));
    assert_eq!(model["default_reasoning_level"], Value::Null);
    assert!(check(&text).is_ok());
}

#[test]
fn one_id_gives_one_entry() {
    let text = render(
        &[
            request("deepseek-v4-flash", None, Some(65_536), Route::Bridge),
            request("deepseek-v4-flash", None, Some(32_768), Route::Native),
        ],
        INSTRUCTIONS,
    )
    .unwrap();
    let slugs = check(&text).unwrap();
    assert_eq!(slugs.len(), 1);
    assert_eq!(slugs[0].context, 65_536);
}

#[test]
fn what_cannot_be_rendered_says_why() {
    let errors = [
        render(&[], INSTRUCTIONS),
        render(&[request(" ", None, None, Route::Direct)], INSTRUCTIONS),
        render(&[request("m", None, None, Route::Direct)], "\n"),
        render(
            &[request("m", Some(32_768), Some(40_000), Route::Direct)],
            INSTRUCTIONS,
        ),
    ]
    .map(|result| {
        let error = result.unwrap_err();
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        format!("{error}{}", cause.unwrap_or_default())
    });
    insta::assert_snapshot!(errors.join("\n"));
}

fn any_request() -> impl Strategy<Value = Request> {
    let id = prop_oneof!["(deepseek-v4-flash|gpt-oss|GLM-5.3-Flash)(-cc)?", ".*\\S.*"];
    let route = prop_oneof![
        Just(Route::Bridge),
        Just(Route::Native),
        Just(Route::Direct)
    ];
    (id, proptest::option::of(16_384_u64..2_000_000), route)
        .prop_map(|(id, max_model_len, route)| request(&id, max_model_len, None, route))
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("models".to_owned()),
        Just("slug".to_owned()),
        Just("context_window".to_owned()),
        Just("truncation_policy".to_owned()),
        Just("limit".to_owned()),
        Just("supported_reasoning_levels".to_owned()),
        Just("effort".to_owned()),
        ".{0,4}",
    ];
    leaf.prop_recursive(4, 64, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((key.clone(), inner), 0..8)
                .prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn a_rendered_catalog_is_sound(requests in proptest::collection::vec(any_request(), 1..5), instructions in ".*\\S.*") {
        let text = render(&requests, &instructions).unwrap();
        prop_assert!(text.ends_with('\n'));
        let slugs = check(&text).unwrap();
        prop_assert!(requests.iter().all(|request| slugs.iter().any(|slug| slug.id == request.served.id)));
        prop_assert_eq!(render(&requests, &instructions).unwrap(), text);
    }

    #[test]
    fn no_text_is_too_strange(text in ".*") {
        let _ = check(&text);
    }

    #[test]
    fn no_json_is_too_strange(models in any_json(), entry in any_json()) {
        for json in [models, entry.clone(), serde_json::json!({ "models": [entry] })] {
            if let Err(problems) = check(&json.to_string()) {
                prop_assert!(!problems.is_empty());
                for Problem { pointer, .. } in &problems {
                    // A pointer leads somewhere, or to the key that is missing there.
                    let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
                    prop_assert!(json.pointer(parent).is_some(), "{pointer} in {json}");
                }
            }
        }
    }
}
