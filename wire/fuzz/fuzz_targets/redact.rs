//! Masking keeps the length, hides what it was told of, and changes nothing a second time.
#![no_main]

use codex_ds_wire::{Redactor, Secret};
use libfuzzer_sys::fuzz_target;

const KNOWN: &str = "lab-0123";

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let redactor = Redactor::new(&[Secret::new(KNOWN)]);
    let once = redactor.text(text).into_owned();
    assert_eq!(once.len(), text.len());
    assert!(!once.contains(KNOWN));
    assert_eq!(redactor.text(&once), once);
    let (name, value) = text.split_once('\n').unwrap_or(("cookie", text));
    assert_eq!(redactor.header(name, value).len(), value.len());
});
