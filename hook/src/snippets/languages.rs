//! How the interpreters of other languages take code.

/// How an interpreter takes code.
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
}

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
        comments: &["#"],
        backticks: false,
        bare: false,
        operand: false,
    },
    Language {
        names: &["perl*"],
        code: &["-e", "-E"],
        values: &["-I"],
        comments: &["#"],
        backticks: true,
        bare: true,
        operand: false,
    },
    Language {
        names: &["ruby*", "jruby", "irb"],
        code: &["-e"],
        values: &["-I", "-r", "-C"],
        comments: &["#"],
        backticks: true,
        bare: true,
        operand: false,
    },
    Language {
        names: &["node", "nodejs", "bun", "tsx", "ts-node", "qjs", "d8"],
        code: &["-e", "--eval", "-p", "--print", "-pe"],
        values: &["-r", "--require", "--import", "--loader", "--env-file"],
        comments: &["//"],
        backticks: false,
        bare: false,
        operand: false,
    },
    Language {
        names: &["deno"],
        code: &["-e"],
        values: &["--config", "-c"],
        comments: &["//"],
        backticks: false,
        bare: false,
        operand: false,
    },
    Language {
        names: &["php*"],
        code: &["-r", "-B", "-R", "-E"],
        values: &["-d", "-c", "-f"],
        comments: &["//", "#"],
        backticks: true,
        bare: true,
        operand: false,
    },
    Language {
        names: &["lua*", "luajit", "texlua"],
        code: &["-e"],
        values: &["-l"],
        comments: &["--"],
        backticks: false,
        bare: true,
        operand: false,
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
        comments: &["#"],
        backticks: false,
        bare: false,
        operand: true,
    },
    Language {
        names: &["Rscript", "R", "r", "littler"],
        code: &["-e"],
        values: &[],
        comments: &["#"],
        backticks: false,
        bare: false,
        operand: false,
    },
    Language {
        names: &["julia"],
        code: &["-e", "-E", "--eval", "--print"],
        values: &["-p", "-t", "-J", "-L"],
        comments: &["#"],
        backticks: true,
        bare: false,
        operand: false,
    },
    Language {
        names: &["tclsh*", "wish", "expect"],
        code: &["-c"],
        values: &[],
        comments: &["#"],
        backticks: false,
        bare: true,
        operand: false,
    },
    Language {
        names: &["osascript"],
        code: &["-e"],
        values: &["-l"],
        comments: &["--"],
        backticks: false,
        bare: true,
        operand: false,
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
            "gdb",
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
        code: &["-e", "--eval", "-eval", "-ex", "--ex", "-c", "--execute"],
        values: &[],
        comments: &["#", "//", ";;"],
        backticks: false,
        bare: true,
        operand: false,
    },
    Language {
        names: &["octave", "matlab"],
        code: &["--eval", "-batch", "-r"],
        values: &[],
        comments: &["%", "#"],
        backticks: false,
        bare: false,
        operand: false,
    },
    Language {
        names: &["lldb"],
        code: &["-o", "--one-line", "-k"],
        values: &["-s", "-f"],
        comments: &["#"],
        backticks: false,
        bare: false,
        operand: false,
    },
];

/// Interpreters that talk to a terminal when they get nothing to run.
pub(super) const INTERACTIVE: &[&str] = &[
    "python", "python2", "python3", "ipython", "bpython", "pypy", "pypy3", "node", "nodejs", "irb",
    "lua", "luajit", "R", "julia", "ghci", "iex", "erl", "jshell", "scala", "groovy", "guile",
    "racket", "sbcl", "ocaml", "swipl", "tclsh", "deno", "bun",
];

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
