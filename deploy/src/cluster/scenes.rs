//! Each failure by its sign.

use serde_json::json;

use super::stand_in::{Pod, State};
use super::tests::{codes, healthy, node, seen};

/// Changes what a rank's pod sees of its node.
fn change(state: &mut State, rank: usize, from: &str, to: &str) {
    assert!(state.reports[rank].contains(from), "no {from}");
    state.reports[rank] = state.reports[rank].replace(from, to);
}

/// A warning of the cluster about one of the stack's objects.
fn event(object: &str, reason: &str, message: &str) -> serde_json::Value {
    json!({
        "involvedObject": { "name": object }, "type": "Warning", "reason": reason, "message": message,
        "lastTimestamp": "2026-11-30T10:00:00Z",
    })
}

/// The failure that is shown, and the one change of a stack that serves that shows it.
type Scene = (&'static str, fn(&mut State));

const SCENES: &[Scene] = &[
    ("memory-pressure", |s| {
        change(s, 0, "pressure=0.00", "pressure=23.10");
        change(s, 0, "MemAvailable=15728640", "MemAvailable=2097152");
    }),
    ("swapped", |s| {
        change(s, 1, "SwapFree=8388608", "SwapFree=1");
    }),
    ("desktop", |s| change(s, 0, "desktop=no", "desktop=yes")),
    ("earlyoom", |s| change(s, 1, "earlyoom=no", "earlyoom=yes")),
    ("cable", |s| change(s, 1, "\nmtu=9000", "\nmtu=1500")),
    ("cable", |s| change(s, 0, "speed=200000", "speed=100000")),
    ("cable", |s| {
        change(
            s,
            0,
            "rocep1s0f1.mtu",
            "rocep1s0f1.active_mtu=1024\nrocep1s0f1.mtu",
        );
    }),
    ("gid", |s| change(s, 0, "c0a8:640a", "c0a8:0001")),
    ("killed", |s| {
        s.pods[0].last_end = Some((143, "Error"));
    }),
    ("evicted", |s| {
        s.pods.push(Pod {
            reason: "Evicted",
            ..Pod::refused("e1")
        });
    }),
    ("mount-failed", |s| {
        s.pods[1].phase = "Pending";
        s.pods[1].waiting = "ContainerCreating";
        s.pods[1].name = "vllm-deepseek-v4-flash-worker-w1".to_owned();
        s.events = vec![event(
            "vllm-deepseek-v4-flash-worker-w1",
            "FailedMount",
            "MountVolume.SetUp failed for volume \"models\" : hostPath type check failed: /mnt/models is not a directory",
        )];
    }),
    ("pod-refused", |s| {
        s.pods.remove(1);
        s.events = vec![event(
            "vllm-deepseek-v4-flash-worker-6f7c",
            "FailedCreate",
            "Error creating: pods \"worker-6f7c-\" is forbidden: violates PodSecurity \"baseline:latest\": privileged",
        )];
    }),
    ("no-tool-choice", |s| {
        s.refuses.push(("create --raw", "Error from server (BadRequest): \"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"));
    }),
    ("variable-unknown", |s| {
        s.logs[0].1 =
            "WARNING Unknown vLLM environment variable detected: VLLM_USE_B12X_WO_PROJECTION\n";
    }),
    ("out-of-memory", |s| {
        s.pods[0].ready = false;
        s.pods[0].last_end = Some((137, "OOMKilled"));
        s.logs[0].1 = "INFO Loading drafter model...\n";
    }),
    ("out-of-memory", |s| {
        s.logs[0].1 = "ERROR ValueError: No available memory for the cache blocks\n";
    }),
    ("out-of-memory", |s| {
        s.logs[1].1 = "NVRM: NV_ERR_NO_MEMORY 0x51\n";
    }),
    (
        "out-of-memory",
        |s| s.logs[0].1 = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate\n",
    ),
    ("nccl-sockets", |s| {
        s.logs[1].1 = "spark:1 NCCL INFO NET/Socket : Using [0]enP7s7\n";
    }),
    (
        "nccl-fails",
        |s| s.logs[1].1 = "NCCL WARN Call to ibv_modify_qp failed with 22 Invalid argument\n",
    ),
    ("nccl-fails", |s| {
        s.logs[0].1 = "RuntimeError: NCCL error in: x.cpp:1, unhandled system error\n";
    }),
    ("nccl-fails", |s| {
        s.logs[0].1 =
            "NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory\n";
    }),
    ("wrong-flags", |s| {
        s.logs[0].1 = "ImportError: cannot import b12x_mhc_pre\n";
    }),
    ("wrong-flags", |s| {
        s.logs[1].1 =
            "vllm serve: error: argument --attention-backend: invalid choice: 'B12X_ATTN'\n";
    }),
    ("wrong-flags", |s| {
        s.logs[0].1 = "vllm: error: unrecognized arguments: --moe-backend\n";
    }),
    ("jit-stall", |s| {
        s.logs[0].1 = "WARNING JIT compiling kernel sparse_mla\n";
    }),
    ("image-pull", |s| {
        s.pods[1].phase = "Pending";
        s.pods[1].waiting = "ImagePullBackOff";
    }),
    ("not-placed", |s| {
        s.pods[1].phase = "Pending";
        s.pods[1].unscheduled = "0/4 nodes are available: 1 Insufficient nvidia.com/gpu.";
    }),
    ("crash-loop", |s| {
        s.pods[0].ready = false;
        s.pods[0].waiting = "CrashLoopBackOff";
    }),
    ("canary-failed", |s| {
        s.engine.canary = r#"{"error":{"message":"The model does not exist"}}"#;
    }),
    ("canary-failed", |s| {
        s.refuses.push(("create --raw", "error: EOF"));
    }),
    ("node-missing", |s| {
        s.nodes.pop();
    }),
    ("nodes-differ", |s| {
        s.nodes[1] = node("nvidia-spark-2", "6.17.0-1026-nvidia", "580.182.01");
    }),
    ("nodes-differ", |s| change(s, 1, "28.45.4028", "28.40.1000")),
    ("known-bad-version", |s| {
        s.nodes = ["nvidia-spark-1", "nvidia-spark-2"]
            .iter()
            .map(|n| node(n, "6.17.0-1026-nvidia", "580.159.03"))
            .collect();
    }),
    ("known-bad-version", |s| {
        s.nodes = ["nvidia-spark-1", "nvidia-spark-2"]
            .iter()
            .map(|n| node(n, "7.0.0-1019-nvidia", "580.173.02"))
            .collect();
    }),
    ("not-deployed", |s| {
        s.refuses
            .push(("get deployments", "Error from server (NotFound)"));
        s.pods.clear();
        s.logs.clear();
    }),
    ("interrupted", |s| {
        s.head_replicas = 0;
        s.pods.remove(0);
    }),
    ("no-worker", |s| {
        s.pods[0].ready = false;
        s.pods[1].phase = "Pending";
        s.logs[0].1 = "ERROR Engine core initialization failed\n";
    }),
];

/// Each other failure, by the one change of a stack that serves that shows it.
#[test]
fn each_failure_is_known_by_its_sign() {
    let mut said = String::new();
    for (code, change) in SCENES {
        let mut state = healthy();
        change(&mut state);
        let (_, _, diagnoses) = seen(state);
        assert!(
            codes(&diagnoses).contains(code),
            "{code}: {:?}",
            codes(&diagnoses)
        );
        for diagnosis in &diagnoses {
            said += &[
                *code,
                ": [",
                diagnosis.code,
                "] ",
                &diagnosis.evidence.join(" | "),
                "\n",
            ]
            .concat();
        }
    }
    insta::assert_snapshot!(said);
}
