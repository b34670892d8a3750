//! Git: history, working tree, remote, configuration.

use crate::Class::Git;
use crate::{Rule, Test, on};

const G: &[&str] = &["git"];
const DRY: Test = Test::Flag(&["-n", "--dry-run"]);
const LOST: &str = "work that is in no commit is lost";
const COMMIT: &str = "commit or `git stash` first, or name single files to the user";

pub(super) const RULES: &[Rule] = &[
    Rule::new("git.push-force", Git, "rewriting or deleting branches of a remote")
        .because("commits of others are lost", "push a new branch, or ask the user")
        .on(&[
            on(G).sub(&[&["push"]]).when(&[Test::Flag(&["-f", "--force", "--force-with-lease", "--force-if-includes", "-d", "--delete", "--mirror", "--prune"])]).unless(&[DRY]),
            on(G).sub(&[&["push"]]).when(&[Test::Operand(&["+*", ":*"])]).unless(&[DRY]),
            on(G).sub(&[&["push"]]).when(&[Test::Word(&["+*", ":?*"])]).unless(&[DRY]),
        ])
        .denies(&["git push -f origin main", "git push origin +main", "git push origin --delete release", "git push origin :old", "git --no-pager push -f origin", "git push -uf origin main"])
        .passes(&["git push --force --dry-run", "git push --dry-run origin main"]),
    Rule::new("git.push", Git, "pushing to a remote")
        .because("others see it, and pipelines may start", "leave the commit; the user pushes")
        .lab_only()
        .on_with_prefixes(&[
            on(G).sub(&[&["push", "send-email", "send-pack", "http-push", "imap-send", "request-pull-send", "svn", "p4", "cvsexportcommit"]]).unless(&[DRY, Test::First(&["log", "info", "fetch", "rebase"])]),
            on(G).sub(&[&["subtree", "lfs", "annex", "flow", "review", "town", "machete"], &["push", "sync", "publish", "finish", "copy", "ship"]]),
            on(&["hg"]).sub(&[&["push", "email"]]),
            on(&["svn"]).sub(&[&["commit", "ci", "delete", "import", "copy", "move", "propset", "lock", "unlock"]]),
            on(&["jj"]).sub(&[&["git"], &["push"]]),
            on(&["repo"]).sub(&[&["upload"]]),
            on(&["gerrit", "git-review", "arc", "sl"]).when(&[Test::First(&["push", "land", "diff", "submit", "review"])]),
            on(&["p4"]).sub(&[&["submit", "delete", "obliterate"]]),
            on(&["bzr", "brz"]).sub(&[&["push", "commit", "send"]]),
            on(&["fossil"]).sub(&[&["sync", "push"]]),
            on(&["got"]).sub(&[&["send"]]),
        ])
        .prefixes(&[on(G).sub(&[&["push"]])])
        .denies(&["git push", "git push origin main", "git -C x push -u origin HEAD"])
        .passes(&["git fetch --all", "git pull", "git commit -m x", "git log push"]),
    Rule::new("git.discard", Git, "throwing away uncommitted work")
        .because(LOST, COMMIT)
        .on(&[
            on(G).sub(&[&["reset"]]).when(&[Test::Flag(&["--hard", "--merge", "--keep"])]),
            on(G).sub(&[&["clean"]]).when(&[Test::Flag(&["-f", "--force"])]).unless(&[DRY, Test::Word(&["-*X*"])]),
            on(G).sub(&[&["clean"]]).when(&[Test::Flag(&["-i", "--interactive", "-x"])]).unless(&[DRY]),
            on(G).sub(&[&["checkout"]]).when(&[Test::Flag(&["-f", "--force"])]),
            on(G).sub(&[&["checkout", "restore"]]).when(&[Test::Operand(&[".", "./", ":/", ":/*", ".."])]).unless(&[Test::Word(&["--staged", "-S"])]),
            on(G).sub(&[&["switch"]]).when(&[Test::Flag(&["-f", "--force", "--discard-changes", "-C", "--force-create"])]),
            on(G).sub(&[&["stash"], &["clear"]]),
            on(G).sub(&[&["checkout-index"]]).when(&[Test::Flag(&["-f", "--force"])]),
            on(G).sub(&[&["read-tree"]]).when(&[Test::Flag(&["-u", "--reset", "-m"])]),
            on(G).sub(&[&["submodule"], &["deinit"]]),
            on(G).sub(&[&["submodule"], &["update"]]).when(&[Test::Flag(&["-f", "--force"])]),
            on(G).sub(&[&["rm"]]).when(&[Test::Flag(&["-f", "--force"])]).unless(&[DRY, Test::Word(&["--cached"])]),
            on(G).sub(&[&["rm"]]).when(&[Test::Operand(&[".", "./", ":/", "/*", ".."])]).unless(&[DRY, Test::Word(&["--cached"])]),
            on(G).sub(&[&["worktree"], &["remove", "prune"]]).when(&[Test::Flag(&["-f", "--force", "--expire"])]),
            on(&["hg"]).when(&[Test::First(&["revert", "purge", "clean", "strip", "rollback", "histedit"])]),
            on(&["hg"]).sub(&[&["update", "up", "checkout", "co"]]).when(&[Test::Flag(&["-C", "--clean"])]),
            on(&["svn"]).sub(&[&["revert", "cleanup"]]).when(&[Test::Flag(&["-R", "--recursive", "--remove-unversioned", "--remove-ignored"])]),
            on(&["jj"]).sub(&[&["abandon", "restore", "op", "undo"]]).when(&[Test::Operands(1)]).unless(&[Test::First(&["log", "show", "diff"])]),
            on(G).sub(&[&["checkout"]]).when(&[Test::Word(&["-B*"])]),
            on(G).sub(&[&["annex"], &["drop", "dropunused", "dead", "uninit"]]),
        ])
        .denies(&["git reset --hard HEAD~3", "git clean -fdx", "git checkout -- .", "git checkout .", "git stash clear", "git switch -f main", "git rm -rf .", "git checkout -f main"])
        .passes(&["git reset --soft HEAD~1", "git reset HEAD x", "git clean -n", "git checkout main", "git checkout -b halt", "git stash", "git rm -r --cached node_modules", "git clean -nfd"]),
    Rule::new("git.discard-file", Git, "throwing away changes to files, stashes or ignored files")
        .because(LOST, "copy what would be lost to another file first, or ask the user")
        .lab_only()
        .on(&[
            on(G).sub(&[&["checkout"]]).when(&[Test::Word(&["--"])]),
            on(G).sub(&[&["checkout"]]).when(&[Test::Flag(&["--pathspec-from-file", "--theirs", "--ours"])]),
            on(G).sub(&[&["restore"]]).unless(&[Test::Word(&["--staged", "-S"])]),
            on(G).sub(&[&["restore"]]).when(&[Test::Word(&["-W", "--worktree", "-SW", "-WS"])]),
            on(G).sub(&[&["stash"], &["drop"]]),
            on(G).sub(&[&["clean"]]).when(&[Test::Flag(&["-f", "--force"])]).unless(&[DRY]),
            on(G).sub(&[&["rm"]]).unless(&[DRY, Test::Word(&["--cached"])]),
            on(G).sub(&[&["worktree"], &["remove", "prune"]]),
            on(G).sub(&[&["sparse-checkout"], &["set", "init", "reapply", "add", "clean"]]),
            on(G).sub(&[&["lfs"], &["prune"]]),
        ])
        .denies(&["git checkout -- src/a.rs", "git restore src/main.rs", "git stash drop", "git rm old.rs"])
        .passes(&["git restore --staged x", "git stash pop", "git stash apply stash@{0}"]),
    Rule::new("git.history", Git, "rewriting or deleting history")
        .because("commits can no longer be found", "make a new commit, or a branch that keeps the old one")
        .on(&[
            on(G).sub(&[&["filter-branch", "filter-repo", "update-ref", "prune", "replace", "prune-packed", "fast-import", "hash-object-replace", "pack-refs-prune", "undo"]]).unless(&[Test::Flag(&["-n", "--dry-run", "-l", "--list", "--analyze"])]),
            on(G).sub(&[&["symbolic-ref"]]).when(&[Test::Operands(2)]),
            on(G).sub(&[&["symbolic-ref"]]).when(&[Test::Flag(&["-d", "--delete"])]),
            on(G).sub(&[&["reflog"], &["expire", "delete", "drop"]]).unless(&[DRY]),
            on(G).sub(&[&["gc", "repack"]]).when(&[Test::Flag(&["--prune", "--aggressive", "-A", "-d", "-a"])]),
            on(G).sub(&[&["maintenance"], &["run", "start", "register", "stop", "unregister"]]),
            on(G).sub(&[&["branch"]]).when(&[Test::Word(&["-D*", "-fd", "-df", "-rd", "-dr", "-Dr", "-rD", "-M*", "-C*", "-f", "--force"])]),
            on(G).sub(&[&["tag"]]).when(&[Test::Flag(&["-d", "--delete", "-f", "--force"])]),
            on(G).sub(&[&["notes"], &["remove", "prune"]]),
            on(G).sub(&[&["remote"], &["remove", "rm", "set-url", "rename", "prune", "set-head", "set-branches"]]).unless(&[DRY]),
            on(G).sub(&[&["commit-graph", "multi-pack-index"], &["expire", "repack"]]),
            on(G).sub(&[&["rebase"]]).when(&[Test::Flag(&["--root"])]),
            on(&["bfg", "git-filter-repo", "bfg.jar"]),
        ])
        .denies(&["git filter-branch --tree-filter x HEAD", "git update-ref -d refs/heads/main", "git reflog expire --expire=now --all", "git branch -D x", "git gc --prune=now", "git tag -d v1"])
        .passes(&["git rebase --abort", "git reflog", "git branch -d merged", "git tag -a v1 -m x", "git remote -v", "git gc", "git branch --show-current"]),
    Rule::new("git.config", Git, "configuration of git that runs programs or holds for every repository")
        .because("it is code that runs later, out of sight", "set it for this repository only (`git config user.name x`), or ask the user")
        .on(&[
            on(G).sub(&[&["config"]]).when(&[Test::Flag(&["--global", "--system"]), Test::Operands(2)]),
            on(G).sub(&[&["config"]]).when(&[Test::Flag(&["--global", "--system"])]).unless(&[Test::Flag(&["--get", "--get-all", "--get-regexp", "-l", "--list", "--get-urlmatch", "--show-origin"]), Test::First(&["get", "list"])]),
            on(G).sub(&[&["config"]]).when(&[Test::Operands(2), Test::Operand(&["core.hooksPath", "core.hookspath", "core.fsmonitor", "core.sshCommand", "core.sshcommand", "core.editor", "core.pager", "pager.*", "alias.*", "credential.*", "filter.*", "diff.*.command", "diff.external", "diff.*.textconv", "merge.*.driver", "gpg.*program", "sequence.editor", "protocol.*", "url.*", "include.*", "includeIf.*", "uploadpack.*", "receive.*", "remote.*.uploadpack", "remote.*.receivepack", "core.gitProxy", "core.askPass", "core.attributesFile", "init.templateDir", "browser.*", "man.*", "http.proxy", "http.sslVerify", "interactive.diffFilter", "trailer.*.command", "submodule.*.update", "safe.directory", "core.worktree", "remote.*.url", "remote.*.pushurl"])]).unless(&[Test::Flag(&["--get", "--get-all", "--get-regexp", "--unset-x"]), Test::First(&["get", "list"])]),
            on(G).sub(&[&["credential", "credential-store", "credential-cache", "credential-libsecret", "credential-manager"]]),
            on(G).sub(&[&["lfs"], &["install", "uninstall"]]).when(&[Test::Flag(&["--system"])]),
            on(G).sub(&[&["daemon", "instaweb", "http-backend", "shell", "cvsserver"]]),
        ])
        .denies(&["git config --system core.hooksPath /tmp/h", "git config --global user.name x", "git config core.hooksPath hooks", "git config alias.x '!rm -rf /'", "git credential fill"])
        .passes(&["git config user.email a@b.c", "git config --get user.name", "git config --list", "git config --global --get user.name"]),
];
