//! One Job for each node that brings the model's files to its disk.
//!
//! `hf download` of the serving image goes on where it was interrupted and checks sizes; afterwards
//! every file that the repository keeps in large-file storage is hashed and compared with the hash
//! that the repository names. Both nodes end with the same files at the same path.

use serde_json::json;

use super::metadata;
use crate::engine::Rank;
use crate::k8s::{
    Container, Manifest, PodSpec, PodTemplate, TemplateMetadata, Volume, VolumeMount, pairs, value,
};
use crate::site::Site;

const SCRIPT: &str = include_str!("staging.py");

/// The namespace and the Jobs, the head's first; nothing without `model.revision`, since a branch moves between two nodes.
#[must_use]
pub fn jobs(site: &Site) -> Vec<Manifest> {
    site.model
        .revision
        .as_ref()
        .map_or_else(Vec::new, |revision| {
            vec![
                super::namespace(site),
                job(site, Rank::Head, revision),
                job(site, Rank::Worker, revision),
            ]
        })
}

fn job(site: &Site, rank: Rank, revision: &str) -> Manifest {
    let role = "staging";
    let container = Container {
        name: "download",
        image: site.image.to_string(),
        image_pull_policy: site.pull_policy.word(),
        command: vec!["python3".to_owned(), "-c".to_owned(), SCRIPT.to_owned()],
        args: vec![
            site.recipe.repository.clone(),
            revision.to_owned(),
            site.model.path.to_string(),
        ],
        env: vec![json!({ "name": "HF_TOKEN", "valueFrom": { "secretKeyRef": {
            "name": "hf-token", "key": "HF_TOKEN", "optional": true
        } } })],
        volume_mounts: vec![VolumeMount {
            name: "models",
            mount_path: site.storage.models_mount.to_string(),
            ..VolumeMount::default()
        }],
        ..Container::default()
    };
    let template = PodTemplate {
        metadata: Some(TemplateMetadata {
            labels: super::labels(site, role),
            ..TemplateMetadata::default()
        }),
        spec: PodSpec {
            restart_policy: "OnFailure",
            node_selector: pairs([("kubernetes.io/hostname", rank.node(site).host.as_str())]),
            automount_service_account_token: Some(false),
            containers: vec![container],
            volumes: vec![Volume {
                name: "models",
                host_path: Some(json!({
                    "path": site.storage.models_host_path.as_str(),
                    "type": "DirectoryOrCreate",
                })),
                ..Volume::default()
            }],
            ..PodSpec::default()
        },
    };
    Manifest {
        file: format!("05-staging-{}.yaml", rank.word()),
        object: json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": value(&metadata(site, format!("{}-{role}-{}", site.name, rank.word()), role)),
            "spec": { "backoffLimit": 20, "template": value(&template) },
        }),
        comments: vec![(
            "/spec/backoffLimit",
            "A download of 155 GiB may break; each new pod goes on where the last one stopped."
                .to_owned(),
        )],
    }
}
