//! What is known of the arguments of a call.

use super::calls::{Reader, value};
use super::tokens::Token;
use crate::value::Value;

/// One argument of a call.
pub(super) enum Argument {
    Text(Value),
    List(Vec<Value>),
}

/// `Path("x")`, `expanduser("x")` and `str("x")` are the text in them.
const KEEPS: &[&str] = &[
    "Path",
    "expanduser",
    "str",
    "abspath",
    "expandvars",
    "resolve",
    "PosixPath",
    "String",
    "normpath",
    "URI",
    "URL",
];

/// Calls that put the parts of a path together.
const JOINS: &[&str] = &["path.join", "path.resolve", "posixpath.join", "File.join"];

impl Reader<'_, '_> {
    /// The arguments of a call, as far as they are constants.
    pub(super) fn arguments(&self, tokens: &[Token]) -> Vec<Argument> {
        let mut arguments = Vec::new();
        for part in split(tokens) {
            // `key=value` arguments come after the ones that matter.
            if let [Token::Name(key), Token::Sign('='), value @ ..] = part
                && value.first() != Some(&Token::Sign('='))
            {
                if matches!(key.as_str(), "args" | "cmd" | "command" | "path") {
                    arguments.push(self.argument(value, 0));
                }
                continue;
            }
            arguments.push(self.argument(part, 0));
        }
        arguments
    }

    pub(super) fn argument(&self, part: &[Token], depth: u32) -> Argument {
        if decodes(part) {
            return Argument::Text(Value::unknown());
        }
        if let [Token::Sign('['), .., Token::Sign(']')] = part {
            let items = split(&part[1..part.len() - 1])
                .into_iter()
                .map(|item| match self.argument(item, depth) {
                    Argument::Text(text) => text,
                    Argument::List(_) => Value::unknown(),
                })
                .collect();
            return Argument::List(items);
        }
        if let [Token::Name(name)] = part
            && depth < 4
            && let Some(constant) = self.constants.get(name)
        {
            return self.argument(constant, depth + 1);
        }
        if let [
            Token::Name(name),
            Token::Sign('('),
            inner @ ..,
            Token::Sign(')'),
        ] = part
        {
            if KEEPS.contains(&name.rsplit('.').next().unwrap_or_default()) {
                return self.argument(inner, depth + 1);
            }
            if JOINS.iter().any(|join| name.ends_with(join)) {
                let mut path = Value::default();
                for item in split(inner) {
                    if let Argument::Text(text) = self.argument(item, depth + 1) {
                        if !path.is_empty() {
                            path.push("/");
                        }
                        path.push_value(&text);
                    }
                }
                return Argument::Text(path);
            }
        }
        // `{args: ["x"]}`.
        if let [Token::Sign('{'), inner @ .., Token::Sign('}')] = part
            && let Some(at) = inner.windows(2).position(
                |window| matches!(window, [Token::Name(key), Token::Sign(':')] if key == "args"),
            )
            && let Some(list) = split(&inner[at + 2..]).first()
        {
            return self.argument(list, depth + 1);
        }
        self.text_of(part, depth)
    }

    /// Texts that are put together.
    fn text_of(&self, part: &[Token], depth: u32) -> Argument {
        let mut text = Value::default();
        for (i, token) in part.iter().enumerate() {
            match token {
                Token::Text(parts) => {
                    let mut piece = value(parts);
                    let after = part.get(i + 1..).unwrap_or_default();
                    if matches!(after, [Token::Sign('['), ..]) {
                        return Argument::Text(Value::unknown());
                    }
                    if let [Token::Sign('.'), Token::Name(method), rest @ ..] = after
                        && !["perl", "php"].contains(&self.program)
                    {
                        match method.as_str() {
                            "join" => return Argument::Text(self.joined(&piece, rest)),
                            "split" | "strip" | "rstrip" | "lstrip" | "encode" | "format"
                            | "trim" | "toString" | "freeze" | "to_s" | "rmdir" | "unlink" => {}
                            _ => return Argument::Text(Value::unknown()),
                        }
                    }
                    let formats = matches!(after, [Token::Sign('%'), ..])
                        || matches!(after, [Token::Sign('.'), Token::Name(_), ..]);
                    if formats {
                        piece = Value::known(
                            piece
                                .raw()
                                .replace("%s", Value::unknown().raw())
                                .replace("{}", Value::unknown().raw()),
                        );
                        text.push_value(&piece);
                        return Argument::Text(text);
                    }
                    text.push_value(&piece);
                }
                Token::Name(name) if depth < 4 && self.constants.contains_key(name) => {
                    match self.argument(&self.constants[name], depth + 1) {
                        Argument::Text(known) => text.push_value(&known),
                        Argument::List(_) => text.push_value(&Value::unknown()),
                    }
                }
                Token::Sign('+' | '.' | ',') => {}
                // `Path.home() / "x"`, `os.homedir() + "/x"`.
                Token::Name(name)
                    if ["Path.home", "pathlib.Path.home", "os.homedir", "homedir"]
                        .contains(&name.as_str()) =>
                {
                    text.push(&self.this.context.home.to_string_lossy());
                }
                Token::Name(name)
                    if ["Path.cwd", "os.getcwd", "process.cwd", "Dir.pwd", "getcwd"]
                        .contains(&name.as_str()) =>
                {
                    text.push_value(&self.state.cwd);
                }
                Token::Sign('(' | ')') if !text.is_unknown() => {}
                Token::Sign('/') if !text.is_empty() && !text.is_unknown() => text.push("/"),
                _ => text.push_value(&Value::unknown()),
            }
        }
        Argument::Text(text)
    }

    /// `"x".join([…])`.
    fn joined(&self, separator: &Value, call: &[Token]) -> Value {
        let [Token::Sign('('), inner @ .., Token::Sign(')')] = call else {
            return Value::unknown();
        };
        let Argument::List(items) = self.argument(inner, 1) else {
            return Value::unknown();
        };
        let mut text = Value::default();
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                text.push_value(separator);
            }
            text.push_value(item);
        }
        text
    }

    /// The path object that a method is called on: the string in the parentheses before it.
    pub(super) fn receiver(&self, tokens: &[Token], at: usize) -> Option<Value> {
        if let Token::Name(name) = &tokens[at]
            && let Some((object, _)) = name.rsplit_once('.')
        {
            return match self.constants.get(object).map(|c| self.argument(c, 0)) {
                Some(Argument::Text(text)) => Some(text),
                _ => None,
            };
        }
        let close = at.checked_sub(2)?;
        if tokens[close] != Token::Sign(')') {
            return None;
        }
        let mut level = 0;
        let open = (0..=close).rev().find(|i| {
            match tokens[*i] {
                Token::Sign(')') => level += 1,
                Token::Sign('(') => level -= 1,
                _ => {}
            }
            level == 0
        })?;
        match self.argument(&tokens[open + 1..close], 0) {
            Argument::Text(text) => Some(text),
            Argument::List(_) => None,
        }
    }

    /// The path that an argument gives.
    pub(super) fn path(&self, arguments: &[Argument], at: usize) -> Value {
        let text = match arguments.get(at) {
            Some(Argument::Text(text)) => text.clone(),
            Some(Argument::List(items)) => items.first().cloned().unwrap_or_default(),
            None => Value::unknown(),
        };
        match text.raw().strip_prefix('~') {
            Some(rest) => Value::known(format!(
                "{}{rest}",
                self.this.context.home.to_string_lossy()
            )),
            None => text,
        }
    }
}

/// Whether a text comes out of a decoder.
pub(super) fn decodes(tokens: &[Token]) -> bool {
    let cut = tokens
        .windows(2)
        .any(|window| matches!(window, [Token::Text(_), Token::Sign('[')]));
    cut || tokens.iter().any(|token| match token {
        Token::Name(name) if name == "Buffer.from" => true,
        Token::Name(name) => matches!(
            name.rsplit('.').next().unwrap_or_default(),
            "b64decode"
                | "b32decode"
                | "unhexlify"
                | "fromhex"
                | "decode"
                | "chr"
                | "atob"
                | "decode64"
                | "decode_base64"
                | "pack"
                | "unpack"
                | "fromCharCode"
                | "decompress"
                | "loads"
                | "reverse"
                | "reversed"
                | "join"
                | "translate"
                | "swapcase"
                | "replace"
        ),
        _ => false,
    })
}

/// The parts between commas that are in no brackets.
pub(super) fn split(tokens: &[Token]) -> Vec<&[Token]> {
    let mut parts = Vec::new();
    let mut level = 0;
    let mut from = 0;
    for (i, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(' | '[' | '{') => level += 1,
            Token::Sign(')' | ']' | '}') => level -= 1,
            Token::Sign(',') if level == 0 => {
                parts.push(&tokens[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    if from < tokens.len() {
        parts.push(&tokens[from..]);
    }
    parts
}
