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
        form: Form::Script,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &[
            "pdsh", "dsh", "pssh", "parallel-ssh", "clush", "mpssh", "sshuttle-run", "cssh", "rush",
        ],
        values: &[
            "-w", "-x", "-g", "-l", "-f", "-t", "-u", "-h", "-H", "-o", "-O", "-m", "-R", "-e",
            "-p",
        ],
        form: Form::Script,
        place: Where::Remote,
        ..BASE
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
        skip: 1,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &["docker", "podman", "nerdctl", "crictl"],
        sub: &[&["exec"]],
        values: RUN,
        skip: 1,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &["docker", "podman", "nerdctl"],
        sub: &[&["container"], &["exec"]],
        values: RUN,
        skip: 1,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &["docker", "podman", "nerdctl"],
        sub: &[&["compose"], &["exec"]],
        values: &[
            "-e", "--env", "-u", "--user", "-w", "--workdir", "--index", "-f", "--file", "-p",
            "--project-name",
        ],
        skip: 1,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &["docker-compose", "podman-compose"],
        sub: &[&["exec"]],
        values: &[
            "-e", "--env", "-u", "--user", "-w", "--workdir", "--index", "-f", "--file", "-p",
            "--project-name",
        ],
        skip: 1,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &["docker", "podman", "nerdctl"],
        sub: &[&["run", "create"]],
        values: RUN,
        skip: 1,
        place: Where::Container,
        ..BASE
    },
    Wrapper {
        names: &["docker", "podman", "nerdctl"],
        sub: &[&["compose"], &["run"]],
        values: RUN,
        skip: 1,
        place: Where::Container,
        ..BASE
    },
    Wrapper {
        names: &["docker-compose", "podman-compose"],
        sub: &[&["run"]],
        values: RUN,
        skip: 1,
        place: Where::Container,
        ..BASE
    },
    Wrapper {
        names: &["lxc", "incus"],
        sub: &[&["exec"]],
        values: &["--env", "--cwd", "--mode", "--user", "--group"],
        skip: 1,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &["ctr"],
        sub: &[&["task", "tasks", "t"], &["exec"]],
        values: &["-n", "--namespace", "--exec-id", "--cwd", "--user", "-a"],
        skip: 1,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &["machinectl"],
        sub: &[&["shell"]],
        values: &["-M", "-E", "--uid"],
        skip: 1,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &["vagrant"],
        sub: &[&["ssh"]],
        scripts: &["-c", "--command"],
        skip: 1000,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &["minikube", "colima"],
        sub: &[&["ssh"]],
        values: &["-n", "--node", "-p", "--profile"],
        form: Form::Script,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &["podman"],
        sub: &[&["machine"], &["ssh"]],
        values: &["--username"],
        form: Form::Script,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &["docker-machine"],
        sub: &[&["ssh"]],
        skip: 1,
        form: Form::Script,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &["limactl", "multipass"],
        sub: &[&["shell", "exec"]],
        values: &["--workdir", "-d", "--working-directory"],
        skip: 1,
        place: Where::Remote,
        ..BASE
    },
    Wrapper {
        names: &["ray"],
        sub: &[&["exec"]],
        skip: 1,
        form: Form::Script,
        place: Where::Remote,
        ..BASE
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
        form: Form::Script,
        place: Where::Remote,
        ..BASE
    },
];
