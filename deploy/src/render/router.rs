//! The LiteLLM router: its routes, its key by reference, and a node that is not the model's.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{engine_pods, http_probe, labels, metadata, off_the_model_nodes, selector};
use crate::k8s::yaml;
use crate::k8s::{
    Container, Manifest, PodSpec, PodTemplate, Port, ServicePort, TemplateMetadata, Volume,
    VolumeMount, pairs, value,
};
use crate::site::{KEY_ENV, Route, Router, Site};

const ROLE: &str = "router";
const PORT: u16 = 4000;

fn name(site: &Site) -> String {
    format!("{}-{ROLE}", site.name)
}

/// LiteLLM's own configuration.
fn litellm(site: &Site, router: &Router) -> String {
    let served = site.model.served_name.as_str();
    let list: Vec<Value> = router
        .routes
        .iter()
        .map(|route| {
            let mut parameters = json!({
                "model": format!("hosted_vllm/{served}"),
                "api_base": engine_pods::api_base(site),
                "api_key": "none",
            });
            if *route == Route::Bridge {
                parameters["use_chat_completions_api"] = json!(true);
            }
            json!({
                "model_name": route.model(served),
                "litellm_params": parameters,
                "model_info": { "mode": "chat", "max_input_tokens": site.serve.max_model_len },
            })
        })
        .collect();
    let config = json!({
        "model_list": list,
        "litellm_settings": { "telemetry": false },
        "router_settings": { "disable_cooldowns": true, "num_retries": 0 },
        "general_settings": { "master_key": format!("os.environ/{KEY_ENV}") },
    });
    yaml::write(
        &config,
        &[
            (
                "/model_list/0/model_info",
                "Else LiteLLM announces the window of its price list, 1,000,000 tokens, or none."
                    .to_owned(),
            ),
            (
                "/router_settings",
                "There is one engine: a cool-down would hide its answer behind a 429.".to_owned(),
            ),
        ],
    )
}

pub(super) fn config(site: &Site, router: &Router) -> Manifest {
    Manifest {
        file: "10-router-config.yaml".to_owned(),
        object: json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": value(&metadata(site, name(site), ROLE)),
            "data": { "config.yaml": litellm(site, router) },
        }),
        comments: vec![],
    }
}

pub(super) fn service(site: &Site, router: &Router) -> Manifest {
    Manifest {
        file: "40-router-service.yaml".to_owned(),
        object: json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": value(&metadata(site, name(site), ROLE)),
            "spec": {
                "type": "NodePort",
                "selector": selector(site, ROLE),
                "ports": [value(&ServicePort {
                    name: "api",
                    port: Some(PORT),
                    target_port: Some(PORT),
                    node_port: Some(router.node_port),
                    protocol: "TCP",
                })],
            },
        }),
        comments: vec![],
    }
}

/// The command that makes the router's Secret with a key that no file or process list ever shows.
fn secret_command(site: &Site, router: &Router) -> String {
    format!(
        "printf 'sk-%s' \"$(openssl rand -hex 24)\" | kubectl -n {} create secret generic {} \
         --from-file={KEY_ENV}=/dev/stdin",
        site.namespace, router.key_secret
    )
}

pub(super) fn deployment(site: &Site, router: &Router) -> Manifest {
    // Pods do not see a changed ConfigMap until they start anew; the digest makes them.
    let digest = Sha256::digest(litellm(site, router));
    let digest = format!(
        "{:016x}",
        digest
            .iter()
            .take(8)
            .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
    );
    let template = PodTemplate {
        metadata: Some(TemplateMetadata {
            labels: labels(site, ROLE),
            annotations: pairs([("checksum/config", digest.as_str())]),
        }),
        spec: PodSpec {
            node_selector: router
                .node
                .as_ref()
                .map(|node| pairs([("kubernetes.io/hostname", node.as_str())]))
                .unwrap_or_default(),
            affinity: Some(off_the_model_nodes(site)),
            automount_service_account_token: Some(false),
            containers: vec![container(router)],
            volumes: vec![Volume {
                name: "config",
                config_map: Some(json!({ "name": name(site) })),
                ..Volume::default()
            }],
            ..PodSpec::default()
        },
    };
    Manifest {
        file: "41-router.yaml".to_owned(),
        object: json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": value(&metadata(site, name(site), ROLE)),
            "spec": {
                "replicas": 1,
                "selector": { "matchLabels": selector(site, ROLE) },
                "template": value(&template),
            },
        }),
        comments: vec![
            (
                "/spec/template/spec/affinity",
                "A router beside the head pushed that node into swapping, and decode from 36 tokens/s\n\
                 to 4."
                    .to_owned(),
            ),
            (
                "/spec/template/spec/containers/0/env",
                format!("Made by hand, once:\n  {}", secret_command(site, router)),
            ),
        ],
    }
}

fn container(router: &Router) -> Container {
    Container {
        name: "litellm",
        image: router.image.to_string(),
        args: [
            "--config",
            "/app/config.yaml",
            "--port",
            "4000",
            "--num_workers",
            "1",
        ]
        .map(str::to_owned)
        .to_vec(),
        env: vec![
            json!({ "name": KEY_ENV, "valueFrom": { "secretKeyRef": {
                "name": router.key_secret.as_str(), "key": KEY_ENV
            } } }),
            // Without it the start waits for a list of prices from the internet.
            json!({ "name": "LITELLM_LOCAL_MODEL_COST_MAP", "value": "True" }),
        ],
        ports: vec![Port {
            name: "api",
            container_port: Some(PORT),
            protocol: "TCP",
            ..Port::default()
        }],
        resources: Some(json!({
            "requests": { "memory": "512Mi" },
            "limits": { "memory": "1Gi" },
        })),
        readiness_probe: Some(http_probe("/health/readiness", PORT, 10, 3)),
        startup_probe: Some(http_probe("/health/liveliness", PORT, 5, 60)),
        liveness_probe: Some(http_probe("/health/liveliness", PORT, 30, 3)),
        volume_mounts: vec![VolumeMount {
            name: "config",
            mount_path: "/app/config.yaml".to_owned(),
            sub_path: "config.yaml",
            read_only: true,
        }],
        ..Container::default()
    }
}
