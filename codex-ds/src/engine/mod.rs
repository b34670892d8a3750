//! Asking a served model, for measurements: which one, one streamed answer with its times, and the
//! engine's own counters.
//!
//! | file | holds |
//! | --- | --- |
//! | `target` | endpoint, model and key, from the profile or from flags |
//! | `ask` | one request on Chat Completions, and when each part of the answer came |
//! | `counters` | what the engine says of itself in `/metrics` |

pub mod ask;
pub mod counters;
pub mod target;
