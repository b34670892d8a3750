//! The handshake against small servers, sound and faulty.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_ds_mcp::{Command, Handshake, McpError, Step, Tool, handshake};

/// Long enough for a Python to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn python(args: &[&str]) -> Command {
    Command {
        program: PathBuf::from("python3"),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: Vec::new(),
    }
}

async fn faulty(fault: &str) -> Result<Handshake, McpError> {
    handshake(&python(&[&fixture("faulty.py"), fault]), PATIENCE).await
}

/// An error as its reader sees it.
fn shown(error: &McpError) -> String {
    format!("{error}\n=> {}", error.remedy())
}

#[tokio::test]
async fn a_sound_server_shows_its_tools() {
    let found = handshake(&python(&[&fixture("tiny.py")]), PATIENCE)
        .await
        .unwrap();
    assert_eq!(found.server_info.name, "tiny");
    assert_eq!(found.server_info.version, "1.0.0");
    let echo = r#"{"name":"echo","description":"Returns the text it is given.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}"#;
    assert_eq!(
        found.tools[0],
        Tool {
            name: "echo".to_owned(),
            bytes: echo.len(),
            read_only_hint: Some(true)
        }
    );
    assert_eq!(found.tools[1].name, "add");
    assert_eq!(found.tools[1].read_only_hint, None);
    assert_eq!(found.bytes_of(&["echo"]), echo.len());
}

#[tokio::test]
async fn a_talkative_server_is_heard_out() {
    let found = faulty("chatty").await.unwrap();
    let names: Vec<_> = found.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
}

#[tokio::test]
async fn the_environment_is_what_codex_gives() {
    let mut command = python(&[&fixture("faulty.py"), "environment"]);
    command.env.push(("DS_TEST".to_owned(), "1".to_owned()));
    let found = handshake(&command, PATIENCE).await.unwrap();
    let variables: Vec<_> = found.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(variables.contains(&"DS_TEST=1"), "{variables:?}");
    assert!(
        variables
            .iter()
            .any(|variable| variable.starts_with("PATH=")),
        "{variables:?}"
    );
    // Cargo sets it for this test; Codex would not pass it on.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(
        !variables
            .iter()
            .any(|variable| variable.starts_with("CARGO_")),
        "{variables:?}"
    );
}

#[tokio::test]
async fn each_failure_is_told_apart() {
    let mut texts = Vec::new();
    for fault in [
        "exits",
        "exits_after_hello",
        "offline",
        "garbage",
        "no_tools",
        "refuses",
    ] {
        let error = faulty(fault).await.unwrap_err();
        let told_apart = match fault {
            "exits" => matches!(
                error,
                McpError::Exited {
                    step: Step::Initialize,
                    ..
                }
            ),
            "exits_after_hello" => matches!(
                error,
                McpError::Exited {
                    step: Step::ListTools,
                    ..
                }
            ),
            "offline" => matches!(error, McpError::Network { .. }),
            "garbage" | "no_tools" => matches!(error, McpError::Protocol { .. }),
            _ => matches!(error, McpError::Refused { code: -32602, .. }),
        };
        assert!(told_apart, "{fault}: {error:?}");
        texts.push(format!("# {fault}\n{}", shown(&error)));
    }
    insta::assert_snapshot!(texts.join("\n\n"));
}

#[tokio::test]
async fn an_endless_line_is_not_read_to_its_end() {
    let error = faulty("endless_line").await.unwrap_err();
    assert!(matches!(error, McpError::Protocol { .. }), "{error:?}");
    assert!(error.to_string().len() < 1000);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let home = tempfile::tempdir().unwrap();
    let program = home.path().join("bin/mcp-server-fetch");
    let command = Command {
        program: program.clone(),
        args: Vec::new(),
        env: Vec::new(),
    };
    let error = handshake(&command, PATIENCE).await.unwrap_err();
    assert!(matches!(error, McpError::Missing { .. }), "{error:?}");
    assert!(error.to_string().contains(program.to_str().unwrap()));

    fs_err::create_dir(home.path().join("bin")).unwrap();
    fs_err::write(&program, "#!/no/such/python\n").unwrap();
    let error = handshake(&command, PATIENCE).await.unwrap_err();
    assert!(
        matches!(error, McpError::NotStarted { .. }),
        "not executable: {error:?}"
    );

    make_executable(&program);
    let error = handshake(&command, PATIENCE).await.unwrap_err();
    assert!(matches!(error, McpError::NoInterpreter { .. }), "{error:?}");
}

fn make_executable(program: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs_err::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A port to which a fixture and the child that it leaves behind hold a connection.
struct Line(TcpListener);

impl Line {
    fn new() -> Self {
        Line(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    fn server(&self, fault: &str) -> Command {
        let port = self.0.local_addr().unwrap().port().to_string();
        python(&[&fixture("faulty.py"), fault, &port])
    }

    /// The connection; `None` if there is none yet.
    fn connected(&self) -> Option<TcpStream> {
        self.0.set_nonblocking(true).unwrap();
        let (connection, _) = self.0.accept().ok()?;
        connection.set_nonblocking(false).unwrap();
        Some(connection)
    }
}

/// Reads up to the end, which comes when the last process that holds the connection has gone.
fn wait_until_all_are_gone(mut connection: TcpStream) {
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut said = Vec::new();
    match connection.read_to_end(&mut said) {
        Ok(_) => {}
        Err(error) => assert_eq!(
            error.kind(),
            std::io::ErrorKind::ConnectionReset,
            "still running"
        ),
    }
    assert_eq!(said, b"up", "the child was there");
}

#[tokio::test]
async fn a_server_that_hangs_is_killed_with_its_children() {
    let line = Line::new();
    // A limit that ends before the child is there proves nothing.
    let mut limit = Duration::from_secs(1);
    let (error, connection) = loop {
        let error = handshake(&line.server("hangs"), limit).await.unwrap_err();
        if let Some(connection) = line.connected() {
            break (error, connection);
        }
        limit *= 2;
    };
    wait_until_all_are_gone(connection);
    let McpError::TimedOut {
        step: Step::Initialize,
        stderr,
        ..
    } = &error
    else {
        panic!("{error:?}")
    };
    assert_eq!(stderr, "waiting for a licence server");
}

#[tokio::test]
async fn what_a_sound_server_leaves_behind_is_killed_too() {
    let line = Line::new();
    handshake(&line.server("lingers"), PATIENCE).await.unwrap();
    wait_until_all_are_gone(line.connected().unwrap());
}

#[tokio::test]
async fn a_handshake_given_up_leaves_nothing_running() {
    let line = Line::new();
    let command = line.server("hangs");
    let task = tokio::spawn(async move { handshake(&command, PATIENCE).await });
    let connection = tokio::task::spawn_blocking(move || line.0.accept().unwrap().0)
        .await
        .unwrap();
    let mut up = [0; 2];
    connection.peek(&mut up).unwrap();
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    wait_until_all_are_gone(connection);
}
