//! Programs with subcommands: which of their options take a value, so that the subcommand is
//! found behind them.

/// How a program's command line is read.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Base names.
    pub names: &'static [&'static str],
    /// Options with a value that may stand before the subcommand.
    pub values: &'static [&'static str],
    /// Whether subcommands may be shortened to any prefix (`ip a`, `nmcli c`).
    pub abbreviates: bool,
}

const fn program(names: &'static [&'static str], values: &'static [&'static str]) -> Program {
    Program {
        names,
        values,
        abbreviates: false,
    }
}

#[rustfmt::skip]
const KUBE: &[&str] = &[
    "-n", "--namespace", "--context", "--cluster", "--kubeconfig", "--user", "-s", "--server",
    "--token", "--as", "--as-group", "--as-uid", "--certificate-authority", "--client-certificate",
    "--client-key", "--cache-dir", "--request-timeout", "--tls-server-name", "-v", "--v",
    "--profile", "--profile-output", "--kube-context", "-l", "--selector", "-f", "--filename", "-c",
    "--container", "-o", "--output",
];
#[rustfmt::skip]
const CONTAINER: &[&str] = &[
    "-H", "--host", "--config", "-c", "--context", "-l", "--log-level", "--tlscacert", "--tlscert",
    "--tlskey", "--namespace", "-n", "--address", "-a", "--connection", "--url", "--root",
    "--runroot", "--storage-driver", "--runtime-endpoint", "--image-endpoint", "-r", "-i", "-t",
    "--timeout", "-f", "--file", "-p", "--project-name", "--project-directory", "--env-file",
    "--profile", "--ansi", "--progress", "--parallel", "--builder",
];

/// Programs with subcommands.
#[rustfmt::skip] // Rows read best as rows.
pub static PROGRAMS: &[Program] = &[
    program(
        &["git"],
        &[
            "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix",
            "--config-env", "--attr-source", "--list-cmds",
        ],
    ),
    program(
        &[
            "kubectl", "k", "oc", "kubecolor", "helm", "helmfile", "flux", "argocd", "velero",
            "etcdctl", "etcdutl", "kustomize", "istioctl", "linkerd", "cilium", "kubeadm",
            "calicoctl", "kind", "minikube", "k3d", "rke2", "k3s", "talosctl", "clusterctl",
            "eksctl", "kops", "skaffold", "tilt",
        ],
        KUBE,
    ),
    program(
        &[
            "docker", "podman", "nerdctl", "crictl", "ctr", "buildah", "docker-compose",
            "podman-compose", "skopeo", "lxc", "lxd", "incus", "machinectl",
        ],
        CONTAINER,
    ),
    program(
        &[
            "systemctl", "loginctl", "journalctl", "timedatectl", "hostnamectl", "localectl",
            "machinectl", "resolvectl", "networkctl", "bootctl",
        ],
        &[
            "-H", "--host", "-M", "--machine", "-t", "--type", "-p", "--property", "-n", "--lines",
            "-o", "--output", "--root", "--job-mode", "-s", "--signal", "--kill-who", "--kill-whom",
            "--state", "--what", "-P", "-i", "--interface",
        ],
    ),
    Program {
        names: &["ip", "bridge", "tc", "rdma", "devlink", "dcb"],
        values: &["-n", "-netns", "-family", "-rcvbuf", "-batch", "-loops", "-conf"],
        abbreviates: true,
    },
    Program {
        names: &["nmcli"],
        values: &[
            "-c", "--colors", "-f", "--fields", "-g", "--get-values", "-m", "--mode", "-w",
            "--wait", "-e", "--escape",
        ],
        abbreviates: true,
    },
    program(
        &[
            "gh", "glab", "hub", "tea", "az", "aws", "gcloud", "doctl", "flyctl", "fly", "heroku",
            "vercel", "netlify", "wrangler", "firebase", "hcloud", "linode-cli", "oci", "ibmcloud",
            "scw", "openstack", "gsutil", "hf", "huggingface-cli", "wandb", "vault", "consul",
            "nomad", "op", "bw", "doppler",
        ],
        &[
            "-R", "--repo", "--hostname", "--profile", "--region", "--output", "--query",
            "--endpoint-url", "--project", "--account", "--configuration", "--format",
            "--subscription", "-g", "--resource-group", "-o", "-t", "--token", "-a", "--app",
            "--zone", "--impersonate-service-account", "--cli-input-json", "--ca-bundle", "-c",
            "--config", "--verbosity", "-p",
        ],
    ),
    program(
        &[
            "terraform", "tofu", "terragrunt", "pulumi", "cdk", "sam", "packer", "serverless",
            "sls", "vagrant",
        ],
        &["--stack", "-s", "-C", "--cwd", "--app", "--profile", "--region", "--stage"],
    ),
    program(
        &["cargo"],
        &["--config", "-C", "-Z", "--color", "--manifest-path", "--explain"],
    ),
    program(
        &["npm", "pnpm", "yarn", "bun", "npx", "lerna", "nx"],
        &["--prefix", "-C", "--dir", "--cwd", "-w", "--workspace", "--filter", "-F", "--registry"],
    ),
    program(
        &[
            "pip", "pip3", "pipx", "uv", "poetry", "pdm", "conda", "mamba", "micromamba", "pixi",
            "twine", "hatch", "flit", "rye", "easy_install",
        ],
        &[
            "-C", "--directory", "--project", "--config-file", "--python", "-p", "--cache-dir",
            "--proxy", "--log", "-n", "--name",
        ],
    ),
    program(
        &[
            "apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "pacman", "apk", "brew", "snap",
            "flatpak", "port", "nix-env", "emerge", "microdnf", "tdnf", "rpm-ostree", "dnf5",
        ],
        &[
            "-o", "--option", "-c", "--config-file", "-t", "--target-release", "-a",
            "--host-architecture", "--installroot", "--releasever", "--repo", "--disablerepo",
            "--enablerepo",
        ],
    ),
    program(
        &[
            "zfs", "zpool", "btrfs", "lvm", "mdadm", "nvme", "cryptsetup", "multipath", "stratis",
            "vdo", "bcachefs", "xfs_admin", "storcli", "storcli64", "megacli", "perccli", "ssacli",
            "sas3ircu", "dmsetup",
        ],
        &["--hash", "--cipher", "--key-file", "-d", "--key-size", "-c", "-h", "-s", "--type"],
    ),
    program(
        &["ipmitool"],
        &[
            "-H", "-U", "-P", "-I", "-E", "-f", "-L", "-p", "-C", "-R", "-N", "-k", "-y", "-e",
            "-o", "-O", "-S", "-t", "-b", "-B", "-T", "-l", "-D", "-m", "-A",
        ],
    ),
    program(
        &[
            "racadm", "virsh", "vboxmanage", "VBoxManage", "qm", "pct", "xe", "esxcli", "govc",
            "vmrun", "supervisorctl", "pm2", "tailscale", "wg", "zerotier-cli", "ufw",
            "firewall-cmd", "nft", "mst", "fwupdmgr", "mokutil", "dkms", "update-alternatives",
            "alternatives", "snapper", "timeshift", "mlxconfig", "mstconfig", "flint",
            "mlxfwmanager", "bfb-install", "bluetoothctl", "rfkill", "wpa_cli", "iw", "initctl",
            "sv", "rc-service", "service", "rabbitmqctl", "kafka-topics", "nvidia-smi", "dcgmi",
            "amixer", "svn", "hg", "jj", "fossil", "bzr", "gem", "bundle", "composer", "dotnet",
            "mvn", "gradle", "go", "rustup", "vsce", "ovsx", "docker-machine", "mc", "s3cmd",
            "rclone", "restic", "borg", "vagrant",
        ],
        &["-c", "--connect", "-r", "-u", "-p", "-h", "--host", "-s", "--sysname", "-d", "--device"],
    ),
    program(&["ovs-vsctl", "ovs-ofctl", "brctl"], &["--db"]),
];

crate::index::index!(PROGRAMS, names);

/// The row of a program.
#[must_use]
pub fn of(program: &str) -> Option<&'static Program> {
    INDEX.rows(program).next().map(|row| &PROGRAMS[row])
}
