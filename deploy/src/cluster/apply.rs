//! Bringing a cluster to what a site renders: server-side, only on objects that are ours, in an
//! order that never leaves a worker in a dead group.

use serde_json::Value;

use super::recover::{self, RecoverError, Step};
use super::{Facts, Role};
use crate::k8s::{Manifest, yaml};
use crate::kubectl::{Kubectl, KubectlError};
use crate::render::MANAGED_BY;
use crate::site::{Shape, Site};

/// The name under which the server notes who set a field.
const FIELD_MANAGER: &str = "--field-manager=codex-ds";

/// What applying a manifest would change.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The object is not there yet.
    New,
    /// The object is there and would become another: its text before and after.
    Changed(String, String),
    /// Nothing.
    Same,
    /// The object is there and was not made by us: it is left alone.
    NotOurs,
}

/// What applying each manifest would change, as the server itself says by a dry run.
///
/// # Errors
/// When the server refuses: a conflict with another manager of a field is such a refusal.
pub fn survey(
    kubectl: &dyn Kubectl,
    site: &Site,
    manifests: &[Manifest],
) -> Result<Vec<Change>, KubectlError> {
    manifests
        .iter()
        .map(|manifest| change(kubectl, site, manifest))
        .collect()
}

fn change(kubectl: &dyn Kubectl, site: &Site, manifest: &Manifest) -> Result<Change, KubectlError> {
    let kind = resource(manifest);
    let args = [
        "get",
        kind.as_str(),
        manifest.name(),
        "--namespace",
        site.namespace.as_str(),
        "--ignore-not-found",
        "--output=json",
    ];
    let live = kubectl.run(&args, None)?;
    if live.trim().is_empty() {
        return Ok(Change::New);
    }
    let live = parse(&args, &live)?;
    if live["metadata"]["labels"][MANAGED_BY.0] != MANAGED_BY.1 {
        return Ok(Change::NotOurs);
    }
    let args = [
        "apply",
        "--server-side",
        FIELD_MANAGER,
        "--dry-run=server",
        "--output=json",
        "--filename=-",
    ];
    let after = parse(&args, &kubectl.run(&args, Some(&manifest.yaml()))?)?;
    let (before, after) = (shown(&live), shown(&after));
    Ok(if before == after {
        Change::Same
    } else {
        Change::Changed(before, after)
    })
}

fn parse(args: &[&str], text: &str) -> Result<Value, KubectlError> {
    serde_json::from_str(text).map_err(|error| KubectlError::Answer {
        command: args.join(" "),
        message: error.to_string(),
    })
}

/// The resource of a kind, with its group where another group may have the same name.
fn resource(manifest: &Manifest) -> String {
    let kind = manifest.kind().to_lowercase() + "s";
    match manifest.object["apiVersion"]
        .as_str()
        .and_then(|version| version.split_once('/'))
    {
        Some((group, _)) => format!("{kind}.{group}"),
        None => kind,
    }
}

/// An object's text without what the server writes itself.
fn shown(object: &Value) -> String {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for name in [
            "managedFields",
            "resourceVersion",
            "generation",
            "uid",
            "creationTimestamp",
        ] {
            metadata.remove(name);
        }
    }
    yaml::write(&object, &[])
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A manifest is applied, by its index.
    Apply(usize),
    /// A step of the restart of both ranks.
    Step(Step),
}

/// What is to be done, in order. A change of a running rank stops the head first, since the other
/// rank would join or stay in a group that is dead.
#[must_use]
pub fn plan(site: &Site, manifests: &[Manifest], changes: &[Change], facts: &Facts) -> Vec<Action> {
    let differs = |index: &usize| !matches!(changes[*index], Change::Same | Change::NotOurs);
    let is_rank = |index: &usize| {
        let role = &manifests[*index].object["metadata"]["labels"]["role"];
        manifests[*index].kind() == "Deployment" && (role == "head" || role == "worker")
    };
    let indices: Vec<usize> = (0..manifests.len()).filter(differs).collect();
    let restart = site.shape == Shape::Deployments
        && indices.iter().any(is_rank)
        && facts
            .pods
            .iter()
            .any(|pod| matches!(pod.role, Role::Head | Role::Worker));
    if !restart {
        return indices.into_iter().map(Action::Apply).collect();
    }
    let (ranks, others): (Vec<usize>, Vec<usize>) = indices.into_iter().partition(is_rank);
    let mut actions: Vec<Action> = others.into_iter().map(Action::Apply).collect();
    let steps = recover::group(site, facts);
    let is_new_head = |index: &usize| {
        changes[*index] == Change::New
            && manifests[*index].object["metadata"]["labels"]["role"] == "head"
    };
    if let Some(head) = ranks.iter().copied().find(is_new_head) {
        // There is no head to stop, and it starts when it is applied: the worker comes first.
        actions.extend(
            ranks
                .into_iter()
                .filter(|index| *index != head)
                .map(Action::Apply),
        );
        actions.extend(steps.into_iter().skip(2).take(2).map(Action::Step));
        actions.push(Action::Apply(head));
    } else {
        // The head is stopped and gone; then both ranks get their new form, and the restart goes on.
        actions.extend(steps[..2].iter().cloned().map(Action::Step));
        actions.extend(ranks.into_iter().map(Action::Apply));
        actions.extend(steps[2..].iter().cloned().map(Action::Step));
    }
    actions
}

/// What an action does, for people.
#[must_use]
pub fn says(action: &Action, manifests: &[Manifest]) -> String {
    match action {
        Action::Apply(index) => {
            let manifest = &manifests[*index];
            format!("apply {} {}", manifest.kind(), manifest.name())
        }
        Action::Step(step) => step.says(),
    }
}

/// Does one action.
///
/// # Errors
/// When the server refuses, or what is waited for does not come. It can be done again.
pub fn execute(
    kubectl: &dyn Kubectl,
    site: &Site,
    manifests: &[Manifest],
    action: &Action,
    pause: &mut dyn FnMut(std::time::Duration),
) -> Result<(), RecoverError> {
    match action {
        Action::Apply(index) => {
            kubectl.run(
                &["apply", "--server-side", FIELD_MANAGER, "--filename=-"],
                Some(&manifests[*index].yaml()),
            )?;
            Ok(())
        }
        Action::Step(step) => recover::execute(kubectl, site, step, pause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::PodFacts;
    use crate::render;
    use crate::site::example;

    fn site(shape: Shape) -> Site {
        example::site(shape, &[])
    }

    fn said(shape: Shape, files: &[&str], running: bool) -> Vec<String> {
        let site = site(shape);
        let manifests = render::manifests(&site);
        let changes: Vec<Change> = manifests
            .iter()
            .map(|manifest| {
                if files.contains(&manifest.file.as_str()) {
                    Change::Changed("a".to_owned(), "b".to_owned())
                } else {
                    Change::Same
                }
            })
            .collect();
        let mut facts = Facts::default();
        if running {
            facts.pods = [Role::Head, Role::Worker]
                .map(|role| PodFacts {
                    role,
                    uid: "old".to_owned(),
                    ..PodFacts::default()
                })
                .to_vec();
        }
        plan(&site, &manifests, &changes, &facts)
            .iter()
            .map(|action| says(action, &manifests))
            .collect()
    }

    #[test]
    fn a_change_of_a_running_rank_stops_the_head_first() {
        assert_eq!(
            said(
                Shape::Deployments,
                &["10-router-config.yaml", "30-worker.yaml", "31-head.yaml"],
                true
            ),
            [
                "apply ConfigMap vllm-deepseek-v4-flash-router",
                "stop the head",
                "wait until the head is gone, and with it its rendezvous port",
                "apply Deployment vllm-deepseek-v4-flash-worker",
                "apply Deployment vllm-deepseek-v4-flash-head",
                "delete the worker's pod",
                "wait until a new worker runs",
                "start the head",
                "wait until a new head runs",
            ]
        );
    }

    #[test]
    fn a_stack_that_does_not_run_is_only_applied() {
        assert_eq!(
            said(
                Shape::Deployments,
                &["30-worker.yaml", "31-head.yaml"],
                false
            ),
            [
                "apply Deployment vllm-deepseek-v4-flash-worker",
                "apply Deployment vllm-deepseek-v4-flash-head",
            ]
        );
        assert_eq!(
            said(Shape::Lws, &["30-leader-worker-set.yaml"], true),
            ["apply LeaderWorkerSet dsv4-flash-tp2"]
        );
        assert_eq!(said(Shape::Deployments, &[], true), [""; 0]);
        assert_eq!(
            said(Shape::Deployments, &["20-service.yaml"], true),
            ["apply Service vllm-deepseek-v4-flash"]
        );
    }

    #[test]
    fn a_head_that_is_new_starts_after_a_new_worker() {
        let site = site(Shape::Deployments);
        let manifests = render::manifests(&site);
        let changes: Vec<Change> = manifests
            .iter()
            .map(|manifest| {
                if manifest.file == "31-head.yaml" {
                    Change::New
                } else {
                    Change::Same
                }
            })
            .collect();
        let facts = Facts {
            pods: vec![PodFacts {
                role: Role::Worker,
                ..PodFacts::default()
            }],
            ..Facts::default()
        };
        let said: Vec<String> = plan(&site, &manifests, &changes, &facts)
            .iter()
            .map(|action| says(action, &manifests))
            .collect();
        assert_eq!(
            said,
            [
                "delete the worker's pod",
                "wait until a new worker runs",
                "apply Deployment vllm-deepseek-v4-flash-head"
            ]
        );
    }

    /// A server that has one object for every name, and gives back what is applied.
    struct Server {
        live: &'static str,
        applied: std::sync::Mutex<Vec<String>>,
    }

    impl Kubectl for Server {
        fn run(&self, args: &[&str], input: Option<&str>) -> Result<String, KubectlError> {
            let line = args.join(" ");
            if args[0] == "get" {
                return Ok(self.live.to_owned());
            }
            self.applied.lock().unwrap().push(line.clone());
            assert!(input.unwrap().contains("kind: "));
            if line.contains("--dry-run=server") {
                return Ok(r#"{"kind":"X","metadata":{"name":"x","generation":2,"labels":{"app.kubernetes.io/managed-by":"codex-ds"}},"spec":{"a":2},"status":{"x":1}}"#.to_owned());
            }
            Err(KubectlError::Failed {
                command: line,
                message:
                    "error: Apply failed with 1 conflict: conflict with \"helm\": .spec.replicas"
                        .to_owned(),
            })
        }
    }

    fn changes(live: &'static str) -> (Vec<Change>, Vec<String>) {
        let site = site(Shape::Deployments);
        let server = Server {
            live,
            applied: std::sync::Mutex::default(),
        };
        let changes = survey(&server, &site, &render::manifests(&site)[..1]).unwrap();
        (changes, server.applied.into_inner().unwrap())
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let (found, applied) = changes(r#"{"metadata":{"name":"x","labels":{}}}"#);
        assert_eq!(found, [Change::NotOurs]);
        assert_eq!(applied, [""; 0]);
    }

    #[test]
    fn only_what_a_human_wrote_counts_as_a_change() {
        assert_eq!(changes("").0, [Change::New]);
        let same = r#"{"kind":"X","metadata":{"name":"x","generation":1,"resourceVersion":"7","labels":{"app.kubernetes.io/managed-by":"codex-ds"}},"spec":{"a":2}}"#;
        assert_eq!(changes(same).0, [Change::Same]);
        let other = r#"{"kind":"X","metadata":{"name":"x","labels":{"app.kubernetes.io/managed-by":"codex-ds"}},"spec":{"a":1}}"#;
        let (found, _) = changes(other);
        let [Change::Changed(before, after)] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert!(before.contains("a: 1") && after.contains("a: 2"));
    }

    #[test]
    fn a_conflict_is_shown_and_nothing_is_forced() {
        let site = site(Shape::Deployments);
        let server = Server {
            live: "",
            applied: std::sync::Mutex::default(),
        };
        let manifests = render::manifests(&site);
        let error =
            execute(&server, &site, &manifests, &Action::Apply(0), &mut |_| ()).unwrap_err();
        let RecoverError::Kubectl(error) = error else {
            panic!("{error}")
        };
        assert!(error.is_conflict());
        assert!(error.to_string().contains(".spec.replicas"));
        assert!(
            !server
                .applied
                .into_inner()
                .unwrap()
                .concat()
                .contains("force")
        );
    }
}
