//! Classes of rules, and the presets.

use std::fmt;
use std::str::FromStr;

/// What a rule protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Files and folders deleted or moved away.
    Delete,
    /// Disks and filesystems.
    Disk,
    /// Power and services.
    Power,
    /// Processes of others.
    Process,
    /// Hardware and firmware.
    Hardware,
    /// The state of GPUs.
    Gpu,
    /// Network interfaces and firewall.
    Network,
    /// Kernel, modules and sysctl.
    Kernel,
    /// Packages and system files.
    System,
    /// Users, permissions and privilege.
    Users,
    /// Containers and images.
    Container,
    /// Clusters.
    Kubernetes,
    /// Commands that run on another machine.
    Remote,
    /// Git history, working tree and remote.
    Git,
    /// Issues, pull requests and other things on a forge.
    Forge,
    /// Cloud and infrastructure.
    Cloud,
    /// Databases and message queues.
    Data,
    /// Packages and images made public.
    Publish,
    /// Secrets read.
    Secret,
    /// Data sent away.
    Exfiltration,
    /// The guard itself, and Codex's configuration.
    Guard,
    /// Code that cannot be read.
    Shell,
}

impl Class {
    /// Every class, in the order of the documentation.
    pub const ALL: &'static [Self] = &[
        Self::Delete,
        Self::Disk,
        Self::Power,
        Self::Process,
        Self::Hardware,
        Self::Gpu,
        Self::Network,
        Self::Kernel,
        Self::System,
        Self::Users,
        Self::Container,
        Self::Kubernetes,
        Self::Remote,
        Self::Git,
        Self::Forge,
        Self::Cloud,
        Self::Data,
        Self::Publish,
        Self::Secret,
        Self::Exfiltration,
        Self::Guard,
        Self::Shell,
    ];

    /// The name in `guard.toml` and in rule ids.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Disk => "disk",
            Self::Power => "power",
            Self::Process => "process",
            Self::Hardware => "hardware",
            Self::Gpu => "gpu",
            Self::Network => "network",
            Self::Kernel => "kernel",
            Self::System => "system",
            Self::Users => "users",
            Self::Container => "container",
            Self::Kubernetes => "kubernetes",
            Self::Remote => "remote",
            Self::Git => "git",
            Self::Forge => "forge",
            Self::Cloud => "cloud",
            Self::Data => "data",
            Self::Publish => "publish",
            Self::Secret => "secret",
            Self::Exfiltration => "exfiltration",
            Self::Guard => "guard",
            Self::Shell => "shell",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A named choice of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Preset {
    /// A lab with real hardware and clusters: everything that changes state is denied.
    #[default]
    Lab,
    /// A developer's own machine: deletes inside the workspace, plain pushes and project
    /// installs pass.
    Dev,
}

impl Preset {
    /// The name in `guard.toml`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lab => "lab",
            Self::Dev => "dev",
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, UnknownPreset> {
        match name {
            "lab" => Ok(Self::Lab),
            "dev" => Ok(Self::Dev),
            _ => Err(UnknownPreset(name.to_owned())),
        }
    }
}

/// A preset's name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPreset(pub String);

impl fmt::Display for UnknownPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown preset {:?}: use \"lab\" or \"dev\"", self.0)
    }
}

impl std::error::Error for UnknownPreset {}
