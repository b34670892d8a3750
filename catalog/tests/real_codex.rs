//! The catalog and its check against the real Codex: `codex debug models` of every version that
//! `make peers` fetched.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use codex_ds_catalog::fields::{FIELDS, Field, Kind};
use codex_ds_catalog::{Effect, INSTRUCTIONS, Request, Route, Served, check, render};
use serde_json::{Value, json};

/// The versions that have to be there.
fn versions() -> impl Iterator<Item = &'static str> {
    include_str!("../../tests/peers/versions")
        .lines()
        .filter_map(|line| line.strip_prefix("codex "))
}

/// Where `make peers` puts what it fetches.
fn cache() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    folder("CODEX_DS_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("codex-ds")))
        .or_else(|| Some(folder("HOME")?.join(".cache/codex-ds")))
        .expect("HOME is set")
}

fn codex(version: &str) -> PathBuf {
    let program = cache()
        .join("codex")
        .join(version)
        .join("node_modules/.bin/codex");
    assert!(
        program.exists(),
        "{} is not there: run `make peers`",
        program.display()
    );
    program
}

/// What Codex makes of a catalog.
fn debug_models(codex: &Path, catalog: &str) -> Output {
    let home = tempfile::tempdir().unwrap();
    fs_err::write(
        home.path().join("config.toml"),
        "model_catalog_json = \"model-catalog.json\"\n",
    )
    .unwrap();
    fs_err::write(home.path().join("model-catalog.json"), catalog).unwrap();
    Command::new(codex)
        .args(["debug", "models"])
        .env("CODEX_HOME", home.path())
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn catalog() -> String {
    let request = |id: &str, max_model_len, context, route| Request {
        served: Served {
            id: String::from(id),
            max_model_len,
        },
        context,
        route,
    };
    render(
        &[
            request("deepseek-v4-flash-cc", None, None, Route::Bridge),
            request(
                "deepseek-v4-flash",
                Some(1_048_576),
                Some(262_144),
                Route::Native,
            ),
            request(
                "deepseek-ai/DeepSeek-V4.1-Flash",
                Some(131_072),
                None,
                Route::Direct,
            ),
            request("GLM-5.3-Flash", None, None, Route::Direct),
            request("Qwen3.8-Flash-Next", None, None, Route::Direct),
            request("gpt-oss-120b", None, None, Route::Direct),
            request("acme/coder \"ä\"", Some(32_768), None, Route::Direct),
        ],
        INSTRUCTIONS,
    )
    .unwrap()
}

#[test]
fn codex_loads_what_we_render_and_nothing_else() {
    let text = catalog();
    let ours = check(&text).unwrap();
    for version in versions() {
        let output = debug_models(&codex(version), &text);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{version}: {stderr}");
        let loaded: Value = serde_json::from_slice(&output.stdout).unwrap();
        let loaded = loaded["models"].as_array().unwrap();
        assert_eq!(loaded.len(), ours.len(), "{version}");
        for (model, slug) in loaded.iter().zip(&ours) {
            let efforts: Vec<_> = model["supported_reasoning_levels"]
                .as_array()
                .unwrap()
                .iter()
                .map(|level| level["effort"].as_str().unwrap())
                .collect();
            assert_eq!(model["slug"], slug.id, "{version}");
            assert_eq!(model["context_window"], slug.context, "{version}");
            assert_eq!(
                model["auto_compact_token_limit"],
                slug.compact_at.unwrap(),
                "{version}"
            );
            assert_eq!(efforts, slug.levels, "{version}");
            assert_eq!(
                model["model_messages"]["instructions_template"], INSTRUCTIONS,
                "{version}"
            );
        }
    }
}

/// Values that a field does not hold.
fn wrong(field: &Field) -> Vec<Value> {
    match field.kind {
        Kind::Text | Kind::TextOrNull => vec![json!(7), json!(["a"])],
        Kind::Bool => vec![json!("true"), json!(1), Value::Null],
        Kind::Int32 => vec![
            json!("1"),
            json!(1.5),
            json!(3_000_000_000_u64),
            Value::Null,
        ],
        Kind::Int64 | Kind::Int64OrNull => vec![json!("1"), json!(1.5), json!(u64::MAX)],
        Kind::OneOf(_) => vec![json!("bogus"), json!(7), Value::Null],
        Kind::OneOfOrNull(_) | Kind::KnownOrNull(_) => vec![json!("bogus"), json!(7)],
        Kind::TextList => vec![json!("a"), json!([1]), Value::Null],
        Kind::ListOf(_) => vec![json!("text"), json!(["smell"]), Value::Null],
        Kind::Levels | Kind::Level => {
            vec![
                json!("low"),
                json!(["low"]),
                json!([{ "effort": "low" }]),
                json!([{ "effort": 1, "description": "" }]),
            ]
        }
        Kind::Truncation => vec![
            json!("tokens"),
            json!({ "mode": "tokens" }),
            json!({ "mode": "lines", "limit": 1 }),
            json!({ "mode": "tokens", "limit": "1" }),
            json!({ "mode": "tokens", "limit": 0 }),
            Value::Null,
        ],
    }
}

/// Each fault of one entry: its name, and the catalog that has it.
fn faults() -> Vec<(String, &'static str, Value)> {
    let whole: Value = serde_json::from_str(&catalog()).unwrap();
    let mut sound = whole["models"][0].clone();
    let mut faults = Vec::new();
    for field in FIELDS {
        let kept = sound[field.name].clone();
        for value in wrong(field) {
            sound[field.name] = value.clone();
            faults.push((
                format!("{} = {value}", field.name),
                field.name,
                sound.clone(),
            ));
        }
        sound.as_object_mut().unwrap().shift_remove(field.name);
        faults.push((format!("without {}", field.name), field.name, sound.clone()));
        sound[field.name] = kept;
    }
    faults
}

#[test]
fn check_names_what_codex_refuses_and_passes_what_it_takes() {
    let faults = faults();
    assert!(faults.len() > 2 * FIELDS.len());
    std::thread::scope(|scope| {
        for version in versions() {
            let faults = &faults;
            scope.spawn(move || agree_with(version, faults));
        }
    });
}

fn agree_with(version: &str, faults: &[(String, &str, Value)]) {
    let codex = codex(version);
    for (name, field, entry) in faults {
        let text = json!({ "models": [entry] }).to_string();
        let problems = check(&text).err().unwrap_or_default();
        for problem in &problems {
            assert!(
                problem.pointer.starts_with(&format!("/models/0/{field}")),
                "{name}: {problem}"
            );
        }
        let refused = problems
            .iter()
            .any(|problem| problem.effect == Effect::Refused);
        let output = debug_models(&codex, &text);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            !output.status.success(),
            refused,
            "{name}, Codex {version}: {problems:?}\n{stderr}"
        );
    }
}

#[test]
fn every_required_field_is_required() {
    let whole: Value = serde_json::from_str(&catalog()).unwrap();
    for field in FIELDS
        .iter()
        .filter(|field| field.required || field.name == "base_instructions")
    {
        let mut entry = whole["models"][0].clone();
        entry.as_object_mut().unwrap().shift_remove(field.name);
        let text = json!({ "models": [entry] }).to_string();
        let problems = check(&text).unwrap_err();
        assert_eq!(problems.len(), 1, "{}", field.name);
        assert_eq!(problems[0].pointer, format!("/models/0/{}", field.name));
        assert_eq!(problems[0].effect, Effect::Refused);
    }
}
