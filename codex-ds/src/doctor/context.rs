//! What the checks look at, found once and shared.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use codex_ds_wire::secret::Secret;
use tokio::sync::OnceCell;

use super::profile::{Profile, Route};
use crate::setup::profile::PLACEHOLDER_KEY;

/// A value of any type, made once.
type Shared = OnceCell<Arc<dyn Any + Send + Sync>>;

/// Everything that is known before a check runs, and a place for what several checks need.
pub struct Context {
    /// The profile's folder, its real path: Codex keys its trust entries by it.
    pub home: PathBuf,
    /// The same as the user named it.
    pub named_home: PathBuf,
    /// The working folder, whose repository counts.
    pub cwd: PathBuf,
    /// The variable PATH.
    pub path: Option<OsString>,
    /// The profile's configuration: its base file and the named profile over it.
    pub profile: Profile,
    /// Where requests go: each address and model once, over the selected profile, or over all of
    /// them where none was selected.
    pub routes: Vec<Route>,
    /// `--offline`: nothing but this machine is asked.
    pub offline: bool,
    /// `--deep`: the model may be put to work.
    pub deep: bool,
    /// Arguments for Codex, whose effect on the profile is looked at as well.
    pub codex_args: Vec<OsString>,
    versions: Mutex<BTreeMap<&'static str, String>>,
    shared: Mutex<HashMap<TypeId, Arc<Shared>>>,
}

impl Context {
    /// A context with nothing shared in it yet.
    pub(super) fn new(found: Found) -> Self {
        let routes = found.profile.routes();
        Self {
            home: found.home,
            named_home: found.named_home,
            cwd: found.cwd,
            path: found.path,
            profile: found.profile,
            routes,
            offline: found.offline,
            deep: found.deep,
            codex_args: found.codex_args,
            versions: Mutex::default(),
            shared: Mutex::default(),
        }
    }

    /// The profiles that are looked at: the selected one, or all of them, `default` first.
    #[must_use]
    pub fn profiles(&self) -> Vec<Profile> {
        let names = match &self.profile.name {
            Some(name) => vec![name.clone()],
            None => self.profile.names(),
        };
        names
            .iter()
            .map(|name| Profile::read(&self.home, Some(name)))
            .collect()
    }

    /// The one value of this type, made by the first check that asks; others wait for it. Make a
    /// type for each thing that is shared.
    ///
    /// # Panics
    /// Never: values are filed by their type.
    pub async fn once<T: Send + Sync + 'static>(&self, make: impl Future<Output = T>) -> Arc<T> {
        let cell = self
            .shared
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(TypeId::of::<T>())
            .or_default()
            .clone();
        let value: Arc<dyn Any + Send + Sync> = cell
            .get_or_init(|| async { Arc::new(make.await) as Arc<dyn Any + Send + Sync> })
            .await
            .clone();
        value.downcast().expect("values are filed by their type")
    }

    /// Notes the version of a part of the chain, for the head of the report.
    pub fn version(&self, part: &'static str, version: impl Into<String>) {
        self.versions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(part, version.into());
    }

    /// The versions that were noted.
    #[must_use]
    pub fn versions(&self) -> BTreeMap<&'static str, String> {
        self.versions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The keys that no output may hold.
    #[must_use]
    pub fn secrets(&self) -> Vec<Secret> {
        self.routes
            .iter()
            .filter_map(|route| route.key.as_ref().ok()?.clone())
            .filter(|key| key.expose() != PLACEHOLDER_KEY)
            .collect()
    }

    /// A context for a folder, for tests of single checks.
    #[cfg(test)]
    pub(crate) fn for_test(home: &std::path::Path) -> Self {
        Self::new(Found {
            home: home.to_path_buf(),
            named_home: home.to_path_buf(),
            cwd: home.to_path_buf(),
            path: None,
            profile: Profile::read(home, None),
            offline: true,
            deep: false,
            codex_args: Vec::new(),
        })
    }
}

/// What [`Context::new`] is made of.
pub(super) struct Found {
    pub(super) home: PathBuf,
    pub(super) named_home: PathBuf,
    pub(super) cwd: PathBuf,
    pub(super) path: Option<OsString>,
    pub(super) profile: Profile,
    pub(super) offline: bool,
    pub(super) deep: bool,
    pub(super) codex_args: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Answer(u32);

    #[tokio::test]
    async fn what_is_shared_is_made_once() {
        let home = tempfile::tempdir().unwrap();
        let context = Context::for_test(home.path());
        let first = context.once(async { Answer(1) }).await;
        let second = context.once(async { Answer(2) }).await;
        assert_eq!((first.0, second.0), (1, 1));
    }
}
