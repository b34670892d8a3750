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
//! - [`mod@fit`]: what the memory holds;
//! - [`mod@engine`], [`mod@k8s`], [`mod@render`]: what each rank is started with, and the manifests;
//! - [`mod@check`]: the rules, and foreign manifests read for them;
//! - [`mod@nodes`], `nccl_log`: what a node and the log of a rank tell;
//! - [`mod@cluster`]: what a live stack is, what is wrong with it, and how it is healed;
//! - [`mod@nccl`]: what the cable between the nodes carries;
//! - [`mod@kubectl`]: the one way to the cluster, behind a trait.
//!
//! **Architecture invariant**: nothing here prints. Whether something fits, is right or is broken is
//! decided by pure functions; only [`mod@kubectl`] and [`nodes::over_ssh`] start a process, and only
//! [`site::Site::load`] reads a file.

pub mod check;
pub mod cluster;
pub mod engine;
pub mod fit;
pub mod flags;
pub mod k8s;
pub mod kubectl;
pub mod names;
pub mod nccl;
mod nccl_log;
pub mod nodes;
pub mod reader;
pub mod recipe;
pub mod render;
pub mod serve;
pub mod site;
