//! A command that is denied stays denied under every rewriting that keeps its meaning, and no text
//! whatever makes the guard fail.

use codex_ds_hook::{Policy, explain};
use proptest::prelude::*;

use super::{context, verdict};

/// Commands of plain words, each denied.
const DENIED: &[&[&str]] = &[
    &["rm", "-rf", "/etc"],
    &["git", "push", "--force"],
    &["systemctl", "stop", "docker"],
    &["kubectl", "delete", "pod", "x"],
    &["mkfs.ext4", "/dev/sdb"],
    &["reboot"],
    &["cat", "/etc/shadow"],
    &["docker", "rm", "-f", "db"],
];

/// A word in another spelling of the same text.
fn spelled() -> impl Strategy<Value = fn(&str) -> String> {
    prop_oneof![
        Just((|word: &str| word.to_owned()) as fn(&str) -> String),
        Just((|word: &str| format!("'{word}'")) as fn(&str) -> String),
        Just((|word: &str| format!("\"{word}\"")) as fn(&str) -> String),
        Just((|word: &str| word.chars().flat_map(|c| ['\\', c]).collect()) as fn(&str) -> String),
        Just(
            (|word: &str| {
                let (head, tail) = word.split_at(word.len() / 2);
                format!("{head}''{tail}")
            }) as fn(&str) -> String
        ),
        Just(
            (|word: &str| {
                let codes: Vec<String> = word.bytes().map(|b| format!("\\x{b:02x}")).collect();
                format!("$'{}'", codes.concat())
            }) as fn(&str) -> String
        ),
        Just((|word: &str| format!("$(echo {word})")) as fn(&str) -> String),
        Just((|word: &str| format!("${{unset_name:-{word}}}")) as fn(&str) -> String),
    ]
}

/// A command around another, which runs it.
fn wrapped() -> impl Strategy<Value = fn(&str) -> String> {
    prop_oneof![
        Just((|c: &str| format!("bash -c {}", quoted(c))) as fn(&str) -> String),
        Just((|c: &str| format!("sh -c {}", quoted(c))) as fn(&str) -> String),
        Just((|c: &str| format!("eval {}", quoted(c))) as fn(&str) -> String),
        Just((|c: &str| format!("( {c} )")) as fn(&str) -> String),
        Just((|c: &str| format!("{{ {c}; }}")) as fn(&str) -> String),
        Just((|c: &str| format!("true && {c}")) as fn(&str) -> String),
        Just((|c: &str| format!("false || {c}")) as fn(&str) -> String),
        Just((|c: &str| format!("ls; {c}")) as fn(&str) -> String),
        Just((|c: &str| format!("ls\n{c}")) as fn(&str) -> String),
        Just((|c: &str| format!("{c} # a comment")) as fn(&str) -> String),
        Just((|c: &str| format!("# a comment\n{c}")) as fn(&str) -> String),
        Just((|c: &str| format!("echo \"$( {c}\n)\"")) as fn(&str) -> String),
        Just((|c: &str| format!("cat <( {c}\n)")) as fn(&str) -> String),
        Just((|c: &str| format!("if true; then {c}\nfi")) as fn(&str) -> String),
        Just((|c: &str| format!("for i in 1; do {c}\ndone")) as fn(&str) -> String),
        Just((|c: &str| format!("while true; do {c}\nbreak; done")) as fn(&str) -> String),
        Just((|c: &str| format!("case x in x) {c}\n;; esac")) as fn(&str) -> String),
        Just(
            (|c: &str| format!("some_function() {{ {c}\n}}; some_function")) as fn(&str) -> String
        ),
        Just((|c: &str| format!("trap {} EXIT", quoted(c))) as fn(&str) -> String),
        Just(
            (|c: &str| format!("bash <<'END_OF_SCRIPT'\n{c}\nEND_OF_SCRIPT\n"))
                as fn(&str) -> String
        ),
        Just((|c: &str| format!("echo {} | sh", quoted(c))) as fn(&str) -> String),
        Just((|c: &str| format!("cat <<'A'\ntext\nA\n{c}")) as fn(&str) -> String),
        Just(
            (|c: &str| format!("some_text={}; eval \"$some_text\"", quoted(c)))
                as fn(&str) -> String
        ),
        Just(
            (|c: &str| format!("some_text={}\nbash <<< \"$some_text\"", quoted(c)))
                as fn(&str) -> String
        ),
        Just(
            (|c: &str| format!("some_text={} bash -c 'eval \"$some_text\"'", quoted(c)))
                as fn(&str) -> String
        ),
        Just(
            (|c: &str| format!(
                "shopt -s expand_aliases\nalias some_alias={}\nsome_alias",
                quoted(c)
            )) as fn(&str) -> String
        ),
        Just(
            (|c: &str| format!(
                "some_function() {{ eval \"$1\"; }}; some_function {}",
                quoted(c)
            )) as fn(&str) -> String
        ),
        Just(
            (|c: &str| format!(
                "some_function() ( bash -c \"$*\" ); some_function {}",
                quoted(c)
            )) as fn(&str) -> String
        ),
        Just((|c: &str| format!("env A=1 bash -c {}", quoted(c))) as fn(&str) -> String),
        Just(
            (|c: &str| format!("command -- timeout 9 sh -ec {}", quoted(c))) as fn(&str) -> String
        ),
        Just(
            (|c: &str| format!("bash -s <<-'END_OF_TABS' some_argument\n\t{c}\n\tEND_OF_TABS\n"))
                as fn(&str) -> String
        ),
        Just(
            (|c: &str| format!("cat <<'END_OF_PIPE' | bash\n{c}\nEND_OF_PIPE\n"))
                as fn(&str) -> String
        ),
        Just(
            (|c: &str| format!(
                // A name of its own at each level.
                "cat > script_{0} <<'END_{0}'\n{c}\nEND_{0}\nsh script_{0}",
                c.len()
            )) as fn(&str) -> String
        ),
        Just((|c: &str| format!("source <(printf '%s\\n' {})", quoted(c))) as fn(&str) -> String),
        Just(
            (|c: &str| format!("printf '%s' {} | xargs -0 -I{{}} sh -c '{{}}'", quoted(c)))
                as fn(&str) -> String
        ),
        Just((|c: &str| format!("[[ -n $( {c}\n) ]]")) as fn(&str) -> String),
        Just((|c: &str| format!("select i in 1; do {c}\nbreak; done")) as fn(&str) -> String),
        Just((|c: &str| format!("coproc {{ {c}\n}}; wait")) as fn(&str) -> String),
        Just(
            (|c: &str| format!("python3 -c 'import os; os.system({})'", python(c)))
                as fn(&str) -> String
        ),
        Just((|c: &str| format!("{c} &")) as fn(&str) -> String),
        Just((|c: &str| format!("! {c}")) as fn(&str) -> String),
    ]
}

/// Something in front of a simple command.
const FRONT: &[&str] = &[
    "",
    "A=1 ",
    "A=1 B='x y' ",
    ">out.txt ",
    "2>/dev/null ",
    "env ",
    "nice -n 5 ",
    "timeout 5 ",
    "command ",
    "nohup ",
    "sudo -n ",
    "time ",
    "exec ",
    "xargs ",
    "stdbuf -oL ",
    "setsid ",
    "env A=1 nice ",
];

/// Something behind it.
const BEHIND: &[&str] = &["", " >out.txt", " 2>&1", " </dev/null", " &>log", ";", "  "];

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A text as Python's literal, inside single quotes of a shell.
fn python(text: &str) -> String {
    let escaped: Vec<String> = text.bytes().map(|b| format!("\\x{b:02x}")).collect();
    let escaped = escaped.concat();
    format!("\"{escaped}\"")
}

#[test]
fn a_denied_command_stays_denied_in_four_shells() {
    for words in DENIED {
        let mut command = words.join(" ");
        for shell in ["sh -c", "bash -lc", "dash -c", "env -i bash --norc -ec"] {
            command = format!("{shell} {}", quoted(&command));
            assert!(verdict(&command).is_deny(), "allowed: {command:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_denied_command_stays_denied(
        which in 0..DENIED.len(),
        spellings in prop::collection::vec(spelled(), 4),
        front in 0..FRONT.len(),
        behind in 0..BEHIND.len(),
        wrappers in prop::collection::vec(wrapped(), 0..5),
    ) {
        let words: Vec<String> = DENIED[which]
            .iter()
            .zip(&spellings)
            .map(|(word, spell)| spell(word))
            .collect();
        // `xargs` reads the words behind its command; the rest is as it stands.
        let mut command = format!("{}{}{}", FRONT[front], words.join(" "), BEHIND[behind]);
        if let Some(rest) = command.strip_suffix(';') {
            command = rest.to_owned();
        }
        for wrap in &wrappers {
            command = wrap(&command);
        }
        prop_assert!(verdict(&command).is_deny(), "allowed: {command:?}");
    }

    #[test]
    fn no_text_makes_it_fail(text in "\\PC{0,80}|[ -~\\n]{0,200}|([$(){}<>|&;'\"`\\\\\\n a-c=\\[\\]*]|<<E|E\\n){0,60}") {
        let verdict = verdict(&text);
        let explained = explain(&text, &Policy::default(), &context());
        prop_assert_eq!(&verdict, &explained.verdict);
        if let Some(span) = explained.span {
            prop_assert!(text.get(span).is_some());
        }
        if let Some(denial) = verdict.denial() {
            prop_assert!(denial.to_string().chars().count() <= 400);
        }
    }
}
