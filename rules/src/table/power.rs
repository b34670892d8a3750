//! Power, services, schedules and processes.

use crate::Class::{Power, Process};
use crate::{Rule, Test, on};

const VERBS: &[&str] = &["stop", "start", "restart", "reload", "force-reload", "force-restart", "try-restart", "condrestart", "disable", "enable", "mask", "unmask", "kill", "isolate", "set-property", "set-default", "set-environment", "unset-environment", "import-environment", "edit", "revert", "link", "preset", "preset-all", "reenable", "add-wants", "add-requires", "daemon-reload", "daemon-reexec", "reset-failed", "reload-or-restart", "try-reload-or-restart", "clean", "freeze", "thaw", "switch-root", "bind", "mount-image", "service-log-level", "log-level", "cancel"];
const SERVICE: &str = "others depend on the service";
const SERVICE_INSTEAD: &str = "look at it with `systemctl status` or `journalctl -u`; ask the user to change it";

pub(super) const RULES: &[Rule] = &[
    Rule::new("power.off", Power, "shutting down, restarting or suspending a machine")
        .because("everyone's work on it stops", "ask the user")
        .on(&[
            on(&["reboot", "poweroff", "halt", "shutdown", "pm-suspend", "pm-hibernate", "pm-suspend-hybrid", "systemd-shutdown", "zzz", "s2ram", "s2disk"]),
            on(&["systemctl"]).sub(&[&["reboot", "poweroff", "halt", "kexec", "soft-reboot", "suspend", "hibernate", "hybrid-sleep", "suspend-then-hibernate", "sleep", "rescue", "emergency", "default", "exit"]]),
            on(&["loginctl"]).sub(&[&["reboot", "poweroff", "suspend", "hibernate"]]),
            on(&["init", "telinit"]).when(&[Test::First(&["0", "1", "6", "s", "S", "u", "q", "2", "3", "4", "5"])]),
            on(&["rtcwake"]).unless(&[Test::Operand(&["show"])]),
            on(&["kexec"]).when(&[Test::Flag(&["-e", "--exec", "-l", "--load", "-u", "--unload", "-p"])]),
            on(&["dbus-send", "busctl", "gdbus", "qdbus"]).when(&[Test::Contains(&["login1", "systemd1", "consolekit", "powermanagement", "upower"])]).unless(&[Test::Operand(&["introspect", "tree", "list", "status", "get-property"])]),
            on(&["osascript"]).when(&[Test::Contains(&["shut down", "restart", "log out"])]),
            on(&["ipmitool"]).sub(&[&["power", "chassis"]]).unless(&[Test::Operand(&["status", "restart_cause", "poh", "selftest", "policy"])]),
            on(&["virsh"]).sub(&[&["destroy", "shutdown", "reboot", "reset", "suspend", "undefine", "start", "save", "managedsave", "restore", "migrate", "detach-device", "detach-disk", "attach-disk", "net-destroy", "net-undefine", "pool-destroy", "pool-delete", "pool-undefine", "vol-delete", "vol-wipe", "snapshot-delete", "snapshot-revert", "define", "create", "edit", "setmem", "setvcpus", "blockresize", "nodesuspend", "qemu-monitor-command"]]),
            on(&["vboxmanage", "VBoxManage"]).sub(&[&["controlvm", "unregistervm", "closemedium", "snapshot", "modifyvm"]]),
            on(&["qm", "pct"]).sub(&[&["stop", "destroy", "shutdown", "reset", "reboot", "start", "set", "rollback", "suspend", "migrate", "delsnapshot", "restore", "create"]]),
            on(&["xe", "govc", "vmrun", "esxcli"]).when(&[Test::Contains(&["destroy", "shutdown", "reboot", "stop", "reset", "delete", "power", "uninstall", "remove", "kill"])]),
            on(&["upscmd", "upsdrvctl", "apcaccess-cmd", "powerstat-off", "wakeonlan-off", "pdu", "snmpset", "etherwake", "wakeonlan", "wol"]),
            on(&["gnome-session-quit", "xfce4-session-logout", "cinnamon-session-quit", "mate-session-save", "upsmon", "apctest"]),
            on(&["qdbus", "qdbus6"]).when(&[Test::Contains(&["ksmserver", "logout", "shutdown"])]),
            on(&["ipmi-power", "ipmipower"]).unless(&[Test::Flag(&["-s", "--stat"])]),
            on(&["wsl", "wsl.exe"]).when(&[Test::Flag(&["--shutdown", "-t", "--terminate", "--unregister"])]),
            on(&["apm", "acpitool"]).when(&[Test::Flag(&["-s", "-S", "--suspend", "--standby"])]),
            on(&["xset"]).when(&[Test::Operand(&["dpms"]), Test::Operand(&["force"])]),
        ])
        .denies(&["reboot", "shutdown -h now", "systemctl reboot", "init 6", "ipmitool chassis power off", "virsh destroy vm1"])
        .passes(&["last reboot", "reboot --help", "ipmitool power status", "virsh list --all"]),
    Rule::new("power.service", Power, "changing a service of the system")
        .because(SERVICE, SERVICE_INSTEAD)
        .on(&[
            on(&["systemctl"]).sub(&[VERBS]).unless(&[Test::Flag(&["--user", "--dry-run"])]),
            on(&["service"]).sub(&[&["*"], VERBS]),
            on(&["rc-service"]).sub(&[&["*"], VERBS]),
            on(&["invoke-rc.d"]).sub(&[&["*"], VERBS]),
            on(&["initctl"]).sub(&[&["stop", "start", "restart", "reload", "emit", "set-env"]]),
            on(&["stop", "start", "restart"]).when(&[Test::Operands(1)]),
            on(&["sv", "svc", "s6-svc", "s6-rc", "dinitctl", "monit", "nssm", "launchctl", "sc", "rcctl"]).when(&[Test::Operands(1)]).unless(&[Test::First(&["status", "check", "list", "print", "summary", "query", "ls"])]),
            on(&["svc", "s6-svc"]).when(&[Test::Flag(&["-d", "-u", "-k", "-t", "-x", "-r"])]),
            on(&["supervisorctl"]).sub(&[&["stop", "start", "restart", "shutdown", "reload", "update", "signal", "remove", "add", "reread", "clear"]]),
            on(&["pm2"]).sub(&[&["delete", "del", "stop", "kill", "restart", "reload", "start", "flush", "reset", "scale", "resurrect", "unstartup", "startup", "save", "update", "sendSignal"]]),
            on(&["forever", "circusctl", "god"]).sub(&[&["stop", "stopall", "restart", "restartall", "quit", "start", "incr", "decr", "terminate"]]),
            on(&["update-rc.d", "chkconfig", "rc-update", "systemd-tmpfiles", "systemd-sysusers", "ntsysv"]).when(&[Test::Operands(2)]),
            on(&["brew"]).sub(&[&["services"], &["stop", "start", "restart", "run", "kill", "cleanup"]]),
            on(&["nginx", "apachectl", "apache2ctl", "httpd", "caddy", "haproxy", "varnishadm", "postfix", "unbound-control", "rndc", "squid"]).when(&[Test::Word(&["-s", "-k", "stop", "quit", "reload", "restart", "graceful", "graceful-stop", "start", "flush", "reconfig", "freeze", "thaw"])]),
            on(&["pg_ctl", "pg_ctlcluster", "mysqladmin", "rabbitmqctl", "rabbitmq-server", "mongod", "redis-server-ctl", "cockroach"]).when(&[Test::Operand(&["stop", "start", "restart", "reload", "promote", "kill", "shutdown", "drop", "flush-*", "reset", "stop_app", "start_app", "force_reset", "delete_*", "purge_queue", "forget_cluster_node", "quit", "drain"])]),
            on(&["slurmctld", "slurmd", "scontrol"]).when(&[Test::First(&["update", "reconfigure", "shutdown", "takeover", "reboot", "delete", "create", "requeue", "suspend", "hold", "power", "setdebug"])]),
            on(&["scancel", "bkill", "qdel", "sacctmgr", "qmgr"]).unless(&[Test::First(&["show", "list"])]),
            on(&["jenkins-cli", "rundeck", "awx"]).when(&[Test::Operands(1)]),
            on(&["service"]).when(&[Test::Flag(&["--full-restart"])]),
            on(&["runsvdir", "runsvchdir"]),
        ])
        .denies(&["systemctl stop rke2-server", "systemctl restart docker", "service ssh stop", "supervisorctl stop all", "pm2 delete all", "nginx -s stop"])
        .passes(&["systemctl status docker", "service ssh status", "supervisorctl status", "systemctl cat rke2-server", "nginx -t", "systemctl is-active x"]),
    Rule::new("power.user-service", Power, "changing a service of the user")
        .because(SERVICE, SERVICE_INSTEAD)
        .lab_only()
        .on(&[on(&["systemctl"]).sub(&[VERBS]).when(&[Test::Flag(&["--user"])]).unless(&[Test::Flag(&["--dry-run"])])])
        .denies(&["systemctl --user stop litellm"])
        .passes(&["systemctl --user status litellm"]),
    Rule::new("power.session", Power, "ending sessions of users")
        .because("their work is lost", "ask the user")
        .on(&[
            on(&["loginctl"]).sub(&[&["terminate-user", "terminate-session", "terminate-seat", "kill-user", "kill-session", "lock-session", "lock-sessions", "enable-linger", "disable-linger", "attach", "flush-devices", "activate"]]),
            on(&["machinectl"]).sub(&[&["terminate", "kill", "poweroff", "reboot", "stop", "remove", "disable", "enable", "start", "clone", "rename"]]),
            on(&["pkill", "skill"]).when(&[Test::Flag(&["-u", "-U", "-t", "-KILL"])]),
            on(&["tmux", "screen"]).when(&[Test::Operand(&["kill-server", "kill-session", "kill-pane", "kill-window", "quit", "kill"])]),
            on(&["tmux"]).when(&[Test::Operand(&["respawn-pane", "respawnp", "respawn-window", "respawnw"]), Test::Flag(&["-k"])]),
        ])
        .denies(&["loginctl terminate-user dev", "tmux kill-server"])
        .passes(&["loginctl list-sessions", "tmux ls"]),
    Rule::new("power.schedule", Power, "scheduling commands or removing scheduled ones")
        .because("what runs later is out of everyone's sight", "tell the user what should be scheduled")
        .on(&[
            on(&["crontab"]).when(&[Test::Flag(&["-r", "-e", "-i"])]),
            on(&["crontab"]).unless(&[Test::Flag(&["-l", "-T", "-V"])]),
            on(&["atrm"]),
            on(&["at"]).when(&[Test::Flag(&["-d", "-r", "-f"])]),
            on(&["batch", "fcrontab", "anacron", "incrontab", "schtasks"]).unless(&[Test::Flag(&["-l", "--list", "/query"])]),
        ])
        .denies(&["crontab -r", "crontab jobs.txt", "atrm 3"])
        .passes(&["crontab -l", "atq"]),
    Rule::new("process.kill-all", Process, "signalling every process, or the first one")
        .because("the machine or the session goes down", "name the process that you started")
        .on(&[
            on(&["kill"]).when(&[Test::Word(&["-1"])]),
            on(&["kill"]).when(&[Test::Operand(&["1", "-1", "0"])]).unless(&[Test::Word(&["-0"])]),
            on(&["killall5", "xkill", "slay"]),
        ])
        .denies(&["kill -9 -1", "kill -9 1", "kill -KILL -- -1"])
        .passes(&["kill -l", "kill -0 1234"]),
    Rule::new("process.kill-named", Process, "killing processes by name, port or user")
        .because("it hits processes that someone else started", "end only processes that you started, by their id")
        .on(&[
            on(&["pkill", "killall", "skill", "snice"]).unless(&[Test::Word(&["-0", "-l", "--list"])]),
            on(&["fuser"]).when(&[Test::Flag(&["-k", "--kill"])]),
            on(&["ss"]).when(&[Test::Flag(&["-K", "--kill"])]),
            on(&["fkill", "kill-port", "killport", "oomctl", "timeout-kill"]),
        ])
        .denies(&["pkill -9 python", "killall sshd", "fuser -k 8000/tcp"])
        .passes(&["pgrep python", "fuser 8000/tcp"]),
    Rule::new("process.kill", Process, "signalling a process")
        .because("it may belong to someone else", "end jobs that you started in the same command with `kill $!` or `kill %1`")
        .lab_only()
        .on(&[on(&["kill"]).when(&[Test::Operands(1)]).unless(&[Test::Word(&["-0", "-l", "-L", "--list"]), Test::Operand(&["%*"])])])
        .denies(&["kill 12345", "kill -STOP 99"])
        .passes(&["kill -l", "kill -0 1234", "sleep 9 & kill $!", "kill %1"]),
    Rule::new("process.priority", Process, "changing processes that already run")
        .because("they belong to someone else", "start your own command with `nice`")
        .lab_only()
        .on(&[
            on(&["renice"]),
            on(&["ionice", "chrt", "taskset", "prlimit"]).when(&[Test::Flag(&["-p", "--pid"]), Test::Operands(2)]),
            on(&["gdb", "lldb"]).when(&[Test::Flag(&["-p", "--pid", "--attach"])]),
            on(&["strace", "ltrace"]).when(&[Test::Flag(&["-p", "--attach"])]),
            on(&["reptyr", "criu", "gcore"]),
            on(&["choom"]).when(&[Test::Flag(&["-p", "--pid"]), Test::Flag(&["-n", "--adjust"])]),
            on(&["ionice"]).when(&[Test::Flag(&["-p", "--pid"]), Test::Flag(&["-c", "--class", "-n"])]),
            on(&["prlimit"]).when(&[Test::Flag(&["-p", "--pid"]), Test::Word(&["--nofile=*", "--nproc=*", "--as=*", "--core=*", "--cpu=*", "--data=*", "--fsize=*", "--memlock=*", "--rss=*", "--stack=*"])]),
        ])
        .denies(&["renice -n 19 1234", "gdb -p 1234"])
        .passes(&["nice -n 10 make", "gdb ./app core"]),
];
