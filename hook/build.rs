//! Links the bench like the guard itself, so that it measures what users run.

mod link;

fn main() {
    println!("cargo::rerun-if-changed=link.rs");
    link::link("benches");
}
