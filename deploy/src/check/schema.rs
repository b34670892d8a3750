//! The fields of the objects that a stack is made of, and of what kind they are.
//!
//! The part of the published API (v1, apps/v1 and leaderworkerset.x-k8s.io/v1; the same from
//! Kubernetes 1.33 to 1.37) in which mistakes are made: everything down to a container and its
//! probes. What lies deeper, and other kinds of objects, is left to the server.

use super::node::{Data, Node};

/// Of what kind a field is.
#[derive(Clone, Copy)]
enum Kind {
    /// A string.
    Text,
    /// A whole number.
    Int,
    /// A whole number, or a name or share.
    IntOrText,
    /// True or false.
    Bool,
    /// A table of whatever.
    Any,
    /// A table of strings.
    Map,
    /// A table with fields.
    Table(&'static Fields),
    /// A list of tables with fields.
    List(&'static Fields),
    /// A list of strings.
    Texts,
    /// A list of whatever.
    Items,
}

type Fields = [(&'static str, Kind)];

use Kind::{Any, Bool, Int, IntOrText, Items, List, Map, Table, Text, Texts};

const METADATA: &Fields = &[
    ("name", Text),
    ("generateName", Text),
    ("namespace", Text),
    ("labels", Map),
    ("annotations", Map),
    ("finalizers", Texts),
    ("ownerReferences", Items),
    ("uid", Text),
    ("resourceVersion", Text),
    ("generation", Int),
    ("creationTimestamp", Any),
    ("deletionTimestamp", Any),
    ("deletionGracePeriodSeconds", Int),
    ("managedFields", Items),
    ("selfLink", Text),
];

const PROBE: &Fields = &[
    (
        "httpGet",
        Table(&[
            ("path", Text),
            ("port", IntOrText),
            ("host", Text),
            ("scheme", Text),
            ("httpHeaders", Items),
        ]),
    ),
    ("exec", Table(&[("command", Texts)])),
    ("tcpSocket", Any),
    ("grpc", Any),
    ("initialDelaySeconds", Int),
    ("periodSeconds", Int),
    ("timeoutSeconds", Int),
    ("successThreshold", Int),
    ("failureThreshold", Int),
    ("terminationGracePeriodSeconds", Int),
];

const CONTAINER: &Fields = &[
    ("name", Text),
    ("image", Text),
    ("imagePullPolicy", Text),
    ("command", Texts),
    ("args", Texts),
    (
        "env",
        List(&[("name", Text), ("value", Text), ("valueFrom", Any)]),
    ),
    ("envFrom", Items),
    (
        "ports",
        List(&[
            ("name", Text),
            ("containerPort", Int),
            ("hostPort", Int),
            ("hostIP", Text),
            ("protocol", Text),
        ]),
    ),
    (
        "resources",
        Table(&[("limits", Any), ("requests", Any), ("claims", Items)]),
    ),
    ("resizePolicy", Items),
    ("restartPolicy", Text),
    ("restartPolicyRules", Items),
    ("livenessProbe", Table(PROBE)),
    ("readinessProbe", Table(PROBE)),
    ("startupProbe", Table(PROBE)),
    ("lifecycle", Any),
    (
        "securityContext",
        Table(&[
            ("privileged", Bool),
            ("capabilities", Table(&[("add", Texts), ("drop", Texts)])),
            ("allowPrivilegeEscalation", Bool),
            ("runAsUser", Int),
            ("runAsGroup", Int),
            ("runAsNonRoot", Bool),
            ("readOnlyRootFilesystem", Bool),
            ("procMount", Text),
            ("seLinuxOptions", Any),
            ("seccompProfile", Any),
            ("appArmorProfile", Any),
            ("windowsOptions", Any),
        ]),
    ),
    ("terminationMessagePath", Text),
    ("terminationMessagePolicy", Text),
    ("stdin", Bool),
    ("stdinOnce", Bool),
    ("tty", Bool),
    ("workingDir", Text),
    ("volumeDevices", Items),
    (
        "volumeMounts",
        List(&[
            ("name", Text),
            ("mountPath", Text),
            ("subPath", Text),
            ("subPathExpr", Text),
            ("readOnly", Bool),
            ("recursiveReadOnly", Text),
            ("mountPropagation", Text),
        ]),
    ),
];

const POD: &Fields = &[
    ("activeDeadlineSeconds", Int),
    (
        "affinity",
        Table(&[
            ("nodeAffinity", Any),
            ("podAffinity", Any),
            ("podAntiAffinity", Any),
        ]),
    ),
    ("automountServiceAccountToken", Bool),
    ("containers", List(CONTAINER)),
    ("dnsConfig", Any),
    ("dnsPolicy", Text),
    ("enableServiceLinks", Bool),
    ("ephemeralContainers", Items),
    ("hostAliases", Items),
    ("hostIPC", Bool),
    ("hostNetwork", Bool),
    ("hostPID", Bool),
    ("hostUsers", Bool),
    ("hostname", Text),
    ("hostnameOverride", Text),
    ("imagePullSecrets", Items),
    ("initContainers", List(CONTAINER)),
    ("nodeName", Text),
    ("nodeSelector", Map),
    ("os", Any),
    ("overhead", Any),
    ("preemptionPolicy", Text),
    ("priority", Int),
    ("priorityClassName", Text),
    ("readinessGates", Items),
    ("resourceClaims", Items),
    ("resources", Any),
    ("restartPolicy", Text),
    ("runtimeClassName", Text),
    ("schedulerName", Text),
    ("schedulingGates", Items),
    ("securityContext", Any),
    ("serviceAccount", Text),
    ("serviceAccountName", Text),
    ("setHostnameAsFQDN", Bool),
    ("shareProcessNamespace", Bool),
    ("subdomain", Text),
    ("terminationGracePeriodSeconds", Int),
    ("tolerations", Items),
    ("topologySpreadConstraints", Items),
    ("volumes", Items),
    ("workloadRef", Any),
];

const TEMPLATE: &Fields = &[("metadata", Table(METADATA)), ("spec", Table(POD))];

const SELECTOR: Kind = Table(&[("matchLabels", Map), ("matchExpressions", Items)]);

const DEPLOYMENT: &Fields = &[
    ("replicas", Int),
    ("selector", SELECTOR),
    ("template", Table(TEMPLATE)),
    ("strategy", Table(&[("type", Text), ("rollingUpdate", Any)])),
    ("minReadySeconds", Int),
    ("revisionHistoryLimit", Int),
    ("paused", Bool),
    ("progressDeadlineSeconds", Int),
];

const DAEMON_SET: &Fields = &[
    ("selector", SELECTOR),
    ("template", Table(TEMPLATE)),
    ("updateStrategy", Any),
    ("minReadySeconds", Int),
    ("revisionHistoryLimit", Int),
];

const LEADER_WORKER_SET: &Fields = &[
    ("replicas", Int),
    (
        "leaderWorkerTemplate",
        Table(&[
            ("leaderTemplate", Table(TEMPLATE)),
            ("workerTemplate", Table(TEMPLATE)),
            ("size", Int),
            ("restartPolicy", Text),
            ("subGroupPolicy", Any),
            ("volumeClaimTemplates", Items),
            ("persistentVolumeClaimRetentionPolicy", Any),
        ]),
    ),
    (
        "rolloutStrategy",
        Table(&[
            ("type", Text),
            (
                "rollingUpdateConfiguration",
                Table(&[
                    ("partition", Int),
                    ("maxUnavailable", IntOrText),
                    ("maxSurge", IntOrText),
                ]),
            ),
        ]),
    ),
    ("startupPolicy", Text),
    ("networkConfig", Table(&[("subdomainPolicy", Text)])),
];

const SERVICE: &Fields = &[
    ("type", Text),
    ("selector", Map),
    ("clusterIP", Text),
    ("clusterIPs", Texts),
    (
        "ports",
        List(&[
            ("name", Text),
            ("port", Int),
            ("targetPort", IntOrText),
            ("nodePort", Int),
            ("protocol", Text),
            ("appProtocol", Text),
        ]),
    ),
    ("externalIPs", Texts),
    ("externalName", Text),
    ("externalTrafficPolicy", Text),
    ("internalTrafficPolicy", Text),
    ("trafficDistribution", Text),
    ("healthCheckNodePort", Int),
    ("ipFamilies", Texts),
    ("ipFamilyPolicy", Text),
    ("loadBalancerClass", Text),
    ("loadBalancerIP", Text),
    ("loadBalancerSourceRanges", Texts),
    ("allocateLoadBalancerNodePorts", Bool),
    ("publishNotReadyAddresses", Bool),
    ("sessionAffinity", Text),
    ("sessionAffinityConfig", Any),
];

/// The kinds of objects that are known, and the fields of their `spec`.
const SPECS: &[(&str, &str, &Fields)] = &[
    ("apps/v1", "Deployment", DEPLOYMENT),
    ("apps/v1", "DaemonSet", DAEMON_SET),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        LEADER_WORKER_SET,
    ),
    ("v1", "Service", SERVICE),
    ("v1", "Pod", POD),
];

/// Values of which a field has a few, and no other is taken.
const WORDS: &[(&str, &[&str])] = &[
    ("startupPolicy", &["LeaderCreated", "LeaderReady"]),
    ("imagePullPolicy", &["Always", "IfNotPresent", "Never"]),
    (
        "dnsPolicy",
        &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
    ),
    ("protocol", &["TCP", "UDP", "SCTP"]),
    ("externalTrafficPolicy", &["Cluster", "Local"]),
];

/// The restart policies of a group; the same field of a pod has others.
const GROUP_RESTARTS: &[&str] = &[
    "Default",
    "RecreateGroupOnPodRestart",
    "RecreateGroupAfterStart",
    "None",
];

/// What is wrong with an object's fields, each with its line.
pub(super) fn faults(object: &Node) -> Vec<(usize, String)> {
    let (version, kind) = (object.text_of("apiVersion"), object.text_of("kind"));
    let mut faults = Vec::new();
    if kind.is_empty() || version.is_empty() {
        faults.push((object.line, "no apiVersion or kind".to_owned()));
        return faults;
    }
    let Some((known, _, spec)) = SPECS.iter().find(|(_, name, _)| *name == kind) else {
        return faults;
    };
    if *known != version {
        faults.push((
            object.line,
            format!("apiVersion {version} for {kind}, it is {known}"),
        ));
    }
    if let Some(metadata) = object.get("metadata") {
        table(metadata, METADATA, "metadata", &mut faults);
    }
    if let Some(node) = object.get("spec") {
        table(node, spec, "spec", &mut faults);
    }
    if let Some(policy) = object.at(&["spec", "leaderWorkerTemplate", "restartPolicy"])
        && !GROUP_RESTARTS.contains(&policy.text().as_str())
    {
        faults.push((
            policy.line,
            format!(
                "restartPolicy: {}, it is one of {}",
                policy.text(),
                GROUP_RESTARTS.join(", ")
            ),
        ));
    }
    if object
        .at(&["spec", "strategy", "type"])
        .is_some_and(|kind| kind.text() == "Recreate")
        && let Some(rolling) = object.at(&["spec", "strategy", "rollingUpdate"])
    {
        faults.push((
            rolling.line,
            "rollingUpdate together with Recreate".to_owned(),
        ));
    }
    faults
}

fn table(node: &Node, fields: &Fields, path: &str, faults: &mut Vec<(usize, String)>) {
    for (name, value) in node.entries() {
        let path = format!("{path}.{name}");
        if let Some((_, kind)) = fields.iter().find(|(known, _)| known == name) {
            field(value, *kind, name, &path, faults);
            continue;
        }
        let near = fields
            .iter()
            .map(|(known, _)| (strsim::jaro_winkler(known, name), *known))
            .filter(|(likeness, _)| *likeness > 0.85)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let hint = near.map_or(String::new(), |(_, near)| format!(", did you mean {near}?"));
        faults.push((value.line, format!("no field {path}{hint}")));
    }
}

fn field(node: &Node, kind: Kind, name: &str, path: &str, faults: &mut Vec<(usize, String)>) {
    let expected = match (kind, &node.data) {
        (_, Data::Null)
        | (Any, _)
        | (Int, Data::Int(_))
        | (Bool, Data::Bool(_))
        | (Items, Data::List(_))
        | (IntOrText, Data::Int(_) | Data::Text(_)) => return,
        (Text, Data::Text(text)) => {
            if let Some((_, words)) = WORDS
                .iter()
                .find(|(field, words)| *field == name && !words.contains(&text.as_str()))
            {
                faults.push((
                    node.line,
                    format!("{path}: {text}, it is one of {}", words.join(", ")),
                ));
            }
            return;
        }
        (Map, Data::Map(entries)) => {
            for (key, value) in entries {
                field(value, Text, "", &format!("{path}.{key}"), faults);
            }
            return;
        }
        (Table(fields), Data::Map(_)) => return table(node, fields, path, faults),
        (List(fields), Data::List(items)) => {
            for (index, item) in items.iter().enumerate() {
                table(item, fields, &format!("{path}[{index}]"), faults);
            }
            return;
        }
        (Texts, Data::List(items)) => {
            for (index, item) in items.iter().enumerate() {
                field(item, Text, "", &format!("{path}[{index}]"), faults);
            }
            return;
        }
        (Text, _) => "a string",
        (Int, _) => "a whole number",
        (IntOrText, _) => "a whole number or a name",
        (Bool, _) => "true or false",
        (Map | Table(_), _) => "a table",
        (List(_) | Items | Texts, _) => "a list",
    };
    faults.push((
        node.line,
        format!("{path}: {}, it is {expected}", node.kind()),
    ));
}
