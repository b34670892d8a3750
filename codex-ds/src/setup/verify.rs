//! Asks the installed Codex whether it will run the guard. A file that looks right proves nothing:
//! Codex skips a hook that it does not trust without a word, and runs the command when the hook's
//! program cannot be started.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::plan::{CONFIG, Plan};
use super::strangers::Strangers;
use super::{guard_entry, profile, receipt};
use crate::app_server::{AppServer, Hook};
use crate::codex::Codex;
use crate::file::{self, Mode};
use crate::{env, process, ui};

/// How long the guard may take here; it needs milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// What Codex said of the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verified {
    /// There is no guard in this profile.
    NoGuard,
    /// Codex is not there to ask.
    NotAsked,
    /// Codex will run it.
    Live,
    /// Codex will run it, since the user trusts it.
    LiveByUser,
    /// Its trust was left to the user.
    LeftToUser,
    /// Codex will not run it, for this reason.
    Dead(String),
}

impl Verified {
    pub(super) fn failed(&self) -> bool {
        matches!(self, Self::Dead(_))
    }
}

pub(super) async fn verify(
    home: &Path,
    codex: Option<&Codex>,
    plan: &mut Plan,
) -> Result<Verified> {
    let Some(hook) = plan
        .receipt
        .files
        .get(CONFIG)
        .and_then(|record| record.hook.clone())
    else {
        return Ok(Verified::NoGuard);
    };
    if let Err(why) = prove(home).await {
        return Ok(Verified::Dead(why));
    }
    let Some(codex) = codex else {
        return Ok(Verified::NotAsked);
    };
    let _progress = ui::progress("asking Codex whether it trusts the guard");
    let strangers = Strangers::before(home);
    let ask = || -> Result<Option<Hook>> {
        let mut server = AppServer::start(&codex.path, home, home)?;
        Ok(server
            .hooks(home)?
            .into_iter()
            .find(|found| found.key == hook.key))
    };
    let found = ask();
    strangers.remove();
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            return Ok(Verified::Dead(format!(
                "Codex does not load the profile: {error:#}"
            )));
        }
    };
    let Some(found) = found else {
        return Ok(Verified::Dead(
            "Codex does not list it: are hooks switched off in config.toml, or by the system's \
             /etc/codex/requirements.toml?"
                .to_owned(),
        ));
    };
    if found.is_live() {
        return Ok(if hook.trusted_hash.is_some() {
            Verified::Live
        } else {
            Verified::LiveByUser
        });
    }
    if hook.trusted_hash.is_none() {
        return Ok(Verified::LeftToUser);
    }
    if !found.enabled {
        return Ok(Verified::Dead(
            "it was switched off in /hooks; switch it on there".to_owned(),
        ));
    }
    // A Codex that hashes definitions in another way: take its word for our own definition.
    if found.hash != hook.trusted_hash.clone().unwrap_or_default() && !found.hash.is_empty() {
        trust(home, plan, &found.hash)?;
        if ask()?.is_some_and(|found| found.is_live()) {
            return Ok(Verified::Live);
        }
    }
    Ok(Verified::Dead(format!(
        "Codex calls it {}; open `codex-ds`, type /hooks and trust {}",
        found.trust, found.command
    )))
}

/// Starts the guard by the command line that Codex has, and sees it deny what it always denies.
async fn prove(home: &Path) -> Result<(), String> {
    let event = json!({
        "session_id": "codex-ds setup",
        "cwd": home,
        "hook_event_name": "PreToolUse",
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_input": { "command": "rm -rf /" },
    });
    let line = profile::hook_command(home);
    let mut command = tokio::process::Command::new("sh");
    command
        .args(["-c", &line])
        .env(env::CODEX_HOME, home)
        .current_dir(home);
    let output = process::run_with_input(&mut command, event.to_string().into_bytes(), PATIENCE)
        .await
        .map_err(|error| format!("its program cannot be run: {error:#}"))?;
    if output.status.code() == Some(2) && !output.stderr.is_empty() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "`{line}` should have denied `rm -rf /` with status 2; it ended with {}: {}",
        output.status,
        said.trim()
    ))
}

fn trust(home: &Path, plan: &mut Plan, hash: &str) -> Result<()> {
    let path = home.join(CONFIG);
    let bytes = file::read_optional(&path)?.unwrap_or_default();
    let mut document = super::plan::parse(&path, &String::from_utf8_lossy(&bytes))?;
    if let Some(record) = plan.receipt.files.get_mut(CONFIG)
        && let Some(hook) = &mut record.hook
    {
        guard_entry::set_trust(&mut document, &hook.key, hash)?;
        hook.trusted_hash = Some(hash.to_owned());
        let text = document.to_string();
        record.sha256 = file::sha256(text.as_bytes());
        record.length = text.len();
        file::write_atomic(&path, text.as_bytes(), Mode::Private)?;
        let receipt_text = plan.receipt.to_text();
        file::write_atomic(
            &home.join(receipt::NAME),
            receipt_text.as_bytes(),
            Mode::Private,
        )?;
    }
    Ok(())
}
