//! Cuts an answer's bytes into the pieces that are written down: the events of a stream, each
//! whole, so that masking sees it at once.

/// The most bytes of a piece. A longer event is written in several.
pub(super) const LONGEST: usize = 1 << 20;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    buffer: Vec<u8>,
    /// Where the search for an event's end goes on.
    searched: usize,
}

impl Pieces {
    /// Takes the next bytes, and hands out what they complete.
    pub(super) fn push(&mut self, bytes: &[u8], mut take: impl FnMut(Vec<u8>)) {
        self.buffer.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(end) = self.end(start) {
            take(self.buffer[start..end].to_vec());
            start = end;
            self.searched = end;
        }
        self.buffer.drain(..start);
        self.searched -= start;
    }

    /// What is left at the end.
    pub(super) fn finish(&mut self) -> Option<Vec<u8>> {
        self.searched = 0;
        Some(std::mem::take(&mut self.buffer)).filter(|rest| !rest.is_empty())
    }

    /// Behind the first blank line of the piece that begins at `start`, or where it gets too long.
    fn end(&mut self, start: usize) -> Option<usize> {
        let bytes = &self.buffer;
        let mut at = self.searched;
        while let Some(found) = bytes[at..]
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'))
        {
            at += found;
            let blank = ["\n\n", "\n\r\n", "\r\r"]
                .iter()
                .find(|blank| bytes[at..].starts_with(blank.as_bytes()));
            if let Some(blank) = blank {
                return Some(at + blank.len());
            }
            at += 1;
        }
        // A blank line may have begun in the last two bytes.
        self.searched = bytes.len().saturating_sub(2).max(start);
        let rest = &bytes[start..];
        (rest.len() > LONGEST).then(|| start + boundary(rest))
    }
}

/// The last border of a character at or before [`LONGEST`].
fn boundary(bytes: &[u8]) -> usize {
    let is_inside = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (LONGEST - 3..=LONGEST)
        .rev()
        .find(|at| !is_inside(at))
        .unwrap_or(LONGEST)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(chunks: &[&[u8]]) -> Vec<String> {
        let mut pieces = Pieces::default();
        let mut out = Vec::new();
        for chunk in chunks {
            pieces.push(chunk, |piece| out.push(piece));
        }
        out.extend(pieces.finish());
        out.into_iter()
            .map(|piece| String::from_utf8(piece).expect("text"))
            .collect()
    }

    #[test]
    fn events_are_cut_at_blank_lines_of_each_kind() {
        assert_eq!(
            cut(&[b"data: 1\n", b"\ndata: 2\r\n\r", b"\ndata: 3\r\rdata: 4"]),
            ["data: 1\n\n", "data: 2\r\n\r\n", "data: 3\r\r", "data: 4"]
        );
    }

    #[test]
    fn an_endless_event_is_written_in_pieces_of_whole_characters() {
        let text = "é".repeat(LONGEST);
        let pieces = cut(&[b"x", text.as_bytes()]);
        assert!(pieces.iter().all(|piece| piece.len() <= LONGEST));
        assert_eq!(pieces.concat(), format!("x{text}"));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_added(text in "[a\n\r]{0,40}", at in 0_usize..40) {
            let at = at.min(text.len());
            let pieces = cut(&[&text.as_bytes()[..at], &text.as_bytes()[at..]]);
            prop_assert_eq!(pieces.concat(), text.clone());
            // A CR LF that is split between chunks may leave its LF to the next piece, no more.
            prop_assert!(pieces.len() <= cut(&[text.as_bytes()]).len() + 1);
        }
    }
}
