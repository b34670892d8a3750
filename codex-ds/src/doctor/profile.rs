//! The profile's configuration as its files say it, and where its requests go.

use std::path::{Path, PathBuf};

use codex_ds_wire::secret::Secret;
use toml_edit::{DocumentMut, Item};

use crate::setup::leaves;
use crate::setup::plan::{self, CONFIG};

/// What the file of a named profile ends with.
pub const SUFFIX: &str = ".config.toml";
/// The name that stands for the base file alone.
pub const DEFAULT: &str = "default";

/// The base file, and a named profile laid over it.
#[derive(Debug)]
pub struct Profile {
    /// The profile's folder.
    home: PathBuf,
    /// The name that was asked for.
    pub name: Option<String>,
    /// The files, the base first.
    pub layers: Vec<Layer>,
}

/// One file of a configuration.
#[derive(Debug)]
pub struct Layer {
    /// The file.
    pub file: PathBuf,
    /// What is in it, or why that cannot be read.
    pub document: Result<DocumentMut, String>,
}

/// Where requests of a profile go.
#[derive(Clone, Debug)]
pub struct Route {
    /// The profile: `default`, `native`, …
    pub profile: String,
    /// The id of the provider.
    pub provider: String,
    /// Its base URL, as the configuration has it.
    pub base_url: String,
    /// The model's name.
    pub model: String,
    /// The key that Codex sends; none where the provider names none, an error where what it names
    /// has none.
    pub key: Result<Option<Secret>, String>,
}

impl Profile {
    /// Reads the profile in `home`, with the one called `name` over it.
    #[must_use]
    pub fn read(home: &Path, name: Option<&str>) -> Self {
        let mut files = vec![home.join(CONFIG)];
        if let Some(name) = name.filter(|name| *name != DEFAULT) {
            files.push(home.join(format!("{name}{SUFFIX}")));
        }
        Self {
            home: home.to_path_buf(),
            name: name.map(str::to_owned),
            layers: files.into_iter().map(Layer::read).collect(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(DEFAULT)
    }

    /// The value of a key, and the file that it stands in: the last that has it.
    #[must_use]
    pub fn get(&self, path: &[&str]) -> Option<(&Item, &Layer)> {
        self.layers.iter().rev().find_map(|layer| {
            let document = layer.document.as_ref().ok()?;
            let mut item = document.as_item();
            for key in path {
                item = item.as_table_like()?.get(key)?;
            }
            Some((item, layer))
        })
    }

    /// Where a key stands in the wrong table: the table and the key, dotted. In TOML all that follows
    /// a `[table]` belongs to it, so a key that is added at the end of a file is not the file's.
    #[must_use]
    pub fn elsewhere(&self, path: &[&str]) -> Option<String> {
        let wanted = path.join(".");
        self.layers.iter().find_map(|layer| {
            let document = layer.document.as_ref().ok()?;
            leaves::leaves(document).into_keys().find(|key| {
                key.strip_suffix(&wanted)
                    .is_some_and(|table| table.ends_with('.'))
            })
        })
    }

    /// The text of a key.
    #[must_use]
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        self.get(path)?.0.as_str()
    }

    /// The names of the MCP servers, over all files.
    #[must_use]
    pub fn mcp_servers(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .layers
            .iter()
            .filter_map(|layer| {
                layer
                    .document
                    .as_ref()
                    .ok()?
                    .get("mcp_servers")?
                    .as_table_like()
            })
            .flat_map(|table| table.iter().map(|(name, _)| name.to_owned()))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// The names of the profiles that there are files for, `default` first.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.home)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let name = name.strip_suffix(SUFFIX)?;
                (!name.is_empty()).then(|| name.to_owned())
            })
            .collect();
        names.sort();
        names.insert(0, DEFAULT.to_owned());
        names
    }

    /// Where requests go, each address and model once: of the selected profile, or of all of them
    /// where none was selected. One that leads nowhere is left out.
    #[must_use]
    pub fn routes(&self) -> Vec<Route> {
        let names = match &self.name {
            Some(name) => vec![name.clone()],
            None => self.names(),
        };
        let mut routes: Vec<Route> = Vec::new();
        for name in names {
            let Ok(route) = Self::read(&self.home, Some(&name)).route() else {
                continue;
            };
            if !routes
                .iter()
                .any(|other| other.base_url == route.base_url && other.model == route.model)
            {
                routes.push(route);
            }
        }
        routes
    }

    /// Where requests of this profile go.
    ///
    /// # Errors
    /// When a key that decides it is missing, in words.
    pub fn route(&self) -> Result<Route, String> {
        let needed = |path: &[&str]| {
            self.text(path)
                .map(str::to_owned)
                .ok_or_else(|| format!("there is no `{}`", path.join(".")))
        };
        let model = needed(&["model"])?;
        let provider = needed(&["model_provider"])?;
        let base_url = needed(&["model_providers", &provider, "base_url"])?;
        Ok(Route {
            profile: self.name().to_owned(),
            key: self.key(&provider),
            provider,
            base_url,
            model,
        })
    }

    fn key(&self, provider: &str) -> Result<Option<Secret>, String> {
        let of = |key: &str| self.text(&["model_providers", provider, key]);
        if let Some(name) = of("env_key") {
            return match std::env::var(name) {
                Ok(value) if !value.trim().is_empty() => Ok(Some(Secret::new(value))),
                _ => Err(format!("the variable {name} is not set")),
            };
        }
        if let Some(token) = of("experimental_bearer_token") {
            return Ok(Some(Secret::new(token)));
        }
        let auth = ["model_providers", provider, "auth"];
        if self.get(&auth).is_none() {
            return Ok(None);
        }
        // Only the command that set-up writes is read; another one would have to be run.
        let file = self
            .get(&[&auth[..], &["args"]].concat())
            .and_then(|(args, _)| args.as_array()?.get(0)?.as_str());
        match (self.text(&[&auth[..], &["command"]].concat()), file) {
            (Some("cat"), Some(file)) => match std::fs::read_to_string(file) {
                Ok(text) if !text.trim().is_empty() => Ok(Some(Secret::new(text))),
                Ok(_) => Err(format!("{file} is empty")),
                Err(error) => Err(format!("{file}: {error}")),
            },
            _ => Err("its `auth` is a command of your own, which is not run here".to_owned()),
        }
    }
}

impl Layer {
    fn read(file: PathBuf) -> Self {
        let document = match std::fs::read_to_string(&file) {
            Ok(text) => plan::parse(&file, &text).map_err(|error| error.to_string()),
            Err(error) => Err(format!("{}: {error}", file.display())),
        };
        Self { file, document }
    }

    /// The file's name.
    #[must_use]
    pub fn name(&self) -> String {
        self.file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(files: &[(&str, &str)]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs_err::write(home.path().join(name), text).unwrap();
        }
        home
    }

    const BASE: &str = "model = \"m-cc\"\nmodel_provider = \"p\"\n[model_providers.p]\n\
                        base_url = \"http://h/v1\"\nexperimental_bearer_token = \"t\"\n";

    #[test]
    fn each_address_and_model_is_one_route() {
        let home = home(&[
            ("config.toml", BASE),
            ("native.config.toml", "model = \"m\"\n"),
            ("fast.config.toml", "model_reasoning_effort = \"low\"\n"),
            ("lost.config.toml", "model_provider = \"none\"\n"),
            ("bad.config.toml", "= no TOML"),
        ]);
        let routes = |name| {
            Profile::read(home.path(), name)
                .routes()
                .iter()
                .map(|route| format!("{} {}", route.profile, route.model))
                .collect::<Vec<_>>()
        };
        assert_eq!(routes(None), ["default m-cc", "native m"]);
        assert_eq!(routes(Some("native")), ["native m"]);
        assert_eq!(routes(Some("lost")), [""; 0]);
        let lost = Profile::read(home.path(), Some("lost")).route();
        assert_eq!(
            lost.unwrap_err(),
            "there is no `model_providers.none.base_url`"
        );
    }

    #[test]
    fn the_key_comes_from_where_the_provider_says() {
        let key = |provider: &str| {
            let text = format!("[model_providers.p]\n{provider}");
            let home = home(&[("config.toml", &text), ("key", "from-file\n")]);
            let place = home.path().join("key").display().to_string();
            let text = text.replace("FILE", &place);
            fs_err::write(home.path().join("config.toml"), text).unwrap();
            Profile::read(home.path(), None)
                .key("p")
                .map(|key| key.map(|key| key.expose().to_owned()))
        };
        assert_eq!(key(""), Ok(None));
        assert_eq!(
            key("experimental_bearer_token = \"t\""),
            Ok(Some("t".into()))
        );
        assert_eq!(
            key("auth = { command = \"cat\", args = [\"FILE\"] }"),
            Ok(Some("from-file".into()))
        );
        assert!(key("auth = { command = \"cat\", args = [\"FILE.gone\"] }").is_err());
        assert!(key("auth = { command = \"op\" }").is_err());
        assert_eq!(
            key("env_key = \"CODEX_DS_NO_SUCH_VARIABLE\""),
            Err("the variable CODEX_DS_NO_SUCH_VARIABLE is not set".into())
        );
    }

    #[test]
    fn a_key_in_the_wrong_table_is_found() {
        let home = home(&[(
            "config.toml",
            &format!("{BASE}model_catalog_json = \"x\"\n"),
        )]);
        let profile = Profile::read(home.path(), None);
        assert_eq!(
            profile.elsewhere(&["model_catalog_json"]).as_deref(),
            Some("model_providers.p.model_catalog_json")
        );
        assert_eq!(profile.elsewhere(&["model"]), None);
    }

    #[test]
    fn the_last_file_that_has_a_key_decides() {
        let home = home(&[
            ("config.toml", BASE),
            ("native.config.toml", "model = \"m\"\n"),
        ]);
        let profile = Profile::read(home.path(), Some("native"));
        let (_, layer) = profile.get(&["model"]).unwrap();
        assert_eq!(layer.name(), "native.config.toml");
        assert_eq!(profile.text(&["model_provider"]), Some("p"));
    }
}
