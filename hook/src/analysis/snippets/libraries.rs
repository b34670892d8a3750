//! Calls of libraries that reach other machines: HTTP clients, sockets, clients of clouds and clusters.

use codex_ds_rules::wrappers::Where;

use super::arguments::Argument;
use super::calls::Reader;
use super::tokens::Token;
use crate::analysis::http::is_local;
use crate::value::Value;
use crate::verdict::Eval;

/// Methods of HTTP clients that change something.
const METHODS: &[&str] = &[
    "post",
    "put",
    "patch",
    "delete",
    "post_form",
    "postForm",
    "postJson",
    "sendBeacon",
    "request",
];

/// Calls that may send, depending on their options.
const REQUESTS: &[&str] = &[
    "get",
    "head",
    "file_get_contents",
    "fetch",
    "urlopen",
    "Request",
    "request",
    "axios",
    "got",
    "open_url",
    "urlretrieve",
    "ajax",
];

/// Calls that open a connection.
const CONNECTIONS: &[&str] = &[
    "connect",
    "create_connection",
    "createConnection",
    "open_connection",
    "fsockopen",
    "stream_socket_client",
    "IO.Socket.INET.new",
    "TCPSocket.new",
    "TCPSocket.open",
];

/// Calls that send over a connection, or hand it to a shell; some mean that in one language only.
const SENDS: &[(&str, &str)] = &[
    ("", "send"),
    ("", "sendall"),
    ("", "sendto"),
    ("", "sendfile"),
    ("", "dup2"),
    ("", "makefile"),
    ("", "storbinary"),
    ("", "fwrite"),
    ("perl", "print"),
    ("ruby", "puts"),
    ("ruby", "write"),
    ("node", "write"),
    ("node", "pipe"),
    ("node", "end"),
];

/// Modules, what their calls begin with, and the rule that such a call breaks.
const CLIENTS: &[(&[&str], &[&str], &str)] = &[
    (
        &["docker"],
        &["remove", "kill", "stop", "restart", "prune", "delete"],
        "container.remove",
    ),
    (
        &[
            "kubernetes",
            "kubernetes_asyncio",
            "@kubernetes.client-node",
        ],
        &[
            "delete_",
            "patch_",
            "replace_",
            "create_namespaced",
            "deleteNamespaced",
            "patchNamespaced",
        ],
        "kubernetes.write",
    ),
    (
        &["boto3", "botocore", "aws-sdk", "google.cloud", "azure"],
        &[
            "delete",
            "terminate",
            "stop_",
            "reboot_",
            "put_",
            "create_",
            "update_",
            "run_",
            "upload_",
            "begin_delete",
            "copy_",
            "send_",
            "publish",
            "invoke",
        ],
        "cloud.write",
    ),
    (&["git"], &["push", "reset"], "git.push"),
    (
        &["smtplib", "nodemailer", "yagmail"],
        &["sendmail", "send_message", "sendMail"],
        "remote.write",
    ),
    (
        &["ftplib", "pysftp"],
        &["stor", "delete", "rmd", "mkd", "put", "remove", "rename"],
        "remote.write",
    ),
    (
        &["huggingface_hub"],
        &[
            "upload_",
            "delete_",
            "create_",
            "push_to_hub",
            "move_",
            "super_squash",
        ],
        "publish.package",
    ),
    (
        &["redis", "pymongo", "psycopg2", "elasticsearch"],
        &[
            "flushall",
            "flushdb",
            "drop_database",
            "drop_collection",
            "delete_many",
            "delete_by_query",
        ],
        "data.write",
    ),
];

impl Reader<'_, '_> {
    /// Checks a call by what its library does. `whole` are the tokens of the snippet.
    pub(super) fn library(&mut self, full: &str, whole: &[Token], args: &[Token]) -> Eval<()> {
        let last = full.rsplit('.').next().unwrap_or(full);
        let shown = format!("{}: {full}(…)", self.program);
        if METHODS.contains(&last) || REQUESTS.contains(&last) {
            self.request(last, args, &shown)?;
        }
        let socket = ["socket", "net", "tls"]
            .iter()
            .any(|module| mentions(whole, module));
        if CONNECTIONS.iter().any(|call| {
            *call == last && (socket || last != "connect")
                || full.ends_with(call) && call.contains('.')
        }) && far(args)
            && self.sends(whole)
        {
            self.this.deny("exfiltration.shell", shown.as_str())?;
        }
        if last == "exec_command" && mentions(whole, "paramiko") {
            let command = match self.arguments(args).into_iter().next() {
                Some(Argument::Text(text)) => text,
                _ => Value::unknown(),
            };
            let mut inner = self.state.clone();
            self.this
                .at(Where::Remote, |this| this.code(&command, &mut inner))?;
        }
        for (modules, calls, rule) in CLIENTS {
            if calls.iter().any(|call| last.starts_with(call))
                && modules.iter().any(|module| mentions(whole, module))
            {
                self.this.deny(rule, shown.as_str())?;
            }
        }
        Ok(())
    }

    /// Whether a snippet sends over a connection.
    fn sends(&self, whole: &[Token]) -> bool {
        whole.iter().any(|token| match token {
            Token::Name(name) => {
                let last = name.rsplit('.').next().unwrap_or(name);
                SENDS
                    .iter()
                    .any(|(program, call)| *call == last && self.program.starts_with(program))
            }
            _ => false,
        })
    }

    /// A request to another machine that sends something.
    fn request(&mut self, last: &str, args: &[Token], shown: &str) -> Eval<()> {
        let arguments = self.arguments(args);
        let mut texts = arguments.iter().filter_map(|argument| match argument {
            Argument::Text(text) => Some(text),
            Argument::List(_) => None,
        });
        let url = texts.find(|text| text.raw().starts_with("http"));
        let host = args.windows(3).find_map(|window| match window {
            [Token::Name(key), Token::Sign(':'), Token::Text(text)]
                if matches!(key.as_str(), "host" | "hostname") =>
            {
                text.first().cloned().flatten()
            }
            _ => None,
        });
        let is_far = match (url, &host) {
            (Some(url), _) => !is_local(url.raw()),
            (None, Some(host)) => !crate::analysis::http::is_local_host(host),
            (None, None) => false,
        };
        if !is_far {
            return Ok(());
        }
        let method = args.iter().find_map(|token| match token {
            Token::Text(text) => match text.first().cloned().flatten().as_deref() {
                Some("POST" | "PUT" | "PATCH" | "DELETE") => Some(true),
                Some("GET" | "HEAD") => Some(false),
                _ => None,
            },
            _ => None,
        });
        let data = args.windows(2).any(|window| {
            matches!(window, [Token::Name(key), Token::Sign('=' | ':')]
                if matches!(key.as_str(), "data" | "body" | "json" | "files"))
        });
        let writes = match method {
            Some(writes) => writes,
            None if last == "request" => data,
            None => METHODS.contains(&last) || data,
        };
        if writes {
            self.this.deny("remote.http-write", shown)?;
        }
        // What is in the address or its parameters is sent as well.
        let first = args.split(|token| *token == Token::Sign(',')).next();
        let parameters = args
            .windows(2)
            .position(
                |window| matches!(window, [Token::Name(key), Token::Sign('=')] if key == "params"),
            )
            .map(|at| &args[at..]);
        if [first, parameters].into_iter().flatten().any(environment) {
            self.this.deny("secret.environment", shown)?;
        }
        Ok(())
    }
}

/// Whether tokens read the environment.
fn environment(tokens: &[Token]) -> bool {
    tokens.iter().any(|token| {
        matches!(token, Token::Name(name)
            if name.contains("environ") || name.contains("getenv") || name.starts_with("process.env"))
    })
}

/// Whether a snippet names a module.
fn mentions(tokens: &[Token], module: &str) -> bool {
    tokens.iter().any(|token| match token {
        Token::Name(name) => {
            name == module
                || name
                    .strip_prefix(module)
                    .is_some_and(|rest| rest.starts_with('.'))
        }
        _ => false,
    })
}

/// Whether a constant host among the arguments is another machine.
fn far(args: &[Token]) -> bool {
    args.iter().any(|token| match token {
        Token::Text(text) => text.first().cloned().flatten().is_some_and(|host| {
            let host = host.trim_start_matches("tcp://");
            !host.is_empty()
                && !crate::analysis::http::is_local_host(host.split(':').next().unwrap_or_default())
                && !host.starts_with('/')
        }),
        _ => false,
    })
}
