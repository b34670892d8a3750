//! What NCCL's log says of the way between two nodes. Its lines are those of NCCL 2.4 to 2.30 with
//! `NCCL_DEBUG=INFO`.

use serde::Serialize;

/// How the nodes talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// RDMA over the RoCE device; NCCL's own name for it is IB.
    Roce,
    /// TCP sockets.
    Sockets,
}

impl Transport {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Roce => "RoCE",
            Self::Sockets => "TCP sockets",
        }
    }
}

/// How the nodes talk by a log; `None` where it does not tell. What a channel uses tells more than
/// what NCCL chose, and that more than what it found: it looks for sockets in any case.
#[must_use]
pub fn transport(log: &str) -> Option<Transport> {
    const SIGNS: [[&str; 2]; 3] = [
        ["via NET/IB", "via NET/Socket"],
        ["Using network IB", "Using network Socket"],
        ["NET/IB : Using [", "NET/Socket : Using ["],
    ];
    SIGNS.iter().find_map(|[roce, sockets]| {
        if log.contains(sockets) && !log.contains(roce) {
            Some(Transport::Sockets)
        } else {
            log.contains(roce).then_some(Transport::Roce)
        }
    })
}

/// The RoCE devices that NCCL found, like `rocep1s0f1:1`.
#[must_use]
pub fn devices(log: &str) -> Vec<String> {
    let Some((_, rest)) = log.split_once("NET/IB : Using ") else {
        return Vec::new();
    };
    rest.lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .take_while(|word| word.starts_with('[') && !word.starts_with("[RO]"))
        .filter_map(|word| word.split_once(']'))
        .filter_map(|(_, device)| device.split('/').next())
        .map(str::to_owned)
        .collect()
}

/// NCCL's own warnings, each once.
#[must_use]
pub fn warnings(log: &str) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for line in log.lines() {
        let told = line
            .split_once("NCCL WARN ")
            .map(|(_, told)| told)
            .or_else(|| line.contains("NCCL error").then_some(line))
            .or_else(|| line.contains("unhandled system error").then_some(line));
        if let Some(told) = told {
            let told: String = told.trim().chars().take(200).collect();
            if !warnings.contains(&told) {
                warnings.push(told);
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_counts_more_than_what_was_found() {
        use Transport::{Roce, Sockets};
        for (log, expected) in [
            (
                "spark-1:90:90 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0",
                Some(Roce),
            ),
            (
                "spark-1:90:90 [0] NCCL INFO Channel 09/0 : 1[0] -> 0[0] [send] via NET/IBext_v10/1",
                Some(Roce),
            ),
            (
                "spark-1:90:90 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0",
                Some(Sockets),
            ),
            (
                "spark-1:90:90 [0] NCCL INFO Using network Socket",
                Some(Sockets),
            ),
            (
                "NCCL INFO NET/Socket : Using [0]enP7s7:192.168.100.10<0>",
                Some(Sockets),
            ),
            // It looks for sockets even where it goes on to the device.
            (
                "NCCL INFO NET/Socket : Using [0]enp1s0f1np1:<0>\nNCCL INFO NET/IB : Using [0]rocep1s0f1:1/RoCE [RO]; OOB enp1s0f1np1:192.168.100.10<0>",
                Some(Roce),
            ),
            // It found the device and used sockets.
            (
                "NCCL INFO NET/IB : Using [0]rocep1s0f1:1/RoCE\nNCCL INFO Using network Socket",
                Some(Sockets),
            ),
            ("INFO Application startup complete.", None),
        ] {
            assert_eq!(transport(log), expected, "{log}");
        }
    }

    #[test]
    fn devices_and_warnings_are_read() {
        let log = "s:1:1 [0] NCCL INFO NET/IB : Using [0]rocep1s0f1:1/RoCE [1]roceP2p1s0f1:1/RoCE [RO]; OOB enP7s7:192.168.100.101<0>\n\
            s:1:1 [0] misc/ibvwrap.cc:130 NCCL WARN Call to ibv_modify_qp failed with error Invalid argument\n\
            s:1:1 [0] misc/ibvwrap.cc:130 NCCL WARN Call to ibv_modify_qp failed with error Invalid argument\n";
        assert_eq!(devices(log), ["rocep1s0f1:1", "roceP2p1s0f1:1"]);
        assert_eq!(
            warnings(log),
            ["Call to ibv_modify_qp failed with error Invalid argument"]
        );
        assert_eq!(devices("NCCL INFO NET/IB : No device found."), [""; 0]);
    }

    proptest::proptest! {
        #[test]
        fn no_log_is_too_odd(text in "\\PC{0,200}") {
            let _ = (transport(&text), devices(&text), warnings(&text));
            let _ = devices(&format!("NET/IB : Using {text}"));
        }
    }
}
