//! Programs that run a command with other rights.

use super::{BASE, Form, Where, Wrapper};

pub(super) const ROWS: &[Wrapper] = &[
    Wrapper {
        names: &["sudo", "sudo-rs"],
        values: &[
            "-u", "--user", "-g", "--group", "-C", "--close-from", "-D", "--chdir", "-h", "--host",
            "-p", "--prompt", "-R", "--chroot", "-r", "--role", "-t", "--type", "-T",
            "--command-timeout", "-U", "--other-user",
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
        values: &["--user", "-u", "--unit", "--property", "--setenv", "--working-directory", "-D"],
        place: Where::Privileged,
        ..BASE
    },
    Wrapper {
        names: &["su"],
        values: &[
            "-g", "--group", "-G", "--supp-group", "-s", "--shell", "-w", "--whitelist-environment",
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
            "--reuid", "--regid", "--groups", "--inh-caps", "--ambient-caps", "--bounding-set",
            "--securebits", "--selinux-label",
        ],
        scripts: &["-c"],
        place: Where::Privileged,
        ..BASE
    },
];
