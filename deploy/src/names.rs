//! The words of a site: names, addresses and paths that can hold no bad value.

use std::fmt;
use std::net::Ipv4Addr;

use crate::reader::{Value, text_value};

/// Defines a string that has passed its test.
macro_rules! word {
    ($(#[$doc:meta])* $name:ident, $expected:expr, $placeholder:expr, $test:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// What the text must be.
            pub const EXPECTED: &'static str = $expected;

            /// The text as this type; `None` when it is none.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                let test: fn(&str) -> bool = $test;
                test(text).then(|| Self(text.to_owned()))
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        text_value!($name, $name::EXPECTED, $name($placeholder.to_owned()));
    };
}

fn lower_or_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_label(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text
            .bytes()
            .all(|byte| lower_or_digit(byte) || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_file_name(text: &str, more: &[u8]) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
}

word!(
    /// A DNS-1123 label, as Kubernetes wants it of a namespace.
    Label,
    "a DNS label: 1 to 63 of a-z, 0-9 and -, with a letter or digit at both ends",
    "x",
    is_label
);

word!(
    /// The stack's name: a DNS-1035 label, which LeaderWorkerSet and Service demand, short enough
    /// that the names made from it are labels too.
    StackName,
    "a name that starts with a letter, of a-z, 0-9 and -, at most 52 long",
    "x",
    |text| is_label(text) && text.len() <= 52 && text.as_bytes()[0].is_ascii_lowercase()
);

word!(
    /// The name of a node: a DNS-1123 subdomain.
    NodeName,
    "a node's name as `kubectl get nodes` has it: DNS labels joined by dots",
    "x",
    |text| text.len() <= 253 && text.split('.').all(is_label)
);

word!(
    /// A network interface of Linux: at most 15 bytes (IFNAMSIZ is 16 with its end).
    Interface,
    "a network interface's name, at most 15 long, like enp1s0f1np1",
    "x",
    |text| text.len() <= 15 && is_file_name(text, b"._-")
);

word!(
    /// A RoCE device with or without its port, as `NCCL_IB_HCA` takes it.
    Hca,
    "a RoCE device, with or without :PORT, like rocep1s0f1:1",
    "x",
    |text| {
        let (device, port) = text.split_once(':').unwrap_or((text, "1"));
        is_file_name(device, b"_-") && port.parse::<u8>().is_ok_and(|port| port > 0)
    }
);

word!(
    /// An absolute path on the nodes or in the container, without `..`, spaces or quotes.
    AbsolutePath,
    "an absolute path without .., spaces or quotes",
    "/x",
    |text| {
        text.len() > 1
            && text.starts_with('/')
            && !text.ends_with('/')
            && text[1..]
                .split('/')
                .all(|part| part != ".." && is_file_name(part, b"._-+@="))
    }
);

word!(
    /// An amount of memory as Kubernetes writes it.
    MemoryQuantity,
    "an amount of memory like 16Gi",
    "1Gi",
    |text| {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        matches!(&text[digits.len()..], "Mi" | "Gi")
            && digits.parse::<u32>().is_ok_and(|amount| amount > 0)
    }
);

word!(
    /// The name under which a model is served, or a route of the router.
    ServedName,
    "a model's name: letters, digits, and any of . _ / -",
    "x",
    |text| is_file_name(text, b"._-/")
);

word!(
    /// A container image with a tag or digest.
    ImageRef,
    "an image with a tag or digest, like docker.io/eugr/spark-vllm-b12x:nightly-20260928",
    "x:x",
    |text| {
        let (name, digest) = text
            .split_once('@')
            .map_or((text, None), |(name, digest)| (name, Some(digest)));
        let tag = image_tag(name);
        let name = tag.map_or(name, |tag| &name[..name.len() - tag.len() - 1]);
        is_file_name(name, b"._-/:")
            && tag.is_none_or(|tag| tag.len() <= 128 && is_file_name(tag, b"._-"))
            && digest.is_none_or(|digest| {
                digest.strip_prefix("sha256:").is_some_and(|hex| {
                    hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
                })
            })
            && (tag.is_some() || digest.is_some())
    }
);

impl Hca {
    /// The device without its port.
    #[must_use]
    pub fn device(&self) -> &str {
        self.0.split(':').next().unwrap_or(&self.0)
    }
}

impl ImageRef {
    /// The image without tag and digest.
    #[must_use]
    pub fn repository(&self) -> &str {
        image_repository(&self.0)
    }
}

/// The part of an image's name before its tag and digest.
#[must_use]
pub fn image_repository(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or(image);
    image_tag(name).map_or(name, |tag| &name[..name.len() - tag.len() - 1])
}

/// The tag in an image's name, before any digest. A colon before a slash is a registry's port.
#[must_use]
pub fn image_tag(image: &str) -> Option<&str> {
    let name = image.split('@').next().unwrap_or(image);
    name.rsplit_once(':')
        .map(|(_, tag)| tag)
        .filter(|tag| !tag.contains('/'))
}

/// Whether a tag names another image from one day to the next: none at all, `latest`, `nightly`
/// and their like without a date or version.
#[must_use]
pub fn is_moving(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    image_tag(image).is_none_or(|tag| !tag.bytes().any(|byte| byte.is_ascii_digit()))
}

impl Value for Ipv4Addr {
    const EXPECTED: &'static str = "an IPv4 address of one host, like 192.168.100.10";

    fn read(item: &toml_edit::Item) -> Option<Self> {
        item.as_str()?.parse::<Self>().ok().filter(|ip| {
            !ip.is_loopback() && !ip.is_unspecified() && !ip.is_multicast() && !ip.is_broadcast()
        })
    }

    fn placeholder() -> Self {
        Self::UNSPECIFIED
    }
}

/// A network: an address and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: Ipv4Addr,
    prefix: u8,
}

impl Cidr {
    /// The network that `text` names.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let prefix = prefix.parse().ok().filter(|prefix| *prefix <= 32)?;
        Some(Self {
            address: address.parse().ok()?,
            prefix,
        })
    }

    /// The network of this prefix that holds `address`.
    #[must_use]
    pub fn around(address: Ipv4Addr, prefix: u8) -> Self {
        Self { address, prefix }
    }

    /// Whether it holds `address`.
    #[must_use]
    pub fn contains(self, address: Ipv4Addr) -> bool {
        let mask = u32::MAX
            .checked_shl(32 - u32::from(self.prefix))
            .unwrap_or(0);
        u32::from(self.address) & mask == u32::from(address) & mask
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

text_value!(
    Cidr,
    "a network like 192.168.65.0/28",
    Cidr::around(Ipv4Addr::UNSPECIFIED, 0)
);

/// A version of Kubernetes whose fields are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KubernetesVersion(u8);

impl KubernetesVersion {
    /// The oldest; a test holds this and [`Self::NEWEST`] against the data.
    pub const OLDEST: Self = Self(25);
    /// The newest.
    pub const NEWEST: Self = Self(37);

    /// The version that `text` names, like `1.36` or `v1.36.2`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let minor = text.trim_start_matches('v').strip_prefix("1.")?;
        let minor = minor.split('.').next()?.parse().ok().map(Self)?;
        (Self::OLDEST..=Self::NEWEST)
            .contains(&minor)
            .then_some(minor)
    }

    /// Its minor number.
    #[must_use]
    pub fn minor(self) -> u8 {
        self.0
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

text_value!(
    KubernetesVersion,
    "a version of Kubernetes from 1.25 to 1.37, like \"1.36\"",
    KubernetesVersion::NEWEST
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moving_tag_has_no_digit() {
        for image in ["vllm", "a/vllm:latest", "r:5000/vllm", "vllm:nightly"] {
            assert!(is_moving(image), "{image}");
        }
        for image in [
            "vllm:0.1.1",
            "e/v:nightly-20260928",
            "r:5000/vllm:v2",
            "v@sha256:ab",
        ] {
            assert!(!is_moving(image), "{image}");
        }
    }

    #[test]
    fn a_network_holds_its_hosts_only() {
        let pool = Cidr::parse("192.168.65.0/28").unwrap();
        assert!(pool.contains(Ipv4Addr::new(192, 168, 65, 15)));
        assert!(!pool.contains(Ipv4Addr::new(192, 168, 65, 16)));
        assert!(
            Cidr::parse("0.0.0.0/0")
                .unwrap()
                .contains(Ipv4Addr::new(9, 9, 9, 9))
        );
        assert_eq!(Cidr::parse("192.168.65.0/33"), None);
    }
}
