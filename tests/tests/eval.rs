//! `codex-ds eval` against a stand-in whose answers are scripted, question by question.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use codex_ds_tests::scenario;
use codex_ds_tests::{Run, TestEnvironment};
use codex_ds_wire::standin::{Config, Fault, StandIn, Turn};
use insta::assert_snapshot;
use serde_json::Value;

/// Words that stand in every question and option here, and may stand in no result.
const SECRET: &str = "gated-words";

/// A file of `n` questions; the right option of each says so.
fn csv(env: &TestEnvironment, n: usize) -> PathBuf {
    let mut text = String::from(
        "Record ID,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3,High-level domain\n",
    );
    for number in 0..n {
        let domain = if number % 2 == 0 {
            "Physics"
        } else {
            "Biology"
        };
        let _ = write!(
            text,
            "rec{number},\"Question-{number}, with\n{SECRET} and \"\"quotes\"\"?\",right {SECRET},wrong1 {SECRET},wrong2 {SECRET},wrong3 {SECRET},{domain}\n"
        );
    }
    env.write("work/questions.csv", &text)
}

/// The letter that an option has in a request.
fn letter(body: &str, option: &str) -> char {
    let end = body
        .find(&format!(") {option} "))
        .expect("what the stand-in and the program make");
    char::from(body.as_bytes()[end - 1])
}

/// The letters of the right option of each question for the default seed, as a run shows them.
fn right_letters(env: &TestEnvironment, n: usize) -> Vec<char> {
    let server = scenario::server(Config::default(), vec![]);
    gpqa(env, &server, &["--results", "probe.jsonl"]);
    let requests = server.model_requests();
    let of = |number: usize| {
        let mark = format!("Question-{number},");
        let bodies = requests
            .iter()
            .map(|r| String::from_utf8_lossy(&r.body).into_owned());
        let body = bodies
            .into_iter()
            .find(|body| body.contains(&mark))
            .expect("what the stand-in and the program make");
        letter(&body, "right")
    };
    (0..n).map(of).collect()
}

fn gpqa(env: &TestEnvironment, server: &StandIn, more: &[&str]) -> Run {
    let url = server.base_url();
    let args = ["eval", "gpqa", "--csv", "questions.csv", "--endpoint", &url];
    env.codex_ds(args.iter().chain(more)).run()
}

fn says(number: usize, text: impl Into<String>) -> Turn {
    Turn::text(text).when(format!("Question-{number},"))
}

fn other(letter: char) -> char {
    if letter == 'A' { 'B' } else { 'A' }
}

fn lines(env: &TestEnvironment, file: &str) -> Vec<Value> {
    let text = fs_err::read_to_string(env.work().join(file))
        .expect("what the stand-in and the program make");
    assert!(!text.contains(SECRET), "{text}");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("what the stand-in and the program make"))
        .collect()
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

/// A report without what the clock decides.
fn timeless(run: &Run) -> String {
    let shown = run.to_string();
    let line = |line: &str| {
        if line.contains(" s a question") {
            let (tokens, _) = line
                .split_once(';')
                .expect("what the stand-in and the program make");
            format!("{tokens}; [TIME] a question\n")
        } else if line.starts_with("engine, watched") {
            let (_, rest) = line
                .split_once(':')
                .expect("what the stand-in and the program make");
            format!("engine, watched for [TIME]:{rest}\n")
        } else {
            format!("{line}\n")
        }
    };
    shown.lines().map(line).collect()
}

#[test]
fn each_way_to_answer_is_told_apart() {
    let env = TestEnvironment::new();
    csv(&env, 8);
    let right = right_letters(&env, 8);
    let turns = vec![
        says(0, format!("So it is.\n\nANSWER: {}", right[0])).reasoning("Hm."),
        says(1, format!("**Answer: {}**", right[1])),
        says(2, format!("ANSWER: {}", other(right[2]))),
        says(3, "It is the first one, surely."),
        says(4, format!("ANSWER: {} or {}", right[4], other(right[4]))),
        // The budget ends in the middle of the thinking; asked in short, it answers.
        says(5, "").reasoning("and then ".repeat(200)),
        says(5, format!("ANSWER: {}", right[5])).reasoning("not shown"),
        // It ends again without an answer.
        says(6, "").reasoning("and then ".repeat(200)),
        says(6, "I cannot tell."),
        // The request fails for good.
        says(7, "").fault(Fault::Status {
            code: 400,
            body: Some(format!(
                "{{\"error\": {{\"message\": \"cannot read {SECRET}\"}}}}"
            )),
        }),
    ];
    let server = scenario::server(Config::default(), turns);
    let args = ["--results", "r.jsonl", "--max-tokens", "100"];
    let run = gpqa(&env, &server, &args);
    assert_snapshot!(timeless(&run), @"
    questions.csv by deepseek-v4-flash-cc, seed 0, 100 tokens, thinking on

               answered  right  accuracy  95 % (Wilson)
      Biology         3      2     66.7%     20.8–93.9%
      Physics         4      1     25.0%      4.6–69.9%
      all             7      3     42.9%     15.8–75.0%

    3 without an answer of the wanted form; 2 ran out of tokens, 1 of them answered when asked again in short
    failed requests: 1 (not counted; asked again on the next start)
    33 tokens an answer, 104 at most; [TIME] a question
    engine, watched for [TIME]: KV cache at most 0% full, 0 requests at most, 0 waiting, 0 preemptions, 0 restarts

    results: r.jsonl
    ------- stderr -------
    warning: rec7: HTTP 400: cannot read gated-words; it will be asked again on the next start
    [exit status: 1]
    ");

    let lines = lines(&env, "r.jsonl");
    assert_eq!(lines[0]["type"], "run");
    let of = |id: &str| lines.iter().find(|line| line["id"] == id).unwrap().clone();
    for (id, outcome, exhausted) in [
        ("rec0", "right", false),
        ("rec1", "right", false),
        ("rec2", "wrong", false),
        ("rec3", "no_answer", false),
        ("rec4", "no_answer", false),
        ("rec5", "right", true),
        ("rec6", "no_answer", true),
        ("rec7", "error", false),
    ] {
        let record = of(id);
        assert_eq!(
            (&record["outcome"], &record["exhausted"]),
            (&outcome.into(), &exhausted.into()),
            "{record}"
        );
    }
    assert_eq!(of("rec7")["error"], "HTTP 400");
    assert_eq!(of("rec5")["finish_reason"], "length");
    let mode = fs_err::metadata(env.work().join("r.jsonl"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    // What was asked: zero-shot, temperature 0, the budget; in short without thinking.
    for request in server.model_requests() {
        let body = request.json();
        assert_eq!(body["temperature"], 0.0);
        let text = body["messages"][0]["content"].as_str().unwrap();
        assert_eq!(body["messages"].as_array().unwrap().len(), 1);
        let short = text.contains("Do not explain");
        assert_eq!(body["max_tokens"], if short { 64 } else { 100 });
        assert_eq!(body["chat_template_kwargs"]["thinking"], !short);
    }

    // The next start asks only what failed.
    server.push(says(7, format!("ANSWER: {}", right[7])));
    let before = server.model_requests().len();
    let run = gpqa(&env, &server, &[&args[..], &["--json"]].concat()).success();
    assert_eq!(server.model_requests().len(), before + 1);
    let report = &json(&run)["report"];
    assert_eq!(report["all"]["right"], 4);
    assert_eq!(report["all"]["errors"], 0);
    assert_eq!(report["domains"]["Physics"]["no_answer"], 2);
    assert!(
        !run.stdout.contains(SECRET) && !run.stderr.contains(SECRET),
        "{run}"
    );
}

#[test]
fn a_killed_run_goes_on_without_losing_or_repeating_a_question() {
    const N: usize = 12;
    let env = TestEnvironment::new();
    csv(&env, N);
    let right = right_letters(&env, N);
    let turn = |number: usize| says(number, format!("ANSWER: {}", right[number]));
    let slow = (0..N).map(|number| turn(number).delay_ms(60)).collect();
    let server = scenario::server(Config::default(), slow);
    let url = server.base_url();
    let args = [
        "eval",
        "gpqa",
        "--csv",
        "questions.csv",
        "--endpoint",
        &url,
        "--results",
        "r.jsonl",
    ];
    let mut child = env
        .codex_ds(args)
        .into_command()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(server.wait_for(6, Duration::from_secs(60)));
    // Without a chance to tidy up.
    child.kill().unwrap();
    child.wait().unwrap();
    let answered = |lines: &[Value]| -> Vec<String> {
        let answers = lines.iter().filter(|line| line["type"] == "answer");
        answers
            .map(|line| line["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = answered(&lines(&env, "r.jsonl"));
    assert!((4..N).contains(&first.len()), "{first:?}");
    // As if it had been killed in the middle of a write.
    let path = env.work().join("r.jsonl");
    let mut bytes = fs_err::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"type\":\"answer\",\"id\":\"rec");
    fs_err::write(&path, bytes).unwrap();

    let again = scenario::server(Config::default(), (0..N).map(turn).collect());
    let run = gpqa(&env, &again, &["--results", "r.jsonl"]).success();
    let expected = format!(
        "going on with r.jsonl: {} answered, {} left",
        first.len(),
        N - first.len()
    );
    assert!(run.stderr.contains(&expected), "{run}");
    assert_eq!(again.model_requests().len(), N - first.len());
    let all = answered(&lines(&env, "r.jsonl"));
    assert_eq!(all.len(), N);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), N);
    assert!(run.stdout.contains("100.0%"), "{run}");

    // A finished run asks nothing.
    gpqa(&env, &again, &["--results", "r.jsonl"]).success();
    assert_eq!(again.model_requests().len(), N - first.len());
    // Nor is another run mixed into it.
    let run = gpqa(&env, &again, &["--results", "r.jsonl", "--seed", "7"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("seed is 0; this run's is 7"), "{run}");
}

#[test]
fn a_smaller_choice_is_a_part_of_a_larger_one() {
    let env = TestEnvironment::new();
    csv(&env, 10);
    let server = scenario::server(Config::default(), vec![]);
    gpqa(&env, &server, &["--results", "r.jsonl", "--limit", "3"]).success();
    assert_eq!(server.model_requests().len(), 3);
    gpqa(&env, &server, &["--results", "r.jsonl", "--limit", "7"]).success();
    assert_eq!(server.model_requests().len(), 7);
}

#[test]
fn runs_are_compared_question_by_question() {
    const N: usize = 10;
    let env = TestEnvironment::new();
    csv(&env, N);
    let right = right_letters(&env, N);
    for (file, wrong) in [("a.jsonl", 8), ("b.jsonl", 1)] {
        let turns = (0..N).map(|number| {
            let letter = if number < wrong {
                other(right[number])
            } else {
                right[number]
            };
            says(number, format!("ANSWER: {letter}"))
        });
        let server = scenario::server(Config::default(), turns.collect());
        gpqa(&env, &server, &["--results", file]).success();
    }
    let run = env
        .codex_ds(["eval", "report", "a.jsonl", "b.jsonl"])
        .run()
        .success();
    let (_, pair) = run.stdout.split_once("a.jsonl against").unwrap();
    assert_snapshot!(pair, @"
     b.jsonl
    10 questions in common: 2 right in both, 0 in the first alone, 7 in the second alone
    McNemar's exact test: p = 0.016: the second is better
    ");
    let run = env
        .codex_ds(["eval", "report", "a.jsonl", "b.jsonl", "--json"])
        .run()
        .success();
    let report = json(&run);
    assert_eq!(report["against_the_first"][0]["right_in_second_alone"], 7);
    assert_eq!(report["runs"][1]["all"]["right"], 9);
    let run = env.codex_ds(["eval", "report", "questions.csv"]).run();
    assert_snapshot!(run, @"
    ------- stderr -------
    error: questions.csv: line 1 is none of a result; expected results of codex-ds eval gpqa
    hint: name another file with --results, or move this one away
    [exit status: 2]
    ");
}

#[test]
fn a_server_that_is_gone_ends_the_run_and_nothing_is_counted_wrong() {
    let env = TestEnvironment::new();
    csv(&env, 30);
    let gone = Turn::text("").stays().fault(Fault::Status {
        code: 404,
        body: None,
    });
    let server = scenario::server(Config::default(), vec![gone]);
    let run = gpqa(&env, &server, &["--results", "r.jsonl"]);
    assert_eq!(run.code, Some(1), "{run}");
    assert!(
        run.stderr.contains("the server does not answer any more"),
        "{run}"
    );
    assert!(
        run.stdout.contains("failed requests: 8 (not counted"),
        "{run}"
    );
}

#[test]
fn the_sample_needs_no_file() {
    let env = TestEnvironment::new();
    let server = scenario::server(Config::default(), vec![Turn::text("ANSWER: A").stays()]);
    let url = server.base_url();
    let run = env
        .codex_ds(["eval", "gpqa", "--sample", "--endpoint", &url, "--json"])
        .run()
        .success();
    let report = json(&run);
    assert_eq!(report["wanted"], 36);
    let folder = env.profile().join("evals");
    assert!(
        report["results"]
            .as_str()
            .unwrap()
            .starts_with(folder.to_str().unwrap()),
        "{run}"
    );
    // The engine was watched.
    assert_eq!(report["report"]["health"]["restarts"], 0);
    let name = fs_err::read_dir(folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .file_name();
    assert!(name.to_str().unwrap().starts_with("sample-"), "{name:?}");
}

#[test]
fn what_is_no_file_of_questions_is_refused() {
    let env = TestEnvironment::new();
    let server = scenario::server(Config::default(), vec![]);
    let run = gpqa(&env, &server, &[]);
    assert_snapshot!(run, @"
    ------- stderr -------
    error: --csv questions.csv: cannot be read
      cause: failed to open file `questions.csv`: No such file or directory (os error 2)
    hint: GPQA is given out by its authors on request (gpqa_diamond.csv); --sample needs no file
    [exit status: 2]
    ");
    env.write("work/questions.csv", "Question,Correct Answer\nq,a\n");
    assert_snapshot!(gpqa(&env, &server, &[]), @r#"
    ------- stderr -------
    error: questions.csv: the column "Incorrect Answer 1" is missing
    hint: expected a CSV file with the columns Question, Correct Answer, Incorrect Answer 1, Incorrect Answer 2, Incorrect Answer 3 and, if there, Record ID and High-level domain
    [exit status: 2]
    "#);
    csv(&env, 2);
    let run = gpqa(&env, &server, &["--max-tokens", "260000"]);
    assert!(
        run.stderr
            .contains("hint: take --max-tokens 258048 or less"),
        "{run}"
    );
    assert_eq!(server.model_requests().len(), 0);
}
