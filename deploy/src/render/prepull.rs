//! A DaemonSet that has the serving image on both nodes before a pod needs it.

use serde_json::json;

use super::{labels, metadata, node_affinity, selector};
use crate::k8s::{Container, Manifest, Pairs, PodSpec, PodTemplate, TemplateMetadata, value};
use crate::site::Site;

/// What keeps the pod there when the image is pulled.
const PAUSE: &str = "registry.k8s.io/pause:3.10";

pub(super) fn daemon_set(site: &Site) -> Manifest {
    let role = "prepull";
    let template = PodTemplate {
        metadata: Some(TemplateMetadata {
            labels: labels(site, role),
            annotations: Pairs::new(),
        }),
        spec: PodSpec {
            affinity: Some(node_affinity("In", site)),
            automount_service_account_token: Some(false),
            termination_grace_period_seconds: Some(1),
            init_containers: vec![Container {
                name: "pull",
                image: site.image.to_string(),
                image_pull_policy: site.pull_policy.word(),
                command: vec!["/bin/true".to_owned()],
                ..Container::default()
            }],
            containers: vec![Container {
                name: "pause",
                image: PAUSE.to_owned(),
                ..Container::default()
            }],
            ..PodSpec::default()
        },
    };
    Manifest {
        file: "11-prepull.yaml".to_owned(),
        object: json!({
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": value(&metadata(site, format!("{}-{role}", site.name), role)),
            "spec": {
                "selector": { "matchLabels": selector(site, role) },
                "template": value(&template),
            },
        }),
        comments: vec![(
            "/spec/template/spec/initContainers",
            "The image is large, and the pair comes up only when both nodes have it.".to_owned(),
        )],
    }
}
