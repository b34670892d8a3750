//! From what the user chose to what the files will say: asks the endpoints and settles the rest.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use codex_ds_catalog as catalog;
use codex_ds_rules::Preset;
use codex_ds_wire::secret::Secret;

use super::endpoint::{self, Endpoint, Kind};
use super::profile::{Decisions, Key, PLACEHOLDER_KEY, Side};
use super::receipt::Choices;
use crate::error::UserError;
use crate::ui;

/// The model of a profile that is written without asking: the first seed's routes.
const OFFLINE_MODEL: &str = "deepseek-v4-flash-cc";
/// What the name of a route ends with that translates Responses into Chat Completions.
const BRIDGE_SUFFIX: &str = "-cc";

/// What was decided.
pub(crate) struct Decided {
    /// What goes into the files.
    pub decisions: Decisions,
    /// What to tell the user.
    pub notes: Vec<String>,
}

pub(crate) async fn decide(choices: &Choices, offline: bool) -> Result<Decided> {
    let mut notes = Vec::new();
    // What is wrong with the options is said before anybody is asked.
    let preset = preset(choices)?;
    let key = key(choices)?;
    let secret = if offline { None } else { secret(&key)? };
    let address = choices.endpoint.as_deref().unwrap_or_default();
    let main = ask("--endpoint", address, secret.as_ref(), offline).await?;
    let native = match &choices.native_endpoint {
        Some(address) => Some(ask("--native-endpoint", address, secret.as_ref(), offline).await?),
        None => None,
    };
    let model = main_model(choices, &main, &mut notes)?;
    let native_model = native_model(choices, &main, native.as_ref(), &model)?;
    let limit = model.max_model_len.or(native_model.max_model_len);
    let window = catalog::window(limit, choices.context).map_err(|error| {
        let option = if choices.context.is_some() {
            "--context"
        } else {
            "the server's window"
        };
        UserError::usage(format!("{option}: {error}"))
    })?;
    let native_endpoint = native.as_ref().unwrap_or(&main);
    Ok(Decided {
        decisions: Decisions {
            native: Side {
                base_url: native_endpoint.base_url.clone(),
                kind: native_endpoint.kind.clone(),
                model: native_model,
            },
            main: Side {
                base_url: main.base_url,
                kind: main.kind,
                model,
            },
            key,
            context: choices.context,
            window,
            mcp: Vec::new(),
            preset,
        },
        notes,
    })
}

fn preset(choices: &Choices) -> Result<Preset> {
    let Some(text) = &choices.preset else {
        return Ok(Preset::Lab);
    };
    text.parse().map_err(|_| {
        UserError::usage(format!("--preset {text}: unknown preset; expected lab or dev"))
            .hint("lab refuses all that cannot be taken back; dev lets pass what a developer's own machine allows")
            .into()
    })
}

async fn ask(option: &str, address: &str, key: Option<&Secret>, offline: bool) -> Result<Endpoint> {
    let url = endpoint::base_url(option, address)?;
    if offline {
        return Ok(endpoint::unasked(&url));
    }
    let _progress = ui::progress(&format!("asking {url}"));
    endpoint::probe(option, &url, key).await
}

fn key(choices: &Choices) -> Result<Key> {
    if let Some(name) = &choices.api_key_env {
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && name.starts_with(|c: char| !c.is_ascii_digit());
        if !is_name {
            // It may be the key itself, so it is not repeated.
            return Err(UserError::usage(
                "--api-key-env takes the name of an environment variable; what was given is no name",
            )
            .hint("for example: export LAB_KEY=…, then --api-key-env LAB_KEY")
            .into());
        }
        return Ok(Key::Env(name.clone()));
    }
    match &choices.api_key_file {
        Some(path) => key_file(path).map(Key::File),
        None => Ok(Key::Placeholder),
    }
}

fn key_file(path: &Path) -> Result<PathBuf> {
    let path = path.canonicalize().map_err(|error| {
        UserError::usage(format!("--api-key-file {}: cannot be read", path.display()))
            .because(error)
            .hint("write the key into it first, then chmod 600 it")
    })?;
    if path.to_str().is_none() {
        return Err(
            UserError::usage(format!("--api-key-file {}: not UTF-8", path.display()))
                .hint("use a file whose whole path is text")
                .into(),
        );
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs_err::metadata(&path)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(UserError::usage(format!(
                "--api-key-file {}: mode is {mode:04o}; expected 0600, since others can read it",
                path.display()
            ))
            .hint(format!(
                "chmod 600 {}",
                shell_words::quote(&path.to_string_lossy())
            ))
            .into());
        }
    }
    Ok(path)
}

/// The key itself, from wherever it is kept.
pub(crate) fn secret(key: &Key) -> Result<Option<Secret>> {
    let (text, source) = match key {
        Key::Placeholder => return Ok(Some(Secret::new(PLACEHOLDER_KEY))),
        Key::Env(name) => (
            std::env::var(name).map_err(|_| {
                UserError::usage(format!("--api-key-env {name}: the variable is not set")).hint(
                    format!("export {name}=… first, or add --offline to ask nobody now"),
                )
            })?,
            format!("the variable {name}"),
        ),
        Key::File(path) => {
            let text = String::from_utf8(fs_err::read(path)?).map_err(|_| {
                UserError::usage(format!("{} holds bytes that are no text", path.display()))
                    .hint("write the key alone into it, on one line")
            })?;
            (text, path.display().to_string())
        }
    };
    let text = text.trim();
    // Codex drops a key with a space or a line break in it without a word (measured).
    if text.is_empty() || text.contains(char::is_whitespace) {
        let found = if text.is_empty() {
            "nothing"
        } else {
            "more than one word"
        };
        return Err(UserError::usage(format!(
            "{source} holds {found}; expected the key alone, on one line"
        ))
        .hint("write only the key into it")
        .into());
    }
    Ok(Some(Secret::new(text)))
}

fn main_model(
    choices: &Choices,
    endpoint: &Endpoint,
    notes: &mut Vec<String>,
) -> Result<catalog::Served> {
    if endpoint.kind == Kind::Unknown {
        let id = choices
            .model
            .clone()
            .unwrap_or_else(|| OFFLINE_MODEL.to_owned());
        return Ok(catalog::Served {
            id,
            max_model_len: None,
        });
    }
    if let Some(wanted) = &choices.model {
        return Ok(endpoint::served("--model", endpoint, wanted)?.clone());
    }
    let bridge = endpoint.models.iter().find(|model| {
        model
            .id
            .strip_suffix(BRIDGE_SUFFIX)
            .is_some_and(|native| endpoint.models.iter().any(|other| other.id == native))
    });
    let known = endpoint
        .models
        .iter()
        .find(|model| !catalog::family(&model.id).name.is_empty());
    let chosen = bridge
        .or(known)
        .or(endpoint.models.first())
        .context("a list with a model in it")?;
    if endpoint.models.len() > 2 || (bridge.is_none() && endpoint.models.len() > 1) {
        notes.push(format!(
            "{} models are served; took {} (another: --model NAME)",
            endpoint.models.len(),
            chosen.id
        ));
    }
    Ok(chosen.clone())
}

fn native_model(
    choices: &Choices,
    main: &Endpoint,
    native: Option<&Endpoint>,
    model: &catalog::Served,
) -> Result<catalog::Served, UserError> {
    let endpoint = native.unwrap_or(main);
    let plain = model.id.strip_suffix(BRIDGE_SUFFIX).unwrap_or(&model.id);
    if endpoint.kind == Kind::Unknown {
        let id = choices
            .native_model
            .clone()
            .unwrap_or_else(|| plain.to_owned());
        return Ok(catalog::Served {
            id,
            max_model_len: None,
        });
    }
    if let Some(wanted) = &choices.native_model {
        return endpoint::served("--native-model", endpoint, wanted).cloned();
    }
    let of = |id: &str| endpoint.models.iter().find(|served| served.id == id);
    let chosen = of(plain)
        .or_else(|| of(&model.id))
        .or_else(|| native.and_then(|endpoint| endpoint.models.first()));
    Ok(chosen.unwrap_or(model).clone())
}
