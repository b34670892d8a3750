//! What the pods show.

use super::{Failure, failure, in_logs};
use crate::cluster::{Event, Facts, Role};

pub(super) const FAILURES: &[Failure] = &[
    failure!(
        "admission",
        Warning,
        Clean,
        "pods were refused by the node, since the one before them still had the GPU",
        "codex-ds deploy recover removes them; nodeSelector in place of nodeName ends it",
        |_, facts| {
            let refused = facts
                .pods
                .iter()
                .filter(|pod| pod.phase == "Failed" && pod.reason == "UnexpectedAdmissionError")
                .count();
            if refused == 0 {
                vec![]
            } else {
                vec![format!(
                    "{refused} pods failed with UnexpectedAdmissionError"
                )]
            }
        }
    ),
    failure!(
        "image-pull",
        Error,
        None,
        "the image cannot be pulled",
        "is the name right, and does the node reach the registry? codex-ds deploy check shows the reference",
        |_, facts| facts
            .pods
            .iter()
            .filter(
                |pod| ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"]
                    .contains(&pod.waiting.as_str())
            )
            .map(|pod| format!("{}: {} {}", pod.name, pod.waiting, pod.image))
            .collect()
    ),
    failure!(
        "crash-loop",
        Error,
        None,
        "a pod ends again and again",
        "kubectl logs --previous says why; codex-ds deploy check may too",
        |_, facts| facts
            .pods
            .iter()
            .filter(|pod| pod.waiting == "CrashLoopBackOff")
            .map(|pod| format!(
                "{}: {} restarts, last exit {}",
                pod.name,
                pod.restarts,
                pod.last_end.as_ref().map_or(0, |end| end.0)
            ))
            .collect()
    ),
    failure!(
        "not-placed",
        Error,
        None,
        "a pod finds no node",
        "is the node's name right, is it ready, and is its GPU free?",
        |_, facts| facts
            .pods
            .iter()
            .filter(|pod| pod.phase == "Pending" && !pod.unscheduled.is_empty())
            .map(|pod| format!("{}: {}", pod.name, pod.unscheduled))
            .collect()
    ),
    failure!(
        "no-worker",
        Error,
        None,
        "the head gave up: no worker came to the rendezvous",
        "look at the worker: kubectl describe pod",
        |_, facts| {
            let gave_up = in_logs(
                facts,
                &[
                    "DistStoreError",
                    "Timed out after",
                    "Engine core initialization failed",
                ],
            );
            match facts.pod(Role::Worker) {
                Some(worker) if worker.phase == "Running" => vec![],
                _ => gave_up,
            }
        }
    ),
    failure!(
        "evicted",
        Error,
        Clean,
        "the node threw a pod out, since it ran short of something",
        "move everything else off the node; the evidence says what it ran short of",
        |_, facts| facts
            .pods
            .iter()
            .filter(|pod| pod.phase == "Failed" && pod.reason == "Evicted")
            .map(|pod| format!("{} on {}: {}", pod.name, pod.node, pod.message))
            .collect()
    ),
    failure!(
        "mount-failed",
        Error,
        None,
        "a folder or device of the node is not there, so a pod does not start",
        "is the model at storage.models_host_path on that node, and is /dev/infiniband there? codex-ds deploy nodes looks",
        |_, facts| events(facts, &["FailedMount", "FailedAttachVolume"])
            .filter(|event| facts
                .pods
                .iter()
                .any(|pod| pod.name == event.object && pod.phase == "Pending"))
            .map(told)
            .collect()
    ),
    failure!(
        "pod-refused",
        Error,
        None,
        "the cluster refuses to make a pod",
        "privileged pods need cluster.pod_security_label = true in the site, then codex-ds deploy apply; else the evidence names the policy or quota",
        |_, facts| events(facts, &["FailedCreate"])
            .filter(|event| !facts.pods.iter().any(|pod| {
                let name = &event.object;
                pod.phase != "Failed" && pod.name.starts_with(name.as_str())
            }))
            .map(told)
            .collect()
    ),
    failure!(
        "killed",
        Warning,
        None,
        "a rank was ended from outside, and not by its own memory limit: earlyoom does that, or the kernel",
        "sudo systemctl disable --now earlyoom on both nodes; codex-ds deploy nodes looks; journalctl -k tells of the kernel",
        |_, facts| facts
            .pods
            .iter()
            .filter(|pod| matches!(pod.role, Role::Head | Role::Worker))
            .filter_map(|pod| {
                let (code, reason) = pod.last_end.as_ref()?;
                let signal = match code {
                    137 => "SIGKILL",
                    143 => "SIGTERM",
                    _ => return None,
                };
                (reason != "OOMKilled").then(|| format!("{} ended with {code}, {signal}", pod.name))
            })
            .collect()
    ),
];

fn events<'f>(
    facts: &'f Facts,
    reasons: &'static [&'static str],
) -> impl Iterator<Item = &'f Event> {
    // The newest of each object: the same is noted again and again.
    facts
        .events
        .iter()
        .enumerate()
        .filter_map(move |(index, event)| {
            let newer = &facts.events[index + 1..];
            let is_last = !newer
                .iter()
                .any(|other| other.object == event.object && other.reason == event.reason);
            (reasons.contains(&event.reason.as_str()) && is_last).then_some(event)
        })
}

fn told(event: &Event) -> String {
    let message: String = event.message.chars().take(240).collect();
    format!("{}: {message}", event.object)
}
