//! What an API server says that it has, as `kubectl` asks for it.

use serde_json::{Value, json};

/// The resources: group and version, plural, kind, whether it lies in a namespace.
pub(crate) const RESOURCES: &[(&str, &str, &str, bool)] = &[
    ("v1", "namespaces", "Namespace", false),
    ("v1", "nodes", "Node", false),
    ("v1", "pods", "Pod", true),
    ("v1", "events", "Event", true),
    ("v1", "services", "Service", true),
    ("v1", "configmaps", "ConfigMap", true),
    ("apps/v1", "deployments", "Deployment", true),
    ("apps/v1", "daemonsets", "DaemonSet", true),
    ("batch/v1", "jobs", "Job", true),
    (
        "leaderworkerset.x-k8s.io/v1",
        "leaderworkersets",
        "LeaderWorkerSet",
        true,
    ),
];

fn base(version: &str) -> String {
    if version == "v1" {
        "/api/v1".to_owned()
    } else {
        format!("/apis/{version}")
    }
}

/// The answer to a path of discovery; `None` for any other path.
pub(crate) fn discovery(path: &str) -> Option<Value> {
    let versions = || {
        let mut versions: Vec<&str> = RESOURCES.iter().map(|(version, ..)| *version).collect();
        versions.dedup();
        versions
    };
    match path {
        "/version" => return Some(json!({ "major": "1", "minor": "36", "gitVersion": "v1.36.0" })),
        "/api" => return Some(json!({ "kind": "APIVersions", "versions": ["v1"] })),
        "/apis" => {
            let groups: Vec<Value> = versions()
                .into_iter()
                .filter_map(|version| {
                    version
                        .split_once('/')
                        .map(|(group, short)| (version, group, short))
                })
                .map(|(version, group, short)| {
                    let preferred = json!({ "groupVersion": version, "version": short });
                    json!({ "name": group, "versions": [preferred], "preferredVersion": preferred })
                })
                .collect();
            return Some(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }));
        }
        "/openapi/v3" => {
            let paths: serde_json::Map<String, Value> = versions()
                .into_iter()
                .map(|version| {
                    let at = base(version);
                    (
                        at[1..].to_owned(),
                        json!({ "serverRelativeURL": format!("/openapi/v3{at}") }),
                    )
                })
                .collect();
            return Some(json!({ "paths": paths }));
        }
        _ => {}
    }
    let version = versions()
        .into_iter()
        .find(|version| path.ends_with(&base(version)))?;
    let of_version = RESOURCES.iter().filter(|(of, ..)| *of == version);
    if path.starts_with("/openapi/v3/") {
        // All that kubectl looks for: that a dry run and strict fields are understood.
        let (group, short) = version.split_once('/').unwrap_or(("", version));
        let paths: serde_json::Map<String, Value> = of_version
            .map(|(_, name, kind, namespaced)| {
                let middle = if *namespaced { "/namespaces/{namespace}" } else { "" };
                let operation = json!({
                    "x-kubernetes-group-version-kind": { "group": group, "version": short, "kind": kind },
                    "parameters": [{ "name": "dryRun", "in": "query" }, { "name": "fieldValidation", "in": "query" }],
                });
                (format!("{}{middle}/{name}/{{name}}", base(version)), json!({ "patch": operation }))
            })
            .collect();
        return Some(
            json!({ "openapi": "3.0.0", "info": { "title": "x", "version": "1" }, "paths": paths, "components": { "schemas": {} } }),
        );
    }
    if path != base(version) {
        return None;
    }
    let resources: Vec<Value> = of_version
        .flat_map(|(_, name, kind, namespaced)| {
            let mut list = vec![json!({
                "name": name, "singularName": kind.to_lowercase(), "namespaced": namespaced, "kind": kind,
                "verbs": ["get", "list", "create", "patch", "delete", "watch"],
            })];
            if *name == "deployments" {
                list.push(json!({ "name": "deployments/scale", "singularName": "", "namespaced": true, "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"] }));
            }
            list
        })
        .collect();
    Some(
        json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources }),
    )
}
