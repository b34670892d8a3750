//! HTTP clients: reading passes, writing passes to servers of this machine only.

use codex_ds_rules::effects::Act;

use crate::analysis::call::joined;
use crate::analysis::interpreter::Interpreter;
use crate::analysis::state::State;
use crate::options::{Word, takes_value, walk};
use crate::value::Value;
use crate::verdict::Eval;

const CURL_VALUES: &[&str] = &[
    "-X",
    "-H",
    "-d",
    "-F",
    "-o",
    "-u",
    "-A",
    "-b",
    "-c",
    "-e",
    "-T",
    "-m",
    "-w",
    "-x",
    "-E",
    "-K",
    "-r",
    "-U",
    "-D",
    "-y",
    "-Y",
    "-z",
    "-C",
    "-t",
    "-Q",
    "-P",
    "--request",
    "--header",
    "--data",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "--data-ascii",
    "--json",
    "--form",
    "--form-string",
    "--output",
    "--user",
    "--user-agent",
    "--cookie",
    "--cookie-jar",
    "--referer",
    "--upload-file",
    "--max-time",
    "--connect-timeout",
    "--write-out",
    "--retry",
    "--retry-delay",
    "--retry-max-time",
    "--proxy",
    "--cacert",
    "--capath",
    "--cert",
    "--key",
    "--config",
    "--range",
    "--resolve",
    "--url",
    "--dump-header",
    "--interface",
    "--limit-rate",
    "--max-redirs",
    "--ciphers",
    "--oauth2-bearer",
    "--aws-sigv4",
    "--unix-socket",
    "--connect-to",
    "--url-query",
    "--netrc-file",
    "--output-dir",
    "--dns-servers",
    "--max-filesize",
    "--speed-time",
    "--speed-limit",
    "--keepalive-time",
    "--noproxy",
    "--proto",
    "--tls-max",
    "--variable",
    "--expand-url",
];
const CURL_DATA: &[&str] = &[
    "-d",
    "-F",
    "-T",
    "--data",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "--data-ascii",
    "--json",
    "--form",
    "--form-string",
    "--upload-file",
];

/// Whether a host is this machine.
pub(crate) fn is_local_host(host: &str) -> bool {
    matches!(
        host,
        "localhost" | "::1" | "[::1]" | "0.0.0.0" | "host.docker.internal"
    ) || host.starts_with("127.")
        || host.ends_with(".localhost")
}

/// Whether a URL leads to this machine.
pub(crate) fn is_local(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return false;
    }
    if authority.starts_with('[') {
        return authority.starts_with("[::1]");
    }
    is_local_host(authority.split(':').next().unwrap_or_default())
}

/// Denies an address that carries what a program printed, or the environment.
fn carried(this: &Interpreter<'_>, program: &str, args: &[Value]) -> Eval<()> {
    let shown = || format!("{program} {}", joined(args).shown());
    for arg in args {
        if arg.raw().contains(crate::analysis::environment::LISTING) {
            this.deny("secret.environment", shown())?;
        }
        // An unquoted question mark is a glob.
        let query = arg
            .raw()
            .split_once(['?', '\u{fffff}'])
            .map(|(_, query)| Value::known(query));
        if arg.raw().starts_with("http")
            && !is_local(arg.raw())
            && query.is_some_and(|query| query.is_printed())
        {
            this.deny("exfiltration.shell", shown())?;
        }
    }
    Ok(())
}

/// Ports of this machine behind which more than a server under development stands: Docker, etcd,
/// Consul, Kubernetes, Vault, Elasticsearch, RabbitMQ.
const ADMIN_PORTS: &[&str] = &[
    ":2375", ":2376", ":2379", ":4646", ":6443", ":8001", ":8200", ":8500", ":9200", ":15672",
];

pub(crate) fn curl(this: &Interpreter<'_>, args: &[Value], state: &State) -> Eval<()> {
    carried(this, "curl", args)?;
    let mut method: Option<String> = None;
    let mut data = false;
    let mut reads = false;
    let mut unix = false;
    let mut urls = Vec::new();
    let takes = |option: &str| takes_value(option, CURL_VALUES);
    for word in walk(args, takes) {
        let (raw, next) = match word {
            Word::Operand(url) => {
                urls.push(url.clone());
                continue;
            }
            Word::Option(option, value) => (option.raw(), value),
        };
        let (name, value) =
            if let (true, Some((name, value))) = (raw.starts_with("--"), raw.split_once('=')) {
                (name.to_owned(), Some(Value::known(value)))
            } else if takes(raw) {
                let name = if raw.starts_with("--") {
                    raw.to_owned()
                } else {
                    format!("-{}", raw.chars().last().unwrap_or(' '))
                };
                (name, next.cloned())
            } else if let Some((name, value)) = short_with_value(raw) {
                (name, Some(Value::known(value)))
            } else {
                reads |= matches!(raw, "-G" | "--get" | "-I" | "--head")
                    || (!raw.starts_with("--") && raw.contains(['G', 'I']));
                continue;
            };
        let value = value.unwrap_or_default();
        match name.as_str() {
            "-X" | "--request" => method = Some(value.raw().to_uppercase()),
            "--url" => urls.push(value.clone()),
            "--unix-socket" => {
                unix = true;
                if value.raw().contains("docker.sock") || value.raw().contains("containerd") {
                    this.deny(
                        "remote.http-write",
                        format!("curl {}", joined(args).shown()),
                    )?;
                }
            }
            _ => {}
        }
        if CURL_DATA.contains(&name.as_str()) {
            data = true;
            let path = value.raw().split_once('@').map(|(_, path)| path);
            let path = path
                .or_else(|| matches!(name.as_str(), "-T" | "--upload-file").then_some(value.raw()));
            if let Some(path) = path.filter(|_| name != "--data-raw" && name != "--form-string") {
                let path = path.split(';').next().unwrap_or(path);
                this.act(Act::Read, &Value::known(path), state)?;
            }
        }
    }
    for url in &urls {
        if let Some(path) = url.raw().strip_prefix("file://") {
            this.act(Act::Read, &Value::known(path), state)?;
        }
    }
    let writes = match method.as_deref() {
        Some("GET" | "HEAD" | "OPTIONS" | "PROPFIND") => false,
        Some(_) => true,
        None => data && !reads,
    };
    let administers = |url: &Value| {
        let rest = url.raw();
        ADMIN_PORTS.iter().any(|port| {
            rest.split_once(port)
                .is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with('/'))
        })
    };
    if writes && urls.iter().any(administers) {
        this.deny(
            "remote.http-write",
            format!("curl {}", joined(args).shown()),
        )?;
    }
    let local = unix || !urls.is_empty() && urls.iter().all(|url| is_local(url.raw()));
    if writes && !local {
        this.deny(
            "remote.http-write",
            format!("curl {}", joined(args).shown()),
        )?;
    }
    Ok(())
}

/// `-XPOST`, `-d@file`: the option and its attached value.
fn short_with_value(raw: &str) -> Option<(String, &str)> {
    let letters = raw
        .strip_prefix('-')
        .filter(|rest| !rest.starts_with('-'))?;
    let (at, c) = letters.char_indices().find(|(_, c)| {
        CURL_VALUES
            .iter()
            .any(|value| value.len() == 2 && value.ends_with(*c))
    })?;
    let value = &letters[at + c.len_utf8()..];
    (!value.is_empty()).then(|| (format!("-{c}"), value))
}

pub(crate) fn wget(this: &Interpreter<'_>, args: &[Value]) -> Eval<()> {
    carried(this, "wget", args)?;
    let writes = args.iter().any(|arg| {
        let raw = arg.raw();
        raw.starts_with("--post-")
            || raw.starts_with("--body-")
            || raw
                .strip_prefix("--method=")
                .is_some_and(|m| !matches!(m.to_uppercase().as_str(), "GET" | "HEAD"))
            || raw == "--method"
    });
    let code = args
        .iter()
        .any(|arg| arg.raw().starts_with("--use-askpass") || arg.raw().starts_with("--execute"));
    let local = args
        .iter()
        .filter(|arg| !arg.raw().starts_with('-'))
        .all(|arg| is_local(arg.raw()));
    if code || writes && !local {
        this.deny(
            "remote.http-write",
            format!("wget {}", joined(args).shown()),
        )?;
    }
    Ok(())
}

/// `http [METHOD] URL [ITEMS]`.
pub(crate) fn httpie(this: &Interpreter<'_>, args: &[Value]) -> Eval<()> {
    let words: Vec<&str> = args
        .iter()
        .map(Value::raw)
        .filter(|raw| !raw.starts_with('-'))
        .collect();
    let Some((first, _)) = words.split_first() else {
        return Ok(());
    };
    let method = first
        .bytes()
        .all(|b| b.is_ascii_uppercase())
        .then_some(*first);
    let url = words
        .get(usize::from(method.is_some()))
        .copied()
        .unwrap_or_default();
    let items = words
        .iter()
        .skip(1 + usize::from(method.is_some()))
        .any(|item| item.contains('=') && !item.contains("==") || item.contains('@'));
    let writes = match method {
        Some("GET" | "HEAD" | "OPTIONS") => false,
        Some(_) => true,
        None => items,
    };
    if writes && !is_local(url) && !url.starts_with(':') {
        this.deny("remote.http-write", format!("http {}", words.join(" ")))?;
    }
    Ok(())
}
