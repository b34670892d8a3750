//! Programs that run a command in a changed process, a project's environment, again, or with a limit.

use super::{BASE, Form, Wrapper};

pub(super) const ROWS: &[Wrapper] = &[
    Wrapper {
        names: &["direnv"],
        sub: &[&["exec"]],
        skip: 1,
        ..BASE
    },
    Wrapper {
        names: &["rush"],
        values: &["-j", "-d", "-D", "-i", "-n", "-r", "-t", "-k"],
        form: Form::Script,
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
            "-i", "--interleave", "-N", "--cpunodebind", "-C", "--physcpubind", "-m", "--membind",
            "-p", "--preferred",
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
            "nohup", "setsid", "catchsegv", "eatmydata", "proxychains", "proxychains4", "torsocks",
            "dbus-run-session", "winpty", "caffeinate", "chronic", "ifne", "sem", "unbuffer",
            "fakechroot", "pseudo", "linux32", "linux64", "setarch", "i386", "arch", "softlimit",
            "chpst", "daemonize", "start-stop-daemon", "retry", "hyperfine-once", "rlwrap",
            "cgexec", "primusrun", "optirun", "prime-run", "ccache", "sccache", "distcc",
            "xvfb-run", "stdoutisatty", "systemd-cat", "systemd-inhibit", "no-op",
        ],
        values: &[
            "-g", "-u", "-e", "-t", "--what", "--who", "--why", "--mode", "-s", "-n", "-j", "-p",
            "--priority", "--identifier", "-o",
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
        values: &["-e", "-o", "-p", "-s", "-u", "-a", "-l", "-n", "-A", "-D", "-F", "-x"],
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
            "valgrind", "heaptrack", "rr", "qemu-x86_64", "qemu-aarch64", "qemu-x86_64-static",
            "qemu-aarch64-static", "gdbserver", "cachegrind", "nsys", "ncu", "compute-sanitizer",
            "cuda-memcheck", "memusage",
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
        names: &["reflex", "watchexec", "nodemon", "chokidar", "onchange", "when-changed"],
        values: &["-e", "--exts", "-w", "--watch", "-r", "-g", "-R", "-i"],
        scripts: &["--exec", "-x"],
        form: Form::Either,
        ..BASE
    },
    Wrapper {
        names: &["hyperfine"],
        values: &[
            "-w", "--warmup", "-r", "--runs", "-m", "-M", "-L", "-P", "-D", "-n", "--export-json",
            "--export-markdown", "-i",
        ],
        scripts: &["-p", "--prepare", "-s", "--setup", "-c", "--cleanup"],
        form: Form::Script,
        ..BASE
    },
    Wrapper {
        names: &[
            "dotenv", "aws-vault", "chamber", "envchain", "teller", "infisical", "foreman",
            "honcho",
        ],
        values: &["-f", "-e", "--file"],
        sub: &[&["exec", "run"]],
        ..BASE
    },
    Wrapper {
        names: &[
            "uv", "poetry", "pdm", "hatch", "pipenv", "rye", "pixi", "conda", "mamba", "micromamba",
            "bundle", "asdf", "mise", "rbenv", "pyenv", "nvm", "volta", "fnm", "pipx", "rtx",
        ],
        sub: &[&["run", "exec", "x"]],
        values: &[
            "-p", "--python", "--with", "--extra", "--group", "--env-file", "--directory",
            "--project", "-n", "--name", "--index-url", "--with-requirements",
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
];
