//! Any chunking of a stream gives the same events, none longer than the limit.
#![no_main]

use codex_ds_wire::sse::{Event, SseReader};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 64;

fn read<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Event> {
    let mut reader = SseReader::with_limit(LIMIT);
    let mut events: Vec<Event> = chunks.flat_map(|chunk| reader.push(chunk)).collect();
    events.extend(reader.finish());
    events
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, bytes) = input;
    let whole = read(std::iter::once(bytes));
    let pieces = read(bytes.chunks(usize::from(size).max(1)));
    assert_eq!(whole, pieces);
    assert!(whole.iter().all(|event| event.data.len() <= LIMIT));
});
