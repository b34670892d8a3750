//! A string that cannot be printed by accident.

use std::fmt;

/// A key or token. `Debug` and `Display` show a mask, it cannot be serialised, and the text comes
/// out only through [`Secret::expose`], which a reader can search for.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret. White space at both ends is cut, because a key read from a file ends with a
    /// newline that no HTTP header may hold.
    pub fn new(secret: impl Into<String>) -> Self {
        let mut secret: String = secret.into();
        secret.truncate(secret.trim_end().len());
        secret.drain(..secret.len() - secret.trim_start().len());
        Self(secret)
    }

    /// The secret itself, for the one place that sends or compares it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether nothing is left after trimming.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl From<String> for Secret {
    fn from(secret: String) -> Self {
        Self::new(secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_debug_nor_display_shows_the_secret() {
        let secret = Secret::new("hunter2\n");
        assert_eq!(
            format!("{secret} {secret:?} {secret:#?}"),
            "*** Secret(***) Secret(***)"
        );
        assert_eq!(secret.expose(), "hunter2");
    }
}
