//! A recorder between one Codex and a model server, for who wants to look at what passed.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use codex_ds_wire::Secret;
use tokio::task::JoinHandle;

use super::live;
use super::profile::Profile;
use super::recorder::{self, Recorder, WriterOptions};
use super::server::{self, Answers, Desk};
use super::store::{Header, SCHEMA_VERSION, Session};
use super::upstream::Upstream;

/// A running recorder; [`Tap::finish`] gives what it saw.
pub(crate) struct Tap {
    desk: Arc<Desk>,
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Tap {
    /// Starts one that passes everything on to `upstream` and writes a session into `folder`, with
    /// secrets masked, among them `keys`.
    ///
    /// # Errors
    /// When the system gives no port, or the folder cannot be written.
    pub(crate) async fn start(folder: &Path, upstream: Upstream, keys: &[Secret]) -> Result<Self> {
        let listener = server::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), 0, false).await?;
        let address = listener.local_addr().context("a listener has an address")?;
        let header = Header {
            schema_version: SCHEMA_VERSION,
            started_ms: recorder::now_ms(),
            upstream: Some(upstream.root().to_string()),
            codex_args: Vec::new(),
            redacted: true,
        };
        let options = WriterOptions {
            redactor: Some(keys.to_vec()),
            on_end: None,
            // What is missing shows when the session is read.
            on_failure: Box::new(|_| {}),
        };
        let desk = Arc::new(Desk {
            recorder: Recorder::start(folder, &header, options)?,
            answers: Answers::Upstream(upstream),
        });
        let serving = tokio::spawn(server::serve(listener, Arc::clone(&desk)));
        Ok(Self {
            desk,
            address,
            serving,
        })
    }

    /// The options that turn a profile's providers to it, for one run of Codex.
    pub(crate) fn overrides(&self, profile: &Profile) -> Vec<OsString> {
        live::overrides(profile, self.address)
    }

    /// Ends it and gives what passed.
    ///
    /// # Errors
    /// When what it wrote cannot be read.
    pub(crate) async fn finish(self) -> Result<Session> {
        live::end(&self.desk, &self.serving).await;
        // If the disk is too slow for that, the session lacks its end.
        let _ = self.desk.recorder.flush(live::DISK);
        Session::read(self.desk.recorder.path())
    }
}
