//! What programs do to the paths in their arguments.

/// What is done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Act {
    /// Its content is read.
    Read,
    /// It is created, changed or overwritten.
    Write,
    /// It is made a link, in the place of what has its name.
    Link,
    /// Its permissions, owner or attributes are changed.
    Mode,
    /// It is deleted.
    Delete,
    /// It is moved away from its place.
    Move,
    /// Nothing that matters.
    Nothing,
}

/// Which operands an act applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// All of them.
    Each(Act),
    /// The last one; and another act for those before it.
    Last(Act, Act),
    /// All but the first, which is a mode, an owner or an expression.
    AllButFirst(Act),
}

/// What one family of programs does.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    /// Base names.
    pub programs: &'static [&'static str],
    /// Applies only when one of these options is there; empty means always.
    pub when: &'static [&'static str],
    /// Options that take a value of their own, so that it is no operand.
    pub values: &'static [&'static str],
    /// The operands.
    pub operands: Operands,
    /// Options whose value is a path.
    pub options: &'static [(&'static str, Act)],
    /// Operands of the form `key=path`.
    pub keys: &'static [(&'static str, Act)],
}

const BASE: Effect = Effect {
    programs: &[],
    when: &[],
    values: &[],
    operands: Operands::Each(Act::Nothing),
    options: &[],
    keys: &[],
};

const TARGET: &[(&str, Act)] = &[("-t", Act::Write), ("--target-directory", Act::Write)];

/// First match wins.
#[rustfmt::skip] // Rows read best as rows.
pub static EFFECTS: &[Effect] = &[
    Effect {
        programs: &[
            "rm", "unlink", "rmdir", "srm", "grm", "rimraf", "del-cli", "del", "Remove-Item",
            "Clear-Content", "ri", "rd", "erase",
        ],
        operands: Operands::Each(Act::Delete),
        ..BASE
    },
    Effect {
        programs: &["shred", "wipe", "scrub"],
        values: &["-n", "-s", "--iterations", "--size"],
        operands: Operands::Each(Act::Delete),
        ..BASE
    },
    Effect {
        programs: &["trash", "trash-put", "gio"],
        operands: Operands::Each(Act::Delete),
        ..BASE
    },
    Effect {
        programs: &["truncate"],
        values: &["-s", "--size", "-r", "--reference"],
        operands: Operands::Each(Act::Write),
        ..BASE
    },
    Effect {
        programs: &["mv", "gmv"],
        values: &["-S", "--suffix"],
        operands: Operands::Last(Act::Write, Act::Move),
        options: TARGET,
        ..BASE
    },
    Effect {
        programs: &["cp", "gcp"],
        values: &["-S", "--suffix"],
        operands: Operands::Last(Act::Write, Act::Read),
        options: TARGET,
        ..BASE
    },
    Effect {
        programs: &["install", "ginstall"],
        when: &["-d", "--directory"],
        values: &["-m", "-o", "-g", "--mode", "--owner", "--group"],
        operands: Operands::Each(Act::Write),
        ..BASE
    },
    Effect {
        programs: &["install", "ginstall"],
        values: &["-m", "-o", "-g", "-S", "--mode", "--owner", "--group"],
        operands: Operands::Last(Act::Write, Act::Read),
        options: TARGET,
        ..BASE
    },
    Effect {
        programs: &["ln"],
        values: &["-S", "--suffix"],
        // A link to a secret is a way to read it.
        operands: Operands::Last(Act::Link, Act::Read),
        options: TARGET,
        ..BASE
    },
    Effect {
        programs: &["rsync"],
        values: &[
            "-e", "--rsh", "--exclude", "--include", "--filter", "-f", "--bwlimit", "--port",
            "--rsync-path", "--exclude-from", "--include-from", "--files-from",
        ],
        operands: Operands::Last(Act::Write, Act::Read),
        ..BASE
    },
    Effect {
        programs: &["scp", "sftp"],
        values: &["-i", "-P", "-F", "-o", "-l", "-c", "-J", "-S"],
        operands: Operands::Last(Act::Write, Act::Read),
        ..BASE
    },
    Effect {
        programs: &[
            "tee", "sponge", "touch", "mkdir", "mkfifo", "mknod", "fallocate", "dos2unix",
            "unix2dos",
        ],
        values: &[
            "-m", "--mode", "-d", "--date", "-t", "-r", "--reference", "-l", "--length", "-o",
            "--offset",
        ],
        operands: Operands::Each(Act::Write),
        ..BASE
    },
    Effect {
        programs: &["chmod", "chown", "chgrp", "chattr", "chcon", "setcap", "gchmod"],
        operands: Operands::Each(Act::Mode),
        ..BASE
    },
    Effect {
        programs: &["setfacl"],
        values: &["-m", "-x", "--modify", "--remove"],
        operands: Operands::Each(Act::Mode),
        ..BASE
    },
    Effect {
        programs: &["sed", "gsed"],
        when: &["-i", "--in-place", "-ni", "-Ei", "-ri"],
        values: &["-e", "--expression", "-f", "--file", "-l"],
        operands: Operands::Each(Act::Write),
        ..BASE
    },
    Effect {
        programs: &["perl", "ruby"],
        when: &["-i", "-pi"],
        values: &["-e", "-E"],
        operands: Operands::Each(Act::Write),
        ..BASE
    },
    Effect {
        programs: &["7z", "7za", "7zz"],
        options: &[("-o", Act::Write)],
        ..BASE
    },
    Effect {
        programs: &["split", "csplit"],
        values: &[
            "-b", "-l", "-n", "-C", "-a", "-d", "-t", "--bytes", "--lines", "--filter", "--number",
        ],
        operands: Operands::Last(Act::Write, Act::Read),
        ..BASE
    },
    Effect {
        programs: &["dd"],
        keys: &[("if", Act::Read), ("of", Act::Write)],
        ..BASE
    },
    Effect {
        programs: &["git"],
        options: &[
            ("--output", Act::Write),
            ("--output-directory", Act::Write),
            ("--directory", Act::Write),
        ],
        ..BASE
    },
    Effect {
        programs: &["ssh-keygen"],
        when: &["-y", "-l", "-B", "-F", "-Y"],
        options: &[("-f", Act::Read)],
        ..BASE
    },
    Effect {
        programs: &["ssh-keygen"],
        options: &[("-f", Act::Write)],
        ..BASE
    },
    Effect {
        programs: &["crudini"],
        when: &["--set", "--del", "--merge"],
        operands: Operands::Each(Act::Write),
        ..BASE
    },
    Effect {
        programs: &[
            "partclone", "partclone.ext4", "partclone.xfs", "partclone.restore", "partclone.dd",
            "ddrescue", "clonezilla",
        ],
        operands: Operands::Last(Act::Write, Act::Read),
        options: &[("-o", Act::Write), ("-O", Act::Write)],
        ..BASE
    },
    Effect {
        programs: &["tar", "bsdtar", "gtar"],
        when: &["-c", "--create", "c", "-r", "-u"],
        values: &["--exclude", "-X", "-C"],
        options: &[("-f", Act::Write), ("--file", Act::Write)],
        operands: Operands::Each(Act::Read),
        ..BASE
    },
    Effect {
        programs: &["tar", "bsdtar", "gtar"],
        when: &["-x", "--extract", "--get", "x"],
        values: &["-f", "--file", "--strip-components", "--exclude", "-X"],
        options: &[("-C", Act::Write), ("--directory", Act::Write)],
        ..BASE
    },
    Effect {
        programs: &["unzip", "7z", "7za", "cpio", "unrar"],
        options: &[
            ("-d", Act::Write),
            ("-D", Act::Write),
            ("--directory", Act::Write),
        ],
        ..BASE
    },
    Effect {
        programs: &["curl"],
        options: &[
            ("-o", Act::Write),
            ("--output", Act::Write),
            ("--output-dir", Act::Write),
            ("-D", Act::Write),
            ("-c", Act::Write),
            ("-T", Act::Read),
            ("--upload-file", Act::Read),
            ("-K", Act::Read),
        ],
        ..BASE
    },
    Effect {
        programs: &["wget"],
        options: &[
            ("-O", Act::Write),
            ("--output-document", Act::Write),
            ("-P", Act::Write),
            ("--directory-prefix", Act::Write),
            ("-o", Act::Write),
            ("--post-file", Act::Read),
            ("--body-file", Act::Read),
        ],
        ..BASE
    },
    Effect {
        programs: &["sort"],
        options: &[("-o", Act::Write), ("--output", Act::Write)],
        values: &["-k", "-t", "-S", "-T"],
        operands: Operands::Each(Act::Read),
        ..BASE
    },
    Effect {
        programs: &[
            "ed", "ex", "vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "pico",
        ],
        values: &["-c", "-u", "-S", "--cmd", "-e"],
        operands: Operands::Each(Act::Write),
        ..BASE
    },
    Effect {
        programs: &["patch"],
        options: &[
            ("-o", Act::Write),
            ("-d", Act::Write),
            ("--directory", Act::Write),
            ("--output", Act::Write),
        ],
        values: &["-p", "-i", "-F"],
        operands: Operands::Each(Act::Write),
        ..BASE
    },
    Effect {
        programs: &["openssl", "gpg", "gpg2", "age"],
        options: &[
            ("-out", Act::Write),
            ("--output", Act::Write),
            ("-o", Act::Write),
            ("-in", Act::Read),
            ("-i", Act::Read),
        ],
        operands: Operands::Each(Act::Read),
        ..BASE
    },
    Effect {
        programs: &["grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep", "jq", "yq"],
        values: &[
            "-e", "-f", "-A", "-B", "-C", "-m", "--include", "--exclude", "-g", "--glob", "-t",
            "--type", "--arg", "--argjson",
        ],
        operands: Operands::AllButFirst(Act::Read),
        ..BASE
    },
    Effect {
        programs: &["awk", "gawk", "mawk", "sed", "gsed"],
        values: &["-e", "-f", "-F", "-v", "-i"],
        operands: Operands::AllButFirst(Act::Read),
        ..BASE
    },
    // These look at names or print text: nothing is read through their operands.
    Effect {
        programs: &[
            "ls", "stat", "test", "[", "echo", "printf", "file", "basename", "dirname", "realpath",
            "readlink", "du", "df", "find", "fd", "fdfind", "locate", "which", "whereis", "type",
            "command", "hash", "whatis", "man", "info", "tree", "cd", "pushd", "ssh", "logger",
            "true", "false", ":", "export", "unset", "set", "alias", "ssh-add", "ssh-keygen",
            "cargo", "npm", "pytest", "make", "basenc", "kubectl", "helm", "docker", "podman", "gh",
            "wc", "sha256sum", "md5sum", "lsattr", "getfacl", "exa", "eza", "apply_patch", "let",
            "shopt", "gcloud", "aws", "mkdocs",
        ],
        ..BASE
    },
];

/// What any other program does: whatever it is given, it may read.
pub static OTHER: Effect = Effect {
    operands: Operands::Each(Act::Read),
    ..BASE
};

crate::index::index!(EFFECTS, programs);

/// The rows of a program, in the order of the table.
pub fn of(program: &str) -> impl Iterator<Item = &'static Effect> {
    INDEX.rows(program).map(|row| &EFFECTS[row])
}
