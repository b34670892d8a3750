//! `codex-ds completions`: scripts that complete our commands, from their definitions.

use anyhow::Result;
use clap_complete::Shell;

use crate::{exit, ui};

/// Print a script that completes these commands in a shell
///
/// It knows the commands of codex-ds; for those of Codex, `codex-ds -- completion SHELL` prints
/// Codex's own.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds completions bash > ~/.local/share/bash-completion/completions/codex-ds
  codex-ds completions zsh > \"${fpath[1]}/_codex-ds\"
  codex-ds completions fish > ~/.config/fish/completions/codex-ds.fish

Exit codes: 0 done; 2 wrong usage")]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Runs the command, on the definition of all commands.
///
/// # Errors
/// None; it has the form of the others.
pub fn run(args: &Args, command: clap::Command) -> Result<u8> {
    ui::out(&script(args.shell, command));
    Ok(exit::OK)
}

fn script(shell: Shell, mut command: clap::Command) -> String {
    // In the script for bash of clap_complete 4.6 a hyphen in the program's name makes labels that
    // do not meet: nothing below the first word would be completed.
    let name = match shell {
        Shell::Bash => "codex_ds",
        _ => "codex-ds",
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Shell::Bash => script.replace(" codex_ds\n", " codex-ds\n"),
        _ => script.into_owned(),
    }
}
