//! The two-node serving stack of codex-ds: what its owner describes, what follows from it, and what
//! the cluster makes of it.
//!
//! ```text
//! site.toml + recipe ─▶ Site ─▶ fit      memory and KV
//!                            ─▶ render   manifests, kustomization, docker lines
//!                            ─▶ check    findings, on the site and on anyone's manifests
//! kubectl ─▶ ClusterFacts ─▶ diagnose ─▶ recover   a plan, then its steps
//! ```
//!
//! - [`mod@site`], [`mod@recipe`], [`mod@serve`]: the files, as types that hold no bad value;
//! - [`mod@reader`], [`mod@names`], [`mod@flags`]: how those are read, and what a fault says;
//! - [`mod@fit`]: what the memory holds.
//!
//! **Architecture invariant**: nothing here prints, and reading a site is all that touches a file.

pub mod check;
pub mod cluster;
pub mod engine;
pub mod fit;
pub mod flags;
pub mod k8s;
pub mod kubectl;
pub mod names;
pub mod nodes;
pub mod reader;
pub mod recipe;
pub mod render;
pub mod serve;
pub mod site;
