//! Packages, system files, users and privilege.

use crate::Class::{System, Users};
use crate::{Rule, Test, on};

const DRY: Test = Test::Flag(&["-s", "--simulate", "--dry-run", "--just-print", "--no-act", "--recon", "--print-uris", "--assumeno", "--test", "-d", "--download-only"]);
const APT: &[&str] = &["install", "remove", "purge", "autoremove", "autopurge", "upgrade", "dist-upgrade", "full-upgrade", "safe-upgrade", "update", "autoclean", "clean", "reinstall", "build-dep", "satisfy", "edit-sources", "dselect-upgrade", "hold", "unhold", "markauto", "forget-new", "keep-all"];
const DNF: &[&str] = &["install", "remove", "erase", "autoremove", "upgrade", "update", "downgrade", "reinstall", "distro-sync", "groupinstall", "groupremove", "group", "localinstall", "swap", "clean", "makecache", "module", "mark", "builddep", "system-upgrade", "offline-upgrade", "in", "rm", "up", "dup", "dist-upgrade", "patch", "addrepo", "ar", "removerepo", "rr", "modifyrepo", "addlock", "config-manager", "history", "versionlock", "rebase", "override", "rollback", "deploy", "cleanup"];

pub(super) const RULES: &[Rule] = &[
    Rule::new("system.package", System, "installing, removing or updating packages of the system")
        .because("programs of everyone on the machine change", "name the package for the user; install into the project (a virtual environment, node_modules) if that is enough")
        .on(&[
            on(&["apt", "apt-get", "aptitude"]).sub(&[APT]).unless(&[DRY]),
            on(&["apt-mark"]).unless(&[Test::First(&["show*"])]),
            on(&["apt-key", "add-apt-repository", "apt-add-repository", "dpkg-reconfigure", "dpkg-divert", "dpkg-statoverride", "debconf-set-selections", "tasksel", "unattended-upgrade", "unattended-upgrades", "do-release-upgrade", "ubuntu-drivers", "gdebi", "alien", "pro"]).unless(&[Test::First(&["list", "status", "devices"]), Test::Flag(&["-l", "--list", "--dry-run", "--list-tasks"])]),
            on(&["dpkg"]).when(&[Test::Word(&["-i", "--install", "-r", "--remove", "-P", "--purge", "--unpack", "--configure", "--set-selections", "--clear-selections", "--force-*", "-B", "--update-avail", "--merge-avail", "--clear-avail", "--add-architecture", "--remove-architecture", "--triggers-only"])]).unless(&[Test::Flag(&["--dry-run", "--no-act", "--simulate"])]),
            on(&["rpm"]).when(&[Test::Flag(&["-e", "--erase", "-i", "--install", "-U", "--upgrade", "-F", "--freshen", "--import", "--rebuilddb", "--initdb", "--setperms", "--setugids", "--reinstall", "--restore"])]).unless(&[Test::Flag(&["-q", "--query", "-V", "--verify", "-K", "--checksig", "--test"])]),
            on(&["dnf", "yum", "zypper", "dnf5", "microdnf", "tdnf", "rpm-ostree", "urpmi", "transactional-update"]).sub(&[DNF]).unless(&[DRY]),
            on(&["yum-config-manager", "subscription-manager", "urpme", "pkcon", "bootc", "ostree"]).unless(&[Test::First(&["status", "list", "search", "info"])]),
            on(&["pacman", "yay", "paru", "pamac"]).when(&[Test::Word(&["-S", "-Sy*", "-Su*", "-Sc*", "-R*", "-U*", "-D*", "--sync", "--remove", "--upgrade", "--database", "install", "remove", "upgrade", "update", "clean"])]),
            on(&["apk"]).sub(&[&["add", "del", "upgrade", "update", "fix", "cache"]]),
            on(&["brew", "port", "emerge", "pkg", "opkg", "ipkg", "xbps-install", "xbps-remove", "eopkg", "swupd", "guix", "nix-env", "nix-channel", "nix-collect-garbage", "nixos-rebuild", "slackpkg", "installpkg", "removepkg", "upgradepkg", "sbopkg", "equo", "chocolatey", "choco", "winget", "scoop", "softwareupdate", "mas", "installer", "pkgutil"]).when(&[Test::Word(&["install", "uninstall", "remove", "rm", "upgrade", "update", "reinstall", "cleanup", "autoremove", "delete", "deinstall", "selfupdate", "tap", "untap", "link", "unlink", "pin", "-i", "-e", "-u", "-iA", "-d", "--install", "--uninstall", "--upgrade", "--delete-generations", "--rollback", "switch", "boot", "test", "build-vm", "-C", "--unmerge", "--depclean", "-c", "-uDN", "--sync", "--forget", "-pkg", "gc", "pull"])]),
            on(&["nixos-rebuild", "nix-collect-garbage", "xbps-install", "xbps-remove", "installpkg", "removepkg", "upgradepkg", "emerge"]).when(&[Test::Operands(1)]).unless(&[Test::Flag(&["-p", "--pretend", "-s", "--search"])]),
            on(&["nix"]).sub(&[&["profile", "store"], &["install", "remove", "upgrade", "rollback", "wipe-history", "gc", "delete", "add", "repair", "optimise"]]),
            on(&["snap"]).sub(&[&["install", "remove", "refresh", "revert", "disable", "enable", "start", "stop", "restart", "set", "unset", "connect", "disconnect", "alias", "unalias", "switch", "restore", "save", "forget", "abort"]]),
            on(&["flatpak"]).sub(&[&["install", "uninstall", "remove", "update", "remote-add", "remote-delete", "remote-modify", "override", "mask", "pin", "repair", "make-current", "kill", "config"]]),
            on(&["update-alternatives", "alternatives"]).when(&[Test::Flag(&["--install", "--remove", "--remove-all", "--set", "--auto", "--config", "--all", "--set-selections"])]),
            on(&["ldconfig"]).unless(&[Test::Flag(&["-p", "--print-cache", "-N", "-v"])]),
            on(&["update-ca-certificates", "update-ca-trust", "trust", "update-mime-database", "update-desktop-database", "update-pciids", "update-usbids", "updatedb", "systemd-hwdb", "locale-gen", "dconf", "gsettings"]).unless(&[Test::First(&["list", "read", "get", "dump", "list-*", "extract"])]),
            on(&["gsettings", "dconf"]).sub(&[&["set", "reset", "write", "load", "reset-recursively"]]),
            on(&["nvidia-uninstall", "nvidia-installer", "cuda-uninstaller", "ofed_uninstall.sh", "mlnxofedinstall", "amdgpu-install", "amdgpu-uninstall"]),
            on(&["*-uninstall.sh", "*-killall.sh", "uninstall.sh", "cuda_*.run", "NVIDIA-Linux-*.run", "NVIDIA-*.run"]),
            on(&["systemd-sysusers"]).unless(&[Test::Flag(&["--dry-run", "--cat-config"])]),
        ])
        .denies(&["apt-get install -y curl", "dpkg --purge --force-all libc6", "pacman -Rns linux", "rpm -e glibc", "snap remove core", "brew uninstall git", "nvidia-uninstall", "dnf remove kernel"])
        .passes(&["apt list --installed", "apt-get -s remove x", "dpkg -l", "rpm -qa", "rpm -qi bash", "pacman -Q", "brew list", "apt-cache policy x", "pacman -Ss vim", "snap list"]),
    Rule::new("system.environment", System, "changing installed Python, Node or other packages")
        .because("the environment may be the one that serves others", "use the project's own lock file and tool (`uv sync`, `npm ci`), or ask the user")
        .lab_only()
        .on(&[
            on(&["pip", "pip3", "pip2", "pip3.*"]).sub(&[&["install", "download-install"]]).unless(&[Test::Flag(&["--dry-run", "--target", "-t"])]),
            on(&["conda", "mamba", "micromamba"]).sub(&[&["install", "update", "upgrade", "create", "config", "clean", "init"]]).unless(&[Test::Flag(&["-d", "--dry-run"])]),
            on(&["pipx"]).sub(&[&["install", "upgrade", "upgrade-all", "inject", "reinstall", "reinstall-all", "ensurepath"]]),
            on(&["uv"]).sub(&[&["tool"], &["install", "upgrade", "update-shell"]]),
            on(&["uv"]).sub(&[&["pip"], &["install", "sync"]]).when(&[Test::Flag(&["--system", "--break-system-packages"])]),
            on(&["uv"]).sub(&[&["self", "cache", "python"], &["update", "clean", "prune", "install", "upgrade", "pin"]]),
            on(&["go"]).sub(&[&["install"]]).when(&[Test::Operand(&["*@*"])]),
            on(&["python", "python3", "python3.*"]).when(&[Test::First(&["setup.py", "*/setup.py"]), Test::Operand(&["install", "develop"])]),
            on(&["cmake"]).when(&[Test::Word(&["--install"]), Test::Word(&["/usr*", "/opt*", "--prefix=/usr*", "--prefix=/opt*"])]),
            on(&["cargo"]).sub(&[&["install"]]).unless(&[Test::Flag(&["--list", "--root"])]),
            on(&["rustup"]).sub(&[&["default", "update", "install", "self", "override", "set"]]).when(&[]),
            on(&["gem"]).sub(&[&["install", "update", "cleanup", "pristine"]]),
            on(&["ollama"]).sub(&[&["pull", "create", "cp"]]),
            on(&["nvm", "fnm", "volta", "pyenv", "rbenv", "asdf", "mise", "sdk", "n", "goenv", "tfenv", "jenv"]).sub(&[&["install", "global", "default", "alias", "upgrade", "update", "plugin", "use-global", "pin", "latest", "lts", "reshim"]]),
            on(&["pip", "pip3"]).sub(&[&["config"], &["set", "unset", "edit"]]),
        ])
        .denies(&["pip install vllm", "conda install numpy", "cargo install ripgrep", "uv tool install ruff"])
        .passes(&["pip list", "pip show vllm", "uv sync", "npm ci", "cargo add serde", "pip freeze", "cargo install --list"]),
    Rule::new("system.uninstall", System, "removing installed packages or environments")
        .because("something else may need them", "ask the user")
        .on(&[
            on(&["pip", "pip3", "pip2", "pip3.*"]).sub(&[&["uninstall"]]),
            on(&["pip", "pip3"]).sub(&[&["cache"], &["purge", "remove"]]),
            on(&["pip", "pip3"]).sub(&[&["install"]]).when(&[Test::Flag(&["--break-system-packages", "--user", "--root", "--prefix"])]),
            on(&["uv"]).sub(&[&["pip"], &["uninstall"]]),
            on(&["uv"]).sub(&[&["tool", "python"], &["uninstall"]]),
            on(&["conda", "mamba", "micromamba"]).sub(&[&["remove", "uninstall"]]),
            on(&["conda", "mamba", "micromamba"]).sub(&[&["env"], &["remove", "update", "create"]]),
            on(&["pipx"]).sub(&[&["uninstall", "uninstall-all", "uninject"]]),
            on(&["npm", "pnpm", "yarn", "bun"]).when(&[Test::Flag(&["-g", "--global", "--location"])]).unless(&[Test::First(&["list", "ls", "root", "bin", "outdated", "config", "prefix", "view", "ll", "la"])]),
            on(&["npm", "pnpm", "yarn"]).sub(&[&["global", "cache", "store"], &["add", "remove", "upgrade", "clean", "prune", "verify-clean"]]),
            on(&["npm"]).sub(&[&["config", "set"]]).when(&[Test::Flag(&["-g", "--global"])]),
            on(&["gem"]).sub(&[&["uninstall"]]),
            on(&["cargo"]).sub(&[&["uninstall"]]),
            on(&["rustup"]).sub(&[&["uninstall", "toolchain", "target", "component", "self"]]).when(&[Test::Operand(&["uninstall", "remove"])]),
            on(&["opam", "cabal", "stack", "luarocks", "cpanm", "cpan", "dotnet", "R"]).sub(&[&["remove", "uninstall", "switch"]]),
            on(&["dotnet"]).sub(&[&["tool", "workload"], &["uninstall", "install", "update"]]).when(&[Test::Flag(&["-g", "--global"])]),
            on(&["ollama"]).sub(&[&["rm", "stop", "delete"]]),
            on(&["pyenv", "rbenv", "nvm", "asdf", "mise", "volta", "fnm", "sdk"]).sub(&[&["uninstall", "remove", "implode"]]),
        ])
        .denies(&["pip uninstall -y vllm", "uv pip uninstall vllm", "conda env remove -n prod", "npm uninstall -g @openai/codex", "cargo uninstall ripgrep"])
        .passes(&["npm uninstall left-pad", "pnpm install", "uv pip list", "npm ls -g"]),
    Rule::new("users.account", Users, "changing users, groups or passwords")
        .because("someone gets access, or loses it", "ask the user")
        .on(&[
            on(&["useradd", "userdel", "usermod", "adduser", "deluser", "groupadd", "groupdel", "groupmod", "addgroup", "delgroup", "gpasswd", "chpasswd", "newusers", "vipw", "vigr", "visudo", "sudoedit", "chsh", "chfn", "pwconv", "pwunconv", "grpconv", "pam-auth-update", "pam_tally2", "authconfig", "authselect", "realm", "ssh-copy-id", "smbpasswd", "htpasswd", "ldapadd", "ldapmodify", "ldapdelete", "ldappasswd", "ipa", "dscl", "dseditgroup", "sysadminctl", "homectl", "userdbctl-set", "lpasswd", "luseradd", "luserdel", "edquota", "kadmin", "kadmin.local", "samba-tool"]).unless(&[Test::Flag(&["-c", "--check"]), Test::First(&["list", "current", "check", "-read", "-list", "inspect"])]),
            on(&["passwd"]).unless(&[Test::Flag(&["-S", "--status"])]),
            on(&["chage"]).unless(&[Test::Flag(&["-l", "--list"])]),
        ])
        .denies(&["useradd x", "usermod -aG sudo dev", "passwd -d root", "visudo -f /etc/sudoers.d/x"])
        .passes(&["id", "groups", "passwd -S dev", "chage -l dev", "getent passwd dev"]),
    Rule::new("users.privilege", Users, "running a command with other rights")
        .because("mistakes made with them reach the whole machine", "run it without sudo; if that cannot work, ask the user")
        .lab_only()
        .prefixes(&[on(&["sudo", "doas", "su", "pkexec"])])
        .denies(&["sudo make install", "doas ./setup.sh", "su -c 'make install'"])
        .passes(&["sudo -l"]),
    Rule::new("users.permissions", Users, "changing permissions outside the workspace")
        .because("someone gets access, or loses it", "ask the user")
        .on(&[
            on(&["setcap", "setfattr", "chown", "chgrp"]).when(&[Test::Operands(2)]),
            on(&["chmod"]).when(&[Test::First(&["*+*s*", "*=*s*", "4755", "4711", "4555", "4750", "2755", "2775", "2770", "6755", "04755", "02755", "02775"])]),
        ])
        .denies(&["chmod -R 000 /etc", "chown dev /srv", "chattr -i /etc/passwd", "setcap cap_net_raw+ep ./x"])
        .passes(&["chmod +x scripts/run.sh", "chmod -R u+rwX target"]),
];
