//! The `codex-ds-hook` program, which Codex starts before every tool call. Everything is in the
//! `codex-ds-hook` library; the program is in this package so that `cargo install` brings both.

fn main() -> std::process::ExitCode {
    codex_ds_hook::main()
}
