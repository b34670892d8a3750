//! Commands of the documents that are run otherwise than they stand there, or not at all.

/// How a command is run.
pub(crate) struct Otherwise {
    /// The document, and the command as it stands there.
    pub(crate) at: (&'static str, &'static str),
    /// What is run in its place; nothing where it is empty.
    pub(crate) run: &'static str,
    /// The exit codes that it may have.
    pub(crate) codes: &'static [i32],
    /// Why.
    pub(crate) because: &'static str,
}

const OK: &[i32] = &[0];

const fn row(
    document: &'static str,
    command: &'static str,
    run: &'static str,
    codes: &'static [i32],
    because: &'static str,
) -> Otherwise {
    Otherwise {
        at: (document, command),
        run,
        codes,
        because,
    }
}

/// How this command of a document is run, where that is not as it stands there.
pub(crate) fn otherwise(document: &str, command: &str) -> Option<&'static Otherwise> {
    OTHERWISE
        .iter()
        .find(|other| other.at == (document, command))
}

/// One row a command.
pub(crate) const OTHERWISE: &[Otherwise] = &[
    row(
        "README.md",
        "make demo",
        "",
        OK,
        "a test of its own checks the targets, tests/demo.rs the demo",
    ),
    row("README.md", "make test", "", OK, "these are its tests"),
    row("CONTRIBUTING.md", "make demo", "", OK, "as in README.md"),
    row("CONTRIBUTING.md", "make test", "", OK, "as in README.md"),
    row(
        "README.md",
        "npm install --global @openai/codex@0.171.0",
        "",
        OK,
        "`make peers` has fetched it, for the tests alone",
    ),
    row(
        "README.md",
        "cargo install --path codex-ds",
        "",
        OK,
        "the tests have built both programs",
    ),
    row(
        "README.md",
        "codex-ds doctor",
        "cd \"$TMPDIR\" && codex-ds doctor",
        OK,
        "no cluster answers for the site.toml in the folder",
    ),
    row(
        "README.md",
        "codex-ds doctor --fix",
        "cd \"$TMPDIR\" && codex-ds doctor --fix",
        OK,
        "as before",
    ),
    row(
        "README.md",
        "codex-ds bench",
        "codex-ds bench --runs 1",
        OK,
        "time",
    ),
    row(
        "docs/bench.md",
        "codex-ds bench",
        "",
        OK,
        "README.md has it",
    ),
    row(
        "docs/bench.md",
        "codex-ds bench --save before.json",
        "codex-ds bench --runs 1 --tg 16 --save before.json",
        OK,
        "time",
    ),
    row(
        "docs/bench.md",
        "codex-ds bench --compare before.json",
        "codex-ds bench --runs 1 --tg 16 --compare before.json",
        &[0, 1],
        "time; the stand-in shares its processor with other tests",
    ),
    row(
        "docs/bench.md",
        "codex-ds bench --markdown",
        "codex-ds bench --runs 1 --tg 16 --markdown",
        OK,
        "time",
    ),
    row(
        "docs/bench.md",
        "codex-ds bench --concurrency 1,2,4,8,16 --svg plot.svg",
        "codex-ds bench --runs 1 --tg 16 --concurrency 1,2,4,8,16 --svg plot.svg",
        OK,
        "time",
    ),
    row(
        "docs/bench.md",
        "codex-ds bench --route both --native-endpoint http://spark-1:8000/v1",
        "codex-ds bench --runs 1 --tg 16 --route both --native-endpoint http://spark-1:8000/v1",
        OK,
        "time",
    ),
    row(
        "docs/deploy.md",
        "printf 'sk-%s' \"$(openssl rand -hex 24)\" | kubectl -n vllm create secret generic litellm-master-key --from-file=LITELLM_MASTER_KEY=/dev/stdin",
        "printf 'sk-%s' \"$(openssl rand -hex 24)\" | kubectl -n vllm create secret generic litellm-master-key --from-file=LITELLM_MASTER_KEY=/dev/stdin --dry-run=client",
        OK,
        "the stand-in for the cluster keeps no Secrets",
    ),
    row(
        "docs/deploy.md",
        "codex-ds deploy nodes",
        "codex-ds deploy nodes",
        &[1],
        "the stand-in's nodes have no cable",
    ),
    row(
        "docs/deploy.md",
        "codex-ds deploy apply --wait",
        "codex-ds deploy apply --wait --yes",
        OK,
        "nobody is there to be asked",
    ),
    row(
        "docs/deploy.md",
        "codex-ds deploy recover",
        "codex-ds deploy recover --yes",
        OK,
        "nobody is there to be asked",
    ),
    row(
        "docs/validate.md",
        "codex-ds validate",
        "",
        OK,
        "tests/validate.rs plays every case",
    ),
    row(
        "docs/validate.md",
        "codex-ds validate --only rm-redirect --profile fast",
        "codex-ds validate --only rm-redirect --profile fast",
        OK,
        "the built-in model plays what the stand-in does not",
    ),
];
