//! A cluster that answers as `kubectl` does, for scenes.

use std::sync::Mutex;

use serde_json::{Value, json};

use crate::kubectl::{Kubectl, KubectlError};

/// One pod of the stand-in.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) role: &'static str,
    pub(super) phase: &'static str,
    pub(super) reason: &'static str,
    pub(super) ready: bool,
    pub(super) restarts: u64,
    pub(super) waiting: &'static str,
    /// How its container ended last: exit code and reason.
    pub(super) last_end: Option<(i64, &'static str)>,
    /// Why no node takes it.
    pub(super) unscheduled: &'static str,
    /// How many listings it stays after its deletion.
    pub(super) lingers: u32,
    pub(super) deleting: bool,
}

impl Pod {
    pub(super) fn running(role: &'static str, uid: &str) -> Self {
        Self {
            name: format!("{role}-{uid}"),
            uid: uid.to_owned(),
            role,
            phase: "Running",
            reason: "",
            ready: true,
            restarts: 0,
            waiting: "",
            last_end: None,
            unscheduled: "",
            lingers: 2,
            deleting: false,
        }
    }

    pub(super) fn refused(uid: &str) -> Self {
        Self {
            phase: "Failed",
            reason: "UnexpectedAdmissionError",
            ready: false,
            ..Self::running("head", uid)
        }
    }

    fn json(&self) -> Value {
        json!({
            "metadata": {
                "name": self.name, "uid": self.uid, "labels": { "role": self.role },
                "creationTimestamp": format!("2026-11-30T10:00:{:0>2}Z", self.uid.len() % 60),
                "deletionTimestamp": if self.deleting { json!("2026-11-30T11:00:00Z") } else { Value::Null },
            },
            "spec": { "nodeName": format!("node-of-{}", self.role), "containers": [{ "image": "vllm:1" }] },
            "status": {
                "phase": self.phase, "reason": self.reason, "message": self.reason,
                "conditions": if self.unscheduled.is_empty() { json!([]) } else { json!([{ "type": "PodScheduled", "status": "False", "message": self.unscheduled }]) },
                "containerStatuses": if self.phase == "Failed" { json!([]) } else { json!([{
                    "ready": self.ready, "restartCount": self.restarts,
                    "state": if self.waiting.is_empty() { json!({"running": {}}) } else { json!({"waiting": {"reason": self.waiting}}) },
                    "lastState": self.last_end.map_or(json!({}), |(code, reason)| json!({ "terminated": { "exitCode": code, "reason": reason } })),
                }]) },
            },
        })
    }
}

/// What the stand-in does with the engine's API.
#[derive(Clone, Debug, Default)]
pub(super) struct Engine {
    pub(super) metrics: Vec<&'static str>,
    pub(super) canary: &'static str,
}

/// A cluster of one stack.
pub(super) struct StandIn(pub(super) Mutex<State>);

#[derive(Default)]
pub(super) struct State {
    pub(super) is_lws: bool,
    pub(super) pods: Vec<Pod>,
    pub(super) head_replicas: u64,
    pub(super) logs: Vec<(&'static str, &'static str)>,
    /// What the pods see of their nodes, the head's first.
    pub(super) reports: [String; 2],
    pub(super) events: Vec<Value>,
    pub(super) nodes: Vec<Value>,
    pub(super) engine: Engine,
    /// Whether the group's controller forgets the worker.
    pub(super) forgets_worker: bool,
    /// The words of runs that are refused, and with what.
    pub(super) refuses: Vec<(&'static str, &'static str)>,
    /// Every run that changes something.
    pub(super) changes: Vec<String>,
    pub(super) made: u64,
    pub(super) asked_metrics: usize,
}

impl StandIn {
    pub(super) fn new(state: State) -> Self {
        Self(Mutex::new(state))
    }

    pub(super) fn changes(&self) -> Vec<String> {
        self.0.lock().unwrap().changes.clone()
    }
}

impl State {
    /// What the controllers do between two looks.
    fn tick(&mut self) {
        for pod in &mut self.pods {
            if pod.deleting {
                pod.lingers = pod.lingers.saturating_sub(1);
            }
        }
        self.pods.retain(|pod| !pod.deleting || pod.lingers > 0);
        let has = |pods: &[Pod], role: &str| {
            pods.iter()
                .any(|pod| pod.role == role && pod.phase != "Failed")
        };
        let mut wanted = vec!["worker"];
        if self.head_replicas > 0 {
            wanted.push("head");
        }
        for role in wanted {
            if !has(&self.pods, role) {
                self.made += 1;
                let uid = format!("new-{role}-{}", self.made);
                self.pods.push(Pod {
                    ready: false,
                    ..Pod::running(role, &uid)
                });
            }
        }
    }

    fn delete(&mut self, role: Option<&str>, failed: bool) {
        for pod in &mut self.pods {
            if role.is_none_or(|role| pod.role == role) && (pod.phase == "Failed") == failed {
                pod.deleting = true;
            }
        }
        if self.is_lws && role == Some("head") && !self.forgets_worker {
            self.delete(Some("worker"), false);
        }
    }

    fn answer(&mut self, line: &str, args: &[&str]) -> Result<String, String> {
        if let Some((_, said)) = self.refuses.iter().find(|(words, _)| line.contains(words)) {
            return Err((*said).to_owned());
        }
        if line.starts_with("get pods") {
            let list: Vec<Value> = self.pods.iter().map(Pod::json).collect();
            self.tick();
            return Ok(json!({ "items": list }).to_string());
        }
        if line.starts_with("get events") {
            return Ok(json!({ "items": self.events }).to_string());
        }
        if line.starts_with("get nodes") {
            return Ok(json!({ "items": self.nodes }).to_string());
        }
        if line.starts_with("get deployments.apps") || line.starts_with("get leaderworkersets") {
            return Ok(json!({ "spec": { "replicas": self.head_replicas } }).to_string());
        }
        if line.starts_with("logs") {
            let which = if line.contains("--previous") {
                "previous"
            } else {
                args[4]
            };
            return self
                .logs
                .iter()
                .find(|(name, _)| which.starts_with(name))
                .map(|(_, text)| (*text).to_owned())
                .ok_or_else(|| "previous terminated container not found".to_owned());
        }
        if line.starts_with("exec") {
            let report = &self.reports[usize::from(args[3].starts_with("worker"))];
            return if report.is_empty() {
                Err("exec failed".to_owned())
            } else {
                Ok(report.clone())
            };
        }
        if line.starts_with("get --raw") {
            let text = self
                .engine
                .metrics
                .get(self.asked_metrics)
                .or(self.engine.metrics.last());
            self.asked_metrics += 1;
            return text
                .map(|text| (*text).to_owned())
                .ok_or_else(|| "no endpoints available".to_owned());
        }
        if line.starts_with("create --raw") {
            return match self.engine.canary {
                "" => Err("Error from server (Timeout): context deadline exceeded".to_owned()),
                answer => Ok(answer.to_owned()),
            };
        }
        self.changes.push(line.to_owned());
        if line.starts_with("scale deployment") {
            self.head_replicas = u64::from(line.contains("--replicas=1"));
            if self.head_replicas == 0 {
                self.delete(Some("head"), false);
            }
            return Ok("scaled".to_owned());
        }
        if line.starts_with("delete pods") {
            let role = ["head", "worker"]
                .into_iter()
                .find(|role| line.contains(&format!("role={role}")));
            self.delete(role, line.contains("status.phase=Failed"));
            return Ok("deleted".to_owned());
        }
        Err(format!("the stand-in has no answer to {line}"))
    }
}

impl Kubectl for StandIn {
    fn run(&self, args: &[&str], _: Option<&str>) -> Result<String, KubectlError> {
        let line = args.join(" ");
        self.0
            .lock()
            .unwrap()
            .answer(&line, args)
            .map_err(|message| KubectlError::Failed {
                command: line,
                message,
            })
    }
}
