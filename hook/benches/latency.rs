//! What the guard costs: whole processes from spawn to exit beside `/bin/true`, interleaved in one
//! run so that a busy machine slows all alike, and the analysis alone. The guard runs from a
//! profile as set-up writes it, with its policy and its log.
//!
//! `cargo bench -p codex-ds-hook`

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use codex_ds_hook::{Context, NoFiles, Policy, evaluate};
use codex_ds_rules::Preset;
use serde_json::json;

/// Spawns of each kind.
const ROUNDS: usize = 300;
/// Analyses that one measurement spreads over.
const ANALYSES: u32 = 2_000;
/// The argument with which this program is the hook.
const HOOK: &str = "hook";
/// The argument with which it is a program that does nothing.
const EMPTY: &str = "empty";
/// The argument with which it also says what memory it took.
const MEMORY: &str = "memory";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(HOOK) => return codex_ds_hook::main(),
        Some(EMPTY) => return ExitCode::SUCCESS,
        Some(MEMORY) => {
            let code = codex_ds_hook::main();
            println!("{}", peak_memory().unwrap_or_default());
            return code;
        }
        _ => {}
    }
    let mut script = String::new();
    while script.len() < 4_096 {
        let n = script.len();
        let _ = writeln!(
            script,
            "if [ -f src/m{n}.rs ]; then grep -n 'fn x{n}' \"src/m{n}.rs\" | head -5; fi"
        );
    }
    // Each line sets a variable and uses it on two ways.
    let mut variables = String::new();
    while variables.len() < 4_096 {
        let n = variables.len();
        let _ = writeln!(
            variables,
            "x{n}=$(basename src/m{n}.rs)\nls -la \"$x{n}\" && cat src/m{n}.rs | wc -l"
        );
    }
    // A file of 4 KB that is written: text that is read but not followed.
    let mut file = String::from("cat > notes.md <<'EOF'\n");
    while file.len() < 4_096 {
        file.push_str("A line of text about nothing in particular.\n");
    }
    file.push_str("EOF\n");
    let cases = [
        ("short", "cargo test --workspace 2>&1 | tail -20".to_owned()),
        ("4 KB file", file),
        ("4 KB script", script),
        ("variables", variables),
        ("denied", "cd src && git push origin main".to_owned()),
    ];
    let folder = std::env::temp_dir().join(format!("codex-ds-latency-{}", std::process::id()));
    let program = profile(&folder);
    let files: Vec<PathBuf> = cases.iter().map(|case| request(&folder, case)).collect();
    whole_processes(&program, &cases, &files);
    println!();
    for (name, command) in &cases {
        println!("{name:12}  analysis {:6.1} µs", analysis(command));
    }
    for (file, (name, _)) in files.iter().zip(&cases) {
        let out = run(&program, MEMORY, file).stdout(Stdio::piped()).output();
        let memory = out.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
        println!("{name:12}  peak memory {}", memory.unwrap_or_default());
    }
    // The system empties its own folder if this fails.
    let _ = std::fs::remove_dir_all(&folder);
    ExitCode::SUCCESS
}

/// A profile with this program as its hook, and the policy that set-up writes.
fn profile(folder: &Path) -> PathBuf {
    let program = folder.join("bin").join("codex-ds-hook");
    std::fs::create_dir_all(folder.join("bin")).expect("a temporary folder");
    let this = std::env::current_exe().expect("this program");
    std::fs::copy(this, &program).expect("a copy of it");
    let policy = codex_ds_hook::default_policy_toml(Preset::Lab, &[]);
    #[expect(clippy::disallowed_methods, reason = "a bench's own temporary file")]
    std::fs::write(folder.join("guard.toml"), policy).expect("a temporary file");
    program
}

fn whole_processes(program: &Path, cases: &[(&str, String)], files: &[PathBuf]) {
    let mut times = vec![Vec::with_capacity(ROUNDS); cases.len() + 2];
    for _ in 0..ROUNDS {
        let mut nothing = Command::new("/bin/true");
        nothing.stdin(File::open(&files[0]).expect("the request"));
        times[0].push(spawn(&mut nothing));
        times[1].push(spawn(&mut run(program, EMPTY, &files[0])));
        for (i, file) in files.iter().enumerate() {
            times[i + 2].push(spawn(&mut run(program, HOOK, file)));
        }
    }
    let mut base = 0.0;
    for (i, times) in times.iter_mut().enumerate() {
        times.sort();
        let median = times[times.len() / 2].as_secs_f64() * 1e3;
        let least = times[0].as_secs_f64() * 1e3;
        if i == 0 {
            base = median;
        }
        let name = match i {
            0 => "/bin/true",
            1 => "does nothing",
            i => cases[i - 2].0,
        };
        println!(
            "{name:12}  median {median:.3} ms  least {least:.3} ms  {:.2} x /bin/true",
            median / base
        );
    }
}

/// A file with the request that Codex would send.
fn request(folder: &Path, (name, command): &(&str, String)) -> PathBuf {
    let path = folder.join(format!("{name}.json"));
    let request = json!({
        "session_id": "s",
        "cwd": std::env::current_dir().expect("a folder"),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_use_id": "call_1",
        "tool_input": { "command": command },
    });
    #[expect(clippy::disallowed_methods, reason = "a bench's own temporary file")]
    std::fs::write(&path, request.to_string()).expect("a temporary file");
    path
}

fn run(program: &Path, argument: &str, file: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .arg(argument)
        .stdin(File::open(file).expect("the request"))
        .stderr(Stdio::null());
    command
}

fn spawn(command: &mut Command) -> Duration {
    let started = Instant::now();
    let status = command.status();
    let took = started.elapsed();
    status.expect("it starts");
    took
}

/// Microseconds of one analysis.
fn analysis(command: &str) -> f64 {
    let policy = Policy::default();
    let context = Context {
        cwd: PathBuf::from("/w"),
        workspace: PathBuf::from("/w"),
        home: PathBuf::from("/home/dev"),
        user: "dev".to_owned(),
        codex_home: PathBuf::from("/home/dev/.codex-ds"),
        files: &NoFiles,
    };
    let started = Instant::now();
    for _ in 0..ANALYSES {
        std::hint::black_box(evaluate(std::hint::black_box(command), &policy, &context));
    }
    started.elapsed().as_secs_f64() * 1e6 / f64::from(ANALYSES)
}

/// What Linux says of this process.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line["VmHWM:".len()..].trim().to_owned())
}
