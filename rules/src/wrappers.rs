//! Programs that run another command from their arguments.

/// Where the inner command runs, and with which rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// Here, with the same rights.
    Here,
    /// Here, with other rights.
    Privileged,
    /// On another machine, or in a container or pod that already runs.
    Remote,
    /// In a new container.
    Container,
    /// Here, but later or out of sight.
    Later,
}

/// How the inner command is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The remaining words are the command.
    Words,
    /// The remaining words, joined by spaces, are read by a shell.
    Script,
    /// One word means a script, several mean a command.
    Either,
}

/// One program that runs another command.
#[derive(Clone, Copy, Debug)]
pub struct Wrapper {
    /// Base names.
    pub names: &'static [&'static str],
    /// Subcommand words before the inner command.
    pub sub: &'static [&'static [&'static str]],
    /// Options that take a value as the next word.
    pub values: &'static [&'static str],
    /// Options that take two.
    pub pairs: &'static [&'static str],
    /// Options whose value is a script for a shell.
    pub scripts: &'static [&'static str],
    /// Operands before the inner command.
    pub skip: usize,
    /// Whether `NAME=value` words may stand before the command.
    pub assigns: bool,
    /// How the command is given.
    pub form: Form,
    /// Where it runs.
    pub place: Where,
    /// Options with which nothing runs.
    pub inert: &'static [&'static str],
}

const BASE: Wrapper = Wrapper {
    names: &[],
    sub: &[],
    values: &[],
    pairs: &[],
    scripts: &[],
    skip: 0,
    assigns: false,
    form: Form::Words,
    place: Where::Here,
    inert: &[],
};

const KUBE: &[&str] = &[
    "-n",
    "--namespace",
    "-c",
    "--container",
    "--context",
    "--kubeconfig",
    "--cluster",
    "--user",
    "-s",
    "--server",
    "--token",
    "--as",
    "--pod-running-timeout",
    "-f",
    "--filename",
    "--request-timeout",
];
const RUN: &[&str] = &[
    "-v",
    "--volume",
    "-e",
    "--env",
    "--env-file",
    "-p",
    "--publish",
    "-w",
    "--workdir",
    "-u",
    "--user",
    "--name",
    "--network",
    "--net",
    "--mount",
    "--entrypoint",
    "-h",
    "--hostname",
    "-l",
    "--label",
    "-m",
    "--memory",
    "--cpus",
    "--gpus",
    "--device",
    "--restart",
    "--platform",
    "--pull",
    "--shm-size",
    "--ulimit",
    "--cap-add",
    "--cap-drop",
    "--security-opt",
    "--tmpfs",
    "--add-host",
    "--dns",
    "--ipc",
    "--pid",
    "--userns",
    "--uts",
    "--log-driver",
    "--log-opt",
    "--runtime",
    "--stop-signal",
    "--stop-timeout",
    "--memory-swap",
    "--cpuset-cpus",
    "--group-add",
    "--ip",
    "--link",
    "--expose",
    "--sysctl",
    "--cidfile",
    "--annotation",
    "--health-cmd",
    "-c",
    "--cpu-shares",
    "--volumes-from",
    "--network-alias",
    "-H",
    "--host",
    "--context",
    "--config",
    "--log-level",
    "--namespace",
    "-n",
    "-a",
    "--attach",
    "--detach-keys",
    "--index",
];
const SSH: &[&str] = &[
    "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-P",
    "-Q", "-R", "-S", "-W", "-w", "-B",
];

/// First match wins; the more specific row of a program stands first.
pub static WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["direnv"],
        sub: &[&["exec"]],
        skip: 1,
        ..BASE
    },
    Wrapper {
        names: &["entr"],
        form: Form::Either,
        ..BASE
    },
    Wrapper {
        names: &["faketime"],
        skip: 1,
        values: &["-p", "--exclude-monotonic"],
        ..BASE
    },
    Wrapper {
        names: &["podman"],
        sub: &[&["unshare"]],
        ..BASE
    },
    Wrapper {
        names: &["sudo", "sudo-rs"],
        values: &[
            "-u",
            "--user",
            "-g",
            "--group",
            "-C",
            "--close-from",
            "-D",
            "--chdir",
            "-h",
            "--host",
            "-p",
            "--prompt",
            "-R",
            "--chroot",
            "-r",
            "--role",
            "-t",
            "--type",
            "-T",
            "--command-timeout",
            "-U",
            "--other-user",
        ],
        assigns: true,
        place: Where::Privileged,
        inert: &["-l", "--list", "-v", "--validate", "-K"],
        ..BASE
    },
    Wrapper {
        names: &["doas"],
        values: &["-u", "-C", "-a"],
        assigns: true,
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &[
            "run0", "pkexec", "gosu", "su-exec", "calife", "please", "gksudo", "gksu", "kdesudo",
        ],
        values: &[
            "--user",
            "-u",
            "--unit",
            "--property",
            "--setenv",
            "--working-directory",
            "-D",
        ],
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &["su"],
        values: &[
            "-g",
            "--group",
            "-G",
            "--supp-group",
            "-s",
            "--shell",
            "-w",
            "--whitelist-environment",
            "-T",
        ],
        scripts: &["-c", "--command", "--session-command"],
        skip: 1000,
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &["runuser"],
        values: &["-u", "--user", "-g", "--group", "-G", "-s", "--shell", "-w"],
        scripts: &["-c", "--command", "--session-command"],
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &["sg", "newgrp"],
        skip: 1,
        scripts: &["-c"],
        form: Form::Script,
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &["setpriv", "capsh"],
        values: &[
            "--reuid",
            "--regid",
            "--groups",
            "--inh-caps",
            "--ambient-caps",
            "--bounding-set",
            "--securebits",
            "--selinux-label",
        ],
        scripts: &["-c"],
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &["env", "genv"],
        values: &["-u", "--unset", "-C", "--chdir"],
        scripts: &["-S", "--split-string"],
        assigns: true,
        ..BASE
    },
    Wrapper {
        names: &["nice", "gnice"],
        values: &["-n", "--adjustment"],
        ..BASE
    },
    Wrapper {
        names: &["ionice"],
        values: &["-c", "--class", "-n", "--classdata"],
        inert: &["-p", "--pid"],
        ..BASE
    },
    Wrapper {
        names: &["chrt"],
        values: &["-T", "-P", "-D"],
        skip: 1,
        inert: &["-p", "--pid"],
        ..BASE
    },
    Wrapper {
        names: &["taskset"],
        skip: 1,
        inert: &["-p", "--pid"],
        ..BASE
    },
    Wrapper {
        names: &["numactl"],
        values: &[
            "-i",
            "--interleave",
            "-N",
            "--cpunodebind",
            "-C",
            "--physcpubind",
            "-m",
            "--membind",
            "-p",
            "--preferred",
        ],
        inert: &["--hardware", "-H", "--show", "-s"],
        ..BASE
    },
    Wrapper {
        names: &["timeout", "gtimeout"],
        values: &["-k", "--kill-after", "-s", "--signal"],
        skip: 1,
        ..BASE
    },
    Wrapper {
        names: &[
            "nohup",
            "setsid",
            "catchsegv",
            "eatmydata",
            "proxychains",
            "proxychains4",
            "torsocks",
            "dbus-run-session",
            "winpty",
            "caffeinate",
            "chronic",
            "ifne",
            "sem",
            "unbuffer",
            "fakechroot",
            "pseudo",
            "linux32",
            "linux64",
            "setarch",
            "i386",
            "arch",
            "softlimit",
            "chpst",
            "daemonize",
            "start-stop-daemon",
            "retry",
            "hyperfine-once",
            "rlwrap",
            "cgexec",
            "primusrun",
            "optirun",
            "prime-run",
            "ccache",
            "sccache",
            "distcc",
            "xvfb-run",
            "stdoutisatty",
            "systemd-cat",
            "systemd-inhibit",
            "no-op",
        ],
        values: &[
            "-g",
            "-u",
            "-e",
            "-t",
            "--what",
            "--who",
            "--why",
            "--mode",
            "-s",
            "-n",
            "-j",
            "-p",
            "--priority",
            "--identifier",
            "-o",
        ],
        ..BASE
    },
    Wrapper {
        names: &["fakeroot"],
        values: &["-l", "--lib", "-s", "-i", "-b", "--faked"],
        ..BASE
    },
    Wrapper {
        names: &["stdbuf"],
        values: &["-i", "-o", "-e", "--input", "--output", "--error"],
        ..BASE
    },
    Wrapper {
        names: &["time", "gtime"],
        values: &["-f", "--format", "-o", "--output"],
        ..BASE
    },
    Wrapper {
        names: &["exec"],
        values: &["-a"],
        ..BASE
    },
    Wrapper {
        names: &["builtin", "nocorrect", "noglob", "-"],
        ..BASE
    },
    Wrapper {
        names: &["command"],
        inert: &["-v", "-V"],
        ..BASE
    },
    Wrapper {
        names: &["busybox", "toybox"],
        inert: &["--list", "--list-full", "--help"],
        ..BASE
    },
    Wrapper {
        names: &["prlimit", "ulimit-run"],
        values: &["-o", "--output"],
        inert: &["-p", "--pid"],
        ..BASE
    },
    Wrapper {
        names: &["ltrace"],
        values: &[
            "-e", "-o", "-p", "-s", "-u", "-a", "-l", "-n", "-A", "-D", "-F", "-x",
        ],
        ..BASE
    },
    Wrapper {
        names: &["strace"],
        values: &[
            "-e", "-o", "-p", "-s", "-u", "-E", "-a", "-b", "-I", "-O", "-P", "-S", "-U", "-X",
            "-x", "-l", "-n", "-A", "-D", "-F",
        ],
        ..BASE
    },
    Wrapper {
        names: &["perf"],
        sub: &[&["stat", "record", "trace"]],
        values: &[
            "-e", "-o", "-F", "-c", "-r", "-I", "-p", "-t", "-C", "-G", "--event", "--output",
        ],
        ..BASE
    },
    Wrapper {
        names: &[
            "valgrind",
            "heaptrack",
            "rr",
            "qemu-x86_64",
            "qemu-aarch64",
            "qemu-x86_64-static",
            "qemu-aarch64-static",
            "gdbserver",
            "cachegrind",
            "nsys",
            "ncu",
            "compute-sanitizer",
            "cuda-memcheck",
            "memusage",
        ],
        ..BASE
    },
    Wrapper {
        names: &["flock"],
        values: &["-w", "--timeout", "-E", "--conflict-exit-code"],
        scripts: &["-c", "--command"],
        skip: 1,
        ..BASE
    },
    Wrapper {
        names: &["script", "scriptlive"],
        values: &["-E", "-I", "-O", "-B", "-T", "-m", "-o"],
        scripts: &["-c", "--command"],
        skip: 1000,
        ..BASE
    },
    Wrapper {
        names: &["watch"],
        values: &["-n", "--interval", "-q", "--equexit"],
        form: Form::Script,
        ..BASE
    },
    Wrapper {
        names: &[
            "reflex",
            "watchexec",
            "nodemon",
            "chokidar",
            "onchange",
            "when-changed",
        ],
        values: &["-e", "--exts", "-w", "--watch", "-r", "-g", "-R", "-i"],
        scripts: &["--exec", "-x"],
        form: Form::Either,
        ..BASE
    },
    Wrapper {
        names: &["hyperfine"],
        values: &[
            "-w",
            "--warmup",
            "-r",
            "--runs",
            "-m",
            "-M",
            "-L",
            "-P",
            "-D",
            "-n",
            "--export-json",
            "--export-markdown",
            "-i",
        ],
        scripts: &["-p", "--prepare", "-s", "--setup", "-c", "--cleanup"],
        form: Form::Script,
        ..BASE
    },
    Wrapper {
        names: &[
            "dotenv",
            "aws-vault",
            "chamber",
            "envchain",
            "teller",
            "infisical",
            "foreman",
            "honcho",
        ],
        values: &["-f", "-e", "--file"],
        sub: &[&["exec", "run"]],
        ..BASE
    },
    Wrapper {
        names: &[
            "uv",
            "poetry",
            "pdm",
            "hatch",
            "pipenv",
            "rye",
            "pixi",
            "conda",
            "mamba",
            "micromamba",
            "bundle",
            "asdf",
            "mise",
            "rbenv",
            "pyenv",
            "nvm",
            "volta",
            "fnm",
            "pipx",
            "rtx",
        ],
        sub: &[&["run", "exec", "x"]],
        values: &[
            "-p",
            "--python",
            "--with",
            "--extra",
            "--group",
            "--env-file",
            "--directory",
            "--project",
            "-n",
            "--name",
            "--index-url",
            "--with-requirements",
        ],
        ..BASE
    },
    Wrapper {
        names: &["npx", "bunx", "uvx"],
        values: &["-p", "--package", "--from", "--with", "--python"],
        scripts: &["-c", "--call"],
        ..BASE
    },
    Wrapper {
        names: &["npm", "pnpm", "yarn", "bun"],
        sub: &[&["exec", "x", "dlx"]],
        values: &["-p", "--package"],
        scripts: &["-c", "--call"],
        ..BASE
    },
    Wrapper {
        names: &["nix", "nix-shell"],
        scripts: &["--run", "--command"],
        values: &["-p", "-I", "-A"],
        skip: 1000,
        ..BASE
    },
    Wrapper {
        names: &["chroot"],
        values: &["--userspec", "--groups"],
        skip: 1,
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &[
            "arch-chroot",
            "systemd-nspawn",
            "proot",
            "schroot",
            "debootstrap-run",
        ],
        values: &["-D", "-M", "-u", "-r", "-b", "-w", "-c", "--directory"],
        skip: 1,
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &["bwrap", "bubblewrap", "firejail"],
        values: &[
            "--chdir",
            "--proc",
            "--dev",
            "--tmpfs",
            "--dir",
            "--unsetenv",
            "--uid",
            "--gid",
            "--hostname",
            "--remount-ro",
            "--seccomp",
            "--sync-fd",
        ],
        pairs: &[
            "--bind",
            "--ro-bind",
            "--dev-bind",
            "--bind-try",
            "--ro-bind-try",
            "--dev-bind-try",
            "--symlink",
            "--setenv",
            "--file",
            "--overlay-src",
        ],
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &["nsenter"],
        values: &[
            "-t", "--target", "-S", "--setuid", "-G", "--setgid", "-W", "-r", "-w",
        ],
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &["unshare"],
        values: &[
            "-S",
            "--setuid",
            "-G",
            "--setgid",
            "-R",
            "--root",
            "-w",
            "--wd",
            "--propagation",
            "--setgroups",
        ],
        ..BASE
    },
    Wrapper {
        names: &["systemd-run"],
        values: &[
            "-p",
            "--property",
            "-u",
            "--unit",
            "-M",
            "--machine",
            "-H",
            "--host",
            "--slice",
            "--description",
            "--uid",
            "--gid",
            "-E",
            "--setenv",
            "--on-active",
            "--on-calendar",
            "--on-boot",
            "--working-directory",
            "--nice",
            "-d",
        ],
        place: Where::Later,
        ..BASE
    },
    Wrapper {
        names: &["tmux"],
        sub: &[&["send-keys", "send"]],
        values: &["-t", "-N", "-L", "-S"],
        form: Form::Script,
        ..BASE
    },
    Wrapper {
        names: &["tmux"],
        sub: &[&[
            "new-session",
            "new",
            "new-window",
            "neww",
            "split-window",
            "splitw",
            "respawn-pane",
            "respawn-window",
            "display-popup",
            "popup",
            "run-shell",
            "run",
            "if-shell",
            "pipe-pane",
        ]],
        values: &[
            "-s", "-n", "-t", "-c", "-x", "-y", "-F", "-e", "-L", "-S", "-f", "-l", "-p",
        ],
        form: Form::Script,
        ..BASE
    },
    Wrapper {
        names: &["screen", "dtach", "abduco", "zellij", "byobu"],
        values: &[
            "-S", "-c", "-e", "-h", "-p", "-s", "-t", "-T", "-X", "-n", "-A",
        ],
        inert: &[
            "-ls",
            "-list",
            "-v",
            "-version",
            "--help",
            "list-sessions",
            "ls",
        ],
        form: Form::Either,
        ..BASE
    },
    Wrapper {
        names: &["xterm", "gnome-terminal", "konsole", "kitty", "alacritty"],
        values: &["-T", "-n", "--title", "-geometry"],
        scripts: &[],
        form: Form::Either,
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
            "pdsh",
            "dsh",
            "pssh",
            "parallel-ssh",
            "clush",
            "mpssh",
            "sshuttle-run",
            "cssh",
            "rush",
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
        names: &[
            "srun",
            "mpirun",
            "mpiexec",
            "prun",
            "torchrun-exec",
            "horovodrun",
        ],
        values: &[
            "-n",
            "-np",
            "-N",
            "-w",
            "-p",
            "-t",
            "-J",
            "-H",
            "--host",
            "--hostfile",
            "-x",
            "--mca",
            "-c",
            "--gres",
            "--partition",
            "--nodelist",
            "--nodes",
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
            "-e",
            "--env",
            "-u",
            "--user",
            "-w",
            "--workdir",
            "--index",
            "-f",
            "--file",
            "-p",
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
            "-e",
            "--env",
            "-u",
            "--user",
            "-w",
            "--workdir",
            "--index",
            "-f",
            "--file",
            "-p",
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
        values: &[
            "-x", "--exec", "-w", "--watch", "-i", "--ignore", "-d", "--delay",
        ],
        scripts: &["-s", "--shell"],
        skip: 1000,
        ..BASE
    },
    Wrapper {
        names: &[
            "ssh-agent",
            "dbus-launch",
            "torify",
            "tsocks",
            "tini",
            "dumb-init",
            "trickle",
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

crate::index::index!(WRAPPERS, names);

/// The rows of a program, in the order of the table.
pub fn of(program: &str) -> impl Iterator<Item = &'static Wrapper> {
    let rows = INDEX.rows(program).map(|row| &WRAPPERS[row]);
    rows.filter(move |wrapper| wrapper.names.contains(&program))
}
