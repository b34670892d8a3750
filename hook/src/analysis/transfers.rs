//! Programs that move data: `nc`, `scp`, `rsync`, and archives.

use codex_ds_rules::effects::Act;

use crate::analysis::call::joined;
use crate::analysis::http;
use crate::analysis::interpreter::Interpreter;
use crate::analysis::state::State;
use crate::options::{Word, takes_value, walk};
use crate::policy::Host;
use crate::value::Value;
use crate::verdict::Eval;

/// `nc`: anything but a look whether a port is open moves data.
pub(crate) fn connection(this: &Interpreter<'_>, args: &[Value], state: &State) -> Eval<()> {
    let looks = args.iter().any(|arg| {
        arg.raw().starts_with('-') && !arg.raw().starts_with("--") && arg.raw().contains('z')
    });
    let local = args.iter().any(|arg| http::is_local_host(arg.raw()));
    let data = state.stdin.is_some();
    if !looks && (data || !local) && !args.is_empty() {
        this.deny("exfiltration.shell", format!("nc {}", joined(args).shown()))?;
    }
    Ok(())
}

/// Options of `rsync` that take a value.
const RSYNC: &[&str] = &[
    "-e",
    "--rsh",
    "--exclude",
    "--include",
    "--filter",
    "-f",
    "--bwlimit",
    "--port",
    "--exclude-from",
    "--include-from",
    "--files-from",
];

/// Options of `scp` that take a value.
const SCP: &[&str] = &["-i", "-P", "-F", "-o", "-l", "-c", "-J", "-S", "-D", "-X"];

/// `scp` and `rsync` with another machine.
pub(crate) fn transfer(
    this: &mut Interpreter<'_>,
    program: &str,
    args: &[Value],
    state: &mut State,
) -> Eval<()> {
    let shown = || format!("{program} {}", joined(args).shown());
    let mut operands = Vec::new();
    let mut dry = false;
    let rsync = program == "rsync";
    let values = if rsync { RSYNC } else { SCP };
    for word in walk(args, |option| takes_value(option, values)) {
        let (raw, value) = match word {
            Word::Operand(operand) => {
                operands.push(operand);
                continue;
            }
            Word::Option(option, value) => (option.raw(), value),
        };
        dry |= raw == "--dry-run" || (rsync && !raw.starts_with("--") && raw.contains('n'));
        if raw.starts_with("--rsync-path") || (!rsync && raw.starts_with("-oProxyCommand")) {
            return this.deny("remote.write", shown());
        }
        if let (true, Some(command)) = (rsync && (raw.ends_with('e') || raw == "--rsh"), value) {
            // The words after the shell's name are its options, and the host follows.
            let mut line = command.clone();
            line.push(" host true");
            this.nested(|this| this.script(line.raw(), &mut state.clone()))?;
        }
    }
    let remote = |value: &Value| {
        let raw = value.raw();
        raw.starts_with("rsync://")
            || raw.starts_with("scp://")
            || raw.split('/').next().is_some_and(|head| head.contains(':'))
    };
    let mut free = false;
    for operand in operands.iter().filter(|operand| remote(operand)) {
        let host = operand.raw().split(':').next().unwrap_or_default();
        match this.policy.host(host) {
            Host::ReadOnly => {}
            Host::Free => free = true,
            Host::Forbidden => this.deny("remote.host", shown())?,
        }
    }
    if let Some((last, sources)) = operands.split_last().filter(|_| !free) {
        if remote(last) && !dry {
            this.deny("remote.write", shown())?;
        } else if sources.iter().any(|source| remote(source)) {
            for source in sources {
                let path = source.raw().split_once(':').map_or("", |(_, path)| path);
                this.act(Act::Read, &Value::known(path), state)?;
            }
            if !dry {
                this.deny("remote.transfer", shown())?;
            }
        }
    }
    Ok(())
}

/// Archive programs can run others.
pub(crate) fn archive(
    this: &mut Interpreter<'_>,
    program: &str,
    args: &[Value],
    state: &mut State,
) -> Eval<()> {
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let raw = arg.raw();
        let code = [
            "--to-command",
            "--use-compress-program",
            "--rsh-command",
            "--info-script",
            "--new-volume-script",
            "--unzip-command",
        ]
        .iter()
        .find_map(|name| raw.strip_prefix(name))
        .map(|text| text.strip_prefix('=').map(Value::known))
        .or_else(|| matches!(raw, "-I" | "-F" | "-TT").then_some(None))
        .or_else(|| {
            raw.strip_prefix("--checkpoint-action=exec=")
                .map(|text| Some(Value::known(text)))
        });
        let Some(code) = code else {
            let moves =
                raw == "--move" || (program == "zip" && raw.starts_with('-') && raw.contains('m'));
            if raw == "--remove-files" || moves {
                this.deny("delete.file", format!("{program} {}", joined(args).shown()))?;
            }
            continue;
        };
        let Some(code) = code.or_else(|| rest.next().cloned()) else {
            continue;
        };
        let mut inner = state.clone();
        this.nested(|this| this.code(&code, &mut inner))?;
    }
    Ok(())
}
