//! What goes wrong on the way: slow pulls, events, a server that forbids, is slow or goes away, Jobs.

use serde_json::json;

use crate::cluster::{Cluster, State, pod};
use crate::{PODS, dead_group, empty, world};

/// One of the stack's pods with another status.
fn with_status(name: &str, role: &str, status: &serde_json::Value) -> serde_json::Value {
    let mut pod = pod(name, role, 0, false);
    pod["status"] = status.clone();
    pod
}

fn event(object: &str, kind: &str, reason: &str, message: &str) -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": format!("{object}.1"), "namespace": "vllm" },
        "involvedObject": { "name": object }, "type": kind, "reason": reason, "message": message,
        "lastTimestamp": "2026-11-30T10:00:00Z",
    })
}

/// A stack whose pods both exist, with these statuses and this event about the head.
fn starting(
    head: &serde_json::Value,
    worker: &serde_json::Value,
    event: serde_json::Value,
) -> State {
    let mut state = dead_group();
    state.logs.clear();
    state.objects.retain(|path, _| !path.contains("/pods/"));
    for (role, status) in [("head", head), ("worker", worker)] {
        let name = format!("vllm-deepseek-v4-flash-{role}-1");
        state
            .objects
            .insert(format!("{PODS}/{name}"), with_status(&name, role, status));
    }
    state
        .objects
        .insert("/api/v1/namespaces/vllm/events/e.1".to_owned(), event);
    state
}

fn waiting() -> serde_json::Value {
    json!({ "phase": "Pending", "containerStatuses": [{
        "name": "vllm", "ready": false, "restartCount": 0, "state": { "waiting": { "reason": "ContainerCreating" } },
    }] })
}

fn running() -> serde_json::Value {
    json!({ "phase": "Running", "containerStatuses": [{
        "name": "vllm", "ready": false, "restartCount": 0, "state": { "running": {} },
    }] })
}

const HEAD: &str = "vllm-deepseek-v4-flash-head-1";

#[test]
fn a_slow_pull_and_a_rank_that_comes_first_or_last_are_no_failures() {
    let pulling = || event(HEAD, "Normal", "Pulling", "Pulling image \"vllm:1\"");
    for (head, worker, phase) in [
        (waiting(), waiting(), "engine  pulling the image"),
        (waiting(), running(), "engine  pulling the image"),
        (running(), waiting(), "engine  not known from its log"),
    ] {
        let (environment, cluster) = world(starting(&head, &worker, pulling()));
        let status = environment.codex_ds(["deploy", "status"]).run();
        assert_eq!(status.code, Some(1), "{status:?}");
        assert!(status.stdout.contains("no known failure"), "{status:?}");
        assert!(status.stdout.contains(phase), "{status:?}");
        let healed = environment.codex_ds(["deploy", "recover", "--yes"]).run();
        assert_eq!(healed.code, Some(0), "{healed:?}");
        assert_eq!(cluster.state().changes, [""; 0]);
    }
}

#[test]
fn a_download_tells_how_far_it_is() {
    let mut state = empty();
    for (name, phase) in [("one", "Running"), ("two", "Succeeded")] {
        let download = with_status(name, "staging", &json!({ "phase": phase }));
        state.objects.insert(format!("{PODS}/{name}"), download);
    }
    let log = "fetched 42.1 of 155.4 GiB\n".to_owned();
    state.logs.insert("one".to_owned(), log);
    let (environment, _cluster) = world(state);
    let status = environment.codex_ds(["deploy", "status"]).run();
    let lines: Vec<&str> = status
        .stdout
        .lines()
        .filter(|line| line.starts_with("model"))
        .map(|line| line.rsplit("  ").next().unwrap_or_default().trim())
        .collect();
    assert_eq!(lines, ["fetched 42.1 of 155.4 GiB", "there"], "{status:?}");
}

#[test]
fn what_the_cluster_noted_tells_why_a_pod_does_not_start() {
    let noted = event(
        HEAD,
        "Warning",
        "FailedMount",
        "MountVolume.SetUp failed for volume \"models\" : hostPath type check failed: /mnt/models is not a directory",
    );
    let (environment, _cluster) = world(starting(&waiting(), &running(), noted));
    let status = environment.codex_ds(["deploy", "status"]).run();
    assert_eq!(status.code, Some(1), "{status:?}");
    for part in [
        "error [mount-failed]",
        "/mnt/models is not a directory",
        "engine  waiting for a folder of the node",
    ] {
        assert!(status.stdout.contains(part), "{part}: {status:?}");
    }
}

#[test]
fn a_server_that_goes_away_half_way_leaves_what_can_be_gone_on_with() {
    for after in 1..3 {
        let (environment, cluster) = world(dead_group());
        cluster.state().gone_after = Some(after);
        let healed = environment.codex_ds(["deploy", "recover", "--yes"]).run();
        assert_eq!(healed.code, Some(1), "{healed:?}");
        assert!(
            healed.stderr.contains("the same command goes on from here"),
            "{healed:?}"
        );
        cluster.state().gone_after = None;
        let healed = environment.codex_ds(["deploy", "recover", "--yes"]).run();
        assert_eq!(healed.code, Some(0), "after {after}: {healed:?}");
        let state = cluster.state();
        for name in ["h0", "w0"] {
            assert!(
                !state.objects.contains_key(&format!("{PODS}/{name}")),
                "{name} is still there"
            );
        }
        let head = "/apis/apps/v1/namespaces/vllm/deployments/vllm-deepseek-v4-flash-head";
        assert_eq!(state.objects[head]["spec"]["replicas"], 1);
    }
}

#[test]
fn a_user_who_may_not_look_and_a_slow_server_are_told_apart() {
    let mut state = dead_group();
    state.forbidden = Some("/pods");
    let (environment, cluster) = world(state);
    let status = environment.codex_ds(["deploy", "status"]).run();
    assert_eq!(status.code, Some(1), "{status:?}");
    assert!(
        status
            .stderr
            .contains("the user of this context may not do that"),
        "{status:?}"
    );
    cluster.state().forbidden = None;
    cluster.state().slow = std::time::Duration::from_millis(150);
    let status = environment.codex_ds(["deploy", "status"]).run();
    assert!(status.stdout.contains("[dead-group]"), "{status:?}");
}

#[test]
fn apply_tells_its_plan_and_its_end_in_json() {
    let (environment, _cluster) = world(empty());
    let asked = |args: &[&str], code: i32| -> serde_json::Value {
        let run = environment
            .codex_ds([&["deploy", "apply", "--json"], args].concat())
            .run();
        assert_eq!(run.code, Some(code), "{run:?}");
        serde_json::from_str(&run.stdout).unwrap()
    };
    let plan = asked(&["--dry-run=server"], 2);
    assert_eq!(
        (&plan["schema_version"], &plan["done"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(plan["plan"][0], "apply Namespace vllm");
    let done = asked(&["--yes", "--wait"], 0);
    assert_eq!(
        (&done["context"], &done["done"]),
        (&json!("lab"), &json!(true))
    );
    assert!(done["token_after_seconds"].is_u64(), "{done}");
    assert_eq!(asked(&["--dry-run"], 0)["plan"], json!([]));
}

#[test]
fn all_reduce_is_measured_in_jobs_that_are_gone_afterwards() {
    let log = "spark-1:7:7 [0] NCCL INFO NET/IB : Using [0]rocep1s0f1:1/RoCE [RO]; OOB enp1s0f1np1:192.168.100.10<0>\n\
        spark-1:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n\
        all_reduce={\"bytes\": 268435456, \"seconds\": 0.0138, \"right\": true}\nlink_mbps=200000\nend=1\n";
    let mut state = empty();
    for role in ["head", "worker"] {
        state.jobs.insert(
            format!("vllm-deepseek-v4-flash-nccl-{role}"),
            log.to_owned(),
        );
    }
    let (environment, cluster) = world(state);
    let unasked = environment.codex_ds(["deploy", "nodes", "--nccl"]).run();
    assert_eq!(unasked.code, Some(3), "{unasked:?}");
    assert!(
        unasked.stdout.contains(
            "1. create Job vllm-deepseek-v4-flash-nccl-head on nvidia-spark-1: one GPU, privileged"
        ),
        "{unasked:?}"
    );
    assert_eq!(cluster.state().changes, [""; 0]);

    let good = environment
        .codex_ds(["deploy", "nodes", "--nccl", "--yes"])
        .run();
    assert_eq!(good.code, Some(0), "{good:?}");
    assert!(
        good.stdout
            .contains("19.5 GB/s of the link's 25, over RoCE (rocep1s0f1:1)"),
        "{good:?}"
    );
    let left = |cluster: &Cluster| {
        let state = cluster.state();
        state
            .objects
            .keys()
            .filter(|path| path.contains("nccl"))
            .count()
    };
    assert_eq!(left(&cluster), 0);

    for log in cluster.state().jobs.values_mut() {
        *log = log
            .replace("NET/IB/0", "NET/Socket/0")
            .replace("0.0138", "0.138");
    }
    let slow = environment
        .codex_ds(["deploy", "nodes", "--nccl", "--yes", "--json"])
        .run();
    assert_eq!(slow.code, Some(1), "{slow:?}");
    let report: serde_json::Value = serde_json::from_str(&slow.stdout).unwrap();
    assert_eq!(report["nccl"]["transport"], "sockets");
    assert_eq!(report["findings"][0]["what"], "NCCL's transport");

    for log in cluster.state().jobs.values_mut() {
        log.clear();
    }
    let failed = environment
        .codex_ds(["deploy", "nodes", "--nccl", "--yes"])
        .run();
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(
        failed.stderr.contains("nccl-head-x is Failed"),
        "{failed:?}"
    );
    assert_eq!(left(&cluster), 0);

    cluster
        .state()
        .objects
        .insert(format!("{PODS}/h0"), pod("h0", "head", 0, true));
    let busy = environment
        .codex_ds(["deploy", "nodes", "--nccl", "--yes"])
        .run();
    assert_eq!(busy.code, Some(1), "{busy:?}");
    assert!(busy.stderr.contains("the stack has the GPUs"), "{busy:?}");
}
