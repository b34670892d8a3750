//! What the facts of two nodes mean, with the command that would mend each. None is run.

use std::net::Ipv4Addr;

use serde::Serialize;

use super::Report;
use crate::engine::Rank;
use crate::site::Site;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The node, or both.
    pub node: String,
    /// What was looked at.
    pub what: &'static str,
    /// What was found.
    pub found: String,
    /// What it should be.
    pub expected: String,
    /// The command that mends it, on that node.
    pub command: String,
}

/// The rate of a link between two Sparks, Mb/s.
const LINK: f64 = 200_000.0;

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
type Add<'f> = dyn FnMut(&'static str, String, String, String) + 'f;

fn one(site: &Site, rank: Rank, report: &Report, findings: &mut Vec<Finding>) {
    let host = &rank.node(site).host;
    let mut add = |what, found: String, expected: String, command: String| {
        findings.push(Finding {
            node: host.to_string(),
            what,
            found,
            expected,
            command,
        });
    };
    cable(site, rank, report, &mut add);
    system(site, rank, report, &mut add);
}

/// The interface and the RoCE device of the cable.
fn cable(site: &Site, rank: Rank, report: &Report, add: &mut Add<'_>) {
    let interface = rank.node(site).fabric_if.as_str();
    let shown = |key: &str| report.get(key).unwrap_or("nothing").to_owned();
    let mtu = site.nccl.mtu.to_string();
    if report.get("mtu") != Some(&mtu) {
        add(
            "MTU",
            shown("mtu"),
            mtu.clone(),
            format!(
                "nmcli connection modify CONNECTION 802-3-ethernet.mtu {mtu}; ip link set {interface} mtu {mtu}"
            ),
        );
    }
    if report.get("state") != Some("up") {
        add(
            "link",
            shown("state"),
            "up".to_owned(),
            format!("ip link set {interface} up"),
        );
    }
    if report.number("speed").is_none_or(|speed| speed < LINK) {
        add(
            "link speed",
            shown("speed") + " Mb/s",
            "200000 Mb/s".to_owned(),
            format!(
                "ethtool {interface}   # another cable or port? about 3 GB/s is the sign of stale firmware"
            ),
        );
    }
    if !report
        .get("link")
        .is_some_and(|state| state.contains("ACTIVE"))
    {
        add(
            "RoCE device",
            shown("link"),
            "ACTIVE".to_owned(),
            "ibv_devinfo".to_owned(),
        );
    }
    gids(site, rank, report, add);
    if report.get("jumbo") == Some("no") {
        let peer = match rank {
            Rank::Head => site.worker.fabric_ip,
            Rank::Worker => site.head.fabric_ip,
        };
        add(
            "whole packets to the other node",
            "lost".to_owned(),
            format!("{} bytes unfragmented", site.nccl.mtu),
            format!(
                "ping -M do -s {} -c 3 {peer}   # the MTU at both ends",
                site.nccl.mtu - 28
            ),
        );
    }
}

/// Memory, what else runs, and the model's files.
fn system(site: &Site, rank: Rank, report: &Report, add: &mut Add<'_>) {
    let node = rank.node(site);
    let shown = |key: &str| report.get(key).unwrap_or("nothing").to_owned();
    if report.number("pressure").is_some_and(|share| share > 5.0) {
        add(
            "memory pressure",
            shown("pressure") + " %",
            "below 5 %".to_owned(),
            "ps aux --sort=-rss | head".to_owned(),
        );
    }
    if let (Some(total), Some(free)) = (report.number("SwapTotal"), report.number("SwapFree"))
        && total - free > 1_048_576.0
    {
        add(
            "swap in use",
            format!("{:.1} GiB", (total - free) / 1_048_576.0),
            "none".to_owned(),
            "vmstat 1   # si and so should be 0".to_owned(),
        );
    }
    if report.get("desktop") == Some("yes") {
        add(
            "desktop",
            "runs".to_owned(),
            "off: it takes memory that the model needs".to_owned(),
            "sudo systemctl stop display-manager; sudo systemctl set-default multi-user.target"
                .to_owned(),
        );
    }
    if report.get("earlyoom") == Some("yes") {
        add(
            "earlyoom",
            "runs".to_owned(),
            "off: it kills the engine, which is the largest process".to_owned(),
            "sudo systemctl disable --now earlyoom".to_owned(),
        );
    }
    if let Some(gib) = report.number("MemTotal").map(|kib| kib / 1_048_576.0)
        && (gib - node.mem_gib).abs() > 0.5
    {
        add(
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
    if report.number("model_files").is_none_or(|files| files < 1.0) {
        add(
            "model",
            "no files".to_owned(),
            site.model.path.to_string(),
            format!("hf download {} --local-dir …", site.recipe.repository),
        );
    }
}

/// A RoCE v2 GID of the fabric's own address has to be there; a pinned one has to be that.
fn gids(site: &Site, rank: Rank, report: &Report, add: &mut Add<'_>) {
    let node = rank.node(site);
    let wanted = mapped(node.fabric_ip);
    let right: Vec<&str> = report
        .gids
        .iter()
        .filter(|gid| gid.contains("RoCE v2") && gid.ends_with(&wanted))
        .filter_map(|gid| gid.split(' ').next())
        .collect();
    if right.is_empty() {
        add(
            "GID",
            format!("none of {}", node.fabric_ip),
            format!("a RoCE v2 GID of {}", node.fabric_ip),
            format!(
                "ip address show {}   # the address has to be on this device's interface",
                node.fabric_if
            ),
        );
    } else if let Some(index) = node.gid_index.map(|index| index.to_string())
        && !right.contains(&index.as_str())
    {
        add(
            "GID",
            format!("gid_index = {index}"),
            right.join(" or "),
            format!(
                "set nodes.{}.gid_index = \"auto\" in {}",
                rank.word(),
                site.file
            ),
        );
    }
}

/// An IPv4 address as the kernel writes it in a GID.
fn mapped(address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets();
    format!("ffff:{a:02x}{b:02x}:{c:02x}{d:02x}")
}

fn both(head: &Report, worker: &Report, findings: &mut Vec<Finding>) {
    for (key, what, command) in [
        ("kernel", "kernel", "bring both to one DGX OS release"),
        (
            "driver",
            "NVIDIA driver",
            "bring both to one DGX OS release",
        ),
        (
            "firmware",
            "ConnectX firmware",
            "sudo mlxfwmanager --online -u   # on both, then a cold start",
        ),
        (
            "model_sum",
            "names and sizes of the model's files",
            "hf download again on the one that is short",
        ),
    ] {
        if let (Some(one), Some(other)) = (head.get(key), worker.get(key))
            && one != other
        {
            findings.push(Finding {
                node: "both".to_owned(),
                what,
                found: format!("{one} and {other}"),
                expected: "the same".to_owned(),
                command: command.to_owned(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::{Shape, example};

    const GOOD: &str = "kernel=6.17.0-1026-nvidia\nmtu=9000\nspeed=200000\nstate=up\nfirmware=28.45.4028\n\
        link=4: ACTIVE\ngid=3 RoCE v2 0000:0000:0000:0000:0000:ffff:c0a8:640a\n\
        gid=5 RoCE v2 0000:0000:0000:0000:0000:ffff:c0a8:640b\nMemTotal=125514547\nSwapTotal=100\nSwapFree=100\n\
        pressure=0.00\ndriver=580.173.02\ndesktop=no\nearlyoom=no\nmodel_files=50\nmodel_sum=1-2\njumbo=yes\nend=1\n";

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
            ("mtu=9000", "mtu=1500"),
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
            ("driver=580.173.02", "driver=580.142"),
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
        assert_eq!(judged("gid_index = 1", &[])[0].what, "GID");
    }
}
