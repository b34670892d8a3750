//! Containers, images, volumes.

use crate::Class::Container;
use crate::{Rule, Test, on};

const ENGINES: &[&str] = &["docker", "podman", "nerdctl", "docker.io", "finch"];
const COMPOSE: &[&str] = &["docker-compose", "podman-compose"];

pub(super) const RULES: &[Rule] = &[
    Rule::new("container.remove", Container, "removing or killing containers, images, volumes or networks")
        .because("what runs in them stops, and data in their volumes is lost", "look with `docker ps`, `docker logs`, `docker inspect`; ask the user to remove it")
        .on(&[
            on(ENGINES).sub(&[&["rm", "rmi", "kill", "update", "rename", "checkpoint", "untag", "unmount", "umount"]]),
            on(ENGINES).sub(&[&["container", "image", "volume", "network", "system", "builder", "buildx", "compose", "service", "stack", "node", "config", "secret", "plugin", "context", "swarm", "pod", "machine", "manifest", "checkpoint", "trust", "namespace", "scout", "model"], &["rm", "remove", "prune", "kill", "down", "reset", "leave", "update", "scale", "rollback", "demote", "promote", "unlock", "unlock-key", "ca", "disable", "rename", "disconnect", "migrate", "renumber", "uninstall", "purge", "delete", "rmi"]]),
            on(ENGINES).sub(&[&["swarm"], &["init", "join", "join-token"]]),
            on(ENGINES).sub(&[&["stack"], &["deploy", "up"]]),
            on(ENGINES).sub(&[&["context"], &["use", "create", "import", "update"]]),
            on(COMPOSE).sub(&[&["down", "rm", "kill", "scale"]]),
            on(&["crictl"]).sub(&[&["rm", "rmi", "rmp", "stop", "stopp", "start", "run", "runp", "create", "update", "pull-clean", "checkpoint"]]),
            on(&["ctr"]).sub(&[&["images", "image", "i", "containers", "container", "c", "tasks", "task", "t", "snapshots", "snapshot", "content", "leases", "namespaces", "namespace", "ns", "sandboxes"], &["rm", "remove", "delete", "del", "kill", "pause", "resume", "prune", "update", "create", "label", "edit", "attach", "start", "restore", "checkpoint", "unmount"]]),
            on(&["ctr"]).sub(&[&["run"]]),
            on(&["buildah"]).sub(&[&["rm", "rmi", "prune", "delete", "umount"]]),
            on(&["lxc", "incus"]).sub(&[&["delete", "rm", "stop", "restart", "pause", "restore", "rename", "move", "rebuild", "publish", "launch", "start", "freeze"]]),
            on(&["lxc", "incus"]).sub(&[&["network", "storage", "profile", "image", "project", "cluster", "config", "snapshot"], &["delete", "rm", "set", "unset", "edit", "remove", "detach", "create", "restore", "device"]]),
            on(&["lxc-stop", "lxc-destroy", "lxc-freeze", "lxc-start", "lxc-attach", "lxc-execute", "lxd", "podman-machine", "dockerd", "containerd", "kata-runtime"]),
            on(&["runc", "crun", "youki"]).sub(&[&["kill", "delete", "pause", "update", "exec", "run", "start", "restore"]]),
            on(&["docker-machine", "colima", "limactl", "multipass", "rdctl", "minikube"]).sub(&[&["rm", "delete", "kill", "stop", "restart", "purge", "prune", "factory-reset", "start", "reset"]]),
            on(&["toolbox", "distrobox"]).sub(&[&["rm", "stop", "rmi"]]),
            on(&["singularity", "apptainer"]).sub(&[&["instance", "cache", "delete", "push"]]).when(&[Test::Operand(&["stop", "clean", "library*", "oras*"])]),
        ])
        .denies(&["docker rm -f db", "docker system prune -a -f", "docker volume rm data", "docker compose down -v", "docker-compose down", "podman system reset -f", "crictl rmp -f x", "ctr -n k8s.io images rm x", "docker swarm leave --force", "buildah rm --all"])
        .passes(&["docker ps -a", "docker system df", "docker volume ls", "docker compose ps", "ctr -n k8s.io images ls", "docker inspect db", "docker image ls", "crictl ps"]),
    Rule::new("container.control", Container, "stopping, starting or replacing running containers")
        .because("someone may be using them", "look with `docker ps` and `docker logs`; ask the user to change them")
        .lab_only()
        .on(&[
            on(ENGINES).sub(&[&["stop", "restart", "pause", "unpause", "start", "attach", "commit", "load", "import", "login", "logout"]]),
            on(ENGINES).sub(&[&["container", "compose", "pod", "machine"], &["stop", "restart", "pause", "unpause", "start", "up", "create", "attach", "watch"]]).unless(&[Test::Word(&["--dry-run"])]),
            on(ENGINES).sub(&[&["network", "volume", "service", "secret", "config"], &["create", "connect"]]),
            on(ENGINES).sub(&[&["cp"]]).when(&[Test::Operands(2)]).unless(&[Test::First(&["*:*"])]),
            on(COMPOSE).sub(&[&["stop", "restart", "pause", "unpause", "start", "up", "create", "watch"]]),
            on(ENGINES).sub(&[&["play"], &["kube"]]),
            on(ENGINES).sub(&[&["kube"], &["play", "down", "apply"]]),
            on(ENGINES).sub(&[&["plugin"], &["install", "enable", "disable", "upgrade", "set", "create"]]),
            on(&["enroot"]).sub(&[&["remove", "import", "create"]]).when(&[Test::Operands(1)]),
            on(&["orb", "orbctl"]).sub(&[&["delete", "stop", "restart", "reset"]]),
        ])
        .denies(&["docker stop db", "docker compose up -d", "docker restart web"])
        .passes(&["docker logs web", "docker compose logs -f web", "docker compose config"]),
    Rule::new("container.escape", Container, "a container with access to the host")
        .because("in it a command has the host's disks, devices or processes", "run it without --privileged, host namespaces and host folders")
        .on(&[on(ENGINES).sub(&[&["run", "create"]]).when(&[Test::Word(&[
            "--privileged", "--privileged=true", "--pid=host", "--pid", "--ipc=host-x", "--userns=host", "--uts=host", "--cap-add=ALL", "--cap-add=SYS_ADMIN", "--cap-add=all", "--security-opt=apparmor=unconfined-x",
            "/:/*", "-v/:/*", "--volume=/:/*", "/etc:*", "/etc/*:*", "/var:*", "/var/lib*:*", "/var/run/docker.sock*", "/run/docker.sock*", "/run/containerd*", "--volume=/etc*", "--volume=/var/*", "-v/etc*", "-v/var/*", "/root:*", "/root/*:*", "/home:*", "/usr:*", "/usr/*:*", "/boot:*", "/dev:*", "/sys:*", "/proc:*", "/lib:*", "/bin:*", "/sbin:*",
            "type=bind,*src=/,*", "type=bind,*source=/,*", "*type=bind,*source=/etc*", "*type=bind,*src=/etc*", "--device=/dev/sd*", "--device=/dev/nvme*", "--device=/dev/mem*", "/dev/sd*", "/dev/nvme*", "/dev/mem",
        ])])])
        .denies(&["docker run --privileged alpine sh -c ls", "docker run -v /:/host alpine ls", "docker run -v /var/run/docker.sock:/var/run/docker.sock x ls"])
        .passes(&["docker run --rm alpine echo hi", "docker run --rm -v \"$PWD\":/src rust:1 cargo test"]),
];
