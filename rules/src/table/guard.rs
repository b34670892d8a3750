//! The guard itself, Codex and other agents.

use crate::Class::Guard;
use crate::{Rule, Test, on};

pub(super) const RULES: &[Rule] = &[
    Rule::new("guard.command", Guard, "running Codex, its set-up or another agent")
        .because("a second agent may run without the guard, and its set-up changes the guard", "do the work in this session; ask the user for set-up, trust or a grant")
        .on(&[
            on(&["codex"]).unless(&[Test::Flag(&["--version", "-V", "--help", "-h"]), Test::First(&["completion", "help", "features-x", "execpolicy"])]),
            on(&["codex"]).when(&[Test::Word(&["--dangerously-*", "--yolo", "--full-auto", "danger-full-access", "never"])]),
            on(&["codex-ds"]).unless(&[Test::First(&["guard", "doctor", "completions", "man", "help"]), Test::Flag(&["--version", "--help"])]),
            on(&["codex-ds"]).sub(&[&["guard"], &["allow", "grant", "log-clear"]]),
            on(&["codex-ds"]).when(&[Test::Word(&["--dangerously-*", "--yolo"])]),
            on(&["claude", "gemini", "aider", "opencode", "cursor-agent", "amp", "crush", "goose", "qwen", "copilot", "droid", "q", "kiro-cli", "openhands", "plandex", "forge", "auggie", "kimi", "interpreter", "gptme", "rovodev", "cline", "roo", "pi", "continue", "cn"]).when(&[Test::Word(&["-p", "--print", "--dangerously-*", "--yolo", "-y", "--yes*", "exec", "run", "-i", "--allow-*", "--force", "-m", "--message", "chat", "--auto*", "--skip-permissions*", "--permission-mode*", "--trust*", "-f"])]),
        ])
        .denies(&["codex exec 'do it'", "codex --dangerously-bypass-approvals-and-sandbox exec x", "codex-ds guard allow abc123", "codex-ds undo", "codex-ds setup", "codex-ds trust .", "codex-ds exec hi", "claude -p hi --dangerously-skip-permissions"])
        .passes(&["codex --version", "codex-ds guard check 'rm -rf /'", "codex-ds guard explain 'rm x'", "codex-ds doctor", "codex-ds --version"]),
    Rule::new("guard.tamper", Guard, "changing the guard or Codex's configuration")
        .because("it would turn off the checks that protect this machine", "ask the user to do it outside the session")
        .denies(&["rm ~/.codex/hooks.json", "echo x > ~/.codex-ds/guard.toml", "chmod -x ~/.codex-ds/bin/codex-ds-hook", "mkdir -p .codex && echo x > .codex/config.toml"])
        .passes(&["ls ~/.codex-ds", "cat ~/.codex-ds/config.toml"]),
    Rule::new("guard.protected", Guard, "changing what guard.toml protects")
        .because("the owner of this machine listed it", "leave it; ask the user")
        .denies(&[])
        .passes(&[]),
    Rule::new("guard.environment", Guard, "a variable that makes other programs run other code")
        .because("what runs then is not what the command says", "call the program by its full path")
        .denies(&["LD_PRELOAD=./x.so ls", "PATH=/tmp/evil:$PATH ls", "CODEX_HOME=/tmp/none ls", "BASH_ENV=x bash -c ls"])
        .passes(&["PATH=\"$HOME/.cargo/bin:$PATH\" cargo test", "RUST_LOG=debug ./x", "PYTHONPATH=src pytest"]),
];
