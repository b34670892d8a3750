//! Telling a missing network from other failures, by what `uvx` and `pip` print.

/// Pieces of their messages that mean the package index was not reached. From uv 0.13.9 and pip 23.2
/// against a closed port, a name that does not resolve, and `--offline`.
const SIGNS: &[&str] = &[
    "Failed to fetch:",
    "network was disabled",
    "error sending request",
    "dns error",
    "tcp connect error",
    "operation timed out",
    "Name or service not known",
    "nodename nor servname provided",
    "Temporary failure in name resolution",
    "Network is unreachable",
    "Failed to establish a new connection",
    "after connection broken by",
    "Cannot connect to proxy",
    "(from versions: none)",
];

/// Whether this output says that the network, or the package index, was not reached.
pub(crate) fn unreached(output: &str) -> bool {
    SIGNS.iter().any(|sign| output.contains(sign))
}
