//! Multiple-choice questions from a CSV file with GPQA's columns, and the order of their options.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

use crate::error::UserError;
use crate::file::sha256;

/// The columns that are needed, as the public files name them.
const QUESTION: &str = "Question";
const CORRECT: &str = "Correct Answer";
const INCORRECT: [&str; 3] = [
    "Incorrect Answer 1",
    "Incorrect Answer 2",
    "Incorrect Answer 3",
];
/// Columns that are used where they are.
const ID: &str = "Record ID";
const DOMAIN: &str = "High-level domain";

/// Our own questions, for a first try.
const SAMPLE: &str = include_str!("../../assets/gpqa-sample.csv");

/// The letters of the options.
pub const LETTERS: [char; 4] = ['A', 'B', 'C', 'D'];

/// A question. Its text is shown to the model alone: it has no `Debug`, and is in no result.
#[derive(Clone)]
pub struct Question {
    /// The record's id; of a record without one, the beginning of its question's digest.
    pub id: String,
    /// The subject, empty where the file has none.
    pub domain: String,
    text: String,
    /// The right option first.
    options: [String; 4],
}

/// A set of questions.
#[derive(Clone)]
pub struct Questions {
    /// The questions, in the file's order.
    pub all: Vec<Question>,
    /// The digest of the file.
    pub sha256: String,
    /// What it is called in a result: the file's name, not its path.
    pub name: String,
}

impl Questions {
    /// Our own questions.
    ///
    /// # Errors
    /// Never: the file is a part of the program, and a test reads it.
    pub fn sample() -> Result<Self> {
        parse(SAMPLE.as_bytes(), "the sample", "sample")
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, lacks a column, or has a record that is no question; the error names
    /// the line, and never shows the text.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs_err::read(path).map_err(|error| {
            UserError::usage(format!("--csv {}: cannot be read", path.display()))
                .because(error)
                .hint("GPQA is given out by its authors on request (gpqa_diamond.csv); --sample needs no file")
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        parse(&bytes, &path.display().to_string(), &name)
    }
}

fn parse(bytes: &[u8], place: &str, name: &str) -> Result<Questions> {
    let wrong = |found: String| {
        UserError::usage(format!("{place}: {found}"))
            .hint(format!(
                "expected a CSV file with the columns {QUESTION}, {CORRECT}, {} and, if there, {ID} and {DOMAIN}",
                INCORRECT.join(", ")
            ))
    };
    let digest = sha256(bytes);
    // Spreadsheets write a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let head = reader
        .headers()
        .map_err(|error| wrong("the first line is no CSV".to_owned()).because(error))?
        .clone();
    let column = |name: &str| head.iter().position(|column| column == name);
    let needed =
        |name: &str| column(name).ok_or_else(|| wrong(format!("the column {name:?} is missing")));
    let question = needed(QUESTION)?;
    let options = [
        needed(CORRECT)?,
        needed(INCORRECT[0])?,
        needed(INCORRECT[1])?,
        needed(INCORRECT[2])?,
    ];
    let (id, domain) = (column(ID), column(DOMAIN));
    let mut all = Vec::new();
    let mut ids = HashSet::new();
    for record in reader.records() {
        let record = record.map_err(|error| {
            let line = error.position().map_or(0, csv::Position::line);
            // The error itself may hold a part of the text.
            wrong(format!(
                "line {line}: not as many fields as the first line, or no UTF-8"
            ))
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |index: usize| record.get(index).unwrap_or_default().to_owned();
        let text = field(question);
        let options = options.map(field);
        if text.is_empty() {
            return Err(wrong(format!("line {line}: {QUESTION:?} is empty")).into());
        }
        if let Some(index) = options.iter().position(String::is_empty) {
            let names = [CORRECT, INCORRECT[0], INCORRECT[1], INCORRECT[2]];
            return Err(wrong(format!("line {line}: {:?} is empty", names[index])).into());
        }
        let different: HashSet<&String> = options.iter().collect();
        if different.len() < options.len() {
            return Err(wrong(format!("line {line}: two options are the same")).into());
        }
        let given = id.map(field).unwrap_or_default();
        let id = if given.is_empty() {
            sha256(text.as_bytes())[..16].to_owned()
        } else {
            given
        };
        if !ids.insert(id.clone()) {
            return Err(wrong(format!("line {line}: {ID:?} {id} is there already")).into());
        }
        all.push(Question {
            id,
            domain: domain.map(field).unwrap_or_default(),
            text,
            options,
        });
    }
    if all.is_empty() {
        return Err(wrong("there is no question in it".to_owned()).into());
    }
    Ok(Questions {
        all,
        sha256: digest,
        name: name.to_owned(),
    })
}

/// The order in which a question's options are shown: the place of each in the file, where 0 is the
/// right one.
pub type Permutation = [u8; 4];

impl Question {
    /// The order of the options for a seed. It depends on the seed and the record's id alone, so that
    /// neither `--limit` nor a new order of the file changes it: a Fisher–Yates shuffle whose random
    /// numbers are SplitMix64's, started at the seed XOR the first eight bytes (big-endian) of the
    /// SHA-256 of the id.
    ///
    /// # Panics
    /// Never: all places are below four.
    #[must_use]
    pub fn permutation(&self, seed: u64) -> Permutation {
        let mut random = self.random(seed);
        let mut order = [0, 1, 2, 3];
        for last in (1..4_u64).rev() {
            let other = random.next() % (last + 1);
            order.swap(
                usize::try_from(last).expect("at most 3"),
                usize::try_from(other).expect("at most 3"),
            );
        }
        order
    }

    /// Where the question stands in the order in which a seed takes them: `--limit` takes the first
    /// of that order, so a small sample is a part of every larger one and no part of the file is
    /// preferred.
    #[must_use]
    pub fn place(&self, seed: u64) -> u64 {
        self.random(!seed).next()
    }

    fn random(&self, seed: u64) -> SplitMix64 {
        let digest = sha256(self.id.as_bytes());
        let start = u64::from_str_radix(&digest[..16], 16).expect("a digest is hexadecimal");
        SplitMix64(seed ^ start)
    }

    /// The prompt, in the manner of OpenAI's simple-evals, with a last line of `ANSWER: $LETTER`.
    #[must_use]
    pub fn prompt(&self, order: Permutation) -> String {
        let mut prompt = format!(
            "Answer the following multiple choice question. The last line of your response should \
             be of the following format: 'ANSWER: $LETTER' (without quotes) where LETTER is one of \
             ABCD. Think step by step before answering.\n\n{}\n\n",
            self.text
        );
        for (letter, place) in LETTERS.iter().zip(order) {
            let _ = writeln!(prompt, "{letter}) {}", self.options[usize::from(place)]);
        }
        prompt
    }

    /// The second request, when the first one's budget ended before its answer.
    #[must_use]
    pub fn short_prompt(&self, order: Permutation) -> String {
        format!(
            "{}\nDo not explain. Reply with this one line only: ANSWER: $LETTER",
            self.prompt(order)
                .replace(" Think step by step before answering.", "")
        )
    }
}

/// The letter of the right option.
///
/// # Panics
/// Never for a permutation.
#[must_use]
pub fn right_letter(order: Permutation) -> char {
    let place = order.iter().position(|place| *place == 0);
    LETTERS[place.expect("a permutation holds every place")]
}

/// Sebastiano Vigna's SplitMix64 (public domain, https://prng.di.unimi.it/splitmix64.c).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// The letter in a response: the last line of the form `ANSWER: X`. Case, and the decoration that
/// models put around it (`**`, `$`, brackets, `\boxed{}`, a full stop), do not matter; anything
/// else on the line does, since "ANSWER: A or B" is no answer.
#[must_use]
pub fn letter(response: &str) -> Option<char> {
    const DECORATION: &[char] = &[
        '*', '_', '`', '$', '(', ')', '[', ']', '{', '}', '.', '\'', '"', ' ', '\t', '\r',
    ];
    response.lines().rev().find_map(|line| {
        let line = line.trim_matches(DECORATION);
        let start = line.get(..6)?;
        if !start.eq_ignore_ascii_case("ANSWER") {
            return None;
        }
        let rest = line[6..].trim_matches(DECORATION).strip_prefix(':')?;
        let mut rest = rest.trim_matches(DECORATION);
        for command in ["\\boxed", "\\text"] {
            let inner = rest.strip_prefix(command);
            rest = inner.map_or(rest, |inner| inner.trim_matches(DECORATION));
        }
        let mut chars = rest.chars();
        let letter = chars.next()?.to_ascii_uppercase();
        // A letter with its option behind it, as in "ANSWER: B) 42", is one, too.
        let decided = chars
            .next()
            .is_none_or(|next| matches!(next, ')' | ':' | '.'));
        (LETTERS.contains(&letter) && decided).then_some(letter)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn our_own_questions_are_whole() {
        let questions = Questions::sample().expect("the sample is whole");
        assert!(questions.all.len() >= 30);
        for domain in ["Physics", "Chemistry", "Biology"] {
            let of = questions.all.iter().filter(|q| q.domain == domain).count();
            assert!(of >= 10, "{of} of {domain}");
        }
    }

    const HEAD: &str = "Record ID,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\n";

    fn error(text: &str) -> String {
        let error = parse(text.as_bytes(), "q.csv", "q.csv").err().expect(text);
        error.to_string()
    }

    #[test]
    fn quotes_newlines_a_mark_and_more_columns_are_read() {
        let text = "\u{feff}Subdomain,Incorrect Answer 3,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Canary\r\n\
                    x, d ,\"Which of \"\"these\"\",\r\n\r\nis $\\\\alpha$, then?\",a,\"b, b\",c,stop\r\n";
        let questions = parse(text.as_bytes(), "q.csv", "q.csv").expect("questions");
        let question = &questions.all[0];
        assert_eq!(
            question.text,
            "Which of \"these\",\r\n\r\nis $\\\\alpha$, then?"
        );
        assert_eq!(question.options, ["a", "b, b", "c", "d"]);
        assert_eq!((question.id.len(), question.domain.as_str()), (16, ""));
    }

    #[test]
    fn a_file_that_is_none_is_named_without_its_text() {
        for (text, found) in [
            ("", "q.csv: the column \"Question\" is missing"),
            (
                "Question,Correct Answer\nsecret,x\n",
                "q.csv: the column \"Incorrect Answer 1\" is missing",
            ),
            (HEAD, "q.csv: there is no question in it"),
            (
                &format!("{HEAD}1,secret,a,b,c\n"),
                "q.csv: line 2: not as many fields as the first line, or no UTF-8",
            ),
            (
                &format!("{HEAD}1,secret,a,b,c,d\n2,secret,a,b, ,d\n"),
                "q.csv: line 3: \"Incorrect Answer 2\" is empty",
            ),
            (
                &format!("{HEAD}1,secret,a,b,c,a \n"),
                "q.csv: line 2: two options are the same",
            ),
            (
                &format!("{HEAD}1,secret,a,b,c,d\n1,secret,a,b,c,d\n"),
                "q.csv: line 3: \"Record ID\" 1 is there already",
            ),
            (
                &format!("{HEAD}1, ,a,b,c,d\n"),
                "q.csv: line 2: \"Question\" is empty",
            ),
        ] {
            assert_eq!(error(text), found);
        }
    }

    #[test]
    fn the_order_is_of_the_seed_and_the_id_alone() {
        let questions = Questions::sample().expect("the sample");
        let orders = |seed| -> Vec<Permutation> {
            questions.all.iter().map(|q| q.permutation(seed)).collect()
        };
        // The documented algorithm, so that a result can be followed years later.
        assert_eq!(orders(0)[..3], [[2, 0, 3, 1], [0, 3, 1, 2], [2, 3, 1, 0]]);
        assert_ne!(orders(0), orders(1));
        // Every letter is right about as often.
        let mut times = [0_u32; 4];
        for seed in 0..100 {
            for order in orders(seed) {
                times[LETTERS
                    .iter()
                    .position(|l| *l == right_letter(order))
                    .expect("a letter")] += 1;
            }
        }
        assert!(times.iter().all(|n| (800..1000).contains(n)), "{times:?}");
    }

    #[test]
    fn the_answer_is_the_last_strict_line() {
        for (response, expected) in [
            ("Thus…\nANSWER: C", Some('C')),
            ("ANSWER: A\nNo, wait.\nANSWER: D\n", Some('D')),
            ("**ANSWER: B**", Some('B')),
            ("**Answer:** B.", Some('B')),
            ("answer: $d$", Some('D')),
            ("ANSWER: $\\boxed{A}$", Some('A')),
            ("ANSWER: $\\boxed{\\text{A}}$", Some('A')),
            ("ANSWER : (C)", Some('C')),
            ("ANSWER: B) 42 keV", Some('B')),
            ("ANSWER: B. 42 keV", Some('B')),
            ("ANSWER: E", None),
            ("ANSWER: AB", None),
            ("ANSWER: A or B", None),
            ("ANSWER: $LETTER", None),
            ("ANSWER:", None),
            ("The answer is C.", None),
            ("My ANSWER: C", None),
            ("ANSWERS: C", None),
            ("C", None),
            ("", None),
        ] {
            assert_eq!(letter(response), expected, "{response:?}");
        }
    }

    proptest! {
        #[test]
        fn any_response_is_read(response in "(\\PC|\n)*", tail in "[ A-Ea-e:*$.()]*") {
            let _ = letter(&response);
            let _ = letter(&format!("{response}\nANSWER{tail}"));
        }

        #[test]
        fn any_file_is_read_or_refused(text in "(\\PC|[\",\n\r])*") {
            let _ = parse(format!("{HEAD}{text}").as_bytes(), "q.csv", "q.csv");
        }

        #[test]
        fn an_order_is_a_permutation(id in "\\PC*", seed: u64) {
            let question = Question {
                id,
                domain: String::new(),
                text: String::new(),
                options: Default::default(),
            };
            let mut order = question.permutation(seed);
            order.sort_unstable();
            prop_assert_eq!(order, [0, 1, 2, 3]);
        }
    }
}
