//! How the programs of this package are linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |key: &str| std::env::var(format!("CARGO_CFG_TARGET_{key}"));
    if target("OS").as_deref() == Ok("linux") && target("ENV").as_deref() == Ok("gnu") {
        // The table of rules is full of pointers. At a fixed address the loader has none of them
        // to correct, which costs a short-lived program more than its work.
        println!("cargo::rustc-link-arg-benches=-no-pie");
    }
}
