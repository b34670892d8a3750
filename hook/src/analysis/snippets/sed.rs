//! `sed`: the commands of its scripts that run programs or write files.

use crate::analysis::interpreter::Interpreter;
use crate::analysis::state::State;
use crate::options::{Word, takes_value, walk};
use crate::value::Value;
use crate::verdict::Eval;

/// `sed` can run commands (`e`, the flag `e` of `s`) and write files (`w`).
pub(super) fn check(this: &mut Interpreter<'_>, args: &[Value], state: &mut State) -> Eval<()> {
    const VALUES: &[&str] = &["-e", "--expression", "-f", "--file", "-l", "--line-length"];
    let mut scripts: Vec<&Value> = Vec::new();
    let mut attached: Vec<Value> = Vec::new();
    let mut operands: Vec<&Value> = Vec::new();
    let mut from_file = false;
    for word in walk(args, |option| takes_value(option, VALUES)) {
        let (option, value) = match word {
            Word::Operand(operand) => {
                operands.push(operand);
                continue;
            }
            Word::Option(option, value) => (option.raw(), value),
        };
        from_file |= matches!(option, "-f" | "--file");
        let short = !option.starts_with("--");
        match value {
            Some(script) if option == "--expression" || short && option.ends_with('e') => {
                scripts.push(script);
            }
            Some(_) => {}
            None => attached.extend(
                ["--expression=", "-e"]
                    .iter()
                    .find_map(|name| option.strip_prefix(name))
                    .map(Value::known),
            ),
        }
    }
    scripts.extend(&attached);
    if scripts.is_empty() && !from_file {
        scripts.extend(operands.first().copied());
    }
    for script in scripts {
        for line in script.raw().split(['\n', ';']) {
            command(this, line.trim_start(), state)?;
        }
    }
    Ok(())
}

fn command(this: &mut Interpreter<'_>, text: &str, state: &mut State) -> Eval<()> {
    let text = text.trim_start_matches(|c: char| c.is_ascii_digit() || "$,!{ +~".contains(c));
    // An address `/re/` or `\cREc` before the command.
    let text = match text.strip_prefix('/').and_then(|rest| rest.split_once('/')) {
        Some((_, rest)) => {
            rest.trim_start_matches(|c: char| c.is_ascii_digit() || "$,!{ IM".contains(c))
        }
        None => text,
    };
    let mut chars = text.chars();
    match chars.next() {
        Some('e') if text.len() == 1 || text[1..].starts_with(' ') => {
            let code = text[1..].trim();
            if code.is_empty() {
                return this.deny("shell.unknown-code", format!("sed {text}"));
            }
            this.nested(|this| this.code(&Value::known(code), state))?;
        }
        Some('w' | 'W') => {
            this.write_path(&Value::known(text[1..].trim()), state)?;
        }
        Some('s') => {
            let Some(delimiter) = chars.next() else {
                return Ok(());
            };
            // The third delimiter that is not escaped ends the replacement.
            let mut seen = 0;
            let mut escaped = false;
            let mut flags = "";
            for (at, c) in chars.as_str().char_indices() {
                if escaped {
                    escaped = false;
                } else if c == '\\' {
                    escaped = true;
                } else if c == delimiter {
                    seen += 1;
                    if seen == 2 {
                        flags = &chars.as_str()[at + c.len_utf8()..];
                        break;
                    }
                }
            }
            let before = flags.split('w').next().unwrap_or_default();
            if before.contains('e') && before.bytes().all(|b| b"0123456789gpiIemM".contains(&b)) {
                return this.deny("shell.unknown-code", format!("sed {text}"));
            }
            if let Some((plain, path)) = flags.split_once('w')
                && !plain.contains(' ')
            {
                this.write_path(&Value::known(path.trim()), state)?;
            }
            let flags: String = flags
                .chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect();
            if flags.contains('e')
                && flags
                    .chars()
                    .all(|c| c.is_ascii_digit() || "gpiIemM".contains(c))
            {
                return this.deny("shell.unknown-code", format!("sed {text}"));
            }
        }
        _ => {}
    }
    Ok(())
}
