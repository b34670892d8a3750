//! A case: what Codex is asked, in which world, and how the world has to look afterwards.
//!
//! Cases are TOML files; `docs/validate.md` describes every key. What is read here cannot hold a bad
//! value (see [`super::values`]), and a case that checks nothing is a fault.

use std::time::Duration;

use codex_ds_deploy::reader::{Faults, Section, Source, Value as _};

use super::values::{Override, Place, Program, Prompt, Relative, Stopper};

/// The longest time that one turn of a case may be given, seconds.
const LONGEST: u64 = 3_600;
/// The time that one turn gets unless the case says otherwise, seconds. A model of one's own takes
/// 3 to 32 seconds for a case; one that thinks hard in a long queue takes minutes.
const USUAL: u64 = 300;

/// One case.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Its name: that of its file.
    pub(crate) id: String,
    /// What it shows, in a few words.
    pub(crate) title: String,
    /// What Codex is asked, one after the other in one session.
    pub(crate) turns: Vec<Turn>,
    /// How long each turn may take.
    pub(crate) limit: Duration,
    /// The profiles that it is for; none means all.
    pub(crate) profiles: Vec<String>,
    /// The MCP servers that the profile has to have.
    pub(crate) servers: Vec<String>,
    /// Options for Codex, `key=value`.
    pub(crate) config: Vec<String>,
    /// Programs that are replaced by ones that record the call and do nothing.
    pub(crate) shims: Vec<Program>,
    /// Files of the workspace, committed.
    pub(crate) files: Vec<(Relative, String)>,
    /// Files of the workspace that git does not know.
    pub(crate) untracked: Vec<(Relative, String)>,
    /// Files in the home folder.
    pub(crate) home: Vec<(Relative, String)>,
    /// Files beside the workspace.
    pub(crate) outside: Vec<(Relative, String)>,
    /// Pages of a web server on this machine.
    pub(crate) pages: Vec<(String, String)>,
    /// What has to be true afterwards.
    pub(crate) expect: Expect,
    /// What must never happen.
    pub(crate) forbid: Forbid,
    /// What the model should try, and be stopped at.
    pub(crate) attempt: Option<Attempt>,
}

/// One thing that Codex is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The prompt.
    pub(crate) prompt: String,
    /// Codex is interrupted, as by Ctrl-C, when this file of the workspace is there.
    pub(crate) interrupt_at: Option<Relative>,
}

/// What has to be true afterwards.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Expect {
    /// Commands that fail before and succeed afterwards, in the workspace.
    pub(crate) tests: Vec<String>,
    /// Files that Codex reported as changed by a patch.
    pub(crate) patched: Vec<Relative>,
    /// Files and a text that stands in each.
    pub(crate) contains: Vec<(Place, String)>,
    /// Calls of MCP servers that came back.
    pub(crate) calls: Vec<McpCall>,
    /// Pages that were fetched from this machine.
    pub(crate) visited: Vec<String>,
    /// Whether the conversation was compacted on the way.
    pub(crate) compacted: bool,
    /// Whether each turn with `interrupt_at` was cut off in the middle.
    pub(crate) interrupted: bool,
}

/// A call of an MCP server that came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct McpCall {
    /// The server.
    pub(crate) server: String,
    /// Its tool.
    pub(crate) tool: String,
    /// A text of the answer. Without it in an answer that came, the case is inconclusive: what is
    /// behind the server was not reached.
    pub(crate) says: Option<String>,
}

/// What must never happen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forbid {
    /// Files that change or go.
    pub(crate) changed: Vec<Place>,
    /// Calls of a shim: the program, and words that all stand in the call.
    pub(crate) ran: Vec<String>,
    /// Texts that reach the model or a file of the workspace.
    pub(crate) leaked: Vec<String>,
}

/// What the model is to be stopped at.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// The exact command: what is asked for, and played in the end, when the model does not try.
    pub(crate) command: String,
    /// A call of a tool that holds all of these is an attempt.
    pub(crate) words: Vec<String>,
    /// Who has to stop it.
    pub(crate) stopper: Stopper,
    /// The guard's rule that denies it: where the policy does not have it, the case does not fit.
    pub(crate) rule: Option<&'static codex_ds_rules::Rule>,
}

impl Case {
    /// Whether it asks Codex nothing: then the built-in model plays its attempt.
    pub(crate) fn is_played(&self) -> bool {
        self.turns.is_empty()
    }

    /// Reads the text of a case. `file` is what to name in a fault.
    ///
    /// # Errors
    /// Every fault of the file: unknown keys, bad values, a case that checks nothing.
    pub(crate) fn parse(id: &str, file: &str, text: &str) -> Result<Self, Faults> {
        let source = Source::new(file, text);
        let document = source.document()?;
        let case = read(id, source.root(&document));
        source.finish()?;
        Ok(case)
    }
}

fn read(id: &str, root: Section<'_>) -> Case {
    let title = root.need("title");
    let turns = turns(&root);
    let limit = Duration::from_secs(root.int("limit_seconds", 1..=LONGEST, Some(USUAL)));
    let list = |key: &str| root.get::<Vec<String>>(key).unwrap_or_default();
    let case = Case {
        id: id.to_owned(),
        title,
        turns,
        limit,
        profiles: list("profiles"),
        servers: list("servers"),
        config: root
            .get::<Vec<Override>>("config")
            .unwrap_or_default()
            .into_iter()
            .map(|option| option.0)
            .collect(),
        shims: root.get("shims").unwrap_or_default(),
        files: files(&root, "files"),
        untracked: files(&root, "untracked"),
        home: files(&root, "home"),
        outside: files(&root, "outside"),
        pages: pages(&root),
        expect: expect(&root),
        forbid: forbid(&root),
        attempt: attempt(&root),
    };
    // A section that is there and came to nothing has faults of its own.
    let has = |key: &str| root.section(key).is_there();
    if !has("expect") && !has("forbid") {
        root.fault(
            "title",
            "a case that checks nothing",
            "[expect] or [forbid]",
        );
    }
    if has("attempt") && !has("forbid") {
        root.fault(
            "attempt",
            "no [forbid]",
            "what must not come of the attempt",
        );
    }
    if case.turns.is_empty() && case.attempt.is_none() {
        root.fault("title", "no prompt", "prompt, [[turns]] or [attempt]");
    }
    root.finish();
    case
}

fn turns(root: &Section<'_>) -> Vec<Turn> {
    let listed = root.list("turns");
    let prompt: Option<Prompt> = root.get("prompt");
    if prompt.is_some() && !listed.is_empty() {
        root.fault("prompt", "a prompt beside [[turns]]", "one of the two");
    }
    let mut turns: Vec<Turn> = prompt
        .into_iter()
        .map(|prompt| Turn {
            prompt: prompt.0,
            interrupt_at: None,
        })
        .collect();
    for section in listed {
        turns.push(Turn {
            prompt: section.need::<Prompt>("prompt").0,
            interrupt_at: section.get("interrupt_at"),
        });
        section.finish();
    }
    turns
}

fn files(root: &Section<'_>, key: &str) -> Vec<(Relative, String)> {
    let section = root.section(key);
    let mut files = Vec::new();
    for name in section.names() {
        match Relative::parse(&name) {
            Some(path) => files.push((path, section.need(&name))),
            None => root.fault(key, format!("{name:?}"), Relative::EXPECTED),
        }
    }
    files
}

fn pages(root: &Section<'_>) -> Vec<(String, String)> {
    let section = root.section("pages");
    let mut pages = Vec::new();
    for name in section.names() {
        if name.starts_with('/') && name.bytes().all(|byte| byte.is_ascii_graphic()) {
            pages.push((name.clone(), section.need(&name)));
        } else {
            root.fault(
                "pages",
                format!("{name:?}"),
                "paths of pages, like \"/cables\"",
            );
        }
    }
    pages
}

fn expect(root: &Section<'_>) -> Expect {
    let section = root.section("expect");
    let contains = section.section("contains");
    let mut texts = Vec::new();
    for name in contains.names() {
        match Place::parse(&name) {
            Some(place) => texts.push((place, contains.need(&name))),
            None => section.fault("contains", format!("{name:?}"), Place::EXPECTED),
        }
    }
    let mut calls = Vec::new();
    for call in section.list("calls") {
        calls.push(McpCall {
            server: call.need("server"),
            tool: call.need("tool"),
            says: call.get("says"),
        });
        call.finish();
    }
    let expect = Expect {
        tests: section.get("tests").unwrap_or_default(),
        patched: section.get("patched").unwrap_or_default(),
        contains: texts,
        calls,
        visited: section.get("visited").unwrap_or_default(),
        compacted: section.get("compacted").unwrap_or(false),
        interrupted: section.get("interrupted").unwrap_or(false),
    };
    section.finish();
    expect
}

fn forbid(root: &Section<'_>) -> Forbid {
    let section = root.section("forbid");
    let forbid = Forbid {
        changed: section.get("changed").unwrap_or_default(),
        ran: section.get("ran").unwrap_or_default(),
        leaked: section.get("leaked").unwrap_or_default(),
    };
    section.finish();
    forbid
}

fn attempt(root: &Section<'_>) -> Option<Attempt> {
    let section = root.section("attempt");
    if !section.is_there() {
        return None;
    }
    let attempt = Attempt {
        command: section.need("command"),
        words: section.need("words"),
        stopper: section.get("stopped_by").unwrap_or(Stopper::Guard),
        rule: rule(&section),
    };
    section.finish();
    Some(attempt)
}

fn rule(section: &Section<'_>) -> Option<&'static codex_ds_rules::Rule> {
    let id: String = section.get("rule")?;
    let rule = codex_ds_rules::rule(&id);
    if rule.is_none() {
        section.fault(
            "rule",
            format!("{id:?}"),
            "the name of a rule; codex-ds guard rules lists them",
        );
    }
    rule
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::suite;

    #[test]
    fn every_built_in_case_is_one() {
        let cases = suite::built_in().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(cases.len(), suite::BUILT_IN.len());
        for case in cases {
            let promises = case.attempt.is_some();
            assert_eq!(promises, case.expect == Expect::default(), "{}", case.id);
            // A case without a prompt is all that the built-in model can do.
            assert!(!case.is_played() || promises, "{}", case.id);
        }
    }

    #[test]
    fn the_documents_example_is_a_case() {
        let text = include_str!("../../../docs/validate.md");
        let (_, rest) = text.split_once("```toml\n").expect("an example");
        let (example, _) = rest.split_once("```").expect("its end");
        let case = Case::parse("example", "docs/validate.md", example);
        let case = case.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(case.expect.tests.len(), 1);
    }
}
