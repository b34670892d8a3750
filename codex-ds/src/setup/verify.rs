//! Asks the installed Codex whether it will run the guard. A file that looks right proves nothing:
//! Codex skips a hook that it does not trust without a word.

use std::path::Path;

use anyhow::Result;

use super::plan::{CONFIG, Plan};
use super::{guard_entry, receipt};
use crate::app_server::{AppServer, Hook};
use crate::codex::Codex;
use crate::file::{self, Mode};
use crate::ui;

/// What Codex said of the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verified {
    /// There is no guard in this profile.
    NoGuard,
    /// Codex is not there to ask.
    NotAsked,
    /// Codex will run it.
    Live,
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

pub(super) fn verify(home: &Path, codex: Option<&Codex>, plan: &mut Plan) -> Result<Verified> {
    let Some(hook) = plan
        .receipt
        .files
        .get(CONFIG)
        .and_then(|record| record.hook.clone())
    else {
        return Ok(Verified::NoGuard);
    };
    let Some(codex) = codex else {
        return Ok(Verified::NotAsked);
    };
    let _progress = ui::progress("asking Codex whether it trusts the guard");
    let ask = || -> Result<Option<Hook>> {
        let mut server = AppServer::start(&codex.path, home, home)?;
        Ok(server
            .hooks(home)?
            .into_iter()
            .find(|found| found.key == hook.key))
    };
    let found = match ask() {
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
        return Ok(Verified::Live);
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

fn trust(home: &Path, plan: &mut Plan, hash: &str) -> Result<()> {
    let path = home.join(CONFIG);
    let bytes = file::read_optional(&path)?.unwrap_or_default();
    let mut document = super::plan::parse(&path, &String::from_utf8_lossy(&bytes))?;
    if let Some(record) = plan.receipt.files.get_mut(CONFIG)
        && let Some(hook) = &mut record.hook
    {
        guard_entry::set_trust(&mut document, &hook.key, hash);
        hook.trusted_hash = Some(hash.to_owned());
        let text = document.to_string();
        record.sha256 = file::sha256(text.as_bytes());
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
