//! A real kube-apiserver with its etcd, and none of the controllers: what a test needs of those it does
//! itself.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::group::Group;
use crate::peers;
use crate::server;

/// A running API server; it ends with the test.
#[derive(Debug)]
pub struct ApiServer {
    _etcd: Group,
    _server: Group,
    port: u16,
    folder: tempfile::TempDir,
}

/// The tokens of two users: one may do everything, the other nothing.
const TOKENS: &str = "all,admin,admin,system:masters\nnone,visitor,visitor,visitors\n";

impl ApiServer {
    /// Starts both, and waits until the server is ready.
    ///
    /// # Panics
    /// When one cannot be started, or `make test-apiserver` did not bring them.
    #[must_use]
    pub fn start() -> Self {
        let programs = peers::apiserver();
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let [etcd_port, peer_port, port] = free_ports();
        let etcd = etcd(&programs, folder.path(), etcd_port, peer_port);
        let (server, ()) =
            server::start(command(&programs, folder.path(), etcd_port, port), |line| {
                line.contains("Serving securely on").then_some(())
            });
        let started = Self {
            _etcd: etcd,
            _server: server,
            port,
            folder,
        };
        started.await_ready();
        started
    }

    /// A kubeconfig for a user: `all`, or `none`.
    #[must_use]
    pub fn kubeconfig(&self, token: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: real\nclusters:\n- name: real\n  cluster: {{server: 'https://127.0.0.1:{}', insecure-skip-tls-verify: true}}\ncontexts:\n- name: real\n  context: {{cluster: real, user: me}}\nusers:\n- name: me\n  user: {{token: {token}}}\n",
            self.port
        )
    }

    fn await_ready(&self) {
        let config = self.folder.path().join("kubeconfig");
        fs_err::write(&config, self.kubeconfig("all")).expect("the folder can be written to");
        for _ in 0..240 {
            let output = Command::new("kubectl")
                .arg("--kubeconfig")
                .arg(&config)
                .args(["get", "--raw", "/readyz"])
                .output()
                .expect("kubectl can be started");
            if output.status.success() {
                return;
            }
            thread::sleep(Duration::from_millis(500));
        }
        panic!("the API server is not ready after two minutes");
    }
}

fn free_ports() -> [u16; 3] {
    // Held together, so that they differ.
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port is free"));
    listeners.map(|listener| listener.local_addr().expect("it is bound").port())
}

fn etcd(programs: &Path, folder: &Path, port: u16, peer_port: u16) -> Group {
    let client = format!("http://127.0.0.1:{port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    let mut command = Command::new(programs.join("etcd"));
    command
        .arg("--data-dir")
        .arg(folder.join("etcd"))
        .args(["--listen-client-urls", &client])
        .args(["--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer])
        .args(["--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("default={peer}")])
        .arg("--unsafe-no-fsync");
    let (group, ()) = server::start(command, |line| {
        line.contains("client requests on").then_some(())
    });
    group
}

fn command(programs: &Path, folder: &Path, etcd: u16, port: u16) -> Command {
    let key: PathBuf = folder.join("service-account.key");
    let made = Command::new("openssl")
        .args(["genrsa", "-out"])
        .arg(&key)
        .arg("2048")
        .output()
        .expect("openssl can be started");
    assert!(made.status.success(), "openssl made no key");
    fs_err::write(folder.join("tokens.csv"), TOKENS).expect("the folder can be written to");
    let at = |option: &str, path: &Path| format!("--{option}={}", path.display());
    let mut command = Command::new(programs.join("kube-apiserver"));
    command.args([
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        at("cert-dir", &folder.join("certificates")),
        at("token-auth-file", &folder.join("tokens.csv")),
        "--authorization-mode=RBAC".to_owned(),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        "--service-account-issuer=https://127.0.0.1".to_owned(),
        at("service-account-signing-key-file", &key),
        at("service-account-key-file", &key),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--allow-privileged=true".to_owned(),
    ]);
    command
}
