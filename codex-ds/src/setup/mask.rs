//! Masks secrets in a file before it is shown.

use std::borrow::Cow;

use codex_ds_wire::redact::Redactor;
use toml_edit::{DocumentMut, Item, TableLike, Value};

use super::plan::Layout;
use super::profile::PLACEHOLDER_KEY;

/// Parts of the names of keys whose values are secrets.
const SECRET: &[&str] = &[
    "auth",
    "cookie",
    "credential",
    "key",
    "passw",
    "passphrase",
    "pat",
    "pwd",
    "secret",
    "token",
];
/// Keys that hold such a part and whose values are none.
const HARMLESS: &[&str] = &[
    "env_key",
    "env_key_instructions",
    "file_opener",
    "trusted_hash",
];
/// Tables in which every value may be one: headers, query parameters, variables.
const SECRET_TABLES: &[&str] = &["http_headers", "query_params", "env", "set"];

/// `text` with secrets masked by asterisks. A TOML file is masked by its keys, everything also by
/// what secrets look like.
#[must_use]
pub(super) fn text(text: &str) -> Cow<'_, str> {
    let redactor = Redactor::default();
    let Ok(mut document) = text.parse::<DocumentMut>() else {
        return redactor.text(text);
    };
    mask_table(document.as_table_mut(), false);
    let masked = Layout::of(text).apply(&document.to_string());
    Cow::Owned(redactor.text(&masked).into_owned())
}

fn mask_table(table: &mut dyn TableLike, all: bool) {
    for (key, item) in table.iter_mut() {
        let name = key.get();
        let all = all || SECRET_TABLES.contains(&name);
        match item {
            Item::Table(table) => mask_table(table, all),
            Item::ArrayOfTables(tables) => {
                for table in tables.iter_mut() {
                    mask_table(table, all);
                }
            }
            Item::Value(Value::Array(array)) if name == "args" => mask_arguments(array),
            Item::Value(value) => mask_value(value, all || is_secret(name)),
            Item::None => {}
        }
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !HARMLESS.contains(&name.as_str()) && SECRET.iter().any(|part| name.contains(part))
}

fn mask_value(value: &mut Value, secret: bool) {
    match value {
        Value::String(text) if secret => {
            let masked = mask(text.value());
            replace(value, &masked);
        }
        Value::Array(array) => array.iter_mut().for_each(|value| mask_value(value, secret)),
        Value::InlineTable(table) => mask_table(table, secret),
        _ => {}
    }
}

/// Program arguments: the value of an option whose name says that it is a secret.
fn mask_arguments(array: &mut toml_edit::Array) {
    let mut follows = false;
    for value in array.iter_mut() {
        let Some(text) = value.as_str().map(str::to_owned) else {
            continue;
        };
        let masked = match text.split_once('=') {
            Some((name, secret)) if name.starts_with('-') && is_secret(name) => {
                Some(format!("{name}={}", mask(secret)))
            }
            _ if follows => Some(mask(&text)),
            _ => None,
        };
        follows = text.starts_with('-') && !text.contains('=') && is_secret(&text);
        if let Some(masked) = masked {
            replace(value, &masked);
        }
    }
}

fn replace(value: &mut Value, text: &str) {
    let decor = value.decor().clone();
    *value = Value::from(text);
    *value.decor_mut() = decor;
}

fn mask(text: &str) -> String {
    if text == PLACEHOLDER_KEY {
        text.to_owned()
    } else {
        "*".repeat(text.chars().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_secret_is_masked_and_nothing_else() {
        let file = "model = \"m\" # mine\n\
            experimental_bearer_token = \"hunter2\"\n\
            tool_output_token_limit = 100\n\
            base_url = \"https://user:hunter2@host/v1\"\n\
            env_key = \"LAB_KEY\"\n\
            http_headers = { \"X-Api-Key\" = \"hunter2\", Accept = \"hunter2\" }\n\
            [mcp_servers.x]\n\
            args = [\"--token\", \"hunter2\", \"--pat=hunter2\", \"--port\", \"80\"]\n\
            [mcp_servers.x.env]\nGITHUB_PAT = 'hunter2'\nANY = \"hunter2\"\n\
            [model_providers.y]\nexperimental_bearer_token = \"local-no-auth\"\n\
            query_params = { key = \"hunter2\" }\n";
        let shown = text(file);
        assert!(!shown.contains("hunter2"), "{shown}");
        for part in [
            "model = \"m\" # mine",
            "limit = 100",
            "\"LAB_KEY\"",
            "\"--port\", \"80\"",
            "local-no-auth",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert_eq!(shown.lines().count(), file.lines().count());
    }

    #[test]
    fn text_that_is_no_toml_is_masked_by_what_secrets_look_like() {
        let shown = text("use Bearer abcdefghijklmnop1234 here\n");
        assert!(!shown.contains("abcdefghijklmnop"), "{shown}");
    }
}
