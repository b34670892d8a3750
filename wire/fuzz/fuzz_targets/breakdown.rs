//! The parts of any body sum up to its length, each byte in one of them.
#![no_main]

use codex_ds_wire::body::Body;
use codex_ds_wire::breakdown::Breakdown;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let found = Breakdown::of(&Body::read(body));
    let mut spans: Vec<_> = found.parts.iter().flat_map(|part| part.spans.clone()).collect();
    spans.retain(|span| !span.is_empty());
    spans.sort_by_key(|span| span.start);
    let mut at = 0;
    for span in spans {
        assert_eq!(span.start, at);
        at = span.end;
    }
    assert_eq!(at, body.len());
    if let Ok(body) = std::str::from_utf8(body) {
        for part in &found.parts {
            let _ = part.text(body);
        }
    }
});
