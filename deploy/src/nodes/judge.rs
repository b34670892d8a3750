//! What the facts of two nodes mean, with the command that would mend each. None is run.

use serde::Serialize;

use super::versions::{bad_driver, bad_kernel};
use super::{Report, cable};
use crate::engine::Rank;
use crate::site::Site;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The node, or both.
    pub node: String,
    /// What it is about.
    pub topic: Topic,
    /// What was looked at.
    pub what: String,
    /// What was found.
    pub found: String,
    /// What it should be.
    pub expected: String,
    /// The command that mends it, on that node.
    pub command: String,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Topic {
    /// The interface and the RoCE device of the cable.
    Cable,
    /// The addresses of the RoCE device.
    Gid,
    /// Memory and swap.
    Memory,
    /// A desktop session.
    Desktop,
    /// A service that kills what is large.
    Earlyoom,
    /// Kernel, driver, firmware.
    Version,
    /// The model's files.
    Model,
    /// The serving image.
    Image,
}

const KIB_PER_GIB: f64 = 1_048_576.0;

/// What is not as it should be; each node's report where it could be asked, the head's first.
#[must_use]
pub fn judge(site: &Site, reports: [Option<&Report>; 2]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (rank, report) in [Rank::Head, Rank::Worker].into_iter().zip(reports) {
        if let Some(report) = report {
            one(site, rank, report, &mut findings);
        }
    }
    if let [Some(head), Some(worker)] = reports {
        both(head, worker, &mut findings);
    }
    findings
}

/// Notes what was looked at, what was found, what it should be, and the command that mends it.
pub(super) type Add<'f> = dyn FnMut(Topic, &str, String, String, String) + 'f;

fn one(site: &Site, rank: Rank, report: &Report, findings: &mut Vec<Finding>) {
    let host = &rank.node(site).host;
    let mut add = |topic, what: &str, found: String, expected: String, command: String| {
        findings.push(Finding {
            node: host.to_string(),
            topic,
            what: what.to_owned(),
            found,
            expected,
            command,
        });
    };
    cable::look(site, rank, report, &mut add);
    memory(site, rank, report, &mut add);
    services(report, &mut add);
    versions(report, &mut add);
    files(site, report, &mut add);
}

pub(super) fn shown(report: &Report, key: &str) -> String {
    report.get(key).unwrap_or("nothing").to_owned()
}

fn memory(site: &Site, rank: Rank, report: &Report, add: &mut Add<'_>) {
    let node = rank.node(site);
    if report.number("pressure").is_some_and(|share| share > 5.0) {
        add(
            Topic::Memory,
            "memory pressure",
            shown(report, "pressure") + " %",
            "below 5 %".to_owned(),
            "ps aux --sort=-rss | head".to_owned(),
        );
    }
    if let (Some(total), Some(free)) = (report.number("SwapTotal"), report.number("SwapFree"))
        && total - free > KIB_PER_GIB
    {
        add(
            Topic::Memory,
            "swap in use",
            format!("{:.1} GiB", (total - free) / KIB_PER_GIB),
            "none".to_owned(),
            "vmstat 1   # si and so should be 0".to_owned(),
        );
    }
    if let Some(gib) = report.number("MemTotal").map(|kib| kib / KIB_PER_GIB)
        && (gib - node.mem_gib).abs() > 0.5
    {
        add(
            Topic::Memory,
            "memory",
            format!("{gib:.1} GiB"),
            format!(
                "{} GiB, as nodes.{}.mem_gib says",
                node.mem_gib,
                rank.word()
            ),
            format!(
                "set nodes.{}.mem_gib = {gib:.1} in {}",
                rank.word(),
                site.file
            ),
        );
    }
}

fn services(report: &Report, add: &mut Add<'_>) {
    if report.get("desktop") == Some("yes") {
        add(
            Topic::Desktop,
            "desktop",
            "runs".to_owned(),
            "off: it takes memory that the model needs".to_owned(),
            "sudo systemctl stop display-manager; sudo systemctl set-default multi-user.target"
                .to_owned(),
        );
    }
    if report.get("earlyoom") == Some("yes") {
        add(
            Topic::Earlyoom,
            "earlyoom",
            "runs".to_owned(),
            "off: it kills the engine, which is the largest process".to_owned(),
            "sudo systemctl disable --now earlyoom".to_owned(),
        );
    }
}

fn versions(report: &Report, add: &mut Add<'_>) {
    for (key, what, bad) in [
        (
            "kernel",
            "kernel",
            report.get("kernel").and_then(bad_kernel),
        ),
        (
            "driver",
            "NVIDIA driver",
            report.get("driver").and_then(bad_driver),
        ),
    ] {
        if let Some(why) = bad {
            add(
                Topic::Version,
                what,
                shown(report, key),
                format!("another: {why}"),
                "update DGX OS; 6.17.0-1026-nvidia with driver 580.173.02 is what published stacks run"
                    .to_owned(),
            );
        }
    }
}

/// The model's files and the image.
fn files(site: &Site, report: &Report, add: &mut Add<'_>) {
    // A quick look does not count the files.
    if report.get("jumbo").is_some() && report.number("model_files").is_none_or(|files| files < 1.0)
        || report.number("model_files") == Some(0.0)
    {
        add(
            Topic::Model,
            "model",
            "no files".to_owned(),
            site.model.path.to_string(),
            format!("hf download {} --local-dir …", site.recipe.repository),
        );
    }
    if report.get("image") == Some("no") {
        add(
            Topic::Image,
            "image",
            "not on the node".to_owned(),
            site.image.to_string(),
            format!(
                "sudo ctr -n k8s.io images pull {}   # or image.prepull = true in {}",
                site.image, site.file
            ),
        );
    }
}

fn both(head: &Report, worker: &Report, findings: &mut Vec<Finding>) {
    let mut differ = |topic, what: &str, one: Option<&str>, other: Option<&str>, command: &str| {
        if let (Some(one), Some(other)) = (one, other)
            && one != other
        {
            findings.push(Finding {
                node: "both".to_owned(),
                topic,
                what: what.to_owned(),
                found: format!("{one} and {other}"),
                expected: "the same".to_owned(),
                command: command.to_owned(),
            });
        }
    };
    let release = "bring both to one DGX OS release";
    for (topic, key, what, command) in [
        (Topic::Version, "kernel", "kernel", release),
        (Topic::Version, "driver", "NVIDIA driver", release),
        (
            Topic::Model,
            "model_sum",
            "names and sizes of the model's files",
            "hf download again on the one that is short",
        ),
    ] {
        differ(topic, what, head.get(key), worker.get(key), command);
    }
    let firmware = |report: &Report| -> Option<String> {
        let versions: Vec<&str> = report
            .values
            .iter()
            .filter(|(key, _)| key.ends_with(".firmware"))
            .map(|(_, version)| version.as_str())
            .collect();
        (!versions.is_empty()).then(|| versions.join(", "))
    };
    differ(
        Topic::Version,
        "ConnectX firmware",
        firmware(head).as_deref(),
        firmware(worker).as_deref(),
        "sudo mlxfwmanager --online -u   # on both, then a cold start",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::{Shape, example};

    const GOOD: &str = "kernel=6.17.0-1026-nvidia\nmtu=9000\nspeed=200000\nstate=up\nrocep1s0f1.firmware=28.45.4028\n\
        rocep1s0f1.link=4: ACTIVE\nrocep1s0f1.mtu=9000\nrocep1s0f1.active_mtu=4096\ngid=rocep1s0f1 3 RoCE v2 0000:0000:0000:0000:0000:ffff:c0a8:640a\n\
        gid=rocep1s0f1 5 RoCE v2 0000:0000:0000:0000:0000:ffff:c0a8:640b\nMemTotal=125514547\nSwapTotal=100\nSwapFree=100\n\
        pressure=0.00\ndriver=580.173.02\ndesktop=no\nearlyoom=no\nmodel_files=50\nmodel_sum=1-2\njumbo=yes\nimage=yes\nend=1\n";

    fn judged(gid: &str, changes: &[(&str, &str)]) -> Vec<Finding> {
        let site = example::site(Shape::Deployments, &[("gid_index = \"auto\"", gid)]);
        let mut head = GOOD.to_owned();
        for (from, to) in changes {
            assert!(head.contains(from), "no {from}");
            head = head.replace(from, to);
        }
        let (head, worker) = (Report::read(&head).unwrap(), Report::read(GOOD).unwrap());
        judge(&site, [Some(&head), Some(&worker)])
    }

    #[test]
    fn two_good_nodes_have_no_finding() {
        assert_eq!(judged("gid_index = \"auto\"", &[]), []);
        assert_eq!(judged("gid_index = 3", &[]), []);
    }

    #[test]
    fn each_fault_is_found_with_a_command() {
        let table: &[(&str, &str)] = &[
            ("\nmtu=9000", "\nmtu=1500"),
            ("rocep1s0f1.mtu=9000", "rocep1s0f1.mtu=1500"),
            ("active_mtu=4096", "active_mtu=1024"),
            ("speed=200000", "speed=100000"),
            ("state=up", "state=down"),
            ("4: ACTIVE", "1: DOWN"),
            ("c0a8:640a", "c0a8:0001"),
            ("jumbo=yes", "jumbo=no"),
            ("pressure=0.00", "pressure=12.5"),
            ("SwapFree=100", "SwapFree=0\nSwapTotal=8388608"),
            ("desktop=no", "desktop=yes"),
            ("earlyoom=no", "earlyoom=yes"),
            ("MemTotal=125514547", "MemTotal=120514547"),
            ("model_files=50", "model_files=0"),
            ("image=yes", "image=no"),
            ("driver=580.173.02", "driver=580.182.01"),
            ("6.17.0-1026", "6.17.0-1032"),
            ("28.45.4028", "28.40.1000"),
            ("model_sum=1-2", "model_sum=3-4"),
        ];
        let mut said = String::new();
        for change in table {
            let findings = judged("gid_index = \"auto\"", &[*change]);
            assert_eq!(findings.len(), 1, "{change:?}: {findings:?}");
            let Finding {
                node,
                what,
                found,
                expected,
                command,
                ..
            } = &findings[0];
            said += &[
                node,
                ": ",
                what,
                ": ",
                found,
                ", expected ",
                expected,
                "\n  ",
                command,
                "\n",
            ]
            .concat();
        }
        insta::assert_snapshot!(said);
        assert_eq!(judged("gid_index = 1", &[])[0].topic, Topic::Gid);
        // What both nodes have.
        let bad = [("580.173.02", "580.142"), ("6.17.0-1026", "7.0.0-1019")];
        let topics: Vec<Topic> = judged("gid_index = 3", &bad)
            .iter()
            .map(|f| f.topic)
            .collect();
        assert_eq!(topics, [Topic::Version; 4]);
    }

    #[test]
    fn each_device_of_a_pair_is_looked_at() {
        let site = example::site(Shape::Lws, &[]);
        let text = GOOD.replace("c0a8:640a", "0a0a:0a01");
        let report = Report::read(&text).unwrap();
        let said: Vec<String> = judge(&site, [Some(&report), None])
            .into_iter()
            .map(|f| format!("{}: {}", f.what, f.found))
            .collect();
        assert_eq!(
            said,
            [
                "RoCE device roceP2p1s0f1: nothing",
                "GID of roceP2p1s0f1: none with an IPv4 address"
            ]
        );
    }
}
