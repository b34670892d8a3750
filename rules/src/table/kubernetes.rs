//! Clusters.

use crate::Class::Kubernetes;
use crate::{Rule, Test, on};

const KUBECTL: &[&str] = &["kubectl", "k", "oc", "kubecolor"];
const DRY: Test = Test::Word(&["--dry-run", "--dry-run=client", "--dry-run=server", "--dry-run=true", "--debug-dry-run"]);
const WHY: &str = "others use the cluster";
const ASK: &str = "look with `kubectl get`, `describe`, `logs` or `diff`, or add --dry-run=server; ask the user to apply it";

pub(super) const RULES: &[Rule] = &[
    Rule::new("kubernetes.write", Kubernetes, "changing a cluster with kubectl")
        .because(WHY, ASK)
        .prefixes(&[on(&["kubectl"]).sub(&[&["delete", "drain", "cordon", "scale", "patch", "edit", "replace", "taint"]])])
        .on_with_prefixes(&[
            on(KUBECTL).sub(&[&["delete", "apply", "create", "replace", "patch", "edit", "scale", "autoscale", "drain", "cordon", "uncordon", "taint", "label", "annotate", "set", "run", "expose", "debug", "attach", "certificate", "rollback", "adm", "new-project", "new-app", "new-build", "start-build", "cancel-build", "tag", "import-image", "process-apply", "deploy", "extract-to", "idle", "policy", "secrets", "rsync", "stop", "rolling-update", "convert-apply", "promote", "krew"]]).unless(&[DRY, Test::First(&["top"])]),
            on(KUBECTL).sub(&[&["rollout"], &["restart", "undo", "pause", "resume", "latest", "retry", "cancel"]]).unless(&[DRY]),
            on(KUBECTL).sub(&[&["cp"]]).when(&[Test::Operands(2)]).unless(&[Test::First(&["*:*"])]),
            on(KUBECTL).sub(&[&["auth"], &["reconcile"]]).unless(&[DRY]),
            on(KUBECTL).sub(&[&["config"], &["set", "set-context", "set-cluster", "set-credentials", "use-context", "use", "unset", "delete-context", "delete-cluster", "delete-user", "rename-context"]]),
            on(KUBECTL).sub(&[&["argo", "cnpg", "virt", "rook-ceph", "ceph", "minio", "node-shell", "exec-as", "cert-manager", "cilium", "hns", "ns-delete", "linstor"]]).when(&[Test::Operands(1)]),
            on(&["kubectx", "kubens"]).when(&[Test::Operands(1)]),
            on(&["kubectl-*", "kubectl_*"]).when(&[Test::Operand(&["delete", "restart", "drain", "apply", "shell", "exec"])]),
            on(&["oc"]).sub(&[&["login", "logout", "project"]]).when(&[Test::Operands(1)]),
            on(&["telepresence"]).sub(&[&["intercept", "replace", "uninstall", "helm", "leave", "connect"]]),
        ])
        .denies(&["kubectl delete pod vllm-0", "kubectl -n llm scale deploy vllm --replicas=0", "kubectl apply -f x.yaml", "kubectl rollout restart deploy/vllm", "k delete pod x", "oc delete project llm", "kubectl get pods -o name | xargs kubectl delete"])
        .passes(&["kubectl get pods -A", "kubectl describe pod x", "kubectl delete pod x --dry-run=server", "kubectl rollout history deploy/x", "kubectl rollout status deploy/x", "kubectl get cm delete-me", "kubectl config current-context", "kubectl auth can-i delete pods"]),
    Rule::new("kubernetes.release", Kubernetes, "changing releases or applications of a cluster")
        .because(WHY, "render or compare it instead (`helm template`, `helm diff`, `argocd app diff`); ask the user to apply it")
        .on(&[
            on(&["helm"]).sub(&[&["install", "upgrade", "uninstall", "delete", "del", "un", "rollback", "test"]]).unless(&[DRY]),
            on(&["helm"]).sub(&[&["plugin", "registry"], &["install", "uninstall", "update", "login", "logout"]]),
            on(&["helmfile"]).sub(&[&["apply", "sync", "destroy", "delete", "charts"]]),
            on(&["helmsman", "skaffold", "tilt", "devspace", "garden", "werf", "okteto", "kapp", "kluctl", "tk", "kubecfg", "jx"]).when(&[Test::First(&["apply", "run", "dev", "deploy", "delete", "up", "down", "converge", "dismiss", "purge", "destroy", "prune", "a", "d", "update", "debug"])]),
            on(&["flux"]).sub(&[&["uninstall", "suspend", "resume", "reconcile", "delete", "create", "bootstrap", "install", "push", "tag"]]).unless(&[Test::Flag(&["--export", "--dry-run"])]),
            on(&["argocd"]).sub(&[&["app", "appset", "cluster", "proj", "repo", "account", "cert", "gpg"], &["delete", "sync", "set", "create", "rollback", "terminate-op", "patch", "patch-resource", "delete-resource", "unset", "add", "rm", "rotate-auth", "update-password", "generate-token", "add-*", "remove-*", "allow-*", "deny-*", "edit", "run", "delete-token", "confirm-deletion"]]),
            on(&["argocd"]).sub(&[&["login", "logout", "relogin", "admin"]]),
            on(&["argo"]).sub(&[&["delete", "submit", "stop", "terminate", "retry", "resubmit", "suspend", "resume", "cron", "template"]]),
            on(&["velero", "ark"]).sub(&[&["*"], &["delete", "create", "set", "pause", "unpause", "describe-delete"]]),
            on(&["velero"]).sub(&[&["delete", "restore", "install", "uninstall", "create", "schedule"]]).unless(&[Test::First(&["get", "describe", "logs"])]),
            on(&["istioctl"]).sub(&[&["install", "uninstall", "upgrade", "tag", "create-remote-secret", "operator", "kube-inject", "waypoint", "ztunnel-config", "admin"]]).when(&[]),
            on(&["linkerd", "cilium", "kn", "tkn", "knative", "dapr", "consul-k8s", "kubeseal-apply", "cmctl", "longhornctl", "vcluster", "crossplane", "submariner", "subctl", "liqoctl", "kyverno", "kubevela", "vela", "rancher"]).when(&[Test::Operand(&["uninstall", "install", "upgrade", "delete", "disable", "enable", "create", "start", "cancel", "renew", "rm", "remove", "update", "up", "apply", "scale", "add", "stop", "trim", "pause", "resume", "disconnect", "unpeer", "move", "drain"])]),
            on(&["virtctl"]).unless(&[Test::First(&["version", "guestosinfo", "fslist", "userlist", "help"])]),
        ])
        .denies(&["helm uninstall vllm", "helm upgrade --install vllm ./chart", "helm rollback vllm 3", "flux uninstall", "argocd app delete vllm", "velero backup delete b1 --confirm"])
        .passes(&["helm list -A", "helm get values vllm", "helm template ./chart", "helm upgrade --install x ./chart --dry-run", "flux get all", "argocd app get vllm", "velero backup get"]),
    Rule::new("kubernetes.cluster", Kubernetes, "changing the cluster's own machinery")
        .because("the whole cluster may be lost", "ask the user")
        .on(&[
            on(&["etcdctl"]).unless(&[Test::First(&["get", "watch", "version", "check", "help", "ls"]), Test::Operand(&["status", "health", "list", "hashkv", "timetolive"])]),
            on(&["etcdctl"]).sub(&[&["del", "put", "txn", "compaction", "defrag", "move-leader", "set", "rm", "rmdir", "mk", "update"]]),
            on(&["etcdutl"]).sub(&[&["defrag", "restore", "migrate", "snapshot"]]).unless(&[Test::Operand(&["status"])]),
            on(&["kubeadm"]).unless(&[Test::First(&["version", "help"]), Test::Operand(&["list", "check-expiration", "print", "view", "plan", "images"])]),
            on(&["rke", "rke2", "k3s"]).sub(&[&["server", "agent", "secrets-encrypt", "certificate", "etcd-snapshot", "token", "up", "remove", "etcd"]]).unless(&[Test::Operand(&["ls", "list", "status", "check"])]),
            on(&["k3s-uninstall.sh", "k3s-agent-uninstall.sh", "k3s-killall.sh", "rke2-uninstall.sh", "rke2-killall.sh", "rke2-agent-uninstall.sh"]),
            on(&["kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "etcd", "kube-bench"]).unless(&[Test::Flag(&["--version", "-h", "--help"])]),
            on(&["microk8s"]).sub(&[&["reset", "stop", "start", "leave", "join", "add-node", "remove-node", "disable", "enable", "refresh-certs", "images", "dashboard-proxy"]]),
            on(&["minikube", "kind", "k3d", "ctlptl", "kubespray", "kops", "eksctl", "clusterctl", "talosctl", "omnictl", "capi", "gardenctl", "k0s", "k0sctl", "kubeone", "crc", "microshift", "rosa", "ocm", "openshift-install"]).when(&[Test::Operand(&["delete", "stop", "create", "start", "reset", "reboot", "upgrade", "upgrade-k8s", "shutdown", "apply", "update", "scale", "rolling-update", "move", "init", "bootstrap", "drain", "wipe", "patch", "edit", "apply-config", "gen-apply", "load", "import", "destroy", "pause", "unpause", "rotate-ca", "stop-node", "enable", "disable", "install"])]),
            on(&["calicoctl", "weave", "submarinerctl"]).when(&[Test::First(&["delete", "apply", "create", "replace", "patch", "label", "reset", "ipam", "node", "datastore", "convert", "forget", "rmpeer", "launch"])]).unless(&[Test::Operand(&["show", "status", "check", "get"])]),
        ])
        .denies(&["k3s-uninstall.sh", "etcdctl del / --prefix", "kubeadm reset -f", "kind delete cluster", "talosctl reset"])
        .passes(&["etcdctl get / --prefix --keys-only", "etcdctl endpoint health", "kubeadm version", "kind get clusters", "etcdctl member list"]),
];
