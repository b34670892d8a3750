//! The default MCP servers in a profile, installed and started for real.

use codex_ds_tests::peers::{CodexVersion, pip_cache};
use codex_ds_tests::scenario::{exec, one_request, router, setup_at};
use codex_ds_tests::{TestEnvironment, request};
use codex_ds_wire::standin::Turn;
use serde_json::json;

/// The most that a request that says "hi" may have with the default servers, in bytes.
const MOST_BYTES: usize = 15_000;

#[test]
fn the_default_servers_are_offered_and_a_call_comes_back() {
    // One environment for all versions: the servers are installed into the profile, which takes
    // pip some seconds.
    let mut env = TestEnvironment::new();
    env.set("PIP_CACHE_DIR", pip_cache());
    // Where packages come from is the machine's affair.
    for (name, value) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("PIP_") && name != "PIP_CACHE_DIR" {
            env.set(&name, value);
        }
    }
    for version in CodexVersion::all() {
        println!("with Codex {version}");
        env.use_codex(version);
        let server = router(vec![]);
        setup_at(&env, &server.base_url(), &["--mcp", "fetch,search"]);

        let request = one_request(&env, &server, &["hi"]);
        let names = request::tool_names(&request);
        assert!(names.contains(&"mcp__fetch".to_owned()), "{names:?}");
        assert!(names.contains(&"mcp__search".to_owned()), "{names:?}");
        let size = request.body.len();
        assert!(size <= MOST_BYTES, "{size} bytes");
        let doctor = ["doctor", "--offline", "--strict", "--only", "mcp"];
        let run = env.codex_ds(doctor).run().success();
        assert!(run.stdout.contains("fetch: fetch ("), "{run}");

        allow_private_addresses(&env);
        let url = format!("{}/health/liveliness", server.root_url());
        server.push(Turn::mcp_call("mcp__fetch", "fetch", json!({ "url": url })));
        exec(&env, &["read it"]).success();
        let last = server.model_requests().pop().unwrap();
        let told = request::tool_outputs(&last).concat();
        assert!(told.contains("I'm alive!"), "{told}");
    }
}

/// The server fetches from 127.0.0.1 only when told to. Set-up leaves the change in place when it
/// runs again for the next version.
fn allow_private_addresses(env: &TestEnvironment) {
    let path = env.profile().join("config.toml");
    let text = fs_err::read_to_string(&path).expect("set-up wrote it");
    let allow = "[mcp_servers.fetch]\nargs = [\"--allow-private-ips\"]";
    if text.contains(allow) {
        return;
    }
    let (before, fetch) = text
        .split_once("[mcp_servers.fetch]")
        .expect("set-up was asked for it");
    let fetch = fetch.replacen("args = []\n", "", 1);
    fs_err::write(&path, format!("{before}{allow}{fetch}")).expect("the profile is the test's own");
}
