//! A stream gives the same events however it is cut, and every reply reader takes them.
#![no_main]

use codex_ds_wire::reply::Reply;
use codex_ds_wire::sse::{Event, SseReader};
use libfuzzer_sys::fuzz_target;

fn read(chunks: &[&[u8]]) -> Vec<Event> {
    let mut reader = SseReader::with_limit(64);
    let mut events: Vec<Event> = chunks.iter().flat_map(|chunk| reader.push(chunk)).collect();
    events.extend(reader.finish());
    events
}

fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else {
        return;
    };
    let (a, b) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let whole = read(&[bytes]);
    assert_eq!(whole, read(&[a, b]));
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(whole, read(&single));
    let mut reply = Reply::default();
    for event in whole {
        reply.event(&event.data);
    }
    reply.whole(bytes);
});
