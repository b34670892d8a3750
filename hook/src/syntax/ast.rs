//! What the reader makes of a script. Every word keeps its place in the text.

use std::cell::OnceCell;
use std::rc::Rc;

use super::Error;

/// A range of bytes in the text that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// The commands of a script in order, and why reading stopped before the end of the text, if so.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub(crate) commands: Vec<Command>,
    pub(crate) error: Option<Error>,
    /// The byte of a character that hides code, if there is one.
    pub(crate) concealed: Option<usize>,
}

/// How a command of a list follows the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    And,
    Or,
}

/// One command, simple or compound.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Simple(Box<Simple>),
    /// Two or more commands joined by pipes.
    Pipeline(Vec<Command>),
    /// `first && second || third`.
    AndOr(Box<Command>, Vec<(Join, Command)>),
    Background(Box<Command>),
    Subshell(Vec<Command>),
    Group(Vec<Command>),
    If {
        arms: Vec<(Vec<Command>, Vec<Command>)>,
        otherwise: Vec<Command>,
    },
    /// `while` and `until`.
    While {
        condition: Vec<Command>,
        body: Vec<Command>,
    },
    /// `for` and `select`; without words it walks the positional parameters.
    For {
        variable: String,
        words: Option<Vec<Word>>,
        body: Vec<Command>,
    },
    /// `for ((…))`: what its expressions expand, and the body.
    Loop {
        header: Word,
        body: Vec<Command>,
    },
    Case {
        subject: Word,
        arms: Vec<Arm>,
    },
    Function {
        name: String,
        body: Rc<Command>,
    },
    /// `[[ … ]]`: the words in it.
    Test(Vec<Word>),
    /// `((…))`: what it expands, and the same text read as nested subshells if that is possible.
    Arithmetic(Word, Option<Vec<Command>>),
    /// A compound command with redirections of its own.
    Redirected(Box<Command>, Vec<Redirect>),
}

/// One arm of a `case`.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub(crate) patterns: Vec<Word>,
    pub(crate) body: Vec<Command>,
}

/// Assignments, words and redirections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Simple {
    pub(crate) assigns: Vec<Assign>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
    pub(crate) span: Span,
}

/// `name=value`, `name+=value`, `name[i]=value`; an array's value is a word of one array piece.
#[derive(Clone, Debug)]
pub(crate) struct Assign {
    pub(crate) name: String,
    pub(crate) index: bool,
    pub(crate) append: bool,
    pub(crate) value: Word,
}

/// What a redirection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirectOp {
    Read,
    Write,
    Append,
    ReadWrite,
    /// `<&` and `>&` with a descriptor.
    Duplicate,
    HereDoc,
    HereString,
}

/// A redirection of one descriptor.
#[derive(Clone, Debug)]
pub(crate) struct Redirect {
    pub(crate) descriptor: Option<u32>,
    pub(crate) op: RedirectOp,
    /// `&>` and its like: the errors go there too.
    pub(crate) both: bool,
    pub(crate) target: Word,
    /// The body, for a here-document; filled when its lines have been read.
    pub(crate) heredoc: Option<Rc<OnceCell<Heredoc>>>,
}

/// The lines of a here-document.
#[derive(Clone, Debug)]
pub(crate) struct Heredoc {
    pub(crate) body: Word,
}

/// A word as written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Word {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) span: Span,
}

/// A part of a word.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Unquoted text: braces, globs and a leading tilde are active in it.
    Plain(String),
    /// Quoted text, possibly empty.
    Quoted(String),
    /// A parameter expansion, and whether it is inside double quotes.
    Param(Box<Param>, bool),
    /// `$(…)` or backticks, and whether it is inside double quotes.
    Substitution(Script, bool),
    /// `<(…)` (true) or `>(…)` (false).
    Process(Script, bool),
    /// `$((…))`: what it expands; the value is a number.
    Arithmetic(Word),
    /// `(a b c)` after `name=`.
    Array(Vec<Word>),
    /// `@(…)` and its like: any text.
    ExtendedGlob(Word),
}

/// A parameter expansion.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a sign of its own between the braces"
)]
pub(crate) struct Param {
    pub(crate) name: String,
    /// `$name`: braces expand first, and what they put behind it becomes part of its name.
    pub(crate) braceless: bool,
    pub(crate) index: Option<Index>,
    pub(crate) length: bool,
    pub(crate) indirect: bool,
    pub(crate) op: Option<Op>,
    /// `:-` and its like, to which an empty value is none.
    pub(crate) null_is_unset: bool,
    pub(crate) first: Word,
    pub(crate) second: Word,
}

/// What stands between the brackets of `${name[…]}`.
#[derive(Clone, Debug)]
pub(crate) enum Index {
    /// `@`.
    All,
    /// `*`: in quotes the elements are one word.
    Joined,
    At(Word),
}

/// The operator of a parameter expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Default,
    Assign,
    Error,
    Alternative,
    RemovePrefix,
    RemoveLongPrefix,
    RemoveSuffix,
    RemoveLongSuffix,
    Replace,
    ReplaceAll,
    ReplacePrefix,
    ReplaceSuffix,
    Slice,
    Upper,
    UpperAll,
    Lower,
    LowerAll,
    /// `@Q` and its like: unknown to us.
    Transform,
}
