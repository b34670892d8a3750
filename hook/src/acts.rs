//! What a program does to the paths in its arguments.

use codex_ds_rules::effects::{self, Act, Effect, OTHER, Operands};

use crate::interpreter::{Eval, Interpreter};
use crate::options::{Word, takes, takes_value, walk};
use crate::places::absolute;
use crate::state::State;
use crate::value::Value;

/// Checks every path in a command's arguments.
pub(crate) fn check(
    this: &mut Interpreter<'_>,
    program: &str,
    args: &[Value],
    state: &State,
) -> Eval<()> {
    // tar's old style: the first word is a bundle of options without its dash.
    let dashed: Vec<Value>;
    let args = match args.split_first() {
        Some((first, rest))
            if matches!(program, "tar" | "bsdtar" | "gtar") && !first.raw().starts_with('-') =>
        {
            let bundle = Value::known(format!("-{}", first.raw()));
            dashed = std::iter::once(bundle)
                .chain(rest.iter().cloned())
                .collect();
            dashed.as_slice()
        }
        _ => args,
    };
    let effect = effects::of(program)
        .find(|effect| applies(effect, args))
        .unwrap_or(&OTHER);
    let (operands, targets) = options(this, effect, args, state)?;
    let count = operands.len();
    let mut written: Vec<&Value> = targets;
    for (i, operand) in operands.iter().enumerate() {
        let act = match effect.operands {
            Operands::Each(act) => act,
            // With a target option every operand is a source.
            Operands::Last(last, others) => {
                if i + 1 == count && count > 1 && written.is_empty() {
                    last
                } else {
                    others
                }
            }
            Operands::AllButFirst(act) if i > 0 => act,
            Operands::AllButFirst(_) => Act::Nothing,
        };
        this.act(act, operand, state)?;
        if act == Act::Write {
            written.push(operand);
        }
    }
    follow(this, program, &operands, &written, state)
}

fn applies(effect: &Effect, args: &[Value]) -> bool {
    effect.when.is_empty()
        || args.iter().enumerate().any(|(i, arg)| {
            let raw = arg.raw();
            effect.when.iter().any(|when| match when.strip_prefix('-') {
                Some(letter) if letter.len() == 1 => {
                    raw.starts_with('-') && !raw.starts_with("--") && raw.contains(letter)
                }
                Some(_) => raw == *when || raw.starts_with(&format!("{when}=")),
                // An old-style bundle without a dash, as of tar.
                None => i == 0 && !raw.starts_with('-') && raw.contains(when),
            })
        })
}

/// Checks the options whose values are paths. Gives the operands, and the paths that options
/// say are written.
fn options<'v>(
    this: &Interpreter<'_>,
    effect: &Effect,
    args: &'v [Value],
    state: &State,
) -> Eval<(Vec<&'v Value>, Vec<&'v Value>)> {
    let mut operands = Vec::new();
    let mut written = Vec::new();
    let act_of = |option: &str| {
        let mut rows = effect.options.iter();
        let is_listed = |name: &str| effect.options.iter().any(|(row, _)| *row == name);
        if !takes(option, is_listed) {
            return None;
        }
        // The last letter of a bundle takes the value.
        rows.find(|(name, _)| *name == option || (name.len() == 2 && option.ends_with(&name[1..])))
            .map(|(_, act)| *act)
    };
    let takes_next = |option: &str| {
        act_of(option).is_some()
            || (keyed(effect, option).is_none()
                && attached(effect, option).is_none()
                && takes_value(option, effect.values))
    };
    for word in walk(args, takes_next) {
        let (option, value) = match word {
            Word::Operand(operand) => {
                match keyed(effect, operand.raw()) {
                    Some((path, act)) => this.act(act, &Value::known(path), state)?,
                    None => operands.push(operand),
                }
                continue;
            }
            Word::Option(option, value) => (option.raw(), value),
        };
        if let (Some(act), Some(path)) = (act_of(option), value) {
            this.act(act, path, state)?;
            if act == Act::Write {
                written.push(path);
            }
        } else if let Some((path, act)) = keyed(effect, option).or_else(|| attached(effect, option))
        {
            this.act(act, &Value::known(path), state)?;
        }
    }
    Ok((operands, written))
}

/// `of=path`.
fn keyed<'v>(effect: &Effect, raw: &'v str) -> Option<(&'v str, Act)> {
    effect
        .keys
        .iter()
        .find_map(|(key, act)| Some((raw.strip_prefix(key)?.strip_prefix('=')?, *act)))
}

/// `--output=path` and `-opath`.
fn attached<'v>(effect: &Effect, raw: &'v str) -> Option<(&'v str, Act)> {
    effect.options.iter().find_map(|(name, act)| {
        let rest = raw.strip_prefix(name)?;
        if name.starts_with("--") {
            Some((rest.strip_prefix('=')?, *act))
        } else {
            (name.len() == 2 && !rest.is_empty()).then_some((rest, *act))
        }
    })
}

/// Keeps what is known of the files that a program writes: copies, links, downloads.
fn follow(
    this: &mut Interpreter<'_>,
    program: &str,
    operands: &[&Value],
    written: &[&Value],
    state: &State,
) -> Eval<()> {
    let path = |value: &Value| absolute(value, state).as_known().map(str::to_owned);
    match (program, operands) {
        ("cp" | "mv" | "install" | "ln", [source, .., target]) => {
            let Some(mut target) = path(target) else {
                return Ok(());
            };
            if program == "ln"
                && let Some(source) = absolute(source, state).as_known()
            {
                this.symlinks.insert(target.clone(), source.to_owned());
            }
            // A target that is a folder keeps the source's name.
            if target.ends_with('/') {
                target.push_str(source.base_name().raw());
            }
            if program == "mv" && target == "/dev/null" {
                for source in &operands[..operands.len() - 1] {
                    this.act(Act::Delete, source, state)?;
                }
            }
            let content = this.content(source, state);
            if content.is_known() {
                this.written.insert(target, content);
            } else if is_program(this, source, state) {
                this.links.insert(target, (*source).clone());
            }
        }
        ("tee", _) => {
            let text = state.stdin.clone().unwrap_or_else(Value::output);
            for target in written {
                if let Some(target) = path(target) {
                    this.written.insert(target, text.clone());
                }
            }
        }
        ("curl" | "wget" | "dd" | "aria2c", _) => {
            // Without a name of ours the file is called like the end of the address.
            let named: Vec<Value> = operands
                .iter()
                .filter(|operand| program != "dd" && operand.raw().contains('/'))
                .map(|operand| operand.base_name())
                .filter(|name| !name.is_empty())
                .collect();
            for target in written.iter().copied().chain(&named) {
                if let Some(target) = path(target) {
                    this.written.insert(target, Value::output());
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a path is that of an installed program, or the bare name that `which` gives.
fn is_program(this: &Interpreter<'_>, source: &Value, state: &State) -> bool {
    let known = |name: &str| {
        (!name.contains('/') && this.is_ruled(name))
            || effects::of(name).any(|effect| effect.operands == Operands::Each(Act::Delete))
    };
    let path = absolute(source, state);
    let installed = path
        .as_known()
        .is_some_and(|path| path.contains("/bin/") || path.contains("/sbin/"));
    (installed && !source.raw().contains("target/")) || source.as_known().is_some_and(known)
}
