//! Programs whose names are not fully known.

use codex_ds_rules::effects::EFFECTS;
use codex_ds_rules::wrappers::WRAPPERS;
use codex_ds_rules::{RULES, Rule};

use crate::analysis::interpreter::Interpreter;
use crate::analysis::shells;
use crate::analysis::state::State;
use crate::value::Value;
use crate::verdict::Eval;

/// Programs whose subcommands say enough to know them by.
const BY_SUBCOMMAND: &[&str] = &["git", "kubectl", "docker", "systemctl", "helm", "terraform"];

/// Runs a command whose name is not known: every program it may be must be allowed. A name of
/// which nothing is known counts by what its arguments fit.
pub(crate) fn run(
    this: &mut Interpreter<'_>,
    name: &Value,
    args: &[Value],
    state: &mut State,
) -> Eval<Value> {
    let base = name.base_name();
    let shown = || {
        let mut text = name.shown();
        for arg in args {
            text.push(' ');
            text.push_str(&arg.shown());
        }
        text
    };
    // What was decoded, fetched or printed is code, not a name.
    if base.is_printed() || (this.inner_code && args.is_empty() && base.is_unknown()) {
        this.deny("shell.unknown-code", shown())?;
    }
    if matches!(this.place, codex_ds_rules::wrappers::Where::Remote) {
        this.deny("remote.write", shown())?;
    }
    let programs = if base.is_vague() {
        by_arguments(args)
    } else {
        by_name(&base)
    };
    for program in programs {
        // Each attempt starts from the same state.
        let mut attempt = state.clone();
        let name = Value::known(program);
        if this
            .nested(|this| this.program(&name, program, args, &mut attempt))
            .is_err()
        {
            this.deny("shell.suspect-name", shown())?;
        }
    }
    Ok(Value::output())
}

/// Every program of the tables that a partly known name may be.
fn by_name(base: &Value) -> Vec<&'static str> {
    let rules = RULES.iter().flat_map(Rule::patterns);
    let mut programs: Vec<&'static str> = rules
        .flat_map(|pattern| pattern.programs)
        .chain(WRAPPERS.iter().flat_map(|wrapper| wrapper.names))
        .chain(EFFECTS.iter().flat_map(|effect| effect.programs))
        .chain(shells::SHELLS)
        .copied()
        .filter(|program| !program.contains('*') && base.may_be(program))
        .collect();
    programs.sort_unstable();
    programs.dedup();
    programs
}

/// The programs whose dangerous uses look like these arguments.
fn by_arguments(args: &[Value]) -> Vec<&'static str> {
    let option = |names: &[&str]| args.iter().any(|arg| names.contains(&arg.raw()));
    let begins = |prefix: &str| args.iter().any(|arg| arg.raw().starts_with(prefix));
    let mut programs = Vec::new();
    if option(&[
        "-rf",
        "-fr",
        "-r",
        "-R",
        "-Rf",
        "-rfv",
        "-rvf",
        "--recursive",
        "--no-preserve-root",
    ]) {
        programs.extend(["rm", "chmod", "chown"]);
    }
    if begins("of=") {
        programs.push("dd");
    }
    if option(&["-c", "-lc", "-ec"]) {
        programs.push("sh");
    }
    if args
        .iter()
        .any(|arg| crate::analysis::places::is_device_text(arg.raw()))
    {
        programs.extend(["mkfs", "wipefs", "shred"]);
    }
    if args.first().is_some_and(Value::is_known) {
        programs.extend(BY_SUBCOMMAND);
    }
    programs
}
