//! Programs that run a command in a namespace, a unit or a terminal of its own.

use super::{BASE, Form, Where, Wrapper};

pub(super) const ROWS: &[Wrapper] = &[
    Wrapper {
        names: &["chroot"],
        values: &["--userspec", "--groups"],
        skip: 1,
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &["arch-chroot", "systemd-nspawn", "proot", "schroot", "debootstrap-run"],
        values: &["-D", "-M", "-u", "-r", "-b", "-w", "-c", "--directory"],
        skip: 1,
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &["bwrap", "bubblewrap", "firejail"],
        values: &[
            "--chdir", "--proc", "--dev", "--tmpfs", "--dir", "--unsetenv", "--uid", "--gid",
            "--hostname", "--remount-ro", "--seccomp", "--sync-fd",
        ],
        pairs: &[
            "--bind", "--ro-bind", "--dev-bind", "--bind-try", "--ro-bind-try", "--dev-bind-try",
            "--symlink", "--setenv", "--file", "--overlay-src",
        ],
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &["nsenter"],
        values: &["-t", "--target", "-S", "--setuid", "-G", "--setgid", "-W", "-r", "-w"],
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &["unshare"],
        values: &[
            "-S", "--setuid", "-G", "--setgid", "-R", "--root", "-w", "--wd", "--propagation",
            "--setgroups",
        ],
        ..BASE
    },
    Wrapper {
        names: &["systemd-run"],
        values: &[
            "-p", "--property", "-u", "--unit", "-M", "--machine", "-H", "--host", "--slice",
            "--description", "--uid", "--gid", "-E", "--setenv", "--on-active", "--on-calendar",
            "--on-boot", "--working-directory", "--nice", "-d",
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
            "new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane",
            "respawn-window", "display-popup", "popup", "run-shell", "run", "if-shell", "pipe-pane",
        ]],
        values: &["-s", "-n", "-t", "-c", "-x", "-y", "-F", "-e", "-L", "-S", "-f", "-l", "-p"],
        form: Form::Script,
        ..BASE
    },
    Wrapper {
        names: &["screen", "dtach", "abduco", "zellij", "byobu"],
        values: &["-S", "-c", "-e", "-h", "-p", "-s", "-t", "-T", "-X", "-n", "-A"],
        inert: &["-ls", "-list", "-v", "-version", "--help", "list-sessions", "ls"],
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
];
