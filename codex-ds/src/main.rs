//! The `codex-ds` program. Everything is in the library beside it.

fn main() -> std::process::ExitCode {
    codex_ds::main()
}
