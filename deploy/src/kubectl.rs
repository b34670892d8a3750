//! The cluster, through the user's own `kubectl`: its credentials, its context.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// What runs `kubectl`, or stands in for it.
pub trait Kubectl: Sync {
    /// Runs it with these arguments and this standard input, and gives its standard output.
    ///
    /// # Errors
    /// When it cannot be run, fails, or does not end in time.
    fn run(&self, args: &[&str], input: Option<&str>) -> Result<String, KubectlError>;
}

/// What it answers, as JSON.
pub(crate) fn get(kubectl: &dyn Kubectl, args: &[&str]) -> Result<Value, KubectlError> {
    let text = kubectl.run(args, None)?;
    serde_json::from_str(&text).map_err(|error| KubectlError::Answer {
        command: args.join(" "),
        message: error.to_string(),
    })
}

/// The items of a list.
pub(crate) fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

/// Why `kubectl` gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum KubectlError {
    /// It cannot be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// It failed.
    #[error("kubectl {command}: {message}")]
    Failed {
        /// Its arguments.
        command: String,
        /// What it wrote to standard error.
        message: String,
    },
    /// It did not end in time.
    #[error("kubectl {command}: no answer within {seconds} s")]
    Slow {
        /// Its arguments.
        command: String,
        /// The limit, seconds.
        seconds: u64,
    },
    /// It answered with something else than was asked for.
    #[error("kubectl {command}: an answer that cannot be read: {message}")]
    Answer {
        /// Its arguments.
        command: String,
        /// What is wrong with it.
        message: String,
    },
}

impl KubectlError {
    /// Whether what was asked for does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.says(&["(NotFound)", "not found"])
    }

    /// Whether another manager has a field that was to be set.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.says(&["Apply failed with", "conflict"])
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Start { .. } => "install kubectl, or name it with --kubectl",
            Self::Slow { .. } => "is the API server reachable from here?",
            _ if self.is_conflict() => {
                "nothing was forced: take the field out of the site, or have the other manager give it up"
            }
            _ if self.says(&["violates PodSecurity"]) => {
                "the namespace refuses privileged pods: with cluster.pod_security_label = true in the site, \
                 apply 00-namespace.yaml of `codex-ds deploy render -o DIR`"
            }
            _ if self.says(&["namespaces \""]) && self.is_not_found() => {
                "the namespace is not there yet: apply 00-namespace.yaml of `codex-ds deploy render -o DIR`"
            }
            _ if self.says(&["(Forbidden)", "forbidden"]) => {
                "the user of this context may not do that; another context is named by cluster.context in the site"
            }
            _ if self.says(&[
                "connection refused",
                "The connection to the server",
                "no such host",
                "no route to host",
                "network is unreachable",
                "Unable to connect",
                "deadline exceeded",
                "timeout",
            ]) =>
            {
                "is the API server reachable from here, and is this the right context?"
            }
            _ if self.says(&[
                "context was not found",
                "does not exist",
                "no configuration",
            ]) =>
            {
                "`kubectl config get-contexts` lists the contexts; the site's cluster.context names one"
            }
            _ => "the same command can be run by hand",
        }
    }

    fn says(&self, parts: &[&str]) -> bool {
        match self {
            Self::Failed { message, .. } => parts.iter().any(|part| message.contains(part)),
            _ => false,
        }
    }
}

/// The program itself.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program.
    pub program: PathBuf,
    /// The context; `None` is the current one.
    pub context: Option<String>,
    /// How long one run may take.
    pub limit: Duration,
}

impl Kubectl for Program {
    fn run(&self, args: &[&str], input: Option<&str>) -> Result<String, KubectlError> {
        let mut command = Command::new(&self.program);
        if let Some(context) = &self.context {
            command.arg(format!("--context={context}"));
        }
        command
            .args(args)
            .stdin(if input.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let start = |source| KubectlError::Start {
            program: self.program.display().to_string(),
            source,
        };
        let mut child = command.spawn().map_err(start)?;
        let words = args.join(" ");
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
            let input = input.to_owned();
            // A child that does not read its input must not hold us up.
            thread::spawn(move || stdin.write_all(input.as_bytes()));
        }
        let (sender, receiver) = mpsc::channel();
        let out = reader(child.stdout.take(), sender.clone(), true);
        let err = reader(child.stderr.take(), sender, false);
        let (mut stdout, mut stderr) = (None, None);
        while stdout.is_none() || stderr.is_none() {
            match receiver.recv_timeout(self.limit) {
                Ok((true, text)) => stdout = Some(text),
                Ok((false, text)) => stderr = Some(text),
                Err(_) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(KubectlError::Slow {
                        command: words,
                        seconds: self.limit.as_secs(),
                    });
                }
            }
        }
        let _ = (out.join(), err.join());
        let status = child.wait().map_err(start)?;
        if status.success() {
            return Ok(stdout.unwrap_or_default());
        }
        Err(KubectlError::Failed {
            command: words,
            message: without_log(&stderr.unwrap_or_default()),
        })
    }
}

/// What kubectl says without its own log, whose lines repeat the same with a time in front; with it
/// where there is nothing else.
fn without_log(text: &str) -> String {
    let is_log = |line: &&str| {
        let mut letters = line.chars();
        letters.next().is_some_and(|level| "EWI".contains(level))
            && letters
                .by_ref()
                .take(4)
                .filter(char::is_ascii_digit)
                .count()
                == 4
            && letters.next() == Some(' ')
    };
    let said: Vec<&str> = text.lines().filter(|line| !is_log(line)).collect();
    let said = said.join("\n");
    if said.trim().is_empty() {
        text.trim().to_owned()
    } else {
        said.trim().to_owned()
    }
}

fn reader<R: std::io::Read + Send + 'static>(
    stream: Option<R>,
    sender: mpsc::Sender<(bool, String)>,
    is_out: bool,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        let _ = sender.send((is_out, String::from_utf8_lossy(&bytes).into_owned()));
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(limit: Duration) -> Program {
        Program {
            program: "/bin/sh".into(),
            context: None,
            limit,
        }
    }

    #[test]
    fn what_it_prints_and_what_it_is_given_go_through() {
        let long = Duration::from_secs(60);
        let text = "x".repeat(300_000);
        assert_eq!(shell(long).run(&["-c", "cat"], Some(&text)).unwrap(), text);
        // One that does not read its input, and fills both pipes.
        let both = "i=0; while [ $i -lt 3000 ]; do echo 01234567890123456789012345678901234567890; echo e >&2; i=$((i+1)); done";
        assert_eq!(
            shell(long).run(&["-c", both], Some(&text)).unwrap().len(),
            3000 * 42
        );
    }

    #[test]
    fn its_own_log_is_left_out_where_it_says_more() {
        let log = "E1130 19:37:14.825406    4782 memcache.go:265] \"Unhandled Error\" err=\"x\"\n";
        let said = "The connection to the server localhost:8080 was refused\n";
        assert_eq!(without_log(&format!("{log}{log}{said}")), said.trim());
        assert_eq!(without_log(log), log.trim());
        assert_eq!(
            without_log("Error from server: E1130\n"),
            "Error from server: E1130"
        );
    }

    #[test]
    fn what_the_server_says_has_a_way_out() {
        for (message, hint) in [
            (
                "Error from server (NotFound): namespaces \"vllm\" not found",
                "the namespace is not there yet",
            ),
            (
                "Error from server (NotFound): pods \"x\" not found",
                "can be run by hand",
            ),
            (
                "Error from server (Forbidden): pods \"x\" is forbidden: violates PodSecurity \"baseline:latest\"",
                "refuses privileged pods",
            ),
            (
                "Error from server (Forbidden): pods is forbidden: User \"me\" cannot list",
                "may not do that",
            ),
            (
                "dial tcp 127.0.0.1:1: connect: connection refused",
                "is the API server reachable",
            ),
            (
                "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?",
                "is the API server reachable",
            ),
            (
                "Unable to connect to the server: net/http: TLS handshake timeout",
                "is the API server reachable",
            ),
            (
                "error: Apply failed with 1 conflict: conflict with \"helm\": .spec.replicas",
                "nothing was forced",
            ),
            ("error: context \"lab\" does not exist", "get-contexts"),
        ] {
            let error = KubectlError::Failed {
                command: String::new(),
                message: message.to_owned(),
            };
            assert!(error.hint().contains(hint), "{message}: {}", error.hint());
        }
    }

    #[test]
    fn one_that_fails_is_told_from_one_that_is_slow() {
        let error = shell(Duration::from_secs(60))
            .run(
                &["-c", "echo 'Error from server (NotFound): x' >&2; exit 1"],
                None,
            )
            .unwrap_err();
        assert!(error.is_not_found() && !error.is_conflict(), "{error}");
        let error = shell(Duration::from_millis(50))
            .run(&["-c", "exec sleep 60"], None)
            .unwrap_err();
        assert!(matches!(error, KubectlError::Slow { .. }), "{error}");
        let missing = Program {
            program: "no-such-kubectl".into(),
            ..shell(Duration::from_secs(1))
        };
        assert!(matches!(
            missing.run(&[], None),
            Err(KubectlError::Start { .. })
        ));
    }
}
