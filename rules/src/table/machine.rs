//! Disks, power, services, processes, hardware, network and kernel.

use super::BOTH;
use crate::{Class, Matcher, Prefixes, Rule, on};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "disk.format",
        class: Class::Disk,
        title: "making a filesystem or swap",
        why: "what is on the device is lost",
        instead: "ask the user to format it",
        on: Matcher::Commands(&[
            on(&["mkfs", "mke2fs", "mkswap", "newfs"]),
            on(&["mkfs.*", "newfs_*"]),
        ]),
        presets: BOTH,
        execpolicy: Prefixes::Same,
        deny: &["mkfs.ext4 /dev/sdb", "mkfs -t xfs /dev/sdb1"],
        allow: &["mkfs.ext4 -V", "grep mkfs install.sh"],
    },
    Rule {
        id: "power.off",
        class: Class::Power,
        title: "shutting down or restarting the machine",
        why: "everyone's work on it stops",
        instead: "ask the user",
        on: Matcher::Commands(&[
            on(&["reboot", "poweroff", "halt", "shutdown"]),
            on(&["systemctl"]).sub(&[&[
                "reboot",
                "poweroff",
                "halt",
                "kexec",
                "suspend",
                "hibernate",
                "rescue",
                "emergency",
            ]]),
        ]),
        presets: BOTH,
        execpolicy: Prefixes::Same,
        deny: &["reboot", "shutdown -h now", "systemctl reboot"],
        allow: &["last reboot", "reboot --help"],
    },
];
