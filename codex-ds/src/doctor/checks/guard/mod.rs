//! `guard.…`: the guard. A file that looks right proves nothing: Codex skips a hook that it does not
//! trust without a word, so it is asked, and then seen to deny.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use codex_ds_rules::Class;
use serde_json::{Value as Json, json};
use tokio::process::Command;
use tokio::task::spawn_blocking;
use toml_edit::DocumentMut;

use crate::doctor::check::{Check, Cost, Finding, Outcome};
use crate::doctor::context::Context;
use crate::doctor::live;
use crate::doctor::programs;
use crate::setup::receipt;
use crate::setup::{guard_entry, hook_groups, plan::CONFIG, profile};
use crate::{env, process};

mod program;
mod repository;

use program::installed;
use repository::repository;

const DEADLINE: Duration = Duration::from_secs(5);

/// The checks of this area.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "guard.policy",
        title: "guard.toml is valid, and the guard is wanted",
        requires: &[],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(policy(&context)) }),
    },
    Check {
        id: "guard.installed",
        title: "the guard's program is the one that set-up installed",
        requires: &["home.receipt"],
        cost: Cost::Offline,
        deadline: Duration::from_secs(20),
        // It reads and hashes some megabytes.
        run: |context| Box::pin(async { Ok(spawn_blocking(move || installed(&context)).await?) }),
    },
    Check {
        id: "guard.trusted",
        title: "Codex lists the guard's hook, and trusts it",
        requires: &["guard.installed", "config.loads"],
        cost: Cost::Codex,
        deadline: Duration::from_secs(30),
        run: |context| Box::pin(trusted(context)),
    },
    Check {
        id: "guard.hooks-on",
        title: "nothing switches hooks off",
        requires: &["guard.installed", "config.loads"],
        cost: Cost::Codex,
        deadline: Duration::from_secs(30),
        run: |context| Box::pin(feature(context, &HOOKS)),
    },
    Check {
        id: "guard.typing",
        title: "the model cannot type into a running terminal, unseen by the guard",
        requires: &["guard.installed", "config.loads"],
        cost: Cost::Codex,
        deadline: Duration::from_secs(30),
        run: |context| Box::pin(feature(context, &TYPING)),
    },
    Check {
        id: "guard.latency",
        title: "the guard answers at once",
        requires: &["guard.installed"],
        cost: Cost::Codex,
        deadline: Duration::from_secs(60),
        run: |context| Box::pin(latency(context)),
    },
    Check {
        id: "guard.denies",
        title: "a command that it has to stop does not run, under the real Codex",
        requires: &["guard.trusted", "codex.turn"],
        cost: Cost::Codex,
        deadline: live::DEADLINE,
        run: |context| Box::pin(denies(context)),
    },
    Check {
        id: "guard.repository",
        title: "no configuration of the working folder's repository weakens the profile",
        requires: &[],
        cost: Cost::Offline,
        deadline: DEADLINE,
        run: |context| Box::pin(async move { Ok(repository(&context)) }),
    },
];

/// The receipt of set-up as JSON, empty where there is none.
fn recorded(context: &Context) -> Json {
    std::fs::read(context.home.join(receipt::NAME))
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

fn policy(context: &Context) -> Outcome {
    if recorded(context)["choices"]["no_guard"] == true {
        return Finding::warn("there is no guard: set-up was told to leave it out")
            .measured("--no-guard")
            .expected("a guard in front of every command")
            .source(receipt::NAME)
            .remedy("put it back in")
            .command("codex-ds setup --guard")
            .into();
    }
    let (policy, problem) = codex_ds_hook::installed::read_policy(&context.home);
    if let Some(problem) = problem {
        return Finding::fail(
            "guard.toml does not count: the built-in lab preset holds in its place",
        )
        .measured(problem)
        .expected("a valid guard.toml")
        .source(context.home.join("guard.toml").display().to_string())
        .remedy("mend what it names, or move the file away and run set-up again")
        .command("codex-ds setup")
        .into();
    }
    if !context.home.join("guard.toml").exists() {
        return Finding::warn("there is no guard.toml: the built-in lab preset holds")
            .measured("no file")
            .expected("guard.toml")
            .source(context.home.join("guard.toml").display().to_string())
            .remedy("run set-up again")
            .command("codex-ds setup")
            .fixable()
            .into();
    }
    let off: Vec<&str> = policy.off.iter().copied().map(Class::name).collect();
    if off.is_empty() {
        return Outcome::pass(format!("preset {}", policy.preset));
    }
    Outcome::of(
        format!("preset {}, without {}", policy.preset, off.join(", ")),
        vec![
            Finding::note("classes of rules that you switched off")
                .measured(off.join(", "))
                .source("guard.toml: classes"),
        ],
    )
}

async fn trusted(context: Arc<Context>) -> Result<Outcome> {
    let asked = programs::asked(&context).await;
    let Ok(asked) = &*asked else {
        return Ok(Outcome::skip("Codex could not be asked"));
    };
    let command = profile::hook_command(&context.home);
    let recorded = recorded(&context);
    let dead = |text: String| {
        let finding = Finding::fail(format!("{text}: Codex skips the guard without a word"))
            .source("codex app-server: hooks/list");
        if recorded["choices"]["no_trust"] == true {
            finding
                .remedy("set-up was told to leave its trust to you: open codex-ds, type /hooks, and trust it")
        } else {
            finding
                .remedy("run set-up again: it writes the entry anew, and asks Codex")
                .command("codex-ds setup")
                .fixable()
        }
    };
    let hooks = match &asked.hooks {
        Ok(hooks) => hooks,
        Err(error) => {
            return Ok(dead("Codex does not say which hooks it has".to_owned())
                .measured(error.text.clone())
                .expected("the guard's hook")
                .into());
        }
    };
    let on = asked
        .config
        .as_ref()
        .ok()
        .map(|read| &read["config"]["features"]["hooks"]);
    if on == Some(&json!(false)) {
        return Ok(Outcome::skip(
            "hooks are switched off, as guard.hooks-on says",
        ));
    }
    let Some(hook) = hooks.iter().find(|hook| hook.command == command) else {
        let others: Vec<&str> = hooks.iter().map(|hook| hook.command.as_str()).collect();
        return Ok(
            dead("Codex lists no hook that starts this profile's guard".to_owned())
                .measured(if others.is_empty() {
                    "no hook".to_owned()
                } else {
                    others.join("\n")
                })
                .expected(command)
                .into(),
        );
    };
    let mut findings = Vec::new();
    if !hook.enabled {
        findings.push(
            Finding::fail("the guard's hook is switched off: Codex skips it without a word")
                .measured("enabled = false")
                .expected("no such entry")
                .source(format!("hooks.state.{:?}", hook.key))
                .remedy("switch it on: open codex-ds, and type /hooks"),
        );
    } else if !hook.is_live() {
        findings.push(
            dead(format!("the guard's hook is {}", hook.trust))
                .measured(format!("{}, with hash {}", hook.trust, hook.hash))
                .expected("trusted"),
        );
    }
    let hash = recorded["files"][CONFIG]["hook"]["trusted_hash"].as_str();
    findings.extend(over(&context, &command, hash));
    for other in hooks.iter().filter(|other| other.command != command) {
        findings.push(
            Finding::note(format!("another hook, {}", other.trust))
                .measured(other.command.clone())
                .source(other.key.clone()),
        );
    }
    Ok(Outcome::of(format!("trusted, {}", hook.hash), findings))
}

/// What a named profile makes of the hook: Codex is asked without one.
fn over(context: &Context, command: &str, hash: Option<&str>) -> Vec<Finding> {
    let config = context.home.join(CONFIG);
    let mut findings = Vec::new();
    for profile in context.profiles() {
        let mut documents = profile
            .layers
            .iter()
            .filter_map(|layer| layer.document.as_ref().ok().cloned());
        let Some(base) = documents.next() else {
            continue;
        };
        let over: Vec<DocumentMut> = documents.collect();
        if over.is_empty() || guard_entry::fault(&base, &[], &config, command, hash).is_some() {
            continue;
        }
        if let Some(fault) = guard_entry::fault(&base, &over, &config, command, hash) {
            let name = profile.name().to_owned();
            findings.push(
                Finding::fail(format!("under -p {name} {fault}"))
                    .measured(fault.to_string())
                    .expected("no entry in hooks.state")
                    .source(format!("{name}.config.toml: hooks.state"))
                    .remedy("take the entry out of that file"),
            );
        }
    }
    findings
}

/// A switch of Codex's that the guard depends on.
struct Feature {
    name: &'static str,
    wanted: bool,
    harm: &'static str,
}

const HOOKS: Feature = Feature {
    name: "hooks",
    wanted: true,
    harm: "the guard is a hook, and Codex runs none",
};
const TYPING: Feature = Feature {
    name: "unified_exec_tty",
    wanted: false,
    harm: "what the model types into a terminal no hook sees",
};

async fn feature(context: Arc<Context>, feature: &'static Feature) -> Result<Outcome> {
    let key = ["features", feature.name];
    let dotted = key.join(".");
    let mut findings: Vec<Finding> = Vec::new();
    let mut add = |by: &str, source: String, remedy: &str| {
        let finding = Finding::fail(format!(
            "{by} sets {dotted} = {}: {}",
            !feature.wanted, feature.harm
        ))
        .measured((!feature.wanted).to_string())
        .expected(feature.wanted.to_string())
        .source(source)
        .remedy(remedy);
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    };
    for profile in context.profiles() {
        if let Some((value, layer)) = profile.get(&key)
            && value.as_bool() == Some(!feature.wanted)
        {
            add(
                &layer.name(),
                format!("{}: {dotted}", layer.file.display()),
                "take it out: a launch by codex-ds sets it right, but plain codex and editors take it as it is",
            );
        }
    }
    let asked = programs::asked(&context).await;
    if let Ok(asked) = &*asked
        && let Ok(read) = &asked.config
        && read["config"]["features"][feature.name] == json!(!feature.wanted)
    {
        let by = read["origins"][&dotted]["name"]["type"].as_str();
        if by == Some("sessionFlags") {
            add(
                "the arguments after --",
                format!("-c {dotted}"),
                "leave that argument out",
            );
        } else {
            add(
                "a file of the system",
                format!("codex app-server: config/read, {}", by.unwrap_or("unknown")),
                "ask who looks after this machine",
            );
        }
    }
    Ok(Outcome::of(
        format!("{dotted} = {}", feature.wanted),
        findings,
    ))
}

/// How many times the guard is asked for its latency.
const TIMES: usize = 5;
/// Above this a user feels it at every command.
const SLOW: Duration = Duration::from_millis(250);

async fn latency(context: Arc<Context>) -> Result<Outcome> {
    let event = json!({
        "session_id": "codex-ds doctor",
        "cwd": context.home,
        "hook_event_name": "PreToolUse",
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_input": { "command": "ls -l && git status" },
    })
    .to_string();
    let line = profile::hook_command(&context.home);
    let mut took = Vec::new();
    for _ in 0..TIMES {
        let mut command = Command::new("sh");
        command
            .args(["-c", &line])
            .env(env::CODEX_HOME, &context.home)
            .current_dir(&context.home);
        let begun = Instant::now();
        let limit = Duration::from_secs(10);
        let output = process::run_with_input(&mut command, event.clone().into_bytes(), limit).await;
        let measured = match output {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(format!(
                "{}: {}",
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            )),
            Err(error) => Some(format!("{error:#}")),
        };
        if let Some(measured) = measured {
            return Ok(
                Finding::fail("the guard does not let a harmless command pass")
                    .measured(measured)
                    .expected("exit status 0 for `ls -l && git status`")
                    .source(line)
                    .remedy("run set-up again; if it stays, guard.toml may deny it")
                    .command("codex-ds guard explain 'ls -l && git status'")
                    .into(),
            );
        }
        took.push(begun.elapsed());
    }
    took.sort();
    let median = took[TIMES / 2];
    let shown = format!(
        "{:.1} ms, the median of {TIMES}",
        median.as_secs_f64() * 1000.0
    );
    Ok(if median <= SLOW {
        Outcome::pass(shown)
    } else {
        Finding::warn("the guard is slow: every tool call waits for it")
            .measured(shown)
            .expected(format!(
                "less than {} ms; after {} s Codex gives up on it and runs the command",
                SLOW.as_millis(),
                hook_groups::TIMEOUT_SECONDS
            ))
            .source(line)
            .remedy("is the machine busy, or the profile on a slow disk?")
            .into()
    })
}

async fn denies(context: Arc<Context>) -> Result<Outcome> {
    let turn = live::turn(&context).await;
    let Ok(turn) = &*turn else {
        return Ok(Outcome::skip("no turn was played"));
    };
    let answer: String = turn.answer.chars().take(400).collect();
    if !turn.ran && turn.answer.contains("blocked by PreToolUse hook") {
        return Ok(Outcome::pass(
            "the command did not run, and the model was told why",
        ));
    }
    let finding = if turn.ran {
        Finding::fail("a command ran that the guard has to stop")
    } else {
        Finding::fail("the command did not run, but it was not the guard that stopped it")
    };
    Ok(finding
        .measured(answer)
        .expected("Command blocked by PreToolUse hook: …")
        .source("codex exec, against a server in this program")
        .remedy("guard.trusted and guard.hooks-on say more; do not let a model work in this profile until this passes")
        .command("codex-ds setup")
        .into())
}
