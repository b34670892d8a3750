//! `codex-ds deploy` with the real `kubectl`, against a stand-in for the API server that plays the
//! scenes of published stacks.

#[path = "deploy/cluster.rs"]
mod cluster;
#[path = "deploy/discovery.rs"]
mod discovery;
#[path = "deploy/scenes.rs"]
mod scenes;

use cluster::{Cluster, State, empty, node, pod};
use codex_ds_tests::TestEnvironment;
use serde_json::json;

const PODS: &str = "/api/v1/namespaces/vllm/pods";

/// An environment with a site and a cluster.
fn world(state: State) -> (TestEnvironment, Cluster) {
    let cluster = Cluster::start(state);
    let mut environment = TestEnvironment::new();
    let config = environment.write("kubeconfig", &cluster.kubeconfig());
    environment.set("KUBECONFIG", config);
    let run = environment.codex_ds(["deploy", "init"]).run();
    assert_eq!(run.code, Some(0), "{run:?}");
    (environment, cluster)
}

/// The published scene: the head restarted 676 times beside a worker with no restart.
fn dead_group() -> State {
    let mut state = empty();
    for role in ["head", "worker"] {
        let name = format!("vllm-deepseek-v4-flash-{role}");
        state.objects.insert(
            format!("/apis/apps/v1/namespaces/vllm/deployments/{name}"),
            json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name, "namespace": "vllm" }, "spec": { "replicas": 1 } }),
        );
    }
    state
        .objects
        .insert(format!("{PODS}/h0"), pod("h0", "head", 676, false));
    state
        .objects
        .insert(format!("{PODS}/w0"), pod("w0", "worker", 0, true));
    state.logs.insert(
        "h0".to_owned(),
        "INFO Initializing a V1 LLM engine\n".to_owned(),
    );
    state.logs.insert(
        "h0 previous".to_owned(),
        "ERROR Engine core initialization failed.\n".to_owned(),
    );
    state.logs.insert(
        "w0".to_owned(),
        "[W TCPStore.cpp:125] [c10d] sendBytes failed on SocketImpl: Broken pipe\n".to_owned(),
    );
    state
}

#[test]
fn nodes_names_come_from_the_cluster() {
    let mut state = empty();
    for (name, gpu) in [
        ("agx-orin", json!({})),
        ("spark-b", json!({ "nvidia.com/gpu": "1" })),
        ("spark-a", json!({ "nvidia.com/gpu": "1" })),
    ] {
        let mut node = node(name);
        node["status"]["allocatable"] = gpu;
        node["status"]["capacity"] = json!({ "memory": "126877696Ki" });
        state.objects.insert(format!("/api/v1/nodes/{name}"), node);
    }
    let (environment, cluster) = world(state);
    let four = environment
        .codex_ds(["deploy", "init", "--force", "--from-cluster"])
        .run();
    assert_eq!(four.code, Some(1), "{four:?}");
    assert!(
        four.stderr
            .contains("4 nodes have nvidia.com/gpu to give: nvidia-spark-1, "),
        "{four:?}"
    );
    cluster
        .state()
        .objects
        .retain(|path, _| !path.contains("nvidia-spark"));
    let two = environment
        .codex_ds(["deploy", "init", "--stdout", "--from-cluster"])
        .run();
    assert_eq!(two.code, Some(0), "{two:?}");
    let (head, worker) = two.stdout.split_once("[nodes.worker]").unwrap();
    assert!(
        head.contains("host = \"spark-a\"") && worker.contains("host = \"spark-b\""),
        "{two:?}"
    );
    assert!(worker.contains("mem_gib = 121.0"), "{two:?}");
}

#[test]
fn a_stack_is_applied_serves_and_is_left_alone_then() {
    let (environment, cluster) = world(empty());
    let dry = environment.codex_ds(["deploy", "apply", "--dry-run"]).run();
    assert_eq!(dry.code, Some(2), "{dry:?}");
    assert_eq!(cluster.state().changes, [""; 0]);

    let applied = environment
        .codex_ds(["deploy", "apply", "--yes", "--wait"])
        .run();
    assert_eq!(applied.code, Some(0), "{applied:?}");
    assert!(applied.stdout.contains("in context lab"), "{applied:?}");
    assert!(applied.stdout.contains("a token came after"), "{applied:?}");
    let order: Vec<String> = cluster
        .state()
        .changes
        .iter()
        .map(|change| change.rsplit('/').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        order,
        [
            "vllm",
            "vllm-deepseek-v4-flash-router",
            "vllm-deepseek-v4-flash-prepull",
            "vllm-deepseek-v4-flash",
            "vllm-deepseek-v4-flash-worker",
            "vllm-deepseek-v4-flash-head",
            "vllm-deepseek-v4-flash-router",
            "vllm-deepseek-v4-flash-router",
        ]
    );

    let diff = environment.codex_ds(["deploy", "diff"]).run();
    assert_eq!(diff.code, Some(0), "{diff:?}");
    let status = environment.codex_ds(["deploy", "status"]).run();
    assert_eq!(status.code, Some(0), "{status:?}");
    for part in [
        "a token came",
        "1 running, 0 waiting, KV 25 % in use",
        "no known failure",
    ] {
        assert!(status.stdout.contains(part), "{part}: {status:?}");
    }
    let again = environment.codex_ds(["deploy", "recover", "--yes"]).run();
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(cluster.state().changes.len(), order.len(), "{again:?}");
}

#[test]
fn a_change_of_a_running_rank_is_shown_and_restarts_both_in_order() {
    let (environment, cluster) = world(empty());
    let applied = environment
        .codex_ds(["deploy", "apply", "--yes", "--wait"])
        .run();
    assert_eq!(applied.code, Some(0), "{applied:?}");
    cluster.state().changes.clear();
    let site = fs_err::read_to_string(environment.work().join("site.toml")).unwrap();
    environment.write(
        "work/site.toml",
        &site.replace("max_num_seqs = 8", "max_num_seqs = 6"),
    );

    let diff = environment.codex_ds(["deploy", "diff"]).run();
    assert_eq!(diff.code, Some(2), "{diff:?}");
    assert!(
        diff.stdout
            .contains("-            - --max-num-seqs=8\n+            - --max-num-seqs=6\n"),
        "{diff:?}"
    );
    let applied = environment.codex_ds(["deploy", "apply", "--yes"]).run();
    assert_eq!(applied.code, Some(0), "{applied:?}");
    let changes = cluster.state().changes.clone();
    let short: Vec<&str> = changes
        .iter()
        .map(|change| change.rsplit("vllm/").next().unwrap_or_default())
        .collect();
    assert_eq!(
        short,
        [
            "deployments/vllm-deepseek-v4-flash-head/scale",
            "deployments/vllm-deepseek-v4-flash-worker",
            "deployments/vllm-deepseek-v4-flash-head",
            "pods/worker-1",
            "deployments/vllm-deepseek-v4-flash-head/scale",
        ]
    );
}

#[test]
fn what_someone_else_made_is_not_touched_and_a_conflict_not_forced() {
    let mut state = empty();
    state.objects.insert("/api/v1/namespaces/vllm".to_owned(), json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "vllm", "labels": {} } }));
    state.refused = Some((
        "configmaps",
        409,
        "Conflict",
        "Apply failed with 1 conflict: conflict with \"helm\": .data.config.yaml",
    ));
    let (environment, cluster) = world(state);
    let applied = environment.codex_ds(["deploy", "apply", "--yes"]).run();
    assert_eq!(applied.code, Some(1), "{applied:?}");
    assert!(
        applied
            .stdout
            .contains("Namespace vllm is not ours and stays as it is"),
        "{applied:?}"
    );
    assert!(
        applied.stderr.contains("conflict with \"helm\""),
        "{applied:?}"
    );
    assert!(applied.stderr.contains("nothing was forced"), "{applied:?}");
    assert_eq!(cluster.state().changes, [""; 0]);
}

#[test]
fn a_dead_group_is_seen_and_healed_in_order() {
    let (environment, cluster) = world(dead_group());
    let status = environment.codex_ds(["deploy", "status"]).run();
    assert_eq!(status.code, Some(1), "{status:?}");
    assert!(status.stdout.contains("[dead-group]"), "{status:?}");
    assert!(
        status
            .stdout
            .contains("the head was restarted 676 times, the worker 0 times"),
        "{status:?}"
    );

    let plan = environment
        .codex_ds(["deploy", "recover", "--dry-run"])
        .run();
    assert_eq!(plan.code, Some(2), "{plan:?}");
    let unasked = environment.codex_ds(["deploy", "recover"]).run();
    assert_eq!(unasked.code, Some(3), "{unasked:?}");
    assert_eq!(cluster.state().changes, [""; 0]);

    let healed = environment.codex_ds(["deploy", "recover", "--yes"]).run();
    assert_eq!(healed.code, Some(0), "{healed:?}");
    let changes = cluster.state().changes.clone();
    assert_eq!(
        changes,
        [
            "PATCH /apis/apps/v1/namespaces/vllm/deployments/vllm-deepseek-v4-flash-head/scale",
            "DELETE /api/v1/namespaces/vllm/pods/w0",
            "PATCH /apis/apps/v1/namespaces/vllm/deployments/vllm-deepseek-v4-flash-head/scale",
        ]
    );
    let state = cluster.state();
    assert!(!state.objects.contains_key(&format!("{PODS}/h0")));
    assert!(!state.objects.contains_key(&format!("{PODS}/w0")));
}

#[test]
fn a_storm_of_refused_pods_is_cleaned() {
    let mut state = dead_group();
    state.logs.clear();
    state
        .objects
        .insert(format!("{PODS}/h0"), pod("h0", "head", 0, true));
    for index in 0..500 {
        let name = format!("f{index}");
        let mut failed = pod(&name, "head", 0, false);
        failed["status"] = json!({ "phase": "Failed", "reason": "UnexpectedAdmissionError" });
        state.objects.insert(format!("{PODS}/{name}"), failed);
    }
    let (environment, cluster) = world(state);
    let healed = environment.codex_ds(["deploy", "recover", "--yes"]).run();
    assert_eq!(healed.code, Some(0), "{healed:?}");
    assert!(
        healed
            .stdout
            .contains("500 pods failed with UnexpectedAdmissionError"),
        "{healed:?}"
    );
    let state = cluster.state();
    let left: Vec<&String> = state
        .objects
        .keys()
        .filter(|path| path.contains("/pods/"))
        .collect();
    assert_eq!(left, [&format!("{PODS}/h0"), &format!("{PODS}/w0")]);
}

#[test]
fn a_wedge_is_told_from_a_full_engine() {
    let mut state = dead_group();
    state.logs.clear();
    state
        .objects
        .insert(format!("{PODS}/h0"), pod("h0", "head", 0, true));
    state.token = None;
    let (environment, _cluster) = world(state);
    let status = environment.codex_ds(["deploy", "status", "--json"]).run();
    assert_eq!(status.code, Some(1), "{status:?}");
    let report: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(report["schema_version"], 1);
    assert_eq!(report["facts"]["canary"], "silent");
    assert_eq!(report["diagnoses"][0]["code"], "wedged");
}

#[test]
fn a_cluster_that_cannot_be_reached_is_said_to_be_so() {
    let (mut environment, _cluster) = world(empty());
    let config = environment.write(
        "nowhere",
        "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters:\n- name: x\n  cluster: {server: 'http://127.0.0.1:1'}\ncontexts:\n- name: x\n  context: {cluster: x, user: x}\nusers:\n- name: x\n  user: {}\n",
    );
    environment.set("KUBECONFIG", config);
    let status = environment.codex_ds(["deploy", "status"]).run();
    assert_eq!(status.code, Some(1), "{status:?}");
    assert!(
        status.stderr.contains("is the API server reachable"),
        "{status:?}"
    );
    let none = environment
        .codex_ds(["deploy", "status", "--kubectl", "no-such-kubectl"])
        .run();
    assert_eq!(none.code, Some(3), "{none:?}");
    assert!(none.stderr.contains("install kubectl"), "{none:?}");
}

#[test]
fn nodes_are_asked_in_pods_that_are_gone_afterwards() {
    let good = "kernel=6.17.0-1026-nvidia\nmtu=9000\nspeed=200000\nstate=up\nlink=4: ACTIVE\n\
        gid=3 RoCE v2 0000:0000:0000:0000:0000:ffff:c0a8:640a\ngid=4 RoCE v2 0000:0000:0000:0000:0000:ffff:c0a8:640b\n\
        model_files=50\nend=1\n";
    let mut state = empty();
    let probe = |role: &str| format!("vllm-deepseek-v4-flash-probe-{role}");
    state.logs.insert(probe("head"), good.to_owned());
    state
        .logs
        .insert(probe("worker"), good.replace("mtu=9000", "mtu=1500"));
    let (environment, cluster) = world(state);
    let asked = environment.codex_ds(["deploy", "nodes"]).run();
    assert_eq!(asked.code, Some(1), "{asked:?}");
    assert!(
        asked
            .stdout
            .contains("nvidia-spark-2: MTU: found 1500, expected 9000\n  nmcli connection modify"),
        "{asked:?}"
    );
    assert!(!asked.stdout.contains("nvidia-spark-1: MTU"), "{asked:?}");
    let state = cluster.state();
    assert!(
        state.objects.keys().all(|path| !path.contains("probe")),
        "a pod was left behind"
    );
    assert_eq!(
        state
            .changes
            .iter()
            .filter(|change| change.starts_with("POST"))
            .count(),
        2
    );
}

#[test]
fn a_group_is_applied_and_made_anew_by_its_leader() {
    let mut state = empty();
    state.objects.clear();
    for name in ["spark-101", "spark-102"] {
        state
            .objects
            .insert(format!("/api/v1/nodes/{name}"), node(name));
    }
    let (environment, cluster) = world(state);
    let init = environment
        .codex_ds(["deploy", "init", "--force", "--shape", "lws"])
        .run();
    assert_eq!(init.code, Some(0), "{init:?}");
    let site = fs_err::read_to_string(environment.work().join("site.toml")).unwrap();
    environment.write(
        "work/site.toml",
        &site.replace("CHANGE-ME", "0123456789abcdef"),
    );
    let applied = environment
        .codex_ds(["deploy", "apply", "--yes", "--wait"])
        .run();
    assert_eq!(applied.code, Some(0), "{applied:?}");

    cluster.state().changes.clear();
    cluster.state().token = None;
    let healed = environment.codex_ds(["deploy", "recover", "--yes"]).run();
    assert_eq!(healed.code, Some(0), "{healed:?}");
    assert!(healed.stdout.contains("[wedged]"), "{healed:?}");
    assert_eq!(
        cluster.state().changes,
        ["DELETE /api/v1/namespaces/vllm/pods/dsv4-flash-tp2-0"]
    );
    let state = cluster.state();
    for suffix in ["0", "0-1"] {
        let pod = &state.objects[&format!("{PODS}/dsv4-flash-tp2-{suffix}")];
        assert_eq!(pod["metadata"]["uid"], format!("dsv4-flash-tp2-{suffix}-2"));
    }
}
