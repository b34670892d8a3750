//! A mask has the length of what it hides, and masking twice changes nothing more.
#![no_main]

use codex_ds_wire::{Redactor, Secret};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let secret = Secret::new("hunter2hunter2");
    let redactor = Redactor::new([&secret]);
    let once = redactor.text(text).into_owned();
    assert_eq!(once.len(), text.len());
    assert!(!once.contains(secret.expose()));
    assert_eq!(redactor.text(&once), once);
});
