//! Where each value of a JSON text stands, to the byte.
//!
//! `serde_json` gives values; to say what a value costs, or where two texts part, it takes the
//! bytes of the text as they are.

use std::ops::Range;

/// How deep values may be nested: what `serde_json` takes, too.
const DEEPEST: usize = 127;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The bytes of the value; a string's with its quotes.
    pub span: Range<usize>,
    /// What it is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// An object's members, in the order of the text; a name may stand twice.
    Object(Vec<(String, Node)>),
    /// An array's elements.
    Array(Vec<Node>),
    /// A string.
    String,
    /// A number, true, false or null.
    Scalar,
}

/// The text is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no JSON from byte {offset} on")]
pub struct NotJson {
    /// Where it ceases to be JSON.
    pub offset: usize,
}

/// Parses a text. Whatever `serde_json` takes is taken.
///
/// # Errors
/// The text is no JSON, or nested deeper than 127 levels.
pub fn parse(text: &str) -> Result<Node, NotJson> {
    let mut reader = Reader { text, at: 0 };
    reader.skip_space();
    let node = reader.value(0)?;
    reader.skip_space();
    if reader.at == text.len() {
        Ok(node)
    } else {
        Err(reader.fail())
    }
}

impl Node {
    /// The first member of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.members()
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, node)| node)
    }

    /// The members of an object, else nothing.
    #[must_use]
    pub fn members(&self) -> &[(String, Self)] {
        match &self.kind {
            Kind::Object(members) => members,
            _ => &[],
        }
    }

    /// The elements of an array, else nothing.
    #[must_use]
    pub fn elements(&self) -> &[Self] {
        match &self.kind {
            Kind::Array(elements) => elements,
            _ => &[],
        }
    }

    /// The bytes between a string's quotes, any other value's bytes.
    #[must_use]
    pub fn inner(&self) -> Range<usize> {
        match self.kind {
            Kind::String => self.span.start + 1..self.span.end - 1,
            _ => self.span.clone(),
        }
    }

    /// What a string says, where this is one, and `source` the text that was parsed.
    #[must_use]
    pub fn text(&self, source: &str) -> Option<String> {
        matches!(self.kind, Kind::String).then(|| unescape(&source[self.inner()]))
    }
}

impl Node {
    /// The beginning of what a string says: about the first `limit` bytes of the text.
    #[must_use]
    pub fn beginning(&self, source: &str, limit: usize) -> Option<String> {
        let inner = &source[self.inner()];
        if inner.len() <= limit {
            return self.text(source);
        }
        // Not in the middle of a character, or of an escape: two that belong together have 12 bytes.
        let cut = (limit.saturating_sub(12)..=limit)
            .rev()
            .filter(|cut| inner.is_char_boundary(*cut))
            .find_map(|cut| serde_json::from_str(&format!("\"{}\"", &inner[..cut])).ok());
        matches!(self.kind, Kind::String).then(|| cut.unwrap_or_default())
    }
}

/// What the inside of a JSON string says. What is no proper escape stays as it is.
#[must_use]
pub fn unescape(inner: &str) -> String {
    if !inner.contains('\\') {
        return inner.to_owned();
    }
    serde_json::from_str(&format!("\"{inner}\"")).unwrap_or_else(|_| inner.to_owned())
}

/// Adds a step to a JSON pointer (RFC 6901).
#[must_use]
pub fn step(pointer: &str, key: &str) -> String {
    if key.contains(['~', '/']) {
        return format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
    }
    format!("{pointer}/{key}")
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn fail(&self) -> NotJson {
        NotJson { offset: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), NotJson> {
        if self.peek() != Some(byte) {
            return Err(self.fail());
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Node, NotJson> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{' | b'[') if depth >= DEEPEST => return Err(self.fail()),
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => {
                self.string()?;
                Kind::String
            }
            _ => {
                self.scalar()?;
                Kind::Scalar
            }
        };
        Ok(Node {
            span: start..self.at,
            kind,
        })
    }

    fn object(&mut self, depth: usize) -> Result<Kind, NotJson> {
        let mut members = Vec::new();
        self.list(b'}', |reader| {
            let name = reader.at;
            reader.string()?;
            let name = unescape(&reader.text[name + 1..reader.at - 1]);
            reader.skip_space();
            reader.expect(b':')?;
            reader.skip_space();
            members.push((name, reader.value(depth + 1)?));
            Ok(())
        })?;
        Ok(Kind::Object(members))
    }

    fn array(&mut self, depth: usize) -> Result<Kind, NotJson> {
        let mut elements = Vec::new();
        self.list(b']', |reader| {
            elements.push(reader.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Kind::Array(elements))
    }

    /// From an opening bracket to its `end`, with commas between the entries.
    fn list(
        &mut self,
        end: u8,
        mut entry: impl FnMut(&mut Self) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(end) {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.skip_space();
            entry(self)?;
            self.skip_space();
            if self.peek() == Some(end) {
                self.at += 1;
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    fn string(&mut self) -> Result<(), NotJson> {
        self.expect(b'"')?;
        loop {
            self.at += plain_length(&self.text.as_bytes()[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    // What follows is ASCII in an escape; else the text is no JSON.
                    if !self.peek().is_some_and(|byte| byte.is_ascii()) {
                        return Err(self.fail());
                    }
                    self.at += 1;
                }
                _ => return Err(self.fail()),
            }
        }
    }

    fn scalar(&mut self) -> Result<(), NotJson> {
        let rest = &self.text[self.at..];
        let length = rest
            .bytes()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'+' | b'-' | b'.' | b'E'))
            .unwrap_or(rest.len());
        if serde_json::from_str::<serde_json::Value>(&rest[..length]).is_err() {
            return Err(self.fail());
        }
        self.at += length;
        Ok(())
    }
}

/// How many bytes at the start stand in a string as they are.
fn plain_length(bytes: &[u8]) -> usize {
    let special =
        |byte: &u8| u8::from(*byte < 0x20) | u8::from(*byte == b'"') | u8::from(*byte == b'\\');
    // Whole blocks without a branch in them, which the compiler turns into vector instructions.
    let blocks = bytes
        .chunks_exact(16)
        .take_while(|block| block.iter().fold(0, |found, byte| found | special(byte)) == 0)
        .count();
    let rest = &bytes[blocks * 16..];
    blocks * 16 + rest.iter().take_while(|byte| special(byte) == 0).count()
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn check(node: &Node, text: &str) {
        let value: Value = serde_json::from_str(&text[node.span.clone()]).expect("a value's bytes");
        match (&node.kind, &value) {
            (Kind::Object(members), Value::Object(map)) => {
                for (key, member) in members {
                    assert!(map.contains_key(key), "{key}");
                    check(member, text);
                }
            }
            (Kind::Array(elements), Value::Array(values)) => {
                assert_eq!(elements.len(), values.len());
                for element in elements {
                    check(element, text);
                }
            }
            (Kind::String, Value::String(string)) => {
                assert_eq!(node.text(text).as_ref(), Some(string));
            }
            (Kind::Scalar, Value::Null | Value::Bool(_) | Value::Number(_)) => {}
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_no_json_is_refused_where_it_ceases_to_be() {
        for (text, offset) in [
            ("", 0),
            ("{\"a\":1,}", 7),
            ("[1 2]", 3),
            ("{\"a\" 1}", 5),
            ("\"a\nb\"", 2),
            ("nul", 0),
            ("{} x", 3),
            ("\"a\\", 3),
        ] {
            assert_eq!(parse(text), Err(NotJson { offset }), "{text}");
        }
    }

    #[test]
    fn endless_nesting_is_refused() {
        assert!(parse(&"[".repeat(1 << 20)).is_err());
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(parse(&deep(127)).is_ok());
        assert!(serde_json::from_str::<Value>(&deep(127)).is_ok());
        assert!(parse(&deep(128)).is_err());
    }

    /// Any JSON, and now and then a request's member names.
    pub(crate) fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f32>().prop_map(|number| Value::from(f64::from(number))),
            ".{0,12}".prop_map(Value::from),
            "[a-z<>_# ]{0,20}".prop_map(Value::from),
        ];
        let key = prop_oneof![
            prop::sample::select(vec![
                "input",
                "tools",
                "instructions",
                "messages",
                "type",
                "role",
                "content",
                "text",
                "name",
                "function",
                "id",
                "client_metadata",
                "system",
                "arguments",
                "output",
            ])
            .prop_map(str::to_owned),
            ".{0,6}",
        ];
        leaf.prop_recursive(5, 64, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((key.clone(), inner), 0..6)
                    .prop_map(|members| members.into_iter().collect::<serde_json::Map<_, _>>())
                    .prop_map(Value::from),
            ]
        })
    }

    #[test]
    fn the_beginning_of_a_string_is_cut_at_no_escape() {
        let text = r#""a\\\n\u00e9\ud83d\ude00é and more""#;
        let node = parse(text).expect("JSON");
        let whole = node.text(text).expect("a string");
        for limit in 0..text.len() {
            let beginning = node.beginning(text, limit).expect("a string");
            assert!(whole.starts_with(&beginning), "{limit}: {beginning}");
        }
        assert_eq!(node.beginning(text, 8).as_deref(), Some("a\\\n"));
        assert_eq!(node.beginning(text, 1000), Some(whole));
    }

    proptest! {
        #[test]
        fn every_value_is_found_where_it_stands(value in json(), pretty in any::<bool>()) {
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            check(&parse(&text).expect("JSON"), &text);
        }

        #[test]
        fn what_serde_takes_is_taken(text in r#"[\[\]{}",:0-9eE.+\-\\u\ntrufalsn ]{0,24}"#) {
            if serde_json::from_str::<Value>(&text).is_ok() {
                check(&parse(&text).expect("serde takes it"), &text);
            } else {
                // It need not be refused: an unknown escape is.  It must not panic.
                let _ = parse(&text);
            }
        }
    }
}
