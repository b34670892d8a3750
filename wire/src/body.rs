//! A request's body, parsed once for all who ask what stands where in it.

use crate::spans::{self, Node};

/// See the module.
#[derive(Debug, Clone)]
pub struct Body<'a> {
    bytes: &'a [u8],
    json: Option<Json<'a>>,
}

/// A body that is JSON.
#[derive(Debug, Clone)]
pub struct Json<'a> {
    /// The body.
    pub text: &'a str,
    /// Where its values stand.
    pub root: Node,
}

impl<'a> Body<'a> {
    /// Reads a body; any bytes are one.
    #[must_use]
    pub fn read<T: AsRef<[u8]> + ?Sized>(bytes: &'a T) -> Self {
        let bytes = bytes.as_ref();
        let json = std::str::from_utf8(bytes).ok().and_then(|text| {
            let root = spans::parse(text).ok()?;
            Some(Json { text, root })
        });
        Self { bytes, json }
    }

    /// Its length, bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// What it is as JSON, where it is any.
    #[must_use]
    pub fn json(&self) -> Option<&Json<'a>> {
        self.json.as_ref()
    }

    /// What a member at the top says, where it is a string.
    #[must_use]
    pub fn string(&self, member: &str) -> Option<String> {
        let json = self.json()?;
        json.root.get(member)?.text(json.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_a_body_and_some_are_json() {
        let body = Body::read("{\"model\": \"a\\\"b\", \"n\": 1}");
        assert_eq!(body.string("model").as_deref(), Some("a\"b"));
        assert_eq!((body.string("n"), body.string("none")), (None, None));
        for bytes in [&b"\xff{}"[..], b"", b"{} {}"] {
            let body = Body::read(bytes);
            assert!(body.json().is_none() && body.bytes() == bytes.len());
            assert_eq!(body.string("model"), None);
        }
    }
}
