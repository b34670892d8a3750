//! Reads what the cluster says of a pod.

use serde_json::Value;

use super::text;
use crate::cluster::{PodFacts, Role};

pub(super) fn read(pod: &Value) -> PodFacts {
    let (metadata, spec, status) = (&pod["metadata"], &pod["spec"], &pod["status"]);
    let containers: Vec<&Value> = status["containerStatuses"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let waiting = containers
        .iter()
        .chain(
            &status["initContainerStatuses"]
                .as_array()
                .into_iter()
                .flatten()
                .collect::<Vec<_>>(),
        )
        .find_map(|container| container["state"]["waiting"]["reason"].as_str())
        .unwrap_or_default()
        .to_owned();
    let ended = containers.iter().find_map(|container| {
        let end = [
            &container["state"]["terminated"],
            &container["lastState"]["terminated"],
        ]
        .into_iter()
        .find(|end| end.is_object())?;
        Some((
            end["exitCode"].as_i64().unwrap_or_default(),
            text(&end["reason"]),
        ))
    });
    let unscheduled = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False")
        .map(|condition| text(&condition["message"]))
        .unwrap_or_default();
    PodFacts {
        name: text(&metadata["name"]),
        uid: text(&metadata["uid"]),
        role: role(&metadata["labels"]),
        node: text(&spec["nodeName"]),
        phase: text(&status["phase"]),
        reason: text(&status["reason"]),
        message: text(&status["message"]),
        ready: !containers.is_empty() && containers.iter().all(|c| c["ready"] == true),
        restarts: containers
            .iter()
            .filter_map(|container| container["restartCount"].as_u64())
            .sum(),
        created: text(&metadata["creationTimestamp"]),
        image: text(&spec["containers"][0]["image"]),
        waiting,
        unscheduled,
        last_end: ended,
        deleting: metadata["deletionTimestamp"].is_string(),
        progress: String::new(),
    }
}

fn role(labels: &Value) -> Role {
    match labels["role"].as_str().unwrap_or_default() {
        "head" => Role::Head,
        "worker" => Role::Worker,
        "router" => Role::Router,
        "prepull" => Role::Prepull,
        "staging" => Role::Staging,
        _ => Role::Other,
    }
}
