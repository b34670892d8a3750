//! What the logs show.

use super::{Failure, failure, in_logs};
use crate::cluster::Role;
use crate::nccl_log::{Transport, transport};

pub(super) const FAILURES: &[Failure] = &[
    failure!(
        "out-of-memory",
        Error,
        None,
        "the engine ran out of memory",
        "desktop off, page cache dropped, no Ray, runai or fastsafetensors; then lower serve.gpu_memory_utilization by 0.02; codex-ds deploy fit shows the sums",
        |_, facts| {
            let mut evidence = in_logs(
                facts,
                &[
                    "CUDA out of memory",
                    "NV_ERR_NO_MEMORY",
                    "No available memory for the cache blocks",
                    "OutOfMemoryError",
                ],
            );
            for pod in facts
                .pods
                .iter()
                .filter(|pod| matches!(pod.role, Role::Head | Role::Worker) && !pod.ready)
            {
                if let Some((code, reason)) = &pod.last_end
                    && (*code == 137 || reason == "OOMKilled")
                {
                    evidence.push(format!("{} ended with {code} {reason}", pod.name));
                }
            }
            evidence
        }
    ),
    failure!(
        "nccl-sockets",
        Error,
        None,
        "NCCL talks over TCP sockets instead of RoCE: a tenth of the speed",
        "is /dev/infiniband mounted, IPC_LOCK there, NCCL_IB_HCA the cable's device? codex-ds deploy check finds those",
        |_, facts| {
            let logs = [&facts.head_log, &facts.worker_log];
            if logs
                .iter()
                .all(|log| transport(log) != Some(Transport::Sockets))
            {
                return vec![];
            }
            in_logs(
                facts,
                &[
                    "via NET/Socket",
                    "Using network Socket",
                    "NET/Socket : Using",
                ],
            )
        }
    ),
    failure!(
        "nccl-fails",
        Error,
        None,
        "NCCL fails on the RoCE device: a wrong GID, an MTU that differs, or a kernel that breaks it",
        "gid_index = \"auto\" on both nodes, MTU 9000 at both ends, and no kernel 7.0.0-1019-nvidia",
        |_, facts| in_logs(
            facts,
            &[
                "unhandled system error",
                "ibv_modify_qp",
                "ibv_reg_mr",
                "NCCL error"
            ]
        )
    ),
    failure!(
        "wrong-flags",
        Error,
        None,
        "the image does not know an option or variable",
        "is image.ref the recipe's? codex-ds deploy check knows what each image refuses",
        |_, facts| in_logs(
            facts,
            &[
                "unrecognized arguments",
                "invalid choice",
                "cannot import b12x_mhc_pre",
                "expected one argument"
            ]
        )
    ),
    failure!(
        "jit-stall",
        Warning,
        None,
        "kernels are compiled in the middle of answers, which stop for that long",
        "is the cache folder on a hostPath of its own for this image? the first long answers after a new image are slow once",
        |_, facts| in_logs(facts, &["JIT compil", "jit_monitor", "JIT monitor"])
    ),
    failure!(
        "variable-unknown",
        Warning,
        None,
        "the image does not know a variable, and goes on without it",
        "is image.ref the recipe's? take the variable out with serve.env.NAME = false",
        |_, facts| in_logs(facts, &["Unknown vLLM environment variable"])
    ),
];
