//! How the programs of this package are linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |key: &str| std::env::var(format!("CARGO_CFG_TARGET_{key}"));
    if target("OS").as_deref() == Ok("linux") && target("ENV").as_deref() == Ok("gnu") {
        // The guard's table is full of pointers, and Codex starts the guard before every call. At
        // a fixed address the loader has none of them to correct.
        println!("cargo::rustc-link-arg-bin=codex-ds-hook=-no-pie");
    }
}
