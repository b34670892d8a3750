//! A site's manifests, in the order in which they are applied.
//!
//! The Service and the router's configuration come before the pods that need them, the worker before
//! the head: the worker waits for the head's rendezvous, the head gives up on a worker that is late.

use serde_json::{Value, json};

use crate::k8s::{Manifest, Metadata, Pairs, Port, Probe, ServicePort, pairs, value};
use crate::site::{ExposeKind, Site};

pub mod docker;
mod engine_pods;
mod prepull;
mod router;
pub mod staging;
#[cfg(test)]
mod tests;

/// The label that says whose an object is, and its value.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "codex-ds");

/// Every manifest of a site, in the order in which they are applied.
#[must_use]
pub fn manifests(site: &Site) -> Vec<Manifest> {
    let mut manifests = vec![namespace(site)];
    if let Some(router) = &site.router {
        manifests.push(router::config(site, router));
    }
    if site.prepull {
        manifests.push(prepull::daemon_set(site));
    }
    manifests.push(service(site));
    manifests.extend(engine_pods::workloads(site));
    if let Some(router) = &site.router {
        manifests.push(router::service(site, router));
        manifests.push(router::deployment(site, router));
    }
    manifests
}

/// A kustomization of these manifests' files.
#[must_use]
pub fn kustomization(manifests: &[Manifest]) -> Manifest {
    let files: Vec<&str> = manifests.iter().map(|m| m.file.as_str()).collect();
    Manifest {
        file: "kustomization.yaml".to_owned(),
        object: json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": files,
        }),
        comments: vec![],
    }
}

/// The labels of an object of this stack; `role` tells its parts apart.
fn labels(site: &Site, role: &str) -> Pairs {
    pairs([("app", site.name.as_str()), ("role", role), MANAGED_BY])
}

/// The labels by which a part's pods are found; they can never be changed afterwards.
fn selector(site: &Site, role: &str) -> Pairs {
    pairs([("app", site.name.as_str()), ("role", role)])
}

fn metadata(site: &Site, name: String, role: &str) -> Metadata {
    Metadata {
        name,
        namespace: Some(site.namespace.to_string()),
        labels: labels(site, role),
        annotations: Pairs::new(),
    }
}

fn namespace(site: &Site) -> Manifest {
    let mut labels = pairs([MANAGED_BY]);
    let mut comments = vec![];
    if site.pod_security_label {
        labels.insert(
            "pod-security.kubernetes.io/enforce".to_owned(),
            Value::from("privileged"),
        );
        comments.push((
            "/metadata/labels/pod-security.kubernetes.io~1enforce",
            "RDMA needs privileged pods; clusters that enforce a stricter level refuse them without this."
                .to_owned(),
        ));
    }
    Manifest {
        file: "00-namespace.yaml".to_owned(),
        object: json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": value(&Metadata {
                name: site.namespace.to_string(),
                labels,
                ..Metadata::default()
            }),
        }),
        comments,
    }
}

fn service(site: &Site) -> Manifest {
    let mut metadata = metadata(site, site.service(), "head");
    let mut port = ServicePort {
        name: "api",
        port: Some(site.serve.api_port),
        target_port: Some(site.serve.api_port),
        protocol: "TCP",
        ..ServicePort::default()
    };
    let mut comments = vec![(
        "/spec/selector",
        match site.shape {
            crate::site::Shape::Deployments => "Only the head has the API.".to_owned(),
            crate::site::Shape::Lws => {
                "Only the leader has the API. LeaderWorkerSet sets this label on every pod; a label\n\
                 of one's own would have to be set on the leader's template too."
                    .to_owned()
            }
        },
    )];
    let mut spec = json!({ "type": "ClusterIP" });
    match site.expose.kind {
        ExposeKind::ClusterIp => {}
        ExposeKind::NodePort => {
            spec["type"] = json!("NodePort");
            port.node_port = Some(site.expose.node_port);
        }
        ExposeKind::CiliumLb => {
            spec["type"] = json!("LoadBalancer");
            spec["loadBalancerClass"] = json!("io.cilium/bgp-control-plane");
            spec["externalTrafficPolicy"] = json!("Local");
            port.port = Some(80);
            if let Some(ip) = site.expose.lb_ip {
                metadata
                    .annotations
                    .insert(site.expose.lb_annotation.clone(), json!(ip.to_string()));
            }
            comments.push((
                "/spec/externalTrafficPolicy",
                "Announced from the head's node alone, so no request takes a second hop."
                    .to_owned(),
            ));
        }
    }
    spec["selector"] = Value::Object(engine_pods::head_selector(site));
    spec["ports"] = json!([value(&port)]);
    Manifest {
        file: "20-service.yaml".to_owned(),
        object: json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": value(&metadata),
            "spec": spec,
        }),
        comments,
    }
}

/// A port that the node itself has, under the node's network.
fn host_port(name: &'static str, port: u16) -> Port {
    Port {
        name,
        container_port: Some(port),
        host_port: Some(port),
        protocol: "TCP",
    }
}

fn http_probe(path: &str, port: u16, period: u64, failures: u64) -> Probe {
    Probe {
        http_get: Some(json!({ "path": path, "port": port })),
        period_seconds: Some(period),
        timeout_seconds: Some(5),
        failure_threshold: Some(failures),
    }
}

/// Any node but the two of the model.
fn off_the_model_nodes(site: &Site) -> Value {
    node_affinity("NotIn", site)
}

fn node_affinity(operator: &str, site: &Site) -> Value {
    let hosts: Vec<&str> = site.nodes().iter().map(|node| node.host.as_str()).collect();
    json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [
        { "matchExpressions": [
            { "key": "kubernetes.io/hostname", "operator": operator, "values": hosts }
        ] }
    ] } } })
}
