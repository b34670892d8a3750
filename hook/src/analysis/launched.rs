//! Programs that no table knows, with a command line behind them: `tini -- rm -rf /srv`. Whatever
//! starts other programs has to name them; a command that would be denied by itself is denied there.

use codex_ds_rules::readonly::READ_ONLY;
use codex_ds_rules::{effects, programs};

use crate::analysis::interpreter::Interpreter;
use crate::analysis::snippets;
use crate::analysis::state::State;
use crate::value::Value;
use crate::verdict::Eval;

/// What has to stand around a program's name for it to be one, and not a subcommand, a topic or a
/// file that is called like it.
#[derive(Clone, Copy)]
enum Sign {
    /// `--` before it.
    Separated,
    /// An option behind it that has this letter.
    Option(char),
    /// An option behind it.
    AnyOption,
    /// A word behind it.
    Word,
}

/// Programs by their base names.
const STARTED: &[(&[&str], Sign)] = &[
    (&["rm", "shred"], Sign::AnyOption),
    (
        &[
            "bash", "sh", "dash", "zsh", "ksh", "ash", "fish", "python3", "python",
        ],
        Sign::Option('c'),
    ),
    (&["perl", "ruby", "node"], Sign::Option('e')),
    (&["kill", "pkill", "killall", "umount"], Sign::AnyOption),
    (
        &[
            "sudo",
            "doas",
            "systemctl",
            "kubectl",
            "docker",
            "podman",
            "git",
            "helm",
            "terraform",
            "dd",
            "chmod",
            "chown",
            "wipefs",
            "nvidia-smi",
            "ip",
            "mkfs",
            "mkfs.ext4",
            "mkfs.xfs",
            "iptables",
            "modprobe",
            "ssh",
            "find",
        ],
        Sign::Word,
    ),
    (
        &[
            "rm", "unlink", "rmdir", "reboot", "poweroff", "halt", "shutdown", "kill", "pkill",
        ],
        Sign::Separated,
    ),
];

/// Programs of the tables that start others in more ways than a row of the wrappers says.
const LAUNCHERS: &[&str] = &[
    "nix", "gdb", "lldb", "ray", "zellij", "mise", "dotenv", "cset", "gum",
];

/// Programs that only show or explain what stands behind them.
const TALKS: &[&str] = &[
    "man",
    "info",
    "whatis",
    "apropos",
    "tldr",
    "cheat",
    "howdoi",
    "help",
    "explain",
    "say",
    "figlet",
    "toilet",
    "banner",
    "cowsay",
    "espeak",
    "logger",
    "notify-send",
    "dialog",
    "whiptail",
    "zenity",
    "echo",
    "print",
];

/// Words that are looked at.
const LOOKED_AT: usize = 12;

/// Whether a program is one of those.
pub(crate) fn is_launcher(program: &str) -> bool {
    LAUNCHERS.contains(&program)
}

/// Checks what an unknown program may start.
pub(crate) fn check(
    this: &mut Interpreter<'_>,
    program: &str,
    args: &[Value],
    state: &State,
) -> Eval<()> {
    if !LAUNCHERS.contains(&program) && (TALKS.contains(&program) || is_known(this, program)) {
        return Ok(());
    }
    for (at, arg) in args.iter().enumerate().take(LOOKED_AT) {
        let before = at.checked_sub(1).map(|i| args[i].raw());
        if starts(arg, before, args.get(at + 1)) {
            let mut inner = state.outside();
            this.nested(|this| this.run_words(&args[at..], &mut inner))?;
        }
    }
    Ok(())
}

/// Whether a word names a program that is started with what stands behind it.
fn starts(word: &Value, before: Option<&str>, after: Option<&Value>) -> bool {
    let name = word.base_name();
    let Some(name) = name.as_known() else {
        return false;
    };
    let option = after
        .map(Value::raw)
        .filter(|raw| raw.len() > 1 && raw.starts_with('-'));
    STARTED.iter().any(|(names, sign)| {
        names.contains(&name)
            && match sign {
                Sign::Separated => before == Some("--"),
                Sign::Option(letter) => {
                    option.is_some_and(|raw| !raw.starts_with("--") && raw.contains(*letter))
                }
                Sign::AnyOption => option.is_some(),
                Sign::Word => after.is_some(),
            }
    })
}

/// Whether a table says what this program does with its arguments. A script's name has a dot.
fn is_known(this: &Interpreter<'_>, program: &str) -> bool {
    program.contains('.')
        || effects::of(program).next().is_some()
        || programs::of(program).is_some()
        || READ_ONLY.contains(&program)
        || snippets::is_interpreter(program)
        || this.is_ruled(program)
}
