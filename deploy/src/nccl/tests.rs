use std::sync::Mutex;

use super::*;
use crate::check;
use crate::names::KubernetesVersion;
use crate::site::{Shape, example};

fn site() -> Site {
    example::site(Shape::Deployments, &[])
}

/// A rank's log with this rate at 256 MiB, over this way.
fn log(gb_per_second: f64, way: &str) -> String {
    let seconds = 268_435_456.0 / gb_per_second / 1e9;
    format!(
        "spark-1:7:7 [0] NCCL INFO NET/IB : Using [0]rocep1s0f1:1/RoCE [RO]; OOB enp1s0f1np1:192.168.100.10<0>\n\
         spark-1:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/{way}/0\n\
         all_reduce={{\"bytes\": 16384, \"seconds\": 0.00003, \"right\": true}}\n\
         all_reduce={{\"bytes\": 268435456, \"seconds\": {seconds}, \"right\": true}}\n\
         link_mbps=200000\nend=1\n"
    )
}

fn outcome(log: &str) -> Outcome {
    Outcome::read(&[log.to_owned(), log.to_owned()]).unwrap()
}

#[test]
fn a_good_pair_has_no_finding() {
    let outcome = outcome(&log(19.5, "IB"));
    assert_eq!(outcome.transport, Some(Transport::Roce));
    assert_eq!(outcome.devices, ["rocep1s0f1:1"]);
    assert!((outcome.limit - 25.0).abs() < 1e-9 && (outcome.best() - 19.5).abs() < 1e-6);
    assert_eq!(outcome.samples.len(), 2);
    assert_eq!(judge(&site(), &outcome), []);
}

#[test]
fn each_fault_is_found_with_a_command() {
    let stale = log(3.0, "IB");
    let slow = log(11.0, "IB");
    let sockets = log(2.0, "Socket");
    let wrong = log(19.0, "IB").replace("true", "false");
    let half = log(11.5, "IB").replace("200000", "100000");
    let said: Vec<String> = [stale, slow, sockets, wrong, half]
        .iter()
        .flat_map(|log| judge(&site(), &outcome(log)))
        .map(|f| {
            format!(
                "{}: {}, expected {}\n  {}",
                f.what, f.found, f.expected, f.command
            )
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_rank_that_did_not_end_gives_no_outcome() {
    let log = log(19.0, "IB").replace("end=1\n", "");
    assert_eq!(Outcome::read(&[log.clone(), log]), None);
}

/// The Jobs hold against the same rules as a stack does.
#[test]
fn the_jobs_are_what_a_server_takes() {
    for shape in [Shape::Deployments, Shape::Lws] {
        let site = example::site(shape, &[]);
        let files = RANKS.map(|rank| (name(&site, rank), yaml::write(&job(&site, rank), &[])));
        let findings = check::manifests(&files, KubernetesVersion::OLDEST).unwrap();
        assert_eq!(findings, []);
        let env = &job(&site, Rank::Worker)["spec"]["template"]["spec"]["containers"][0]["env"];
        let of = |name: &str| {
            let entries: Vec<&Value> = env
                .as_array()
                .unwrap()
                .iter()
                .filter(|entry| entry["name"] == name)
                .collect();
            assert_eq!(entries.len(), 1, "{name}");
            entries[0]["value"].as_str().unwrap().to_owned()
        };
        assert_eq!(
            (of("RANK").as_str(), of("NCCL_DEBUG").as_str()),
            ("1", "INFO")
        );
        assert_eq!(of("MASTER_ADDR"), site.head.control_ip.to_string());
        assert_eq!(of("NCCL_SOCKET_IFNAME"), site.worker.control_if.to_string());
    }
}

/// A cluster whose pods come to this phase at the second look.
struct Cluster {
    phase: &'static str,
    log: String,
    lines: Mutex<Vec<String>>,
}

impl Kubectl for Cluster {
    fn run(&self, args: &[&str], _: Option<&str>) -> Result<String, KubectlError> {
        let mut lines = self.lines.lock().unwrap();
        lines.push(args[..2].join(" "));
        let looks = lines.iter().filter(|line| *line == "get pods").count();
        let phase = if looks > 1 { self.phase } else { "Pending" };
        Ok(match args[0] {
            "get" => {
                let pods: Vec<Value> = RANKS
                    .iter()
                    .map(|rank| json!({ "metadata": { "name": rank.word(), "labels": { "role": rank.word() } }, "status": { "phase": phase } }))
                    .collect();
                json!({ "items": pods }).to_string()
            }
            "logs" => self.log.clone(),
            _ => String::new(),
        })
    }
}

fn cluster(phase: &'static str, log: String) -> Cluster {
    Cluster {
        phase,
        log,
        lines: Mutex::default(),
    }
}

#[test]
fn the_jobs_are_removed_before_and_after_also_when_they_fail() {
    let order = [
        "delete jobs",
        "create --filename=-",
        "create --filename=-",
        "get pods",
        "get pods",
        "logs --namespace",
        "logs --namespace",
        "delete jobs",
    ];
    let good = cluster("Succeeded", log(19.0, "IB"));
    let mut told = Vec::new();
    let outcome = run(&good, &site(), &mut |_| (), &mut |seen| {
        told.push(seen.to_owned());
    });
    assert!(outcome.unwrap().best() > 18.0);
    assert_eq!(*good.lines.lock().unwrap(), order);
    assert_eq!(
        told,
        [
            "head is Pending, worker is Pending",
            "head is Succeeded, worker is Succeeded"
        ]
    );

    let failing = "x NCCL WARN Call to ibv_modify_qp failed with error Invalid argument\n\
        torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled system error\n";
    let bad = cluster("Failed", failing.to_owned());
    let error = run(&bad, &site(), &mut |_| (), &mut |_| ()).unwrap_err();
    assert_eq!(*bad.lines.lock().unwrap(), order);
    let NcclError::Unfinished { seen, log } = error else {
        panic!("{error}")
    };
    assert_eq!(seen, "head is Failed, worker is Failed");
    assert!(log.starts_with("Call to ibv_modify_qp failed"), "{log}");
}

#[test]
fn a_pod_that_finds_no_node_ends_the_wait() {
    let stuck = cluster("Pending", String::new());
    let mut pauses = 0u64;
    let error = run(&stuck, &site(), &mut |_| pauses += 1, &mut |_| ()).unwrap_err();
    assert_eq!(pauses, DEADLINE / PAUSE.as_secs());
    assert!(matches!(error, NcclError::Unfinished { .. }));
    assert_eq!(stuck.lines.lock().unwrap().last().unwrap(), "delete jobs");
}
