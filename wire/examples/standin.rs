//! A stand-in to try things by hand: `cargo run --package codex-ds-wire --example standin -- PORT SCRIPT.json [vllm|router]`.
//!
//! It plays the script (see `codex_ds_wire::standin::Script`) until it is stopped.

use std::path::Path;

use codex_ds_wire::standin::{Config, Script, StandIn};

#[expect(clippy::print_stdout, reason = "an example says where it listens")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, port, script, rest @ ..] = args.as_slice() else {
        return Err("expected PORT SCRIPT.json [vllm|router]".into());
    };
    let config = match rest.first().map(String::as_str) {
        Some("router") => Config::router(),
        _ => Config::default(),
    };
    let config = Config {
        port: port.parse()?,
        ..config
    };
    let server = StandIn::start(config, Script::from_file(Path::new(script))?)?;
    println!("{}", server.base_url());
    loop {
        std::thread::park();
    }
}
