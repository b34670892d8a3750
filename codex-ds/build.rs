//! How the programs of this package are linked.

#[path = "../hook/link.rs"]
mod link;

fn main() {
    println!("cargo::rerun-if-changed=../hook/link.rs");
    link::link("bin=codex-ds-hook");
}
