//! A run's results: a file of lines that is only ever added to, readable by its owner alone. A line
//! is on the disk before its question counts as answered; a line that a crash tore is cut off.
//!
//! No question, option or response is in it: the questions of GPQA are given out on the condition
//! that they are not made public.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::questions::Permutation;
use crate::error::UserError;

/// The version of the format.
pub const SCHEMA_VERSION: u32 = 1;

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line {
    /// The first line: what is measured.
    Run(Header),
    /// An answered question, or a failed request.
    Answer(Record),
    /// How the engine fared while some of them were answered.
    Health(Health),
}

/// What a run is. Two results can be joined only if all of it but date and endpoint is the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// See [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// "codex-ds eval gpqa" and its version.
    pub tool: String,
    /// When it began, UTC.
    pub date: String,
    /// The endpoint.
    pub endpoint: String,
    /// The model.
    pub model: String,
    /// The name of the file of questions.
    pub questions: String,
    /// Its digest.
    pub questions_sha256: String,
    /// The seed of the options' order.
    pub seed: u64,
    /// The budget of an answer, tokens.
    pub max_tokens: u64,
    /// Whether the model thinks.
    pub thinking: bool,
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The right letter.
    Right,
    /// Another letter.
    Wrong,
    /// No line of the wanted form.
    NoAnswer,
    /// The request failed: this says nothing of the model, and is tried again on the next start.
    Error,
}

/// A question's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The record's id in the file of questions.
    pub id: String,
    /// Its subject.
    pub domain: String,
    /// The order in which its options were shown; 0 is the right one.
    pub order: Permutation,
    /// The letter given.
    pub letter: Option<char>,
    /// What that means.
    pub outcome: Outcome,
    /// Whether the budget ended before the answer, and the short second request was made.
    pub exhausted: bool,
    /// Why the first answer ended: "stop", "length" or "other".
    pub finish_reason: String,
    /// Tokens of the answers.
    pub completion_tokens: u64,
    /// How long it took.
    pub seconds: f64,
    /// Of an error, its kind; not its text, which may repeat the request.
    pub error: Option<String>,
}

/// How the engine fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// How long it was watched, seconds.
    pub seconds: f64,
    /// The fullest that the KV cache was, 0 to 1.
    pub kv_usage: f64,
    /// The most requests in work.
    pub running: f64,
    /// The most requests that waited.
    pub waiting: f64,
    /// Requests that lost their place in the KV cache.
    pub preemptions: f64,
    /// How often the engine was started anew.
    pub restarts: u64,
    /// How often it did not answer a look.
    pub silent: u64,
}

impl Health {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
            kv_usage: self.kv_usage.max(other.kv_usage),
            running: self.running.max(other.running),
            waiting: self.waiting.max(other.waiting),
            preemptions: self.preemptions + other.preemptions,
            restarts: self.restarts + other.restarts,
            silent: self.silent + other.silent,
        }
    }
}

/// A file of results as it was read.
#[derive(Clone, Debug)]
pub struct Results {
    /// What the run is.
    pub header: Header,
    /// The last record of each question, in the order of their first ones.
    pub records: Vec<Record>,
    /// The engine's health, where it was watched.
    pub health: Option<Health>,
}

impl Results {
    fn new(header: Header) -> Self {
        Self {
            header,
            records: Vec::new(),
            health: None,
        }
    }

    /// Takes a line in. A question that failed and was asked again counts by its last record.
    pub fn add(&mut self, line: Line) {
        match line {
            // A second head is that of a run that was joined to this one.
            Line::Run(_) => {}
            Line::Answer(record) => match self.records.iter_mut().find(|old| old.id == record.id) {
                Some(old) => *old = record,
                None => self.records.push(record),
            },
            Line::Health(health) => {
                self.health = Some(self.health.unwrap_or_default().and(health));
            }
        }
    }

    /// Reads a file for a report.
    ///
    /// # Errors
    /// When it cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs_err::read(path).map_err(|error| {
            UserError::usage(format!("{}: cannot be read", path.display()))
                .because(error)
                .hint("codex-ds eval gpqa says at its end where its results are")
        })?;
        let (results, _) = parse(path, &bytes)?;
        results.ok_or_else(|| none(path, "it is empty").into())
    }
}

fn none(path: &Path, found: &str) -> UserError {
    UserError::usage(format!(
        "{}: {found}; expected results of codex-ds eval gpqa",
        path.display()
    ))
    .hint("name another file with --results, or move this one away")
}

/// The results in `bytes`, and the length of what is whole.
fn parse(path: &Path, bytes: &[u8]) -> Result<(Option<Results>, usize)> {
    let mut results: Option<Results> = None;
    let mut whole = 0;
    for (number, piece) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let is_last = whole + piece.len() == bytes.len();
        let line = serde_json::from_slice::<Line>(piece);
        match (line, &mut results) {
            (Ok(_), _) if !piece.ends_with(b"\n") => break,
            (Ok(Line::Run(header)), None) if header.schema_version == SCHEMA_VERSION => {
                results = Some(Results::new(header));
            }
            (Ok(Line::Run(header)), None) => {
                let found = format!("schema_version is {}", header.schema_version);
                return Err(none(path, &found).into());
            }
            (Ok(line), Some(results)) => results.add(line),
            (Err(_), _) if is_last => break,
            (Ok(_), None) | (Err(_), _) => {
                return Err(none(path, &format!("line {} is none of a result", number + 1)).into());
            }
        }
        whole += piece.len();
    }
    Ok((results, whole))
}

/// A file that is being added to. It is locked: two runs at once would ask every question twice.
#[derive(Debug)]
pub struct Store {
    file: File,
    path: PathBuf,
}

impl Store {
    /// Opens `path`, or makes it, and gives what is in it. A torn last line is cut off.
    ///
    /// # Errors
    /// When it is the file of another run, in use, or cannot be written.
    pub fn open(path: &Path, header: &Header) -> Result<(Self, Results)> {
        if let Some(folder) = path.parent() {
            fs_err::create_dir_all(folder)?;
        }
        let mut options = fs_err::OpenOptions::new();
        options.create(true).read(true).append(true);
        #[cfg(unix)]
        {
            use fs_err::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let (mut file, path) = options.open(path)?.into_parts();
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(UserError::not_ready(format!(
                    "another codex-ds is adding to {} right now",
                    path.display()
                ))
                .hint("wait for it to end, or name another file with --results")
                .into());
            }
            Err(std::fs::TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let (results, whole) = parse(&path, &bytes)?;
        if whole < bytes.len() {
            file.set_len(whole as u64)
                .and_then(|()| file.seek(SeekFrom::End(0)))
                .with_context(|| format!("cannot cut the torn end off {}", path.display()))?;
        }
        let mut store = Self { file, path };
        if let Some(results) = results {
            store.check(&results.header, header)?;
            Ok((store, results))
        } else {
            store.add(&Line::Run(header.clone()))?;
            Ok((store, Results::new(header.clone())))
        }
    }

    fn check(&self, found: &Header, wanted: &Header) -> Result<(), UserError> {
        for (what, found, wanted) in [
            ("model", &found.model, &wanted.model),
            (
                "questions",
                &found.questions_sha256,
                &wanted.questions_sha256,
            ),
            ("seed", &found.seed.to_string(), &wanted.seed.to_string()),
            (
                "max_tokens",
                &found.max_tokens.to_string(),
                &wanted.max_tokens.to_string(),
            ),
            (
                "thinking",
                &found.thinking.to_string(),
                &wanted.thinking.to_string(),
            ),
        ] {
            if found != wanted {
                return Err(UserError::usage(format!(
                    "{}: it is of another run: {what} is {found}; this run's is {wanted}",
                    self.path.display()
                ))
                .hint(
                    "name another file with --results, or start with the same options to go on",
                ));
            }
        }
        Ok(())
    }

    /// Adds a line, and waits until it is on the disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, line: &Line) -> Result<()> {
        let mut text = serde_json::to_vec(line).context("a line is plain data")?;
        text.push(b'\n');
        self.file
            .write_all(&text)
            .and_then(|()| self.file.sync_data())
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header() -> Header {
        Header {
            schema_version: SCHEMA_VERSION,
            tool: String::new(),
            date: String::new(),
            endpoint: String::new(),
            model: "m".to_owned(),
            questions: "q.csv".to_owned(),
            questions_sha256: "0".to_owned(),
            seed: 0,
            max_tokens: 1,
            thinking: true,
        }
    }

    fn record(id: u64, outcome: Outcome) -> Record {
        Record {
            id: id.to_string(),
            domain: "Physics".to_owned(),
            order: [0, 1, 2, 3],
            letter: Some('A'),
            outcome,
            exhausted: false,
            finish_reason: "stop".to_owned(),
            completion_tokens: 5,
            seconds: 0.5,
            error: None,
        }
    }

    fn lines(answers: u64) -> Vec<Line> {
        let mut lines = vec![Line::Run(header())];
        lines.extend((0..answers).map(|id| Line::Answer(record(id, Outcome::Right))));
        lines
    }

    fn text(lines: &[Line]) -> Vec<u8> {
        let line = |line: &Line| serde_json::to_string(line).expect("plain data") + "\n";
        lines.iter().map(line).collect::<String>().into_bytes()
    }

    proptest! {
        /// However a crash tears the file, what was whole stays and can be added to.
        #[test]
        fn a_torn_file_goes_on_where_it_was_whole(answers in 0..6_u64, cut in 0..2000_usize) {
            let bytes = text(&lines(answers));
            let cut = cut.min(bytes.len());
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("r.jsonl");
            fs_err::write(&path, &bytes[..cut]).expect("a file");
            let whole = bytes[..cut].split(|byte| *byte == b'\n').count() - 1;
            let (mut store, results) = Store::open(&path, &header()).expect("a store");
            prop_assert_eq!(results.records.len(), whole.saturating_sub(1));
            store.add(&Line::Answer(record(77, Outcome::Wrong))).expect("a line");
            drop(store);
            let results = Results::read(&path).expect("results");
            prop_assert_eq!(results.records.len(), whole.saturating_sub(1) + 1);
        }
    }

    #[test]
    fn a_file_is_private_locked_and_of_one_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/r.jsonl");
        let (store, _) = Store::open(&path, &header()).expect("a store");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs_err::metadata(&path)
                .expect("a file")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let error = Store::open(&path, &header()).expect_err("it is in use");
        assert!(error.to_string().contains("right now"), "{error}");
        drop(store);
        let other = Header {
            seed: 1,
            ..header()
        };
        let error = Store::open(&path, &other)
            .expect_err("another run")
            .to_string();
        assert!(
            error.ends_with("it is of another run: seed is 0; this run's is 1"),
            "{error}"
        );
        // Not the questions, but the server may be another.
        let moved = Header {
            endpoint: "elsewhere".to_owned(),
            ..header()
        };
        Store::open(&path, &moved).expect("the same run");
    }

    #[test]
    fn a_question_counts_by_its_last_record() {
        let mut all = lines(2);
        all.insert(1, Line::Answer(record(0, Outcome::Error)));
        let (results, _) = parse(Path::new("r"), &text(&all)).expect("results");
        let records = results.expect("results").records;
        assert_eq!(records.len(), 2);
        assert_eq!(records[0].outcome, Outcome::Right);
    }

    #[test]
    fn a_line_of_something_else_is_refused() {
        let mut bytes = text(&lines(1));
        bytes.splice(0..0, *b"{}\n");
        let error = parse(Path::new("r"), &bytes)
            .expect_err("no result")
            .to_string();
        assert_eq!(
            error,
            "r: line 1 is none of a result; expected results of codex-ds eval gpqa"
        );
    }
}
