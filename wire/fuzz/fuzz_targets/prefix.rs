//! Any two bodies have an answer, whose places lie in them; a body does not break from itself.
#![no_main]

use codex_ds_wire::body::Body;
use codex_ds_wire::prefix::{Standing, compare};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let cut = input.iter().position(|byte| *byte == 0);
    let (before, after) = match cut {
        Some(cut) => (&input[..cut], &input[cut + 1..]),
        None => (input, input),
    };
    if let Standing::Breaks(found) = compare(&Body::read(before), &Body::read(after)) {
        assert!(found.before <= before.len() && found.after <= after.len());
        assert_ne!(before, after);
    }
});
