//! For each rule a change that it finds.

use crate::site::Shape;

/// Each rule about manifests: a change of a stack without faults of its own, or of a published one,
/// that it finds.
pub(super) const FOUND: &[(&str, &str, &str, &str)] = &[
    ("rke2", "image-moves", "nightly-20260928", "latest"),
    ("rke2", "no-node", "nodeName: nvidia-spark-1\n      ", ""),
    (
        "rke2",
        "no-gpu",
        "limits: { nvidia.com/gpu: 1 }",
        "limits: { memory: 1Gi }",
    ),
    (
        "rke2",
        "rolling-update",
        "strategy: { type: Recreate }",
        "strategy: { type: RollingUpdate }",
    ),
    (
        "rke2",
        "startup-too-short",
        "readinessProbe:",
        "livenessProbe: { periodSeconds: 5 }\n          readinessProbe:",
    ),
    (
        "rke2",
        "liveness-on-health",
        "readinessProbe:",
        "livenessProbe: { periodSeconds: 500 }\n          readinessProbe:",
    ),
    (
        "rke2",
        "rdma-rights",
        "capabilities: { add: [\"IPC_LOCK\"] }",
        "",
    ),
    (
        "rke2",
        "rdma-rights",
        "privileged: true",
        "privileged: false",
    ),
    (
        "rke2",
        "no-infiniband",
        "- { name: infiniband, mountPath: /dev/infiniband }",
        "",
    ),
    (
        "rke2",
        "small-shm",
        "emptyDir: { medium: Memory, sizeLimit: 16Gi }",
        "emptyDir: {}",
    ),
    (
        "rke2",
        "cache-lost",
        "- { name: vllm-cache, mountPath: /root/.cache/vllm }",
        "",
    ),
    (
        "rke2",
        "model-folder-made",
        "path: /mnt/models, type: Directory }",
        "path: /mnt/models, type: DirectoryOrCreate }",
    ),
    (
        "rke2",
        "secret-in-text",
        "{ name: HF_HUB_OFFLINE, value: \"1\" }",
        "{ name: HF_TOKEN, value: \"hf_x\" }",
    ),
    (
        "rke2",
        "local-model-online",
        "{ name: HF_HUB_OFFLINE, value: \"1\" }",
        "{ name: OTHER, value: \"1\" }",
    ),
    (
        "rke2",
        "ranks-differ",
        "--max-num-seqs 8",
        "--max-num-seqs 12",
    ),
    (
        "rke2",
        "ranks-differ",
        "nightly-20260928",
        "nightly-20260929",
    ),
    ("rke2", "no-headless", " --headless", ""),
    (
        "rke2",
        "ray",
        "--distributed-executor-backend mp",
        "--distributed-executor-backend ray",
    ),
    (
        "rke2",
        "loader-twice",
        "--load-format b12x",
        "--load-format runai_streamer",
    ),
    (
        "rke2",
        "loader-twice",
        "export NCCL_IB_DISABLE=0",
        "export FASTSAFETENSORS_UNIFIED_MEM=1",
    ),
    (
        "rke2",
        "flag-refused",
        "--trust-remote-code",
        "--enable-expert-parallel",
    ),
    (
        "rke2",
        "kv-dtype",
        "--kv-cache-dtype fp8",
        "--kv-cache-dtype nvfp4_ds_mla",
    ),
    (
        "rke2",
        "tokenizer-mode",
        "--tokenizer-mode deepseek_v4",
        "--tokenizer-mode auto",
    ),
    ("rke2", "no-tool-calls", "--enable-auto-tool-choice", ""),
    (
        "rke2",
        "no-reasoning-parser",
        "--reasoning-parser deepseek_v4",
        "",
    ),
    (
        "rke2",
        "utilization",
        "--gpu-memory-utilization 0.85",
        "--gpu-memory-utilization 0.9",
    ),
    (
        "rke2",
        "graphs-too-small",
        "--max-cudagraph-capture-size 48",
        "--max-cudagraph-capture-size 36",
    ),
    (
        "rke2",
        "few-speculative-tokens",
        "\"num_speculative_tokens\":5",
        "\"num_speculative_tokens\":3",
    ),
    (
        "rke2",
        "batch-below-requests",
        "--max-num-batched-tokens 8192",
        "--max-num-batched-tokens 4",
    ),
    (
        "rke2",
        "no-host-network",
        "hostNetwork: true",
        "hostNetwork: false",
    ),
    (
        "rke2",
        "dns-policy",
        "dnsPolicy: ClusterFirstWithHostNet",
        "dnsPolicy: ClusterFirst",
    ),
    ("rke2", "rdma-off", "NCCL_IB_DISABLE=0", "NCCL_IB_DISABLE=1"),
    ("rke2", "no-hca", "NCCL_IB_HCA=rocep1s0f1:1", "X=1"),
    (
        "rke2",
        "interfaces-differ",
        "GLOO_SOCKET_IFNAME=enp1s0f1np1",
        "GLOO_SOCKET_IFNAME=eth0",
    ),
    (
        "rke2",
        "interfaces-differ",
        "TP_SOCKET_IFNAME=enp1s0f1np1",
        "",
    ),
    (
        "rke2",
        "devices-apart",
        "NCCL_IB_HCA=rocep1s0f1:1",
        "NCCL_IB_HCA=rocep1s0f1,roceP2p1s0f1",
    ),
    (
        "rke2",
        "ports-clash",
        "--master-port 29501",
        "--master-port 8000",
    ),
    ("rke2", "field", "hostNetwork: true", "hostNetwrok: true"),
    (
        "rke2",
        "field",
        "failureThreshold: 280",
        "failureThreshold: \"280\"",
    ),
    (
        "rke2",
        "field",
        "apiVersion: apps/v1",
        "apiVersion: extensions/v1beta1",
    ),
    (
        "rke2",
        "selects-worker",
        "  selector: { app: vllm-deepseek-v4-flash, role: head }",
        "  selector: { app: vllm-deepseek-v4-flash }",
    ),
    ("rke2", "node-port", "nodePort: 30800", "nodePort: 8000"),
    (
        "rke2",
        "selector-differs",
        "matchLabels: { app: vllm-deepseek-v4-flash, role: head }",
        "matchLabels: { app: vllm, role: head }",
    ),
    ("eks", "field", "RecreateGroupOnPodRestart", "Always"),
    ("eks", "field", "size: 2", "sise: 2"),
    ("eks", "kind-unknown", "kind: Service", "kind: Ingress"),
    (
        "eks",
        "lws-startup",
        "  replicas: 1",
        "  replicas: 1\n  startupPolicy: LeaderReady",
    ),
    ("eks", "lws-size", "size: 2", "size: 3"),
    (
        "eks",
        "variable-refused",
        "{ name: VLLM_USE_B12X_MOE, value: \"1\" }",
        "{ name: VLLM_USE_B12X_MHC, value: \"1\" }",
    ),
    (
        "router",
        "router-beside-model",
        "nodeSelector: { kubernetes.io/hostname: other }",
        "nodeSelector: { kubernetes.io/hostname: spark-101 }",
    ),
    (
        "router",
        "router-beside-model",
        "nodeSelector: { kubernetes.io/hostname: other }",
        "hostPID: false",
    ),
    (
        "router",
        "router-without-key",
        "LITELLM_MASTER_KEY",
        "OTHER_NAME",
    ),
    (
        "router",
        "image-moves",
        "litellm:v1.108.7",
        "litellm:main-stable",
    ),
    (
        "router",
        "pod-security",
        "labels: { pod-security.kubernetes.io/enforce: privileged }",
        "labels: { a: b }",
    ),
];

pub(super) const ROUTER: &str = "---
apiVersion: v1
kind: Namespace
metadata:
  name: vllm
  labels: { pod-security.kubernetes.io/enforce: privileged }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: router }
spec:
  selector: { matchLabels: { app: router } }
  template:
    metadata: { labels: { app: router } }
    spec:
      nodeSelector: { kubernetes.io/hostname: other }
      containers:
        - name: litellm
          image: ghcr.io/berriai/litellm:v1.108.7
          env:
            - name: LITELLM_MASTER_KEY
              valueFrom: { secretKeyRef: { name: k, key: k } }
";

/// The same for the rules about a site.
pub(super) const SITE_FOUND: &[(&str, Shape, &str, &str)] = &[
    (
        "does-not-fit",
        Shape::Deployments,
        "gpu_memory_utilization = 0.85",
        "gpu_memory_utilization = 0.7",
    ),
    (
        "may-not-fit",
        Shape::Deployments,
        "gpu_memory_utilization = 0.85",
        "gpu_memory_utilization = 0.8",
    ),
    (
        "utilization",
        Shape::Lws,
        "gpu_memory_utilization = 0.85",
        "gpu_memory_utilization = 0.87",
    ),
    (
        "memory-differs",
        Shape::Lws,
        "mem_gib = 119.7",
        "mem_gib = 121.7",
    ),
    ("fabric-apart", Shape::Lws, "10.10.10.2", "10.10.11.2"),
    (
        "device-elsewhere",
        Shape::Deployments,
        "rocep1s0f1:1",
        "rocep1s0f0:1",
    ),
    (
        "devices-apart",
        Shape::Lws,
        "merge_nics = true",
        "merge_nics = false",
    ),
    (
        "gid-pinned",
        Shape::Deployments,
        "gid_index = \"auto\"",
        "gid_index = 3",
    ),
    ("small-mtu", Shape::Deployments, "mtu = 9000", "mtu = 1500"),
    (
        "port-taken",
        Shape::Deployments,
        "api_port = 8000",
        "api_port = 9100",
    ),
    (
        "port-taken",
        Shape::Deployments,
        "api_port = 8000",
        "api_port = 31000",
    ),
    (
        "graphs-too-small",
        Shape::Deployments,
        "max_num_seqs = 8",
        "max_num_seqs = 100",
    ),
    (
        "few-speculative-tokens",
        Shape::Deployments,
        "max_num_seqs = 8",
        "max_num_seqs = 8\nspeculative_tokens = 3",
    ),
    (
        "pool-not-given",
        Shape::Lws,
        "lb_pool = \"192.168.65.0/28\"",
        "",
    ),
    (
        "other-image",
        Shape::Lws,
        "# ref = \"ghcr.io/anemll/dspark-vllm-gx10:0.1.1\"",
        "ref = \"ghcr.io/anemll/dspark-vllm-gx10:0.1.2\"",
    ),
    (
        "startup-too-short",
        Shape::Lws,
        "[expose]",
        "[probes]\nstartup_minutes = 8\n[expose]",
    ),
    ("placeholder", Shape::Lws, "0123456789abcdef", "CHANGE-ME"),
];
