//! What recording has to know of the profile: where its providers send requests, and their keys,
//! which must not be written down.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use codex_ds_wire::Secret;
use reqwest::Url;
use toml_edit::{DocumentMut, Item};

use crate::error::UserError;
use crate::setup::profile::{NATIVE_PROVIDER, PROVIDER};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    /// The address of the main provider.
    pub(crate) base_url: Option<Url>,
    /// The address of the second one, where there is one.
    pub(crate) native_url: Option<Url>,
    /// The keys that are found.
    pub(crate) keys: Vec<Secret>,
}

/// Reads `config.toml` in `home`; an empty profile when there is none.
///
/// # Errors
/// When it is there and cannot be read, or an address is none.
pub(crate) fn read(home: &Path) -> Result<Profile> {
    let path = home.join("config.toml");
    let Some(bytes) = crate::file::read_optional(&path)? else {
        return Ok(Profile::default());
    };
    let text =
        String::from_utf8(bytes).with_context(|| format!("{} is no text", path.display()))?;
    let document: DocumentMut = text.parse().map_err(|error| {
        UserError::usage(format!("{} is no TOML", path.display()))
            .because(error)
            .hint("write it again: codex-ds setup")
    })?;
    let mut profile = Profile::default();
    for (id, slot) in [
        (PROVIDER, &mut profile.base_url),
        (NATIVE_PROVIDER, &mut profile.native_url),
    ] {
        let provider = document.get("model_providers").and_then(|all| all.get(id));
        let Some(provider) = provider else { continue };
        if let Some(text) = provider.get("base_url").and_then(Item::as_str) {
            let url = Url::parse(text).map_err(|error| {
                UserError::usage(format!(
                    "{}: model_providers.{id}.base_url is {text:?}; expected http://HOST:PORT/v1",
                    path.display()
                ))
                .because(error)
                .hint("set it again: codex-ds setup --endpoint URL")
            })?;
            *slot = Some(url);
        }
        profile.keys.extend(keys(provider));
    }
    Ok(profile)
}

/// The provider's keys, from wherever Codex takes them. One that cannot be read here will be seen
/// on its way: what a client sends as a key is masked, too.
fn keys(provider: &Item) -> Vec<Secret> {
    let string = |key: &str| provider.get(key).and_then(Item::as_str);
    let variable = string("env_key").and_then(|name| std::env::var(name).ok());
    let token = string("experimental_bearer_token")
        .filter(|token| *token != crate::setup::profile::PLACEHOLDER_KEY)
        .map(str::to_owned);
    let file = provider
        .get("auth")
        .and_then(|auth| {
            auth.get("args")?
                .as_array()?
                .get(0)?
                .as_str()
                .map(PathBuf::from)
        })
        .and_then(|path| std::fs::read_to_string(path).ok());
    [variable, token, file]
        .into_iter()
        .flatten()
        .map(Secret::new)
        .filter(|secret| !secret.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_keys_are_found() {
        let home = tempfile::tempdir().expect("a folder");
        assert!(read(home.path()).expect("no profile").base_url.is_none());
        let key = home.path().join("key");
        fs_err::write(&key, "sk-from-file\n").expect("a file");
        let config = format!(
            "[model_providers.codex-ds]\nbase_url = \"http://127.0.0.1:1/v1\"\n\
             experimental_bearer_token = \"local-no-auth\"\n\
             [model_providers.codex-ds-native]\nbase_url = \"http://127.0.0.1:2/v1\"\n\
             [model_providers.codex-ds-native.auth]\ncommand = \"cat\"\nargs = [{key:?}]\n"
        );
        fs_err::write(home.path().join("config.toml"), config).expect("a file");
        let profile = read(home.path()).expect("a profile");
        let url = |url: &Option<Url>| url.as_ref().map(ToString::to_string);
        assert_eq!(
            url(&profile.base_url).as_deref(),
            Some("http://127.0.0.1:1/v1")
        );
        assert_eq!(
            url(&profile.native_url).as_deref(),
            Some("http://127.0.0.1:2/v1")
        );
        assert_eq!(profile.keys, [Secret::new("sk-from-file")]);
        fs_err::write(home.path().join("config.toml"), "a = ").expect("a file");
        assert!(read(home.path()).is_err());
    }
}
