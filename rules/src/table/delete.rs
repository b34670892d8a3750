//! Files and folders deleted or moved away.

use super::{BOTH, LAB};
use crate::{Class, Matcher, Prefixes, Rule, on};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "delete.file",
        class: Class::Delete,
        title: "deleting files",
        why: "a deleted file that is not in version control is gone",
        instead: "move it into a folder of the workspace, or ask the user to delete it",
        on: Matcher::Analysis,
        presets: LAB,
        execpolicy: Prefixes::These(&[on(&["rm", "unlink", "shred"])]),
        deny: &[
            "rm junk.txt",
            "rm -r src",
            "/bin/rm -f a.c",
            "unlink notes.md",
        ],
        allow: &["rm -rf target", "rm -r node_modules/.cache", "rm --help"],
    },
    Rule {
        id: "delete.outside",
        class: Class::Delete,
        title: "deleting outside the workspace",
        why: "what is deleted there belongs to someone else",
        instead: "leave it; ask the user",
        on: Matcher::Analysis,
        presets: BOTH,
        execpolicy: Prefixes::None,
        deny: &[
            "rm -rf /etc",
            "rm -rf ~",
            "find /srv -delete",
            "mv ~ /dev/null",
        ],
        allow: &["ls /etc", "find . -name '*.rs'"],
    },
    Rule {
        id: "delete.workspace-root",
        class: Class::Delete,
        title: "deleting or moving the workspace, its parents or its .git",
        why: "everything in it is lost, and Codex can no longer start the guard from it",
        instead: "name the single files that have to go",
        on: Matcher::Analysis,
        presets: BOTH,
        execpolicy: Prefixes::None,
        deny: &["rm -rf .", "rm -rf ..", "rm -rf .git", "mv . ../gone"],
        allow: &["mv a.txt docs/"],
    },
];
