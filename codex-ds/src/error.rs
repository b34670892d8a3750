//! What a user sees when something fails: one message, its causes, and what to do next.

use std::fmt;

use crate::exit;

/// A failure that a user can act on. Libraries' errors become one where the next step is known.
#[derive(Debug)]
pub struct UserError {
    message: String,
    hints: Vec<String>,
    code: u8,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl UserError {
    /// A failure with exit code [`exit::FAILURE`].
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hints: Vec::new(),
            code: exit::FAILURE,
            source: None,
        }
    }

    /// A mistake in the command line or in a file that the user wrote.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(message).code(exit::USAGE)
    }

    /// Something that has to be there first is not.
    pub fn not_ready(message: impl Into<String>) -> Self {
        Self::new(message).code(exit::NOT_READY)
    }

    /// Adds a line that says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Sets the exit code.
    #[must_use]
    pub fn code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UserError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// The text of an error for standard error, and its exit code.
#[must_use]
pub fn render(error: &anyhow::Error) -> (String, u8) {
    use std::fmt::Write as _;

    let mut text = format!("error: {error}\n");
    let mut code = exit::FAILURE;
    let mut hints = Vec::new();
    for (depth, cause) in error.chain().enumerate() {
        if depth > 0 {
            let _ = writeln!(text, "  cause: {cause}");
        }
        if let Some(user) = cause.downcast_ref::<UserError>() {
            code = user.code;
            hints.extend(user.hints.iter());
        }
    }
    for hint in hints {
        let _ = writeln!(text, "hint: {hint}");
    }
    (text, code)
}
