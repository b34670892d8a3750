//! The policy in force: a preset and what `guard.toml` changes of it.

use codex_ds_rules::{Preset, Rule};

/// What is denied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The preset.
    pub preset: Preset,
}

impl Policy {
    /// The built-in policy of a preset.
    #[must_use]
    pub fn builtin(preset: Preset) -> Self {
        Self { preset }
    }

    /// Reads the text of a `guard.toml`.
    ///
    /// # Errors
    /// The text is not TOML, or a key has a value that it cannot have: what, where, and what
    /// would be right.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let table: toml_edit::Document<String> = text
            .parse()
            .map_err(|e: toml_edit::TomlError| PolicyError(e.to_string().replace('\n', " ")))?;
        let mut policy = Self::default();
        for (key, value) in table.iter() {
            match key {
                "schema" if value.as_integer() == Some(1) => {}
                "schema" => return Err(PolicyError("schema: expected 1".to_owned())),
                "preset" => {
                    policy.preset = value
                        .as_str()
                        .ok_or_else(|| PolicyError("preset: expected a string".to_owned()))?
                        .parse()
                        .map_err(|e: codex_ds_rules::UnknownPreset| {
                            PolicyError(format!("preset: {e}"))
                        })?;
                }
                other => {
                    return Err(PolicyError(format!(
                        "unknown key {other:?}: expected schema or preset"
                    )));
                }
            }
        }
        Ok(policy)
    }

    /// Whether a rule of the table is in force.
    pub(crate) fn enforces(&self, rule: &Rule) -> bool {
        rule.presets.contains(&self.preset)
    }
}

/// What is wrong with a `guard.toml`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PolicyError(pub String);

/// The `guard.toml` that set-up writes.
#[must_use]
pub fn default_policy_toml(preset: Preset) -> String {
    format!(
        "# The policy of the codex-ds guard. `codex-ds guard rules` lists what is denied.\n\
         # A file that cannot be read never opens the guard: the built-in lab preset holds then.\n\
         schema = 1\n\
         \n\
         # \"lab\": whatever changes machines, clusters, hardware, history or other people's\n\
         # things is denied. \"dev\": deletes inside the workspace, pushes without force and\n\
         # installs into the project pass as well.\n\
         preset = \"{preset}\"\n"
    )
}
