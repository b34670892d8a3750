//! `codex-ds deploy` with a real kube-apiserver: what only the server itself decides. Opt-in, since it
//! has to be built: `make test-apiserver`.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use codex_ds_tests::{ApiServer, TestEnvironment};
use serde_json::{Value, json};

/// kubectl, as the test itself uses it.
struct Kubectl<'e>(&'e TestEnvironment);

impl Kubectl<'_> {
    /// Runs it; the answer, or what it says against it.
    fn try_run(&self, args: &[&str], input: Option<&Value>) -> Result<String, String> {
        let mut command = self.0.program("kubectl", args).into_command();
        let mut child = command
            .stdin(if input.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        if let (Some(stdin), Some(input)) = (child.stdin.take(), input) {
            serde_json::to_writer(stdin, input).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        if output.status.success() {
            Ok(text(output.stdout))
        } else {
            Err(text(output.stderr))
        }
    }

    fn run(&self, args: &[&str], input: Option<&Value>) -> String {
        self.try_run(args, input)
            .unwrap_or_else(|error| panic!("kubectl {args:?}: {error}"))
    }

    fn items(&self, kind: &str) -> Vec<Value> {
        let text = self.run(&["get", kind, "--namespace=vllm", "--output=json"], None);
        let list: Value = serde_json::from_str(&text).unwrap();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Makes a pod of this status; another may have removed it meanwhile.
    fn pod(&self, name: &str, labels: &Value, status: &Value) -> Result<String, String> {
        self.try_run(
            &["create", "--filename=-"],
            Some(&json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": { "name": name, "namespace": "vllm", "labels": labels },
                "spec": {
                    "nodeName": if labels["role"] == "worker" { "nvidia-spark-2" } else { "nvidia-spark-1" },
                    "containers": [{ "name": "vllm", "image": "vllm:1" }],
                },
            })),
        )?;
        let patch = json!({ "status": status }).to_string();
        let args = [
            "patch",
            "pod",
            name,
            "--namespace=vllm",
            "--subresource=status",
        ];
        self.try_run(
            &[&args[..], &["--type=merge", "--patch", &patch]].concat(),
            None,
        )
    }
}

/// What the controllers and the two kubelets do, until `over`: pods that are deleted go, a Deployment
/// without a pod gets one that runs.
fn control(kubectl: &Kubectl<'_>, over: &AtomicBool) {
    let mut made = 0;
    while !over.load(Ordering::Relaxed) {
        let pods = kubectl.items("pods");
        for pod in &pods {
            if pod["metadata"]["deletionTimestamp"].is_string() {
                let name = pod["metadata"]["name"].as_str().unwrap();
                let args = [
                    "delete",
                    "pod",
                    name,
                    "--namespace=vllm",
                    "--grace-period=0",
                ];
                let _ = kubectl.try_run(
                    &[&args[..], &["--force", "--ignore-not-found"]].concat(),
                    None,
                );
            }
        }
        for deployment in kubectl.items("deployments") {
            let labels = &deployment["spec"]["template"]["metadata"]["labels"];
            let role = &labels["role"];
            let own = |pod: &&Value| {
                pod["metadata"]["labels"]["role"] == *role && pod["status"]["phase"] != "Failed"
            };
            let name = |pod: &Value| pod["metadata"]["name"].as_str().unwrap().to_owned();
            if deployment["spec"]["replicas"] == 0 {
                for pod in pods.iter().filter(own) {
                    let _ = kubectl.try_run(
                        &[
                            "delete",
                            "pod",
                            &name(pod),
                            "--namespace=vllm",
                            "--grace-period=0",
                            "--force",
                            "--ignore-not-found",
                        ],
                        None,
                    );
                }
            } else if role != "router" && !pods.iter().any(|pod| own(&pod)) {
                made += 1;
                let status = json!({ "phase": "Running", "containerStatuses": [{
                    "name": "vllm", "image": "vllm:1", "imageID": "", "ready": false, "restartCount": 0, "state": { "running": {} },
                }] });
                let _ = kubectl.pod(
                    &format!("{}-{made}", role.as_str().unwrap()),
                    labels,
                    &status,
                );
            }
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Ends the controllers when it goes.
struct End<'o>(&'o AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn environment(server: &ApiServer) -> TestEnvironment {
    let mut environment = TestEnvironment::new();
    let config = environment.write("kubeconfig", &server.kubeconfig("all"));
    environment.set("KUBECONFIG", config);
    let run = environment.codex_ds(["deploy", "init"]).run();
    assert_eq!(run.code, Some(0), "{run:?}");
    environment
}

fn deploy(environment: &TestEnvironment, args: &[&str], code: i32) -> String {
    let run = environment.codex_ds([&["deploy"], args].concat()).run();
    assert_eq!(run.code, Some(code), "{args:?}: {run:?}");
    run.stdout + &run.stderr
}

fn change_site(environment: &TestEnvironment, from: &str, to: &str) {
    let site = fs_err::read_to_string(environment.work().join("site.toml")).unwrap();
    assert!(site.contains(from), "no {from}");
    environment.write("work/site.toml", &site.replacen(from, to, 1));
}

#[test]
#[ignore = "needs a kube-apiserver: make test-apiserver"]
fn a_real_server_agrees() {
    let server = ApiServer::start();
    let environment = environment(&server);
    applied_and_the_same_afterwards(&environment);
    a_conflict_is_not_forced(&environment);
    restarts_are_in_order(&environment);
    refused_pods_are_cleaned(&environment);
    who_may_nothing_is_told_so(&server);
    a_group_is_taken(&environment);
    what_check_refuses_is_refused(&environment);
}

/// All objects are taken, and the server's defaults are no difference.
fn applied_and_the_same_afterwards(environment: &TestEnvironment) {
    deploy(environment, &["apply", "--dry-run=server"], 2);
    deploy(environment, &["apply", "--yes"], 0);
    let diff = deploy(environment, &["diff"], 0);
    assert_eq!(
        diff.lines().filter(|line| line.ends_with(": same")).count(),
        8,
        "{diff}"
    );
    let again = deploy(environment, &["apply", "--yes"], 0);
    assert!(again.contains("the cluster is as the site says"), "{again}");
}

/// A field of another manager is shown and stays.
fn a_conflict_is_not_forced(environment: &TestEnvironment) {
    let kubectl = Kubectl(environment);
    let name = "vllm-deepseek-v4-flash-head";
    let theirs = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": name, "namespace": "vllm" },
        "spec": { "progressDeadlineSeconds": 900 },
    });
    let force = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=helm",
        "--validate=false",
        "--filename=-",
    ];
    kubectl.run(&force, Some(&theirs));
    let said = deploy(environment, &["apply", "--yes"], 1);
    assert!(said.contains("conflict with \"helm\""), "{said}");
    assert!(said.contains(".spec.progressDeadlineSeconds"), "{said}");
    let live = kubectl.items("deployments");
    let head = live.iter().find(|d| d["metadata"]["name"] == name).unwrap();
    assert_eq!(head["spec"]["progressDeadlineSeconds"], 900);
    // They give it up: a manager that applies nothing owns nothing.
    let nothing = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name, "namespace": "vllm" } });
    kubectl.run(&force, Some(&nothing));
    deploy(environment, &["apply", "--yes"], 0);
}

/// A change of a running rank, and a recovery that was stopped half-way.
fn restarts_are_in_order(environment: &TestEnvironment) {
    let kubectl = Kubectl(environment);
    let over = AtomicBool::new(false);
    let uids = || -> Vec<String> {
        kubectl
            .items("pods")
            .iter()
            .map(|pod| pod["metadata"]["uid"].as_str().unwrap().to_owned())
            .collect()
    };
    thread::scope(|scope| {
        // Also when an assertion fails: the scope waits for the controllers.
        let _end = End(&over);
        scope.spawn(|| control(&kubectl, &over));
        while uids().len() < 2 {
            thread::sleep(Duration::from_millis(200));
        }
        let first = uids();
        change_site(environment, "max_num_seqs = 8", "max_num_seqs = 6");
        let said = deploy(environment, &["apply", "--yes"], 0);
        let order = [
            "stop the head … done",
            "wait until the head is gone, and with it its rendezvous port … done",
            "apply Deployment vllm-deepseek-v4-flash-worker … done",
            "delete the worker's pod … done",
            "start the head … done",
        ];
        let places: Vec<usize> = order
            .iter()
            .map(|step| {
                said.find(step)
                    .unwrap_or_else(|| panic!("no {step}: {said}"))
            })
            .collect();
        assert!(places.is_sorted(), "{said}");
        let second = uids();
        assert!(
            second.len() == 2 && first.iter().all(|uid| !second.contains(uid)),
            "{first:?} {second:?}"
        );

        // Stopped after its first step: whoever runs it again sees only the cluster.
        kubectl.run(
            &[
                "scale",
                "deployment",
                "vllm-deepseek-v4-flash-head",
                "--namespace=vllm",
                "--replicas=0",
            ],
            None,
        );
        let said = deploy(environment, &["status", "--no-canary"], 1);
        assert!(said.contains("[interrupted]"), "{said}");
        deploy(environment, &["recover", "--yes"], 0);
        let third = uids();
        assert!(
            third.len() == 2 && second.iter().all(|uid| !third.contains(uid)),
            "{second:?} {third:?}"
        );
    });
}

/// A storm of refused pods is counted and removed by the server's own field selector.
fn refused_pods_are_cleaned(environment: &TestEnvironment) {
    let kubectl = Kubectl(environment);
    let labels = json!({ "app": "vllm-deepseek-v4-flash", "role": "head" });
    let status = json!({ "phase": "Failed", "reason": "UnexpectedAdmissionError" });
    for index in 0..12 {
        kubectl
            .pod(&format!("refused-{index}"), &labels, &status)
            .unwrap();
    }
    let said = deploy(environment, &["recover", "--yes"], 0);
    assert!(
        said.contains("12 pods failed with UnexpectedAdmissionError"),
        "{said}"
    );
    assert_eq!(kubectl.items("pods").len(), 2);
}

fn who_may_nothing_is_told_so(server: &ApiServer) {
    let visitor = environment(server);
    visitor.write("kubeconfig", &server.kubeconfig("none"));
    let said = deploy(&visitor, &["status"], 1);
    assert!(
        said.contains("forbidden") && said.contains("may not do that"),
        "{said}"
    );
}

/// The group's own fields, which its controller's definition has; the pods in it are as they come.
fn definition() -> Value {
    let pod = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let word = |words: &[&str]| json!({ "type": "string", "enum": words });
    let schema = json!({ "type": "object", "properties": { "spec": {
        "type": "object", "required": ["leaderWorkerTemplate"], "properties": {
            "replicas": { "type": "integer", "minimum": 0 },
            "startupPolicy": word(&["LeaderCreated", "LeaderReady"]),
            "leaderWorkerTemplate": { "type": "object", "required": ["workerTemplate"], "properties": {
                "leaderTemplate": pod, "workerTemplate": pod,
                "size": { "type": "integer", "minimum": 1 },
                "restartPolicy": word(&["Default", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None"]),
            } },
            "rolloutStrategy": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "networkConfig": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        },
    } } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "leaderworkersets.leaderworkerset.x-k8s.io",
            "annotations": { "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/lws" },
        },
        "spec": {
            "group": "leaderworkerset.x-k8s.io", "scope": "Namespaced",
            "names": { "kind": "LeaderWorkerSet", "plural": "leaderworkersets", "singular": "leaderworkerset", "shortNames": ["lws"] },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

fn a_group_is_taken(environment: &TestEnvironment) {
    let kubectl = Kubectl(environment);
    kubectl.run(&["create", "--filename=-"], Some(&definition()));
    kubectl.run(
        &[
            "wait",
            "--for=condition=Established",
            "crd/leaderworkersets.leaderworkerset.x-k8s.io",
        ],
        None,
    );
    deploy(environment, &["init", "--force", "--shape", "lws"], 0);
    change_site(environment, "CHANGE-ME", "0123456789abcdef");
    // Servers before 1.24 do not know a load balancer's class.
    change_site(environment, "kind = \"cilium-lb\"", "kind = \"clusterip\"");
    change_site(environment, "node_port = 30400", "node_port = 30401");
    deploy(environment, &["apply", "--yes"], 0);
    let diff = deploy(environment, &["diff"], 0);
    assert!(
        diff.contains("LeaderWorkerSet dsv4-flash-tp2: same"),
        "{diff}"
    );
}

/// What `check` says of a field, the server says too.
fn what_check_refuses_is_refused(environment: &TestEnvironment) {
    let kubectl = Kubectl(environment);
    let live = kubectl.items("deployments");
    let head = live
        .iter()
        .find(|d| d["metadata"]["labels"]["role"] == "head")
        .unwrap();
    let whole = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "another", "namespace": "vllm" },
        "spec": head["spec"],
    });
    let ask = [
        "apply",
        "--server-side",
        "--dry-run=server",
        "--validate=false",
        "--filename=-",
    ];
    kubectl.run(&ask, Some(&whole));
    let container = "/spec/template/spec/containers/0";
    let at = |path: &str| format!("{container}{path}");
    let wrong: Vec<(String, Value)> = vec![
        ("/spec/template/spec/hostNetwrok".to_owned(), json!(true)),
        ("/spec/replicas".to_owned(), json!("1")),
        (
            "/spec/strategy/rollingUpdate".to_owned(),
            json!({ "maxSurge": 1 }),
        ),
        ("/spec/strategy/type".to_owned(), json!("Recreat")),
        ("/spec/template/spec/dnsPolicy".to_owned(), json!("Host")),
        (at("/startupProbe/failureThreshold"), json!("280")),
        (at("/ports/0/containerPort"), json!(70000)),
        (at("/ports/0/protocol"), json!("HTTP")),
        (at("/imagePullPolicy"), json!("Sometimes")),
        (at("/resources/limits/nvidia.com~1gpu"), json!("0.5")),
        (at("/resources/limits/memory"), json!("16GB")),
        (at("/securityContext/privileged"), json!("yes")),
        (at("/env/0"), json!({ "value": "x" })),
    ];
    for (path, value) in wrong {
        let mut changed = whole.clone();
        let (table, key) = path.rsplit_once('/').unwrap();
        let table = changed
            .pointer_mut(table)
            .unwrap_or_else(|| panic!("no {path}"));
        let key = key.replace("~1", "/");
        match table {
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = value.clone(),
            table => table[key.as_str()] = value.clone(),
        }
        let refused = kubectl.try_run(&ask, Some(&changed));
        assert!(refused.is_err(), "the server takes {path}: {value}");
        let file = environment.write("work/wrong.yaml", &changed.to_string());
        let said = deploy(environment, &["check", &file.to_string_lossy()], 1);
        assert!(said.contains("[field]"), "{path}: {said}");
    }
}
