//! What set-up recorded, read leniently: launching must not depend on it.

use std::path::Path;

use serde_json::Value as Json;

pub(super) use crate::setup::receipt::NAME;

/// The receipt of the profile in `home`; `null` where there is none that can be read.
pub(crate) fn read(home: &Path) -> Json {
    std::fs::read(home.join(NAME))
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}
