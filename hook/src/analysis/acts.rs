//! What a program does to the paths in its arguments.

use codex_ds_rules::effects::{self, Act, Effect, OTHER, Operands};

use crate::analysis::interpreter::Interpreter;
use crate::analysis::places::absolute;
use crate::analysis::state::State;
use crate::options::{Word, is_option, takes, takes_value, walk};
use crate::value::Value;
use crate::verdict::Eval;

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
    let (operands, outputs) = options(this, effect, args, state)?;
    let count = operands.len();
    for (i, operand) in operands.iter().enumerate() {
        let act = match effect.operands {
            Operands::Each(act) => act,
            // With a target option every operand is a source.
            Operands::Last(last, others) => {
                if i + 1 == count && count > 1 && outputs.is_empty() {
                    last
                } else {
                    others
                }
            }
            Operands::AllButFirst(act) if i > 0 => act,
            Operands::AllButFirst(_) => Act::Nothing,
        };
        this.act(act, operand, state)?;
    }
    follow(this, program, args, &operands, &outputs, state)
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
) -> Eval<(Vec<&'v Value>, Vec<Value>)> {
    let mut operands = Vec::new();
    let mut written = Vec::new();
    let mut path = |act: Act, path: &Value| {
        if act == Act::Write {
            written.push(path.clone());
        }
        this.act(act, path, state)
    };
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
                    Some((value, act)) => path(act, &Value::known(value))?,
                    None => operands.push(operand),
                }
                continue;
            }
            Word::Option(option, value) => (option.raw(), value),
        };
        if let (Some(act), Some(value)) = (act_of(option), value) {
            path(act, value)?;
        } else if let Some((value, act)) =
            keyed(effect, option).or_else(|| attached(effect, option))
        {
            path(act, &Value::known(value))?;
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

/// Keeps what is known of the files that a program writes: copies, links, downloads. `outputs` are
/// the paths that its options name.
fn follow(
    this: &mut Interpreter<'_>,
    program: &str,
    args: &[Value],
    operands: &[&Value],
    outputs: &[Value],
    state: &State,
) -> Eval<()> {
    match program {
        "cp" | "gcp" | "mv" | "gmv" | "install" | "ginstall" | "ln" | "rsync" | "scp" => {
            // With a target option every operand is a source.
            let (sources, target) = match (outputs, operands) {
                ([target, ..], sources) => (sources, target),
                ([], [sources @ .., target]) => (sources, *target),
                ([], []) => return Ok(()),
            };
            for source in sources {
                place(this, program, args, source, target, state)?;
            }
        }
        "tee" | "sponge" => {
            let text = state.stdin.clone().unwrap_or_else(Value::output);
            let appends = args.iter().any(|arg| {
                let raw = arg.raw();
                raw == "--append" || is_option(arg) && !raw.starts_with("--") && raw.contains('a')
            });
            for target in operands.iter().filter_map(|target| known(target, state)) {
                if appends {
                    this.written.append(&target, &text);
                } else {
                    this.written.put(&target, text.clone());
                }
            }
        }
        // What is there stays there.
        "touch" => {
            for target in operands.iter().filter_map(|target| known(target, state)) {
                this.written.append(&target, &Value::default());
            }
        }
        "curl" | "wget" | "aria2c" => {
            // Without a name of ours the file is called like the end of the address.
            let named = operands
                .iter()
                .filter(|operand| operand.raw().contains('/'))
                .map(|operand| operand.base_name())
                .filter(|name| !name.is_empty());
            for target in outputs.iter().cloned().chain(named) {
                if let Some(target) = known(&target, state) {
                    this.written.put(&target, Value::output());
                }
            }
        }
        _ => {
            let text = match program {
                "dd" => copied(this, args, state),
                _ => vec![Value::output()],
            };
            for target in outputs.iter().filter_map(|target| known(target, state)) {
                for text in &text {
                    this.written.put(&target, text.clone());
                }
            }
        }
    }
    Ok(())
}

fn known(path: &Value, state: &State) -> Option<String> {
    absolute(path, state).as_known().map(str::to_owned)
}

/// What `dd` writes: its input, as long as nothing but its two ends is named.
fn copied(this: &Interpreter<'_>, args: &[Value], state: &State) -> Vec<Value> {
    let input = args.iter().find_map(|arg| arg.raw().strip_prefix("if="));
    let plain = |arg: &Value| {
        ["if=", "of=", "status=", "bs=", "conv=fsync", "conv=notrunc"]
            .iter()
            .any(|key| arg.raw().starts_with(key))
    };
    match input {
        _ if !args.iter().all(plain) => vec![Value::output()],
        Some(path) => this.contents(&Value::known(path), state),
        None => vec![state.stdin.clone().unwrap_or_else(Value::output)],
    }
}

/// One source that is copied, moved or linked to a target.
fn place(
    this: &mut Interpreter<'_>,
    program: &str,
    args: &[Value],
    source: &Value,
    target: &Value,
    state: &State,
) -> Eval<()> {
    let Some(folder) = known(target, state) else {
        return Ok(());
    };
    let moves = matches!(program, "mv" | "gmv");
    if moves && folder == "/dev/null" {
        this.act(Act::Delete, source, state)?;
    }
    // A target that is a folder keeps the source's name.
    let name = source.base_name();
    let inside = known(&Value::known(format!("{folder}/{}", name.raw())), state);
    let from = absolute(source, state);
    let contents = this.contents(source, state);
    for target in std::iter::once(folder.clone()).chain(inside) {
        if program == "ln" {
            let short = args.iter().any(|arg| {
                is_option(arg) && !arg.raw().starts_with("--") && arg.raw().contains('s')
            });
            let symbolic = short || args.iter().any(|arg| arg.raw() == "--symbolic");
            // A symbolic link counts from its own folder.
            let leads = if symbolic && !source.raw().starts_with('/') {
                let parent = target.rsplit_once('/').map_or("", |(parent, _)| parent);
                crate::analysis::places::normal(&format!("{parent}/{}", source.raw()))
            } else {
                from.clone()
            };
            if let Some(leads) = leads.as_known() {
                this.symlinks.insert(target.clone(), leads.to_owned());
            }
        } else if let Some(from) = from.as_known() {
            if let Some(leads) = this.symlinks.get(from).cloned() {
                this.symlinks.insert(target.clone(), leads);
            }
            this.moved.push((target.clone(), from.to_owned()));
        }
        if contents.iter().all(Value::is_known) {
            for content in &contents {
                this.written.put(&target, content.clone());
            }
        } else if is_program(this, source, state) {
            this.links.insert(target, source.clone());
        } else if !this.is_missing(&from) {
            this.written.conceal(&target);
        }
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
