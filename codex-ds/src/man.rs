//! `codex-ds man`: the man pages, from the definitions of the commands.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::{exit, ui};

/// Print or write the man pages
///
/// Without an option it prints the page of codex-ds itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds man | man -l -
  codex-ds man --output ~/.local/share/man/man1

Exit codes: 0 done; 1 a page cannot be written; 2 wrong usage")]
pub struct Args {
    /// Write a page for each command into this folder, which is made if it is not there
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Runs the command, on the definition of all commands.
///
/// # Errors
/// When a page cannot be written.
pub fn run(args: &Args, command: clap::Command) -> Result<u8> {
    match &args.output {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            ui::out(&String::from_utf8_lossy(&page));
        }
        Some(folder) => {
            fs_err::create_dir_all(folder)?;
            clap_mangen::generate_to(command, folder)
                .with_context(|| format!("cannot write into {}", folder.display()))?;
        }
    }
    Ok(exit::OK)
}
