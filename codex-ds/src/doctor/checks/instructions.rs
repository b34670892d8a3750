//! `instructions.…`: the model's instructions.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::catalog::named_file;
use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;
use crate::doctor::live;
use crate::setup::plan::CONFIG;
use crate::setup::profile::INSTRUCTIONS;

const KEY: &str = "model_instructions_file";

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "instructions.file",
        title: "the system prompt is there",
        requires: &["config.parses"],
        cost: Cost::Offline,
        deadline: Duration::from_secs(5),
        run: |context| Box::pin(async move { Ok(file(&context)) }),
    },
    Check {
        id: "instructions.sent",
        title: "Codex sends it",
        requires: &["instructions.file", "codex.turn"],
        cost: Cost::Codex,
        deadline: live::DEADLINE,
        run: |context| Box::pin(sent(context)),
    },
];

/// The instructions, or what is wrong with their file.
fn read(context: &Context) -> Result<(String, String), Box<Finding>> {
    let Some((item, layer)) = context.profile.get(&[KEY]) else {
        return Err(Box::new(
            Finding::fail("no instructions are named: the model gets the catalog's short ones")
                .measured(format!("no `{KEY}` above the first [table]"))
                .expected(format!("{KEY} = \"instructions.md\""))
                .source(CONFIG)
                .remedy("put it back, or run set-up again")
                .command("codex-ds setup"),
        ));
    };
    let path = named_file(context, item.as_str().unwrap_or_default());
    let source = format!("{}: {KEY}, {}", layer.name(), path.display());
    let bad = |measured: String| {
        let finding = Finding::fail("the instructions cannot be read: Codex does not start")
            .measured(measured)
            .expected("a text")
            .source(source.clone())
            .remedy("run set-up again: it writes the file anew")
            .command("codex-ds setup")
            .fixable();
        Box::new(finding)
    };
    match std::fs::read_to_string(&path) {
        Ok(text) if text.trim().is_empty() => Err(bad("an empty file".to_owned())),
        Ok(text) => Ok((text, source)),
        Err(error) => Err(bad(error.to_string())),
    }
}

fn file(context: &Context) -> Outcome {
    match read(context) {
        Err(finding) => (*finding).into(),
        Ok((text, source)) => {
            let findings = if text == INSTRUCTIONS {
                Vec::new()
            } else {
                vec![Finding::note("you have your own").source(source)]
            };
            Outcome::of(format!("{} bytes", text.len()), findings)
        }
    }
}

async fn sent(context: Arc<Context>) -> Result<Outcome> {
    let Ok((text, source)) = read(&context) else {
        return Ok(Outcome::skip("there are none"));
    };
    let turn = live::turn(&context).await;
    let Ok(turn) = &*turn else {
        return Ok(Outcome::skip("no request was seen"));
    };
    Ok(if turn.instructions.contains(text.trim()) {
        Outcome::pass(format!(
            "{} bytes, in a request that was recorded",
            text.trim().len()
        ))
    } else {
        let begin: String = turn.instructions.chars().take(120).collect();
        Finding::fail("the model gets other instructions than the file's")
            .measured(begin)
            .expected(text.lines().next().unwrap_or_default())
            .source(source)
            .remedy("does another file override it? config.overridden says more")
            .into()
    })
}
