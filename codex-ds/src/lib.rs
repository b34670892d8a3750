//! The `codex-ds` program: one module a command, and what they share.
//!
//! | module | holds |
//! | --- | --- |
//! | [`cli`] | the command line: which words are ours |
//! | [`setup`] | `codex-ds setup`: inputs → plan → apply, and the receipt |
//! | [`undo`] | `codex-ds undo`, by the receipt |
//! | [`launch`] | every other word: becomes Codex, pinned |
//! | [`trust`] | `codex-ds trust`: which repositories' own configuration counts |
//! | [`bench`] | `codex-ds bench`: how fast the served model is |
//! | [`deploy`] | `codex-ds deploy`: the serving stack |
//! | [`demo`] | `codex-ds demo`: everything once, for real, on a stand-in endpoint |
//! | [`doctor`] | `codex-ds doctor`: what is wrong with the chain, the evidence, the fix |
//! | [`dump`] | `codex-ds dump`: what Codex sends, what it costs, when the prefix cache breaks |
//! | [`engine`] | asking a served model, for measurements |
//! | [`eval`] | `codex-ds eval`: how good the served model's answers are |
//! | [`guard`] | `codex-ds guard`: the guard outside a session |
//! | [`completions`], [`man`] | completions and man pages, from the commands' definitions |
//! | [`probe`] | questions to an endpoint, answered by typed evidence |
//! | [`validate`] | `codex-ds validate`: whether the whole works, by side effects |
//! | [`codex`], [`app_server`] | the installed Codex, and how to ask it |
//! | `reach` | the way to a server, and why it gave no answer |
//! | `text`, `clock` | how numbers, tables and times look |
//! | [`home`] | the profile's folder |
//! | `project` | the folders of a repository that Codex reads |
//! | [`process`] | child processes with a deadline |
//! | [`file`] | atomic writes, digests, the lock |
//! | [`ui`] | the only place that prints |
//! | [`error`], [`exit`], [`env`] | what users and scripts meet: errors, exit codes, variables |

use std::ffi::OsString;
use std::process::ExitCode;

pub mod app_server;
pub mod bench;
pub mod cli;
pub(crate) mod clock;
pub mod codex;
pub mod completions;
pub mod demo;
pub mod deploy;
pub mod doctor;
pub mod dump;
pub mod engine;
pub mod env;
pub mod error;
pub mod eval;
pub mod exit;
pub mod file;
pub mod guard;
pub mod home;
pub mod launch;
pub mod man;
pub mod probe;
pub mod process;
pub(crate) mod project;
pub(crate) mod reach;
pub mod setup;
pub(crate) mod text;
pub mod trust;
pub mod ui;
pub mod undo;
pub mod validate;

/// The whole program.
#[must_use]
pub fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let result = if cli::is_ours(&args) {
        match cli::parse().command {
            cli::Command::Completions(args) => completions::run(&args, cli::command()),
            cli::Command::Man(args) => man::run(&args, cli::command()),
            cli::Command::Setup(args) => setup::run(&args),
            cli::Command::Undo(args) => undo::run(&args),
            cli::Command::Bench(args) => bench::run(&args),
            cli::Command::Demo(args) => demo::run(&args),
            cli::Command::Deploy(args) => deploy::run(&args),
            cli::Command::Doctor(args) => doctor::run(&args),
            cli::Command::Dump(args) => dump::run(&args),
            cli::Command::Eval(args) => eval::run(&args),
            cli::Command::Guard(args) => guard::run(&args),
            cli::Command::Trust(args) => trust::run(&args),
            cli::Command::Validate(args) => validate::run(&args),
        }
    } else {
        cli::refuse_mistyped(&args).and_then(|()| launch::run(&args))
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let (text, code) = error::render(&error);
            ui::err(&text);
            ExitCode::from(code)
        }
    }
}
