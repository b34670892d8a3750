//! bash itself as the judge of our reading: which texts it takes (`bash -n` runs nothing), and what
//! words become.
//!
//! No text here can run a command. What is given to `bash -c` are arguments of one `printf`, made of
//! the pieces below: they hold no substitution, no operator, no redirection and no glob, and each text
//! is searched for such signs before bash gets it. What is given to `bash -n` is only parsed.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use codex_ds_hook::{Context, NoFiles, Policy, Verdict, evaluate, explain};
use proptest::prelude::*;

fn context() -> Context<'static> {
    Context {
        cwd: PathBuf::from("/w"),
        workspace: PathBuf::from("/w"),
        home: PathBuf::from("/home/dev"),
        user: "dev".to_owned(),
        codex_home: PathBuf::from("/home/dev/.codex-ds"),
        files: &NoFiles,
    }
}

/// bash with these arguments, in an empty folder and without an environment.
fn bash(args: &[&str]) -> std::process::Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Command::new("bash")
        .args(["--noprofile", "--norc"])
        .args(args)
        .current_dir(folder.path())
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .expect("bash is installed")
}

/// What the words may refer to. The last is set and empty.
const VARIABLES: &[(&str, &str)] = &[("v1", "a b"), ("v2", "xyxz"), ("v3", "A.c/d"), ("v4", "")];

/// Parts of words. None of them can start a command, write, or match a file.
const PIECES: &[&str] = &[
    "a",
    "b",
    "c1",
    "-",
    "_",
    ".",
    "/",
    "=",
    ",",
    ":",
    "%",
    "+",
    "@",
    "!",
    "^",
    // Quotes.
    "'a b'",
    "''",
    "'\"'",
    "'$v1'",
    "'\\'",
    "\"a b\"",
    "\"\"",
    "\"'\"",
    "\"\\\"\"",
    "\"\\$v1\"",
    "\"\\\\\"",
    "\"\\a\"",
    "\"a\\ b\"",
    "\"$\"",
    "\"{a,b}\"",
    "'{a,b}'",
    // Backslashes.
    "\\a",
    "\\ ",
    "\\$",
    "\\\"",
    "\\'",
    "\\\\",
    "\\{",
    "\\,",
    // ANSI-C.
    "$'a'",
    "$'a b'",
    "$'\\x41'",
    "$'\\101'",
    "$'\\t'",
    "$'\\''",
    "$'\\\\'",
    "$'\\u00e9'",
    "$'\\\"'",
    "$'\\q'",
    "$'\\x4'",
    "$'\\1012'",
    "$\"a b\"",
    // Braces.
    "{a,b}",
    "{a,b c}",
    "{1..3}",
    "{3..1}",
    "{a..c}",
    "{1..7..3}",
    "{01..03}",
    "{a,{b,c}}",
    "{a}",
    "{a,}",
    "{,b}",
    "{}",
    "{a,b}{1,2}",
    "{a..}",
    "{1..b}",
    "{-1..1}",
    // Parameters.
    "$v1",
    "${v1}",
    "\"$v1\"",
    "\"${v1}\"",
    "$v2",
    "${v2#x}",
    "${v2##*x}",
    "${v2#*x}",
    "${v2%z}",
    "${v2%x*}",
    "${v2%%x*}",
    "${v2/x/q}",
    "${v2//x/q}",
    "${v2/#x/q}",
    "${v2/%z/q}",
    "${v2//x}",
    "${v2:1}",
    "${v2:1:2}",
    "${v2: -1}",
    "${v2:0:-1}",
    "${v2:9}",
    "${#v2}",
    "${#v1}",
    "${v2^}",
    "${v2^^}",
    "${v3,}",
    "${v3,,}",
    "${v3##*/}",
    "${v3%/*}",
    "${v3%.*}",
    "${v4}",
    "\"$v4\"",
    "${v4:-x y}",
    "\"${v4:-x y}\"",
    "${v4-x}",
    "${v4:+x}",
    "${v4+x}",
    "${v1:+x y}",
    "\"${v1:+x y}\"",
    "${v1:-x}",
    "${v4:-$v2}",
    "\"${v4:-\"a b\"}\"",
    "${v4:-'a b'}",
    "${v4:='a'}",
    "\"${v2/x/\"a b\"}\"",
    "${v2/[xy]/q}",
    "${v2/?/q}",
    "\"${v1// /_}\"",
    "${v1// /_}",
    "${!v9-a}",
    "${v2@U}",
    // Arithmetic; the older form, since the newer one begins like a substitution.
    "$[1+2]",
    "$[7/2]",
    "$[2*3]",
    "$[5%3]",
    "$[1-4]",
    "\"$[1+1]\"",
];

/// Signs that would be more than an argument. The pieces have none; this is looked at all the same.
fn assert_only_arguments(words: &str) {
    for sign in ["$(", "`", ";", "&", "|", "\n", "<", ">", "(", ")", "~"] {
        assert!(!words.contains(sign), "{sign:?} in {words:?}");
    }
    let mut previous = ' ';
    for c in words.chars() {
        assert!(
            !(c == '#' && previous.is_whitespace()),
            "a comment in {words:?}"
        );
        previous = c;
    }
}

/// Sets the variables.
fn assignments() -> String {
    let lines: Vec<String> = VARIABLES
        .iter()
        .map(|(name, value)| format!("{name}='{value}'\n"))
        .collect();
    lines.concat()
}

/// The words that bash makes of a text.
fn words_of_bash(words: &str) -> Option<Vec<String>> {
    assert_only_arguments(words);
    let mut script = assignments();
    script.push_str("printf '%s\\0' first ");
    script.push_str(words);
    let output = bash(&["-c", &script]);
    if !output.status.success() || !output.stderr.is_empty() {
        return None;
    }
    let text = String::from_utf8(output.stdout).ok()?;
    Some(
        text.split('\0')
            .skip(1)
            .take(text.matches('\0').count() - 1)
            .map(str::to_owned)
            .collect(),
    )
}

/// The words that we make of it; `None` where some are not known.
fn our_words(words: &str) -> Option<Vec<String>> {
    let mut script = assignments();
    script.push_str("some_program first ");
    script.push_str(words);
    let explained = explain(&script, &Policy::default(), &context());
    let step = explained
        .steps
        .iter()
        .find(|step| step.words.get(1).is_some_and(|word| word == "first"))?;
    step.known.then(|| step.words[2..].to_vec())
}

/// As a reader of ours sees a text with control characters.
fn shown(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() {
                c.escape_default().to_string()
            } else {
                c.to_string()
            }
        })
        .collect()
}

#[test]
fn each_piece_becomes_what_bash_makes_of_it() {
    let mut wrong = Vec::new();
    let mut known = 0;
    for piece in PIECES {
        let Some(theirs) = words_of_bash(piece) else {
            continue;
        };
        let Some(ours) = our_words(piece) else {
            continue;
        };
        known += 1;
        let theirs: Vec<String> = theirs.iter().map(|word| shown(word)).collect();
        if ours != theirs {
            wrong.push(format!("{piece}: ours {ours:?}, bash's {theirs:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(known > 100, "only {known} of {} are known", PIECES.len());
}

/// Commands that do nothing, of every form that has no commands in it.
const LEAVES: &[&str] = &[
    "echo a",
    "true",
    "a=b",
    "a=(b c)",
    "a+=(\"d e\")",
    "[[ -n a && ! b ]]",
    "[[ a =~ ^(b|c)$ ]]",
    "((1+1))",
    "echo \"$a\" '(' ${a:-b} $((1+2))",
    "echo $(true; echo ')')",
    "echo `echo a`",
    "echo ${a:+b;c} ${a//;/|}",
    "echo \"${a[@]}\" ${#a} ${!a}",
    "echo a#b \\# '#'",
    "echo {a,b}{1..3}",
    "a=b true",
    "2>&1 true",
    "true <<< \"a b\"",
    "echo $'a\\'b'",
    "echo \"a\\\"b\"",
    "echo \\\n a",
];

/// Scripts of such commands in every structure.
fn scripts() -> impl Strategy<Value = String> {
    let leaf = || (0..LEAVES.len()).prop_map(|leaf| LEAVES[leaf].to_owned());
    leaf().prop_recursive(3, 16, 2, move |inner| {
        let two = (inner.clone(), inner.clone());
        let leaves = (leaf(), leaf());
        prop_oneof![
            two.clone().prop_map(|(a, b)| format!("{a}\n{b}")),
            leaves
                .clone()
                .prop_map(|(a, b)| format!("{a} && {b} || {a}")),
            leaves
                .clone()
                .prop_map(|(a, b)| format!("{a} | {b} |& {a}; {b}")),
            leaves.clone().prop_map(|(a, b)| format!("{a} & {b} &")),
            leaves
                .clone()
                .prop_map(|(a, b)| format!("cat <<'E' | {a}; {b}\n$( ' \"\nE\n")),
            leaves
                .clone()
                .prop_map(|(a, b)| format!("cat <<E\n$( {a}\n)\nE\n{b}")),
            leaves.prop_map(|(a, b)| format!("cat <<A <<-'B' && {a}\nx\nA\n\ty `\n\tB\n{b}")),
            two.clone()
                .prop_map(|(a, b)| format!("if {a}\nthen {b}\nelif {a}\nthen {b}\nelse {a}\nfi")),
            two.clone()
                .prop_map(|(a, b)| format!("while {a}\ndo {b}\ndone")),
            two.clone()
                .prop_map(|(a, b)| format!("case $x in (x|\"y z\") {a}\n;; *) {b}\n;& z) ;; esac")),
            inner
                .clone()
                .prop_map(|a| format!("until {a}\ndo break; done 2>&1")),
            inner
                .clone()
                .prop_map(|a| format!("for i in a 'b c'; do {a}\ndone")),
            inner.clone().prop_map(|a| format!("for i\ndo {a}\ndone")),
            inner
                .clone()
                .prop_map(|a| format!("for ((i=0; i < 2; i++)); do {a}\ndone")),
            inner
                .clone()
                .prop_map(|a| format!("select i in a; do {a}\ndone")),
            inner
                .clone()
                .prop_map(|a| format!("! time -p ( {a}\n) | true")),
            inner.clone().prop_map(|a| format!("( {a}\n)")),
            inner.clone().prop_map(|a| format!("{{ {a}\n}} 2>&1 &")),
            inner
                .clone()
                .prop_map(|a| format!("f() {{ {a}\n}}\nfunction g {{ {a}\n}}; h() ( {a}\n)")),
            inner
                .clone()
                .prop_map(|a| format!("echo \"$( {a}\n)\" <( {a}\n)")),
            inner.clone().prop_map(|a| format!("coproc {{ {a}\n}}")),
            inner.prop_map(|a| format!("# it's a comment\n{a} # another \"\n")),
        ]
    })
}

/// Whether bash takes a text, by `bash -n`, which runs nothing of it.
fn bash_takes(text: &str) -> bool {
    let output = bash(&["-n", "-c", text]);
    // An unclosed here-document is a warning.
    output.status.success()
}

/// Whether we take it. The denial of a structure that does nothing can only be that it is no script.
fn we_take(text: &str) -> bool {
    match evaluate(text, &Policy::default(), &context()) {
        Verdict::Allow => true,
        Verdict::Deny(denial) => denial.rule != "shell.unreadable",
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn words_become_what_bash_makes_of_them(
        words in prop::collection::vec(prop::collection::vec(0..PIECES.len(), 1..5), 1..4),
    ) {
        let text: Vec<String> = words
            .iter()
            .map(|pieces| pieces.iter().map(|piece| PIECES[*piece]).collect())
            .collect();
        let text = text.join(" ");
        if let (Some(theirs), Some(ours)) = (words_of_bash(&text), our_words(&text)) {
            let theirs: Vec<String> = theirs.iter().map(|word| shown(word)).collect();
            prop_assert_eq!(ours, theirs, "of {}", text);
        }
    }

    #[test]
    fn what_bash_takes_is_read(script in scripts()) {
        prop_assert!(bash_takes(&script), "bash refuses {:?}", script);
        prop_assert!(we_take(&script), "bash takes {:?}", script);
    }
}
