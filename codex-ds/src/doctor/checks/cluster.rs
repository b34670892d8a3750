//! `cluster.…`: the serving stack of a site, where there is one in the working folder.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use codex_ds_deploy::check::{self, Severity};
use codex_ds_deploy::cluster::diagnose::{Diagnosis, diagnose};
use codex_ds_deploy::cluster::{Canary, collect};
use codex_ds_deploy::kubectl::Program;
use codex_ds_deploy::site::Site;

use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;

/// How long one run of kubectl may take.
const LIMIT: Duration = Duration::from_secs(15);
/// The same where a token is waited for: above the time that is given to it.
const CANARY_LIMIT: Duration = Duration::from_secs(100);

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "cluster.site",
        title: "the site describes a stack that can come up",
        requires: &[],
        cost: Cost::Offline,
        deadline: Duration::from_secs(5),
        run: |context| Box::pin(async move { Ok(site(&context)) }),
    },
    Check {
        id: "cluster.stack",
        title: "the stack shows no known failure",
        requires: &["cluster.site"],
        cost: Cost::Network,
        deadline: Duration::from_secs(130),
        run: |context| Box::pin(stack(context)),
    },
];

/// The file that `codex-ds deploy` takes as well.
const FILE: &str = "site.toml";

fn site(context: &Context) -> Outcome {
    let path = context.cwd.join(FILE);
    if !path.is_file() {
        return Outcome::skip(format!("there is no {FILE} in the working folder"));
    }
    let site = match Site::load(&path) {
        Ok(site) => site,
        Err(error) => {
            return Finding::fail(error.to_string())
                .source(path.display().to_string())
                .remedy("correct the lines that it names")
                .command("codex-ds deploy check")
                .into();
        }
    };
    let found = check::site(&site)
        .into_iter()
        .filter_map(|found| {
            let text = format!("{}: {}", found.object, found.rule.says);
            let finding = match found.rule.severity {
                Severity::Error => Finding::fail(text),
                Severity::Warning => Finding::warn(text),
                Severity::Note => return None,
            };
            Some(
                finding
                    .measured(found.found)
                    .source(format!(
                        "{}:{} [{}]",
                        found.file, found.line, found.rule.code
                    ))
                    .remedy(found.rule.fix),
            )
        })
        .collect();
    Outcome::of(path.display().to_string(), found)
}

async fn stack(context: Arc<Context>) -> Result<Outcome> {
    let site = Site::load(&context.cwd.join(FILE))?;
    let canary = context.deep;
    let kubectl = Program {
        program: "kubectl".into(),
        context: site.context.clone(),
        limit: if canary { CANARY_LIMIT } else { LIMIT },
    };
    let looked = tokio::task::spawn_blocking(move || {
        let canary = canary.then_some(collect::CANARY);
        let facts = collect::facts(&kubectl, &site, canary)?;
        let diagnoses = diagnose(&site, &facts);
        Ok::<_, codex_ds_deploy::kubectl::KubectlError>((facts, diagnoses))
    })
    .await?;
    Ok(match looked {
        Err(error) => Finding::fail(error.to_string())
            .remedy(error.hint())
            .command("codex-ds deploy status")
            .into(),
        Ok((facts, diagnoses)) => {
            let token = match facts.canary {
                Canary::Came => "a token came",
                _ => "no token was asked for",
            };
            let seen = format!("{} pods, {token}", facts.pods.len());
            Outcome::of(seen, diagnoses.iter().map(known).collect())
        }
    })
}

fn known(diagnosis: &Diagnosis) -> Finding {
    let text = format!("{}: {}", diagnosis.code, diagnosis.says);
    let finding = match diagnosis.severity {
        "error" => Finding::fail(text),
        _ => Finding::warn(text),
    };
    finding
        .measured(diagnosis.evidence.join("; "))
        .source("kubectl")
        .remedy(diagnosis.fix)
        .command("codex-ds deploy status")
}
