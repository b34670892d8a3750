//! The cable between the nodes: its interface, its RoCE devices, their addresses.

use std::net::Ipv4Addr;

use super::Report;
use super::judge::{Add, Topic, shown};
use crate::engine::Rank;
use crate::site::Site;

/// The rate of a link between two Sparks, Mb/s.
pub const LINK: f64 = 200_000.0;

/// Notes what is not as it should be.
pub(super) fn look(site: &Site, rank: Rank, report: &Report, add: &mut Add<'_>) {
    interface(site, rank, report, add);
    devices(site, rank, report, add);
    gids(site, rank, report, add);
}

/// The interface of the cable.
fn interface(site: &Site, rank: Rank, report: &Report, add: &mut Add<'_>) {
    let interface = rank.node(site).fabric_if.as_str();
    let mtu = site.nccl.mtu.to_string();
    if report.get("mtu") != Some(&mtu) {
        add(
            Topic::Cable,
            "MTU",
            shown(report, "mtu"),
            mtu.clone(),
            mtu_command(interface, &mtu),
        );
    }
    if report.get("state") != Some("up") {
        add(
            Topic::Cable,
            "link",
            shown(report, "state"),
            "up".to_owned(),
            format!("ip link set {interface} up"),
        );
    }
    if report.number("speed").is_none_or(|speed| speed < LINK) {
        add(
            Topic::Cable,
            "link speed",
            shown(report, "speed") + " Mb/s",
            "200000 Mb/s".to_owned(),
            format!(
                "ethtool {interface}   # another cable or port? about 3 GB/s is the sign of stale firmware"
            ),
        );
    }
    if report.get("jumbo") == Some("no") {
        let peer = match rank {
            Rank::Head => site.worker.fabric_ip,
            Rank::Worker => site.head.fabric_ip,
        };
        add(
            Topic::Cable,
            "whole packets to the other node",
            "lost".to_owned(),
            format!("{mtu} bytes unfragmented"),
            format!(
                "ping -M do -s {} -c 3 {peer}   # the MTU at both ends",
                site.nccl.mtu - 28
            ),
        );
    }
}

fn mtu_command(interface: &str, mtu: &str) -> String {
    format!(
        "nmcli connection modify CONNECTION 802-3-ethernet.mtu {mtu}; ip link set {interface} mtu {mtu}"
    )
}

/// The RoCE devices.
fn devices(site: &Site, rank: Rank, report: &Report, add: &mut Add<'_>) {
    for hca in &rank.node(site).hca {
        let device = hca.device();
        let key = |what: &str| format!("{device}.{what}");
        if !report
            .get(&key("link"))
            .is_some_and(|state| state.contains("ACTIVE"))
        {
            add(
                Topic::Cable,
                &format!("RoCE device {device}"),
                shown(report, &key("link")),
                "ACTIVE".to_owned(),
                format!("ibv_devinfo -d {device}"),
            );
        }
        let mtu = site.nccl.mtu.to_string();
        if report.get(&key("mtu")).is_some_and(|found| found != mtu)
            && report.get("mtu") == Some(&mtu)
        {
            add(
                Topic::Cable,
                &format!("MTU of the interface of {device}"),
                shown(report, &key("mtu")),
                mtu.clone(),
                mtu_command(
                    &format!("$(ls /sys/class/infiniband/{device}/device/net)"),
                    &mtu,
                ),
            );
        }
        let wanted = active_mtu(site.nccl.mtu);
        if report
            .number(&key("active_mtu"))
            .is_some_and(|found| found < f64::from(wanted))
        {
            add(
                Topic::Cable,
                &format!("active_mtu of {device}"),
                shown(report, &key("active_mtu")),
                wanted.to_string(),
                format!(
                    "ibv_devinfo -d {device} | grep active_mtu   # follows the interface's MTU; then restart both ranks: codex-ds deploy recover --restart"
                ),
            );
        }
    }
}

/// What RoCE makes of an interface's MTU: the largest of its own sizes that fits beside 76 bytes of
/// headers (Ethernet's GRH, BTH, and their extensions).
fn active_mtu(mtu: u64) -> u32 {
    [4096, 2048, 1024, 512]
        .into_iter()
        .find(|size| u64::from(*size) + 76 <= mtu)
        .unwrap_or(256)
}

/// A RoCE v2 GID of the fabric's own address has to be there; a pinned one has to be that.
fn gids(site: &Site, rank: Rank, report: &Report, add: &mut Add<'_>) {
    let node = rank.node(site);
    let wanted = mapped(node.fabric_ip);
    let right: Vec<&str> = report
        .gids
        .iter()
        .filter(|gid| gid.contains("RoCE v2") && gid.ends_with(&wanted))
        .filter_map(|gid| gid.split(' ').nth(1))
        .collect();
    if right.is_empty() {
        add(
            Topic::Gid,
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
            Topic::Gid,
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
    for hca in &node.hca {
        let device = hca.device();
        let of_device = |gid: &&String| gid.split(' ').next() == Some(device);
        let has = report
            .gids
            .iter()
            .filter(of_device)
            .any(|gid| gid.contains("RoCE v2") && gid.contains(":ffff:"));
        // The first device's own fault was noted above.
        if !has && !right.is_empty() {
            add(
                Topic::Gid,
                &format!("GID of {device}"),
                "none with an IPv4 address".to_owned(),
                "a RoCE v2 GID".to_owned(),
                format!(
                    "ip address show $(ls /sys/class/infiniband/{device}/device/net)   # each device's interface needs an address"
                ),
            );
        }
    }
}

/// An IPv4 address as the kernel writes it in a GID.
fn mapped(address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets();
    format!("ffff:{a:02x}{b:02x}:{c:02x}{d:02x}")
}

#[cfg(test)]
mod tests {
    use super::active_mtu;

    #[test]
    fn roce_takes_the_largest_of_its_sizes_that_fits() {
        for (mtu, active) in [
            (9000, 4096),
            (4200, 4096),
            (4100, 2048),
            (1500, 1024),
            (1280, 1024),
        ] {
            assert_eq!(active_mtu(mtu), active, "{mtu}");
        }
    }
}
