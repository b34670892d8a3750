//! An API server of Kubernetes as `kubectl` meets it: discovery, objects, logs, the proxy to the
//! engine, and controllers that make and end pods between two looks.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::discovery::{RESOURCES, discovery};

/// What the server has and was asked.
#[derive(Default)]
pub(crate) struct State {
    /// Objects by their path.
    pub(crate) objects: BTreeMap<String, Value>,
    /// Logs by pod.
    pub(crate) logs: BTreeMap<String, String>,
    /// The answer of the engine to a request of a token; `None` hangs up.
    pub(crate) token: Option<String>,
    /// The engine's counts.
    pub(crate) metrics: String,
    /// How long each answer takes.
    pub(crate) slow: Duration,
    /// The logs of Jobs by their name; their pods end at once.
    pub(crate) jobs: BTreeMap<String, String>,
    /// A path that is refused, and with what: code, reason, message.
    pub(crate) refused: Option<(&'static str, u16, &'static str, &'static str)>,
    /// A path that nobody may even look at.
    pub(crate) forbidden: Option<&'static str>,
    /// After how many changes the server answers no one any more. It says so, since kubectl goes on for
    /// half a minute when a server hangs up.
    pub(crate) gone_after: Option<usize>,
    /// Every request that changes something.
    pub(crate) changes: Vec<String>,
    /// How many pods the controllers made.
    pub(crate) made: u64,
}

/// A running server; it ends with the test.
pub(crate) struct Cluster {
    address: String,
    state: Arc<Mutex<State>>,
}

impl Cluster {
    pub(crate) fn start(state: State) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &state));
            }
        });
        Self { address, state }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("no test panics while it holds the state")
    }

    pub(crate) fn kubeconfig(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: lab\nclusters:\n- name: lab\n  cluster: {{server: 'http://{}'}}\ncontexts:\n- name: lab\n  context: {{cluster: lab, user: me}}\nusers:\n- name: me\n  user: {{}}\n",
            self.address
        )
    }
}

/// A pod as the controllers make it.
pub(crate) fn pod(name: &str, role: &str, restarts: u64, ready: bool) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "vllm", "uid": format!("uid-{name}"),
            "creationTimestamp": "2026-11-30T10:00:00Z",
            "labels": { "app": "vllm-deepseek-v4-flash", "role": role },
        },
        "spec": { "nodeName": if role == "head" { "nvidia-spark-1" } else { "nvidia-spark-2" }, "containers": [{ "name": "vllm", "image": "vllm:1" }] },
        "status": { "phase": "Running", "containerStatuses": [{ "name": "vllm", "ready": ready, "restartCount": restarts, "state": { "running": {} } }] },
    })
}

/// A node as `kubectl` sees it.
pub(crate) fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": {} },
        "status": {
            "conditions": [{ "type": "Ready", "status": "True" }],
            "nodeInfo": { "kernelVersion": "6.17.0-1026-nvidia" },
            "allocatable": { "nvidia.com/gpu": "1" },
        },
    })
}

/// A cluster with the two nodes and nothing on them.
pub(crate) fn empty() -> State {
    let mut state = State {
        token: Some(r#"{"choices":[{"text":"1"}]}"#.to_owned()),
        metrics: "vllm:num_requests_running 1\nvllm:kv_cache_usage_perc 0.25\nvllm:generation_tokens_total 5\n".to_owned(),
        ..State::default()
    };
    for name in ["nvidia-spark-1", "nvidia-spark-2"] {
        state
            .objects
            .insert(format!("/api/v1/nodes/{name}"), node(name));
    }
    state
}

fn serve(stream: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let mut words = line.split_whitespace();
    let (method, target) = (
        words.next().unwrap_or_default().to_owned(),
        words.next().unwrap_or_default().to_owned(),
    );
    let (mut length, mut chunked) = (0, false);
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).unwrap_or(0) == 0 || header.trim().is_empty() {
            break;
        }
        let header = header.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        chunked |= header.starts_with("transfer-encoding:") && header.contains("chunked");
    }
    let body = if chunked {
        chunks(&mut reader)
    } else {
        let mut body = vec![0; length];
        let _ = reader.read_exact(&mut body);
        body
    };
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (answer, slow) = {
        let mut state = state
            .lock()
            .expect("no test panics while it holds the state");
        (state.answer(&method, path, query, &body), state.slow)
    };
    thread::sleep(slow);
    let (code, kind, text) = answer;
    let mut stream = stream;
    let _ = write!(
        stream,
        "HTTP/1.1 {code} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
}

/// A body in chunks, as a client sends what it reads from a pipe.
fn chunks(reader: &mut impl BufRead) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        let _ = reader.read_line(&mut line);
        let size = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
        let mut chunk = vec![0; size + 2];
        if reader.read_exact(&mut chunk).is_err() || size == 0 {
            return body;
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

type Answer = (u16, &'static str, String);

fn found(value: &Value) -> Answer {
    (200, "application/json", value.to_string())
}

fn status(code: u16, reason: &str, message: &str) -> Answer {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure",
        "code": code, "reason": reason, "message": message,
    });
    (code, "application/json", status.to_string())
}

impl State {
    fn answer(&mut self, method: &str, path: &str, query: &str, body: &[u8]) -> Answer {
        if self
            .gone_after
            .is_some_and(|after| self.changes.len() >= after)
        {
            return status(503, "ServiceUnavailable", "the server is going away");
        }
        if self.forbidden.is_some_and(|part| path.contains(part)) {
            let message = "pods is forbidden: User \"me\" cannot list resource";
            return status(403, "Forbidden", message);
        }
        if let Some((refused, code, reason, message)) = self.refused
            && path.contains(refused)
            && method != "GET"
        {
            return status(code, reason, message);
        }
        if method != "GET"
            && !query.contains("dryRun")
            && !path.contains("/proxy/")
            && !path.ends_with("/exec")
        {
            self.changes.push(format!("{method} {path}"));
        }
        if let Some(answer) = discovery(path) {
            return found(&answer);
        }
        if path.ends_with("/log") {
            let pod = path.rsplit('/').nth(1).unwrap_or_default();
            let key = if query.contains("previous=true") {
                format!("{pod} previous")
            } else {
                pod.to_owned()
            };
            return match self.logs.get(&key) {
                Some(text) => (200, "text/plain", text.clone()),
                None => status(400, "BadRequest", "previous terminated container not found"),
            };
        }
        if path.ends_with("/proxy/metrics") {
            return (200, "text/plain", self.metrics.clone());
        }
        if path.ends_with("/proxy/v1/chat/completions") {
            return match &self.token {
                Some(answer) => (200, "application/json", answer.clone()),
                None => status(
                    504,
                    "Timeout",
                    "context deadline exceeded: the request timed out",
                ),
            };
        }
        match method {
            "GET" => self.get(path, query),
            "PATCH" => self.patch(path, query, body),
            "POST" if path.ends_with("/pods") => {
                let mut pod: Value = serde_json::from_slice(body).unwrap_or_default();
                pod["status"] = json!({ "phase": "Succeeded" });
                let name = pod["metadata"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                self.objects.insert(format!("{path}/{name}"), pod.clone());
                found(&pod)
            }
            "POST" if path.ends_with("/jobs") => self.start_job(path, body),
            "DELETE" if path.contains("/jobs/") => match self.objects.remove(path) {
                Some(job) => {
                    let name = job["metadata"]["name"].clone();
                    self.objects
                        .retain(|_, pod| pod["metadata"]["labels"]["job-name"] != name);
                    found(&job)
                }
                None => status(404, "NotFound", "not found"),
            },
            // A pod that has ended is gone at once.
            "DELETE"
                if self
                    .objects
                    .get(path)
                    .is_some_and(|pod| pod["status"]["phase"] == "Succeeded") =>
            {
                let pod = self.objects.remove(path).unwrap_or_default();
                found(&pod)
            }
            "DELETE" => {
                let Some(object) = self.objects.get_mut(path) else {
                    return status(404, "NotFound", "not found");
                };
                object["metadata"]["deletionTimestamp"] = json!("2026-11-30T11:00:00Z");
                found(object)
            }
            _ => status(405, "MethodNotAllowed", "the stand-in cannot do that"),
        }
    }

    /// Makes a Job and the pod of it, which has ended already.
    fn start_job(&mut self, path: &str, body: &[u8]) -> Answer {
        let job: Value = serde_json::from_slice(body).unwrap_or_default();
        let name = job["metadata"]["name"].as_str().unwrap_or_default();
        let mut pod = json!({ "apiVersion": "v1", "kind": "Pod" });
        pod["metadata"] = job["spec"]["template"]["metadata"].clone();
        pod["metadata"]["name"] = json!(format!("{name}-x"));
        pod["metadata"]["namespace"] = job["metadata"]["namespace"].clone();
        pod["metadata"]["labels"]["job-name"] = json!(name);
        pod["spec"] = job["spec"]["template"]["spec"].clone();
        let log = self.jobs.get(name).cloned().unwrap_or_default();
        let phase = if log.is_empty() {
            "Failed"
        } else {
            "Succeeded"
        };
        pod["status"] = json!({ "phase": phase });
        self.logs.insert(format!("{name}-x"), log);
        let pods = path
            .replace("/apis/batch/v1", "/api/v1")
            .replace("/jobs", "/pods");
        self.objects.insert(format!("{pods}/{name}-x"), pod);
        self.objects.insert(format!("{path}/{name}"), job.clone());
        found(&job)
    }

    fn get(&mut self, path: &str, query: &str) -> Answer {
        if let Some(object) = self.objects.get(path) {
            return found(object);
        }
        let resource = path.rsplit('/').next().unwrap_or_default();
        let Some((version, _, kind, _)) = RESOURCES.iter().find(|(_, name, ..)| *name == resource)
        else {
            return status(404, "NotFound", &format!("{path} not found"));
        };
        let query = query
            .replace("%3D", "=")
            .replace("%2C", ",")
            .replace("%21", "!");
        let selector = query
            .split('&')
            .find_map(|part| part.strip_prefix("labelSelector="))
            .unwrap_or_default();
        let fields = query
            .split('&')
            .find_map(|part| part.strip_prefix("fieldSelector="))
            .unwrap_or_default();
        let prefix = format!("{path}/");
        let items: Vec<Value> = self
            .objects
            .iter()
            .filter(|(at, _)| at.starts_with(&prefix))
            .map(|(_, object)| object.clone())
            .filter(|object| {
                selector
                    .split(',')
                    .filter(|part| !part.is_empty())
                    .all(|part| {
                        let (name, value) = part.split_once('=').unwrap_or_default();
                        object["metadata"]["labels"][name] == value
                    })
            })
            .filter(|object| match fields {
                "status.phase=Failed" => object["status"]["phase"] == "Failed",
                "status.phase!=Failed" => object["status"]["phase"] != "Failed",
                "reason!=UnexpectedAdmissionError" => {
                    object["reason"] != "UnexpectedAdmissionError"
                }
                _ => true,
            })
            .collect();
        if resource == "pods" && fields.is_empty() {
            self.tick();
        }
        found(
            &json!({ "apiVersion": version, "kind": format!("{kind}List"), "metadata": { "resourceVersion": "1" }, "items": items }),
        )
    }

    /// What the controllers do between two looks: what is deleted goes, what is missing comes.
    fn tick(&mut self) {
        self.objects.retain(|path, object| {
            !path.contains("/pods/") || !object["metadata"]["deletionTimestamp"].is_string()
        });
        // A group is made anew as a whole: where its leader is gone, its worker goes too.
        let group =
            "/apis/leaderworkerset.x-k8s.io/v1/namespaces/vllm/leaderworkersets/dsv4-flash-tp2";
        let has_leader = self.objects.iter().any(|(path, pod)| {
            path.contains("/pods/") && pod["metadata"]["labels"]["role"] == "head"
        });
        if self.objects.contains_key(group) && !has_leader {
            self.objects.retain(|path, _| !path.contains("/pods/"));
            self.made += 1;
            for (role, suffix) in [("head", "0"), ("worker", "0-1")] {
                let name = format!("dsv4-flash-tp2-{suffix}");
                let mut pod = pod(&name, role, 0, true);
                pod["metadata"]["uid"] = json!(format!("{name}-{}", self.made));
                pod["metadata"]["labels"]["app"] = json!("dsv4-flash-tp2");
                self.objects
                    .insert(format!("/api/v1/namespaces/vllm/pods/{name}"), pod);
            }
        }
        for role in ["worker", "head"] {
            let deployment =
                format!("/apis/apps/v1/namespaces/vllm/deployments/vllm-deepseek-v4-flash-{role}");
            let Some(wanted) = self
                .objects
                .get(&deployment)
                .map(|d| d["spec"]["replicas"].as_u64().unwrap_or(1))
            else {
                continue;
            };
            let pods: Vec<String> = self
                .objects
                .iter()
                .filter(|(path, pod)| {
                    path.contains("/pods/")
                        && pod["metadata"]["labels"]["role"] == role
                        && pod["status"]["phase"] != "Failed"
                })
                .map(|(path, _)| path.clone())
                .collect();
            if wanted == 0 {
                for path in pods {
                    self.objects.remove(&path);
                }
            } else if pods.is_empty() {
                self.made += 1;
                let name = format!("{role}-{}", self.made);
                self.objects.insert(
                    format!("/api/v1/namespaces/vllm/pods/{name}"),
                    pod(&name, role, 0, true),
                );
            }
        }
    }

    fn patch(&mut self, path: &str, query: &str, body: &[u8]) -> Answer {
        let mut new: Value = serde_json::from_slice(body).unwrap_or_default();
        if let Some(of) = path.strip_suffix("/scale") {
            let Some(object) = self.objects.get_mut(of) else {
                return status(404, "NotFound", "not found");
            };
            object["spec"]["replicas"] = new["spec"]["replicas"].clone();
            return found(
                &json!({ "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": { "name": "x", "namespace": "vllm" }, "spec": new["spec"] }),
            );
        }
        let namespace = path
            .split("/namespaces/")
            .nth(1)
            .and_then(|rest| rest.split_once('/'))
            .map(|(name, _)| name);
        if let Some(namespace) = namespace
            && !self
                .objects
                .contains_key(&format!("/api/v1/namespaces/{namespace}"))
        {
            return status(
                404,
                "NotFound",
                &format!("namespaces \"{namespace}\" not found"),
            );
        }
        let old = self
            .objects
            .get(path)
            .cloned()
            .unwrap_or(json!({ "metadata": {} }));
        new["metadata"]["uid"] = json!("uid");
        new["metadata"]["managedFields"] = json!([]);
        if old["spec"].get("replicas").is_some() && new["spec"].get("replicas").is_none() {
            new["spec"]["replicas"] = old["spec"]["replicas"].clone();
        } else if new["kind"] == "Deployment" && new["spec"].get("replicas").is_none() {
            new["spec"]["replicas"] = json!(1);
        }
        if !query.contains("dryRun") {
            self.objects.insert(path.to_owned(), new.clone());
        }
        found(&new)
    }
}
