//! Where a document's commands run: a stand-in for the model's server and for the cluster, the real
//! Codex and kubectl, and the files that the document takes for granted.

use codex_ds_tests::peers::{self, CodexVersion};
use codex_ds_tests::scenario::{router, server, setup};
use codex_ds_tests::{Run, TestEnvironment};
use codex_ds_wire::standin::{Config, StandIn};

use crate::blocks::root;
use crate::cluster::{Cluster, empty};

/// The router and the engine behind it in the documents' examples.
const EXAMPLE_ROUTER: &str = "http://192.168.1.20:4000/v1";
const EXAMPLE_ENGINE: &str = "http://spark-1:8000/v1";

/// One document's world.
pub(crate) struct World {
    env: TestEnvironment,
    router: StandIn,
    engine: StandIn,
    _cluster: Cluster,
}

impl World {
    /// The world that a document's commands expect.
    pub(crate) fn of(document: &str) -> Self {
        let newest = CodexVersion::all().last().expect("a version is listed");
        let mut env = TestEnvironment::with_codex(newest);
        env.program("git", ["init", "--quiet"]).run().success();
        let mut state = empty();
        state.objects.insert(
            "/api/v1/namespaces/vllm".to_owned(),
            serde_json::json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "vllm" } }),
        );
        let cluster = Cluster::start(state);
        let config = env.write("kubeconfig", &cluster.kubeconfig());
        env.set("KUBECONFIG", config);
        let world = Self {
            env,
            router: router(vec![]),
            engine: server(Config::default(), vec![]),
            _cluster: cluster,
        };
        match document {
            "docs/deploy-nodes.md" => world.site_with_a_revision(),
            "docs/eval.md" => world.questions_and_results(),
            _ => {}
        }
        world
    }

    pub(crate) fn env(&self) -> &TestEnvironment {
        &self.env
    }

    /// Writes the profile where there is none: an earlier command may have been `codex-ds undo`.
    pub(crate) fn set_up(&self) {
        if !self.env.profile().join("receipt.json").exists() {
            setup(&self.env, &self.router, &[]);
        }
    }

    /// Runs a command line as a reader would, on the stand-ins, but that set-up installs no MCP servers.
    pub(crate) fn run(&self, line: &str) -> Run {
        self.set_up();
        let line = line
            .replacen("codex-ds setup", "codex-ds setup --mcp none", 1)
            .replace(EXAMPLE_ROUTER, &self.router.base_url())
            .replace(EXAMPLE_ENGINE, &self.engine.base_url());
        let programs = peers::codex_ds().parent().expect("a file is in a folder");
        let script = format!("PATH='{}':$PATH; {line}", programs.display());
        self.env.program("sh", ["-c", &script]).run()
    }

    fn site_with_a_revision(&self) {
        self.env.codex_ds(["deploy", "init"]).run().success();
        let path = self.env.work().join("site.toml");
        let site = fs_err::read_to_string(&path).expect("it was written");
        let revision = format!("revision = \"{}\"\n", "0".repeat(40));
        let site = site.replacen("[model]\n", &format!("[model]\n{revision}"), 1);
        assert!(site.contains(&revision), "{site}");
        fs_err::write(path, site).expect("the folder is the test's own");
    }

    fn questions_and_results(&self) {
        let sample = root().join("codex-ds/assets/gpqa-sample.csv");
        let work = self.env.work();
        fs_err::copy(sample, work.join("gpqa_diamond.csv")).expect("the folder is the test's own");
        for results in ["before.jsonl", "after.jsonl"] {
            let line = format!("codex-ds eval gpqa --sample --limit 5 --results {results}");
            self.run(&line).success();
        }
    }
}
