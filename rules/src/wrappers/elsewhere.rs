//! Programs that run a command on another machine, in a container or in a pod.

use super::{BASE, Form, Where, Wrapper};

const KUBE: &[&str] = &[
    "-n", "--namespace", "-c", "--container", "--context", "--kubeconfig", "--cluster", "--user",
    "-s", "--server", "--token", "--as", "--pod-running-timeout", "-f", "--filename",
    "--request-timeout",
];

const RUN: &[&str] = &[
    "-v", "--volume", "-e", "--env", "--env-file", "-p", "--publish", "-w", "--workdir", "-u",
    "--user", "--name", "--network", "--net", "--mount", "--entrypoint", "-h", "--hostname", "-l",
    "--label", "-m", "--memory", "--cpus", "--gpus", "--device", "--restart", "--platform",
    "--pull", "--shm-size", "--ulimit", "--cap-add", "--cap-drop", "--security-opt", "--tmpfs",
    "--add-host", "--dns", "--ipc", "--pid", "--userns", "--uts", "--log-driver", "--log-opt",
    "--runtime", "--stop-signal", "--stop-timeout", "--memory-swap", "--cpuset-cpus", "--group-add",
    "--ip", "--link", "--expose", "--sysctl", "--cidfile", "--annotation", "--health-cmd", "-c",
    "--cpu-shares", "--volumes-from", "--network-alias", "-H", "--host", "--context", "--config",
    "--log-level", "--namespace", "-n", "-a", "--attach", "--detach-keys", "--index",
];

const SSH: &[&str] = &[
    "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-P",
    "-Q", "-R", "-S", "-W", "-w", "-B",
];

const COMPOSE: &[&str] = &[
    "-e", "--env", "-u", "--user", "-w", "--workdir", "--index", "-f", "--file", "-p",
    "--project-name",
];

const ENGINES: &[&str] = &["docker", "podman", "nerdctl"];

const COMPOSERS: &[&str] = &["docker-compose", "podman-compose"];

/// The place is named first, then the words of the command.
const REMOTE: Wrapper = Wrapper {
    skip: 1,
    place: Where::Remote,
    ..BASE
};

/// A shell there reads the words.
const SCRIPT: Wrapper = Wrapper {
    form: Form::Script,
    place: Where::Remote,
    ..BASE
};

/// The image is named first.
const NEW: Wrapper = Wrapper {
    values: RUN,
    skip: 1,
    place: Where::Container,
    ..BASE
};

pub(super) const ROWS: &[Wrapper] = &[
    Wrapper {
        names: &["podman"],
        sub: &[&["unshare"]],
        ..BASE
    },
    Wrapper {
        names: &["ssh", "autossh", "gcloud-ssh"],
        values: SSH,
        skip: 1,
        form: Form::Script,
        place: Where::Remote,
        inert: &["-V", "-Q", "-G"],
        ..BASE
    },
    Wrapper {
        names: &["sshpass"],
        values: &["-p", "-f", "-d", "-P"],
        ..BASE
    },
    Wrapper {
        names: &["mosh", "dbclient", "plink", "rsh", "rlogin", "et"],
        values: &["-p", "--ssh", "--port", "-l", "-i", "-P", "-pw", "-m"],
        skip: 1,
        ..SCRIPT
    },
    Wrapper {
        names: &[
            "pdsh", "dsh", "pssh", "parallel-ssh", "clush", "mpssh", "sshuttle-run", "cssh", "rush",
        ],
        values: &[
            "-w", "-x", "-g", "-l", "-f", "-t", "-u", "-h", "-H", "-o", "-O", "-m", "-R", "-e",
            "-p",
        ],
        ..SCRIPT
    },
    Wrapper {
        names: &["srun", "mpirun", "mpiexec", "prun", "torchrun-exec", "horovodrun"],
        values: &[
            "-n", "-np", "-N", "-w", "-p", "-t", "-J", "-H", "--host", "--hostfile", "-x", "--mca",
            "-c", "--gres", "--partition", "--nodelist", "--nodes",
        ],
        ..BASE
    },
    Wrapper {
        names: &["kubectl", "k", "oc", "kubecolor"],
        sub: &[&["exec", "rsh"]],
        values: KUBE,
        ..REMOTE
    },
    Wrapper {
        names: &["docker", "podman", "nerdctl", "crictl"],
        sub: &[&["exec"]],
        values: RUN,
        ..REMOTE
    },
    Wrapper {
        names: ENGINES,
        sub: &[&["container"], &["exec"]],
        values: RUN,
        ..REMOTE
    },
    Wrapper {
        names: ENGINES,
        sub: &[&["compose"], &["exec"]],
        values: COMPOSE,
        ..REMOTE
    },
    Wrapper {
        names: COMPOSERS,
        sub: &[&["exec"]],
        values: COMPOSE,
        ..REMOTE
    },
    Wrapper {
        names: ENGINES,
        sub: &[&["run", "create"]],
        ..NEW
    },
    Wrapper {
        names: ENGINES,
        sub: &[&["compose"], &["run"]],
        ..NEW
    },
    Wrapper {
        names: COMPOSERS,
        sub: &[&["run"]],
        ..NEW
    },
    Wrapper {
        names: &["lxc", "incus"],
        sub: &[&["exec"]],
        values: &["--env", "--cwd", "--mode", "--user", "--group"],
        ..REMOTE
    },
    Wrapper {
        names: &["ctr"],
        sub: &[&["task", "tasks", "t"], &["exec"]],
        values: &["-n", "--namespace", "--exec-id", "--cwd", "--user", "-a"],
        ..REMOTE
    },
    Wrapper {
        names: &["machinectl"],
        sub: &[&["shell"]],
        values: &["-M", "-E", "--uid"],
        ..REMOTE
    },
    Wrapper {
        names: &["vagrant"],
        sub: &[&["ssh"]],
        scripts: &["-c", "--command"],
        skip: 1000,
        ..REMOTE
    },
    Wrapper {
        names: &["minikube", "colima"],
        sub: &[&["ssh"]],
        values: &["-n", "--node", "-p", "--profile"],
        ..SCRIPT
    },
    Wrapper {
        names: &["podman"],
        sub: &[&["machine"], &["ssh"]],
        values: &["--username"],
        ..SCRIPT
    },
    Wrapper {
        names: &["docker-machine"],
        sub: &[&["ssh"]],
        skip: 1,
        ..SCRIPT
    },
    Wrapper {
        names: &["limactl", "multipass"],
        sub: &[&["shell", "exec"]],
        values: &["--workdir", "-d", "--working-directory"],
        ..REMOTE
    },
    Wrapper {
        names: &["ray"],
        sub: &[&["exec"]],
        skip: 1,
        ..SCRIPT
    },
    Wrapper {
        names: &["wsl", "wsl.exe"],
        values: &["-d", "--distribution", "-u", "--user", "--cd"],
        inert: &["-l", "--list", "--status", "--version"],
        ..BASE
    },
    Wrapper {
        names: &["cargo"],
        sub: &[&["watch"]],
        values: &["-x", "--exec", "-w", "--watch", "-i", "--ignore", "-d", "--delay"],
        scripts: &["-s", "--shell"],
        skip: 1000,
        ..BASE
    },
    Wrapper {
        names: &[
            "ssh-agent", "dbus-launch", "torify", "tsocks", "tini", "dumb-init", "trickle",
            "nvprof",
        ],
        values: &["-a", "-t", "-d", "-u", "-w", "-p", "-e"],
        ..BASE
    },
    Wrapper {
        names: &["adb"],
        sub: &[&["shell"]],
        values: &["-s", "-H", "-P"],
        ..SCRIPT
    },
];
