//! The command line: which words are ours, and their definitions. Every other word is Codex's.

use std::ffi::OsString;

use anyhow::Result;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::error::UserError;
use crate::{
    bench, completions, demo, deploy, doctor, dump, eval, guard, launch, man, setup, trust, undo,
    validate,
};

/// Run OpenAI's Codex CLI, safely and lean, on a model that you serve yourself
#[derive(Debug, Parser)]
#[command(
    name = "codex-ds",
    version,
    after_help = "\
Any other word or flag is handed to Codex, run in this profile:
  codex-ds                        Codex's terminal interface
  codex-ds exec \"fix the test\"    one headless turn
  codex-ds -p native              a profile (default, native, fast)
  codex-ds -- doctor              Codex's own command of a name that is ours

Example:
  codex-ds setup --endpoint http://192.168.1.20:4000/v1
  codex-ds exec \"say hello\""
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands that are ours.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure the served model: first token, prefill, decode, concurrency
    Bench(Box<bench::Args>),
    /// See everything work on a built-in endpoint, with the real Codex
    Demo(demo::Args),
    /// See what Codex sends, what it costs, and when the prefix cache breaks
    Dump(Box<dump::Args>),
    /// Say what is wrong with the chain, with the evidence and the fix
    Doctor(Box<doctor::Args>),
    /// Describe, check, apply and heal the serving stack
    Deploy(Box<deploy::Args>),
    /// Measure how good the served model's answers are
    Eval(eval::Args),
    /// Ask the guard, read its log, let one denied command pass
    Guard(guard::Args),
    /// Write or refresh the profile
    Setup(Box<setup::Args>),
    /// Remove exactly what set-up wrote
    Undo(undo::Args),
    /// Let a repository's own Codex configuration count, after showing what it changes
    Trust(trust::Args),
    /// Print a script that completes these commands in a shell
    Completions(completions::Args),
    /// Print or write the man pages
    Man(man::Args),
    /// Check by side effects that model, router, Codex and guard work together
    Validate(validate::Args),
}

/// What a user comes for, and the commands for it. The help lists them so.
const TASKS: &[(&str, &[&str])] = &[
    ("Begin", &["demo", "setup", "undo"]),
    ("Be safe", &["guard", "trust"]),
    (
        "See whether it works, and how well",
        &["doctor", "validate", "bench", "eval", "dump"],
    ),
    ("Serve the model", &["deploy"]),
    ("Install", &["completions", "man"]),
];

/// The command line's definition, from which the help, the completions and the man pages are made.
#[must_use]
pub fn command() -> clap::Command {
    let command = Cli::command().disable_help_subcommand(false);
    let tasks = tasks(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{tasks}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// The command line of this process; ends it where that is wrong, or asks for help.
#[must_use]
pub fn parse() -> Cli {
    let matches = command().get_matches();
    let mut cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let Command::Dump(args) = &mut cli.command {
        // clap does not tell a `--` with nothing behind it from none: Codex without arguments.
        args.wraps = std::env::args_os().any(|arg| arg == "--");
    }
    cli
}

fn tasks(command: &clap::Command) -> String {
    use std::fmt::Write as _;

    let width = command
        .get_subcommands()
        .map(|sub| sub.get_name().len())
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    for (task, names) in TASKS {
        let _ = writeln!(text, "{task}:");
        for sub in names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
        {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {:width$}  {about}", sub.get_name());
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// Whether the arguments after the program's name are for us; else they are Codex's.
#[must_use]
pub fn is_ours(args: &[OsString]) -> bool {
    args.first()
        .and_then(|first| first.to_str())
        .is_some_and(|first| {
            matches!(first, "help" | "-h" | "--help" | "-V" | "--version")
                || names().contains(&first.to_owned())
        })
}

fn names() -> Vec<String> {
    Cli::command()
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect()
}

/// Refuses a first word that is nearly a command of ours: Codex would take it for a prompt and start to
/// work on it, or refuse the options behind it as if they were the fault.
///
/// # Errors
/// When the word is neither Codex's command nor far from ours.
pub fn refuse_mistyped(args: &[OsString]) -> Result<()> {
    let Some(word) = args.first().and_then(|word| word.to_str()) else {
        return Ok(());
    };
    if word.starts_with('-') || word.len() < 3 || launch::is_codex_command(word) {
        return Ok(());
    }
    let near = names()
        .into_iter()
        .chain(["help".to_owned()])
        .map(|name| (strsim::damerau_levenshtein(word, &name), name))
        .filter(|(distance, name)| *distance <= name.len() / 3)
        .min();
    match near {
        Some((_, name)) => Err(UserError::usage(format!("there is no command {word:?}"))
            .hint(format!("did you mean: codex-ds {name}"))
            .hint(format!("to hand the word to Codex: codex-ds -- {word}"))
            .into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn each_command_stands_under_one_task() {
        for name in names() {
            let times = TASKS
                .iter()
                .flat_map(|(_, names)| *names)
                .filter(|listed| **listed == name)
                .count();
            assert_eq!(times, 1, "{name}");
        }
    }

    #[test]
    fn each_command_s_help_has_an_example_and_its_exit_codes() {
        fn look(command: &clap::Command, path: &str, lacking: &mut Vec<String>) {
            let path = format!("{path} {}", command.get_name());
            let below: Vec<_> = command
                .get_subcommands()
                .filter(|sub| sub.get_name() != "help")
                .collect();
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            if !help.contains("Example") || (below.is_empty() && !help.contains("Exit codes:")) {
                lacking.push(path.clone());
            }
            for sub in below {
                look(sub, &path, lacking);
            }
        }
        let mut lacking = Vec::new();
        look(&command(), "", &mut lacking);
        assert_eq!(lacking, [""; 0]);
    }

    #[test]
    fn a_mistyped_word_gets_a_suggestion_and_another_goes_to_codex() {
        let try_word = |word: &str| {
            refuse_mistyped(&[word.into()])
                .err()
                .map(|error| crate::error::render(&error).0)
        };
        for (word, meant) in [
            ("setpu", "setup"),
            ("gaurd", "guard"),
            ("deplyo", "deploy"),
            ("undoo", "undo"),
            ("hlep", "help"),
        ] {
            let text = try_word(word).unwrap_or_default();
            assert!(
                text.contains(&format!("did you mean: codex-ds {meant}\n")),
                "{word}: {text}"
            );
        }
        for word in [
            "exec",
            "debug",
            "queue",
            "hello",
            "fix the setup",
            "--setup",
            "resume",
            "undo it",
        ] {
            assert_eq!(try_word(word), None, "{word}");
        }
        assert!(refuse_mistyped(&["doctro".into(), "--deep".into()]).is_err());
        assert!(refuse_mistyped(&["exec".into(), "setpu".into()]).is_ok());
    }
}
