//! Files and folders deleted or moved away.

use crate::Class::Delete;
use crate::{Rule, Test, on};

pub(super) const RULES: &[Rule] = &[
    Rule::new("delete.file", Delete, "deleting files")
        .because("a deleted file that is not in version control is gone", "leave the file, or move it into a folder of the workspace; the user can delete it")
        .lab_only()
        .prefixes(&[on(&["rm", "unlink", "shred"])])
        .denies(&["rm junk.txt", "rm -r src", "/bin/rm -f a.c", "unlink notes.md", "find . -name '*.c' -delete"])
        .passes(&["rm -rf target", "rm -r node_modules/.cache", "rm --help"]),
    Rule::new("delete.outside", Delete, "deleting or moving away what lies outside the workspace")
        .because("it belongs to someone else", "leave it; ask the user")
        .denies(&["rm -rf /etc", "rm -rf ~", "find /srv -delete", "mv ~ /dev/null"])
        .passes(&["ls /etc", "find . -name '*.rs'"]),
    Rule::new("delete.workspace-root", Delete, "deleting or moving the workspace, a parent of it, or its .git")
        .because("everything in it is lost, and Codex cannot start the guard from a folder that is gone", "name the single files that have to go")
        .denies(&["rm -rf .", "rm -rf ..", "rm -rf .git", "mv . ../gone"])
        .passes(&["mv a.txt docs/"]),
    Rule::new("delete.mirror", Delete, "deleting what a copy does not have")
        .because("everything else at the destination is gone", "copy without --delete")
        .lab_only()
        .on(&[on(&["rsync"]).when(&[Test::Flag(&["--delete", "--delete-after", "--delete-before", "--delete-during", "--delete-excluded", "--remove-source-files", "--del"])]).unless(&[Test::Flag(&["-n", "--dry-run"])])])
        .denies(&["rsync -a --delete src/ lib/"])
        .passes(&["rsync -avn --delete ./ spark-1:/srv/x", "rsync -a src/ copy/"]),
    Rule::new("delete.snapshots", Delete, "deleting backups or snapshots")
        .because("they are the way back", "ask the user")
        .on(&[
            on(&["restic"]).sub(&[&["forget", "prune", "rewrite", "unlock", "migrate"]]),
            on(&["borg"]).sub(&[&["delete", "prune", "compact", "recreate"]]),
            on(&["snapper"]).sub(&[&["delete", "undochange", "rollback"]]),
            on(&["timeshift"]).when(&[Test::Flag(&["--delete", "--delete-all", "--restore"])]),
            on(&["rclone"]).sub(&[&["delete", "deletefile", "purge", "sync", "move", "moveto", "rmdir", "rmdirs", "cleanup"]]).unless(&[Test::Flag(&["-n", "--dry-run"])]),
            on(&["tmutil"]).sub(&[&["delete", "deletelocalsnapshots", "disable"]]),
        ])
        .denies(&["restic forget --keep-last 1", "borg prune repo", "rclone purge remote:x"])
        .passes(&["restic snapshots", "borg list repo", "rclone ls remote:x"]),
];
