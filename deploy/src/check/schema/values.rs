//! What a server refuses although the published definitions do not say so.

use super::{Fault, shown};
use crate::check::node::{Data, Node};

/// Fields of which a server takes a few words, and no other: type, field, words.
const WORDS: &[(&str, &str, &[&str])] = &[
    (
        "Container",
        "imagePullPolicy",
        &["Always", "IfNotPresent", "Never"],
    ),
    ("ContainerPort", "protocol", &["TCP", "UDP", "SCTP"]),
    ("DeploymentStrategy", "type", &["Recreate", "RollingUpdate"]),
    ("HTTPGetAction", "scheme", &["HTTP", "HTTPS"]),
    (
        "HostPathVolumeSource",
        "type",
        &[
            "",
            "BlockDevice",
            "CharDevice",
            "Directory",
            "DirectoryOrCreate",
            "File",
            "FileOrCreate",
            "Socket",
        ],
    ),
    (
        "LeaderWorkerSetSpec",
        "startupPolicy",
        &["LeaderCreated", "LeaderReady"],
    ),
    (
        "LeaderWorkerTemplate",
        "restartPolicy",
        &[
            "Default",
            "None",
            "RecreateGroupAfterStart",
            "RecreateGroupOnPodRestart",
        ],
    ),
    (
        "NetworkConfig",
        "subdomainPolicy",
        &["Shared", "UniquePerReplica"],
    ),
    (
        "NodeSelectorRequirement",
        "operator",
        &["DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"],
    ),
    (
        "PodSpec",
        "dnsPolicy",
        &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
    ),
    (
        "PodSpec",
        "restartPolicy",
        &["Always", "Never", "OnFailure"],
    ),
    ("RolloutStrategy", "type", &["RollingUpdate"]),
    ("ServicePort", "protocol", &["TCP", "UDP", "SCTP"]),
    (
        "ServiceSpec",
        "externalTrafficPolicy",
        &["Cluster", "Local"],
    ),
    (
        "ServiceSpec",
        "type",
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
    ),
    (
        "Toleration",
        "effect",
        &["NoExecute", "NoSchedule", "PreferNoSchedule"],
    ),
];

/// Fields that hold a number of a range: type, field, smallest, largest.
const RANGES: &[(&str, &str, i64, i64)] = &[
    ("ContainerPort", "containerPort", 1, 65535),
    ("ContainerPort", "hostPort", 0, 65535),
    ("DeploymentSpec", "replicas", 0, i64::MAX),
    ("LeaderWorkerSetSpec", "replicas", 0, 1_000_000),
    ("LeaderWorkerTemplate", "size", 1, i64::MAX),
    ("Probe", "failureThreshold", 1, i64::MAX),
    ("Probe", "initialDelaySeconds", 0, i64::MAX),
    ("Probe", "periodSeconds", 1, i64::MAX),
    ("Probe", "timeoutSeconds", 1, i64::MAX),
    ("ServicePort", "port", 1, 65535),
];

/// Lists whose items may not have this field's value twice: the items' type, the field.
const ONCE: &[(&str, &str)] = &[
    ("Container", "name"),
    ("EnvVar", "name"),
    ("Volume", "name"),
    ("VolumeMount", "mountPath"),
];

/// What a field of this type is expected to be, where it is another.
pub(super) fn wrong(of: &str, field: &str, value: &Node) -> Option<String> {
    match &value.data {
        Data::Text(text) => WORDS
            .iter()
            .find(|(known, name, _)| *known == of && *name == field)
            .filter(|(_, _, words)| !words.contains(&text.as_str()))
            .map(|(_, _, words)| {
                let words: Vec<&str> = words.iter().copied().filter(|w| !w.is_empty()).collect();
                format!("one of {}", words.join(", "))
            }),
        Data::Int(number) => RANGES
            .iter()
            .find(|(known, name, ..)| *known == of && *name == field)
            .filter(|(_, _, least, most)| !(least..=most).contains(&number))
            .map(|(_, _, least, most)| match *most {
                i64::MAX => format!("a whole number from {least} on"),
                most => format!("a whole number from {least} to {most}"),
            }),
        _ => None,
    }
}

/// The items that have what an earlier one has: line, what was found, what is expected.
pub(super) fn twice(of: &str, items: &[Node]) -> Vec<(usize, String, String)> {
    let Some((_, field)) = ONCE.iter().find(|(known, _)| *known == of) else {
        return Vec::new();
    };
    let mut seen: Vec<String> = Vec::new();
    let mut faults = Vec::new();
    for item in items {
        let Some(value) = item.get(field) else {
            continue;
        };
        if seen.contains(&value.text()) {
            faults.push((
                value.line,
                format!("{field} {} twice", shown(value)),
                format!("each {field} once"),
            ));
        }
        seen.push(value.text());
    }
    faults
}

/// What does not go together.
pub(super) fn together(object: &Node, faults: &mut Vec<Fault>) {
    let is_recreate = object
        .at(&["spec", "strategy", "type"])
        .is_some_and(|kind| kind.text() == "Recreate");
    if let Some(rolling) = object.at(&["spec", "strategy", "rollingUpdate"])
        && is_recreate
        && rolling.data != Data::Null
    {
        faults.push(Fault {
            line: rolling.line,
            key: "spec.strategy.rollingUpdate".to_owned(),
            found: "a table".to_owned(),
            expected: "nothing together with type: Recreate".to_owned(),
        });
    }
}

/// Whether a text is an amount: a number with or without a suffix of Kubernetes.
pub(super) fn is_amount(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    let end = digits
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(digits.len());
    let (number, suffix) = digits.split_at(end);
    let exponent = suffix
        .strip_prefix(['e', 'E'])
        .is_some_and(|power| power.parse::<i32>().is_ok());
    number.parse::<f64>().is_ok()
        && (exponent
            || matches!(
                suffix,
                "" | "n"
                    | "u"
                    | "m"
                    | "k"
                    | "M"
                    | "G"
                    | "T"
                    | "P"
                    | "E"
                    | "Ki"
                    | "Mi"
                    | "Gi"
                    | "Ti"
                    | "Pi"
                    | "Ei"
            ))
}

/// Whether this is an amount of a device (a resource with a domain) that is not whole.
pub(super) fn is_part_of_device(resource: &str, value: &Node) -> bool {
    resource.contains('/') && is_amount(&value.text()) && value.text().parse::<u64>().is_err()
}

/// Whether each row names a field that there is.
#[cfg(test)]
pub(super) fn are_fields(is_field: impl Fn(&str, &str) -> bool) -> bool {
    let rows = WORDS.iter().map(|(of, name, _)| (of, name));
    let rows = rows.chain(RANGES.iter().map(|(of, name, ..)| (of, name)));
    let mut rows = rows.chain(ONCE.iter().map(|(of, name)| (of, name)));
    rows.all(|(of, name)| is_field(of, name))
}
