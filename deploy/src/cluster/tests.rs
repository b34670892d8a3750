use std::time::Duration;

use serde_json::json;

use super::diagnose::{Diagnosis, Recovery, diagnose};
use super::recover::{RecoverError, Step, execute, plan};
use super::stand_in::{Engine, Pod, StandIn, State};
use super::*;
use crate::kubectl::KubectlError;
use crate::site::{Shape, Site, example};

fn site(shape: Shape) -> Site {
    example::site(shape, &[])
}

const GOOD_METRICS: &str = "vllm:num_requests_running{engine=\"0\"} 1.0\n\
    vllm:kv_cache_usage_perc{engine=\"0\"} 0.1\nvllm:generation_tokens_total{engine=\"0\"} 10.0\n\
    vllm:cache_config_info{num_gpu_blocks=\"17293\"} 1.0\n";

/// What a pod sees of a good node, for each node of both shapes.
const GOOD_REPORT: &str = "kernel=6.17.0-1026-nvidia\nmtu=9000\nspeed=200000\nstate=up\n\
    rocep1s0f1.firmware=28.45.4028\nrocep1s0f1.link=4: ACTIVE\nrocep1s0f1.mtu=9000\n\
    roceP2p1s0f1.link=4: ACTIVE\nroceP2p1s0f1.mtu=9000\n\
    gid=rocep1s0f1 3 RoCE v2 0000:0000:0000:0000:0000:ffff:c0a8:640a\n\
    gid=rocep1s0f1 4 RoCE v2 0000:0000:0000:0000:0000:ffff:c0a8:640b\n\
    gid=rocep1s0f1 5 RoCE v2 0000:0000:0000:0000:0000:ffff:0a0a:0a01\n\
    gid=rocep1s0f1 6 RoCE v2 0000:0000:0000:0000:0000:ffff:0a0a:0a02\n\
    gid=roceP2p1s0f1 3 RoCE v2 0000:0000:0000:0000:0000:ffff:0a0a:1401\n\
    MemTotal=125514547\nMemAvailable=15728640\nSwapTotal=8388608\nSwapFree=8388608\npressure=0.00\n\
    driver=580.173.02\ndesktop=no\nearlyoom=no\nend=1\n";

const CAME: &str = r#"{"choices":[{"text":"2"}]}"#;

/// A stack that serves.
pub(super) fn healthy() -> State {
    State {
        pods: vec![Pod::running("head", "h1"), Pod::running("worker", "w1")],
        head_replicas: 1,
        reports: [GOOD_REPORT, GOOD_REPORT].map(str::to_owned),
        engine: Engine {
            metrics: vec![GOOD_METRICS],
            canary: CAME,
        },
        logs: vec![
            ("head", "INFO Application startup complete.\n"),
            ("worker", "INFO ready\n"),
        ],
        nodes: ["nvidia-spark-1", "nvidia-spark-2"]
            .iter()
            .map(|name| node(name, "6.17.0-1026-nvidia", "580.173.02"))
            .collect(),
        ..State::default()
    }
}

pub(super) fn node(name: &str, kernel: &str, driver: &str) -> serde_json::Value {
    json!({
        "metadata": { "name": name, "labels": { "nvidia.com/cuda.driver-version.full": driver } },
        "status": {
            "conditions": [{ "type": "Ready", "status": "True" }, { "type": "MemoryPressure", "status": "False" }],
            "nodeInfo": { "kernelVersion": kernel },
            "allocatable": { "nvidia.com/gpu": "1" },
        },
    })
}

pub(super) fn seen(state: State) -> (StandIn, Facts, Vec<Diagnosis>) {
    let shape = if state.is_lws {
        Shape::Lws
    } else {
        Shape::Deployments
    };
    let cluster = StandIn::new(state);
    let site = site(shape);
    let facts = collect::facts(&cluster, &site, Some(collect::CANARY)).unwrap();
    let diagnoses = diagnose(&site, &facts);
    (cluster, facts, diagnoses)
}

pub(super) fn codes(diagnoses: &[Diagnosis]) -> Vec<&'static str> {
    diagnoses.iter().map(|diagnosis| diagnosis.code).collect()
}

/// Heals without waiting; gives the changes that were made.
fn heal(cluster: &StandIn, site: &Site, steps: &[Step]) -> Result<Vec<String>, RecoverError> {
    for step in steps {
        execute(cluster, site, step, &mut |_: Duration| ())?;
    }
    Ok(cluster.changes())
}

#[test]
fn a_stack_that_serves_has_no_failure() {
    let (_, facts, diagnoses) = seen(healthy());
    assert_eq!(codes(&diagnoses), [""; 0]);
    assert_eq!(facts.canary, Canary::Came);
    assert_eq!(facts.metrics.as_ref().unwrap().blocks, Some(17293.0));
    let memory = Memory::of(facts.reports[0].as_ref().unwrap()).unwrap();
    assert!((memory.total_gib - 119.7).abs() < 0.01 && (memory.available_gib - 15.0).abs() < 0.01);
    assert_eq!(phase::of_log(&facts.head_log), Some("serving"));
    assert_eq!(plan(&site(Shape::Deployments), &facts, &diagnoses), []);
}

#[test]
fn the_nodes_with_a_gpu_are_known_with_their_memory() {
    let mut state = healthy();
    state.nodes[0]["status"]["capacity"] = json!({ "memory": "125514547Ki" });
    state.nodes[0]["status"]["addresses"] = json!([{ "type": "Hostname", "address": "x" }, { "type": "InternalIP", "address": "192.168.1.5" }]);
    state.nodes[1]["status"]["allocatable"] = json!({ "cpu": "4" });
    let nodes = collect::gpu_nodes(&StandIn::new(state)).unwrap();
    assert_eq!(nodes.len(), 1);
    assert_eq!(
        (nodes[0].name.as_str(), nodes[0].address.as_str()),
        ("nvidia-spark-1", "192.168.1.5")
    );
    assert!((nodes[0].memory_gib.unwrap() - 119.7).abs() < 0.01);
}

const STORE_BROKEN: &str = "[rank1]: [c10d] recvValue failed on SocketImpl(fd=85): Failed to recv\n\
    [W1130 TCPStore.cpp:125] [c10d] sendBytes failed: Broken pipe\n";

/// The published scene: 676 restarts of the head beside a worker with none.
fn dead_group() -> State {
    let mut state = healthy();
    state.pods[0].ready = false;
    state.pods[0].restarts = 676;
    state.logs = vec![
        ("head", "INFO Initializing a V1 LLM engine\n"),
        (
            "previous",
            "ERROR Engine core initialization failed. See root cause above.\n",
        ),
        ("worker", STORE_BROKEN),
    ];
    state
}

#[test]
fn a_dead_group_is_recognised_and_healed_in_order() {
    let (cluster, facts, diagnoses) = seen(dead_group());
    assert_eq!(codes(&diagnoses), ["dead-group"]);
    assert_eq!(diagnoses[0].recovery, Recovery::Group);
    insta::assert_json_snapshot!(diagnoses[0].evidence);
    let site = site(Shape::Deployments);
    let steps = plan(&site, &facts, &diagnoses);
    let said: Vec<String> = steps.iter().map(Step::says).collect();
    insta::assert_json_snapshot!("the_plan_for_deployments", said);
    insta::assert_json_snapshot!(
        "the_changes_for_deployments",
        heal(&cluster, &site, &steps).unwrap()
    );
    let state = cluster.0.lock().unwrap();
    let uids: Vec<&str> = state.pods.iter().map(|pod| pod.uid.as_str()).collect();
    assert!(!uids.contains(&"h1") && !uids.contains(&"w1"), "{uids:?}");
    assert_eq!(state.head_replicas, 1);
}

#[test]
fn a_recovery_that_was_interrupted_can_be_run_again() {
    let site = site(Shape::Deployments);
    for done in 0..6 {
        let (cluster, facts, diagnoses) = seen(dead_group());
        let steps = plan(&site, &facts, &diagnoses);
        heal(&cluster, &site, &steps[..done]).unwrap();
        // Whoever runs it again sees only the cluster.
        let facts = collect::facts(&cluster, &site, Some(collect::CANARY)).unwrap();
        let again = plan(&site, &facts, &diagnose(&site, &facts));
        heal(&cluster, &site, &again).unwrap();
        let state = cluster.0.lock().unwrap();
        assert_eq!(state.head_replicas, 1, "after {done} steps");
        for role in ["head", "worker"] {
            let pods: Vec<&Pod> = state
                .pods
                .iter()
                .filter(|pod| pod.role == role && !pod.deleting)
                .collect();
            assert_eq!(pods.len(), 1, "after {done} steps: {pods:?}");
            assert!(
                pods[0].uid.starts_with("new"),
                "after {done} steps: {pods:?}"
            );
        }
    }
}

#[test]
fn a_group_is_made_anew_also_when_its_worker_is_forgotten() {
    for forgets_worker in [false, true] {
        let mut state = dead_group();
        state.is_lws = true;
        state.forgets_worker = forgets_worker;
        state.nodes.clear();
        let (cluster, facts, diagnoses) = seen(state);
        assert_eq!(codes(&diagnoses), ["dead-group"]);
        let site = site(Shape::Lws);
        let changes = heal(&cluster, &site, &plan(&site, &facts, &diagnoses)).unwrap();
        assert_eq!(
            changes.len(),
            if forgets_worker { 2 } else { 1 },
            "{changes:?}"
        );
        let state = cluster.0.lock().unwrap();
        assert!(
            state
                .pods
                .iter()
                .all(|pod| pod.deleting || pod.uid.starts_with("new")),
            "{:?}",
            state.pods
        );
    }
}

#[test]
fn silence_is_a_wedge_only_when_nothing_moves() {
    let mut state = healthy();
    state.engine.canary = "";
    let (_, _, diagnoses) = seen(state);
    assert_eq!(codes(&diagnoses), ["wedged"]);
    assert_eq!(diagnoses[0].recovery, Recovery::Group);

    let mut state = healthy();
    state.engine = Engine {
        canary: "",
        metrics: vec![
            "vllm:kv_cache_usage_perc 0.99\nvllm:num_requests_running 8\nvllm:num_requests_waiting 5\nvllm:generation_tokens_total 100\n",
            "vllm:kv_cache_usage_perc 0.99\nvllm:generation_tokens_total 4000\n",
        ],
    };
    let (_, facts, diagnoses) = seen(state);
    assert_eq!(codes(&diagnoses), ["saturated"]);
    assert_eq!(plan(&site(Shape::Deployments), &facts, &diagnoses), []);

    // One long prompt generates nothing, and is worked on.
    let mut state = healthy();
    state.engine = Engine {
        canary: "",
        metrics: vec![
            "vllm:num_requests_running 1\nvllm:iteration_tokens_total_sum 8192\n",
            "vllm:iteration_tokens_total_sum 180224\n",
        ],
    };
    assert_eq!(codes(&seen(state).2), ["saturated"]);
}

#[test]
fn a_storm_of_refused_pods_is_cleaned_and_nothing_else() {
    let mut state = healthy();
    state
        .pods
        .extend((0..500).map(|index| Pod::refused(&format!("f{index}"))));
    let (cluster, facts, diagnoses) = seen(state);
    assert_eq!(codes(&diagnoses), ["admission"]);
    assert_eq!(
        diagnoses[0].evidence,
        ["500 pods failed with UnexpectedAdmissionError"]
    );
    let site = site(Shape::Deployments);
    let steps = plan(&site, &facts, &diagnoses);
    assert_eq!(steps, [Step::CleanFailed]);
    heal(&cluster, &site, &steps).unwrap();
    let uids: Vec<String> = cluster
        .0
        .lock()
        .unwrap()
        .pods
        .iter()
        .map(|pod| pod.uid.clone())
        .collect();
    assert_eq!(uids, ["h1", "w1"]);
}

#[test]
fn every_failure_of_the_table_has_a_scene() {
    let scenes = [include_str!("tests.rs"), include_str!("scenes.rs")].concat();
    for failure in diagnose::failures() {
        assert!(
            scenes.contains(&format!("\"{}\"", failure.code)),
            "{} has no scene",
            failure.code
        );
    }
}

#[test]
fn what_the_cluster_forbids_is_said_with_a_way_out() {
    let site = site(Shape::Deployments);
    let mut state = dead_group();
    state.refuses.push((
        "scale",
        "Error from server (Forbidden): deployments.apps is forbidden",
    ));
    let cluster = StandIn::new(state);
    let error = heal(&cluster, &site, &[Step::ScaleHead(0)]).unwrap_err();
    let RecoverError::Kubectl(error) = error else {
        panic!("{error}")
    };
    assert!(error.to_string().contains("scale deployment"), "{error}");
    assert!(error.hint().contains("may not do that"), "{}", error.hint());

    let mut state = healthy();
    state.refuses.push((
        "get pods",
        "The connection to the server 127.0.0.1:6443 was refused",
    ));
    let error = collect::facts(&StandIn::new(state), &site, Some(collect::CANARY)).unwrap_err();
    assert!(matches!(error, KubectlError::Failed { .. }));
}

#[test]
fn a_wait_ends_and_says_what_it_saw() {
    let site = site(Shape::Deployments);
    let mut state = healthy();
    state.pods[1].phase = "Pending";
    state.pods[1].waiting = "ContainerCreating";
    let cluster = StandIn::new(state);
    let mut pauses = 0;
    let step = Step::AwaitNew(Role::Worker, vec![]);
    let error = execute(&cluster, &site, &step, &mut |_| pauses += 1).unwrap_err();
    assert_eq!(pauses, 300);
    assert_eq!(
        error.to_string(),
        "wait until a new worker runs: not after 600 s; head-h1 is Running, worker-w1 is Pending ContainerCreating"
    );
}

#[test]
fn an_image_on_its_way_is_no_failure() {
    let mut state = healthy();
    for pod in &mut state.pods {
        pod.phase = "Pending";
        pod.ready = false;
        pod.waiting = "ContainerCreating";
    }
    state.logs.clear();
    let (_, facts, diagnoses) = seen(state);
    assert_eq!(codes(&diagnoses), [""; 0]);
    assert_eq!(facts.canary, Canary::Untried);
    assert_eq!(phase::of_log(&facts.head_log), None);
}

proptest::proptest! {
    #[test]
    fn nothing_that_a_cluster_says_is_too_odd(text in "\\PC{0,120}", number in ".{0,20}") {
        let _ = collect::read_metrics(&text);
        let _ = collect::read_metrics(&format!("vllm:num_requests_running{{a=\"{text}\"}} {number}\n"));
        let report = crate::nodes::Report::read(&format!("{text}\ngid={number}\nmtu={number}\nMemTotal={number}\nend=1"));
        let site = site(Shape::Deployments);
        let facts = Facts { reports: [report.clone(), report], ..Facts::default() };
        let _ = diagnose(&site, &facts);
        let _ = crate::fit::Calibration::read(&format!("GPU KV cache size: {number}\nAvailable KV cache memory: {text}\n"));
        let mut state = healthy();
        state.refuses.push(("get nodes", "no"));
        let cluster = StandIn::new(state);
        cluster.0.lock().unwrap().nodes = vec![serde_json::Value::from(text)];
        let _ = collect::gpu_nodes(&cluster);
    }
}
