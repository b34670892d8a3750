//! How the interpreters of other languages take code.

/// How an interpreter takes code.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a trait of its own of a language"
)]
pub(super) struct Language {
    /// Base names, a trailing `*` for versions.
    pub(super) names: &'static [&'static str],
    /// Options whose value is code.
    pub(super) code: &'static [&'static str],
    /// Options whose value is something else.
    pub(super) values: &'static [&'static str],
    /// What begins a comment.
    pub(super) comments: &'static [&'static str],
    /// Whether text in backticks is a command line.
    pub(super) backticks: bool,
    /// Whether calls need no parentheses.
    pub(super) bare: bool,
    /// Whether the first operand is code.
    pub(super) operand: bool,
    /// Whether its syntax is not read: only its words and strings count.
    pub(super) exotic: bool,
}

const BASE: Language = Language {
    names: &[],
    code: &[],
    values: &[],
    comments: &["#"],
    backticks: false,
    bare: false,
    operand: false,
    exotic: false,
};

/// What gdb and the interpreters beyond the common ones take code in.
const CODE: &[&str] = &["-e", "--eval", "-eval", "-ex", "--ex", "-c", "--execute"];

static LANGUAGES: &[Language] = &[
    Language {
        names: &[
            "python*",
            "pypy*",
            "ipython*",
            "python",
            "bpython",
            "micropython",
        ],
        code: &["-c"],
        values: &["-W", "-X", "--check-hash-based-pycs", "-Q"],
        ..BASE
    },
    Language {
        names: &["perl*"],
        code: &["-e", "-E"],
        values: &["-I"],
        backticks: true,
        bare: true,
        ..BASE
    },
    Language {
        names: &["ruby*", "jruby", "irb"],
        code: &["-e"],
        values: &["-I", "-r", "-C"],
        backticks: true,
        bare: true,
        ..BASE
    },
    Language {
        names: &["node", "nodejs", "bun", "tsx", "ts-node", "qjs", "d8"],
        code: &["-e", "--eval", "-p", "--print", "-pe"],
        values: &["-r", "--require", "--import", "--loader", "--env-file"],
        comments: &["//"],
        ..BASE
    },
    Language {
        names: &["deno"],
        code: &["-e"],
        values: &["--config", "-c"],
        comments: &["//"],
        ..BASE
    },
    Language {
        names: &["php*"],
        code: &["-r", "-B", "-R", "-E"],
        values: &["-d", "-c", "-f"],
        comments: &["//", "#"],
        backticks: true,
        bare: true,
        ..BASE
    },
    Language {
        names: &["lua*", "luajit", "texlua"],
        code: &["-e"],
        values: &["-l"],
        comments: &["--"],
        bare: true,
        ..BASE
    },
    Language {
        names: &[
            "awk",
            "gawk",
            "mawk",
            "nawk",
            "original-awk",
            "goawk",
            "frawk",
        ],
        code: &["-e", "--source"],
        values: &[
            "-F",
            "-v",
            "-f",
            "-i",
            "-l",
            "--field-separator",
            "--assign",
            "--file",
        ],
        operand: true,
        ..BASE
    },
    Language {
        names: &["Rscript", "R", "r", "littler"],
        code: &["-e"],
        ..BASE
    },
    Language {
        names: &["julia"],
        code: &["-e", "-E", "--eval", "--print"],
        values: &["-p", "-t", "-J", "-L"],
        backticks: true,
        ..BASE
    },
    Language {
        names: &["tclsh*", "wish", "expect"],
        code: &["-c"],
        bare: true,
        ..BASE
    },
    Language {
        names: &["osascript"],
        code: &["-e"],
        values: &["-l"],
        comments: &["--"],
        bare: true,
        exotic: true,
        ..BASE
    },
    Language {
        names: &[
            "elixir",
            "iex",
            "erl",
            "groovy",
            "scala",
            "jshell",
            "guile",
            "racket",
            "sbcl",
            "clojure",
            "bb",
            "swipl",
            "ghc",
            "ghci",
            "ocaml",
            "raku",
            "crystal",
            "runghc",
            "runhaskell",
            "kotlin",
            "kotlinc",
            "swift",
            "clj",
            "janet",
            "nim",
            "clisp",
            "ecl",
        ],
        code: CODE,
        comments: &["#", "//", ";;"],
        bare: true,
        exotic: true,
        ..BASE
    },
    Language {
        names: &["gdb"],
        code: CODE,
        comments: &["#", "//", ";;"],
        bare: true,
        ..BASE
    },
    Language {
        names: &["octave", "matlab"],
        code: &["--eval", "-batch", "-r"],
        comments: &["%", "#"],
        exotic: true,
        ..BASE
    },
    Language {
        names: &["lldb"],
        code: &["-o", "--one-line", "-k"],
        values: &["-s", "-f"],
        ..BASE
    },
];

/// Interpreters that talk to a terminal when they get nothing to run.
pub(super) const INTERACTIVE: &[&str] = &[
    "python", "python2", "python3", "ipython", "bpython", "pypy", "pypy3", "node", "nodejs", "irb",
    "lua", "luajit", "R", "julia", "ghci", "iex", "erl", "jshell", "scala", "groovy", "guile",
    "racket", "sbcl", "ocaml", "swipl", "tclsh", "deno", "bun",
];

/// Interpreters of exotic languages that take no code on the command line: scripts name them.
const SCRIPTED: &[&str] = &[
    "gforth",
    "gprolog",
    "fennel",
    "dotnet-script",
    "csharprepl",
    "fsi",
    "sqlcl",
    "v",
    "vlang",
];

/// Whether a program's language is one whose syntax is not read.
pub(super) fn is_exotic(program: &str) -> bool {
    SCRIPTED.contains(&program) || language(program).is_some_and(|language| language.exotic)
}

pub(super) fn language(program: &str) -> Option<&'static Language> {
    let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_named = |name: &&str| match name.strip_suffix('*') {
        Some(name) => name == stem || name == program,
        None => *name == program,
    };
    LANGUAGES
        .iter()
        .find(|language| language.names.iter().any(is_named))
}

pub(crate) fn is_interpreter(program: &str) -> bool {
    matches!(program, "sed" | "gsed") || language(program).is_some()
}
