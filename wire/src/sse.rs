//! Server-sent events, read as they arrive and written.
//!
//! The format is WHATWG's (HTML, "Server-sent events"): lines end in LF, CR LF or CR, a blank line
//! ends an event, `data` fields are joined by newlines, a line that starts with a colon is a
//! comment, and a byte order mark at the start of the stream is no part of it.

/// The most bytes of data that an event may have before it is cut: a whole response with its tools
/// repeated in it is far smaller.
pub const DEFAULT_LIMIT: usize = 64 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// The `event` field, empty when there is none.
    pub event: String,
    /// The `data` fields, joined by newlines.
    pub data: String,
    /// The last `id` that the stream has given so far.
    pub id: Option<String>,
    /// Whether the event was longer than the reader's limit, and its data is cut.
    pub truncated: bool,
}

/// Reads events from bytes that arrive in pieces of any size.
///
/// ```
/// use codex_ds_wire::sse::SseReader;
///
/// let mut reader = SseReader::new();
/// assert!(reader.push(b"event: ping\ndata: {\"a\"").is_empty());
/// let events = reader.push(b": 1}\n\n");
/// assert_eq!((events[0].event.as_str(), events[0].data.as_str()), ("ping", "{\"a\": 1}"));
/// ```
#[derive(Debug, Clone)]
pub struct SseReader {
    limit: usize,
    /// The bytes of the line that has not ended yet.
    line: Vec<u8>,
    line_cut: bool,
    place: Place,
    event: String,
    data: Option<String>,
    truncated: bool,
    id: Option<String>,
}

/// Where in the stream the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the first line, which a byte order mark may precede.
    Start,
    /// Behind a CR: an LF that follows belongs to it.
    AfterCr,
    /// Anywhere else.
    Inside,
}

impl Default for SseReader {
    fn default() -> Self {
        Self::new()
    }
}

impl SseReader {
    /// A reader with [`DEFAULT_LIMIT`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }

    /// A reader that cuts an event's data at `limit` bytes. It holds at most about twice as much.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            line_cut: false,
            place: Place::Start,
            event: String::new(),
            data: None,
            truncated: false,
            id: None,
        }
    }

    /// Takes the next bytes, and returns the events that they complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        if self.place == Place::AfterCr && !bytes.is_empty() {
            self.place = Place::Inside;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&bytes[..end]);
            events.extend(self.end_line());
            let ended_by_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if ended_by_cr {
                if bytes.is_empty() {
                    self.place = Place::AfterCr;
                }
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
        }
        self.extend_line(bytes);
        events
    }

    /// Ends the stream. The standard drops an event that no blank line ended; here it is returned,
    /// because servers exist that close right after their last line.
    pub fn finish(&mut self) -> Option<Event> {
        let event = if self.line.is_empty() && !self.line_cut {
            None
        } else {
            self.end_line()
        };
        event.or_else(|| self.dispatch())
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        // The field's name and the byte order mark count too; they are a few bytes.
        let room = (self.limit + 16).saturating_sub(self.line.len());
        self.line_cut |= bytes.len() > room;
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let cut = std::mem::take(&mut self.line_cut);
        let first = std::mem::replace(&mut self.place, Place::Inside) == Place::Start;
        let mut rest = line.as_slice();
        if first {
            rest = rest.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rest);
        }
        if rest.is_empty() {
            return self.dispatch();
        }
        let colon = rest
            .iter()
            .position(|byte| *byte == b':')
            .unwrap_or(rest.len());
        let (name, value) = rest.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match name {
            b"data" => self.append(&value, cut),
            b"event" => clip(&value, self.limit).clone_into(&mut self.event),
            b"id" if !value.contains('\0') => {
                self.id = Some(clip(&value, self.limit).to_owned());
            }
            // A comment, "retry", or a field that the standard tells us to ignore.
            _ => {}
        }
        None
    }

    fn append(&mut self, value: &str, cut: bool) {
        let limit = self.limit;
        let data = match &mut self.data {
            None => self.data.insert(String::new()),
            Some(data) if data.len() < limit => {
                data.push('\n');
                data
            }
            Some(data) => {
                self.truncated = true;
                data
            }
        };
        let taken = clip(value, limit.saturating_sub(data.len()));
        data.push_str(taken);
        self.truncated |= cut || taken.len() < value.len();
    }

    fn dispatch(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        let truncated = std::mem::take(&mut self.truncated);
        let data = self.data.take()?;
        Some(Event {
            event,
            data,
            id: self.id.clone(),
            truncated,
        })
    }
}

fn clip(text: &str, limit: usize) -> &str {
    &text[..crate::text::floor_char_boundary(text, limit)]
}

/// One event as it goes over the wire. Data of several lines gets a `data` field for each.
#[must_use]
pub fn write(event: Option<&str>, data: &str) -> String {
    let mut out = String::with_capacity(data.len() + 64);
    if let Some(event) = event {
        out.push_str("event: ");
        out.push_str(event);
        out.push('\n');
    }
    for line in data.split('\n') {
        out.push_str("data: ");
        out.push_str(line);
        out.push('\n');
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(reader: &mut SseReader, chunks: &[&[u8]]) -> Vec<Event> {
        let mut events: Vec<Event> = chunks.iter().flat_map(|chunk| reader.push(chunk)).collect();
        events.extend(reader.finish());
        events
    }

    fn all(bytes: &[u8]) -> Vec<Event> {
        read(&mut SseReader::new(), &[bytes])
    }

    fn event(event: &str, data: &str) -> Event {
        Event {
            event: event.to_owned(),
            data: data.to_owned(),
            ..Event::default()
        }
    }

    #[test]
    fn each_line_end_ends_a_line() {
        let expected = vec![event("a", "1\n2"), event("", "3")];
        for end in ["\n", "\r\n", "\r"] {
            let text = "event: a\ndata: 1\ndata:2\n\ndata: 3\n\n".replace('\n', end);
            assert_eq!(all(text.as_bytes()), expected, "{end:?}");
        }
    }

    #[test]
    fn comments_byte_order_mark_and_unknown_fields_are_no_data() {
        let text = "\u{feff}: hello\nretry: 10\ndata: 1\nfoo: bar\n:\n\n\n: keep-alive\n\n";
        assert_eq!(all(text.as_bytes()), [event("", "1")]);
    }

    #[test]
    fn an_empty_data_field_is_an_event_and_no_data_is_none() {
        assert_eq!(
            all(b"data\n\nevent: a\n\ndata:\n\n"),
            [event("", ""), event("", "")]
        );
    }

    #[test]
    fn an_id_stays_until_the_next_one() {
        let ids: Vec<Option<String>> =
            all(b"data: 0\n\nid: 7\ndata: 1\n\ndata: 2\n\nid\ndata: 3\n\n")
                .into_iter()
                .map(|event| event.id)
                .collect();
        assert_eq!(
            ids,
            [
                None,
                Some("7".into()),
                Some("7".into()),
                Some(String::new())
            ]
        );
    }

    #[test]
    fn the_end_of_the_stream_ends_the_last_event() {
        assert_eq!(all(b"data: [DONE]"), [event("", "[DONE]")]);
        assert_eq!(all(b"data: [DONE]\n"), [event("", "[DONE]")]);
        assert_eq!(all(b"data: [DONE]\n\n"), [event("", "[DONE]")]);
    }

    #[test]
    fn a_character_may_be_split_between_pieces() {
        let mut reader = SseReader::new();
        let bytes = "data: €\n\n".as_bytes();
        assert_eq!(
            read(&mut reader, &[&bytes[..7], &bytes[7..8], &bytes[8..]]),
            [event("", "€")]
        );
    }

    #[test]
    fn a_broken_character_is_replaced() {
        assert_eq!(all(b"data: a\xffb\n\n"), [event("", "a\u{fffd}b")]);
    }

    #[test]
    fn a_longer_event_is_cut_and_the_next_one_is_whole() {
        let mut reader = SseReader::with_limit(8);
        let endless = [b'x'; 1000];
        assert!(reader.push(b"data: ").is_empty());
        for _ in 0..1000 {
            assert!(reader.push(&endless).is_empty());
            assert!(reader.line.capacity() < 4096);
        }
        let events = reader.push(b"\ndata: y\n\ndata: ok\n\n");
        assert_eq!(events[0].data, "xxxxxxxx");
        assert!(events[0].truncated);
        assert_eq!(events[1..], [event("", "ok")]);
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            bytes in stream(),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
            limit in prop_oneof![Just(5_usize), Just(DEFAULT_LIMIT)],
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> =
                cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            let whole = read(&mut SseReader::with_limit(limit), &[&bytes]);
            let pieces = read(&mut SseReader::with_limit(limit), &chunks);
            prop_assert_eq!(whole, pieces);
        }

        #[test]
        fn what_is_written_is_read(name in "[a-z.]{1,20}", data in "[^\r]{0,60}") {
            let events = all(write(Some(&name), &data).as_bytes());
            prop_assert_eq!(events, [event(&name, &data)]);
        }
    }

    /// Bytes that are dense in what the format cares about.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let token = prop_oneof![
            Just("data".as_bytes().to_vec()),
            Just(b"event: e".to_vec()),
            Just(b"id: 1".to_vec()),
            Just(b":".to_vec()),
            Just(b" ".to_vec()),
            Just(b"\n".to_vec()),
            Just(b"\r".to_vec()),
            Just(b"\n\n".to_vec()),
            Just("\u{feff}".as_bytes().to_vec()),
            Just("€".as_bytes().to_vec()),
            any::<u8>().prop_map(|byte| vec![byte]),
        ];
        proptest::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
    }
}
