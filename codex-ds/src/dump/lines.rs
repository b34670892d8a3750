//! Lines on their way to the file: gathered while there are more to come, and written at once.

use std::io::{self, Write};

use super::store::Line;

/// The most bytes that are gathered.
const GATHERED: usize = 256 << 10;

/// See the module.
pub(super) struct Lines {
    sink: Box<dyn Write + Send>,
    gathered: Vec<u8>,
    /// What is in the file may end in the middle of a line.
    torn: bool,
}

impl Lines {
    pub(super) fn new(sink: Box<dyn Write + Send>) -> Self {
        Self {
            sink,
            gathered: Vec::new(),
            torn: false,
        }
    }

    /// Takes a line.
    ///
    /// # Errors
    /// When lines have to be written, and the sink refuses one; the other ones are written all the
    /// same.
    pub(super) fn push(&mut self, line: &Line) -> io::Result<()> {
        serde_json::to_writer(&mut self.gathered, line).expect("a line has string keys alone");
        self.gathered.push(b'\n');
        if self.gathered.len() < GATHERED {
            return Ok(());
        }
        self.flush()
    }

    /// Writes what was gathered.
    ///
    /// # Errors
    /// As [`Lines::push`].
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        let mut result = Ok(());
        let mut rest = &gathered[..];
        while !rest.is_empty() {
            let (written, error) = self.write(rest);
            rest = &rest[written..];
            if let Some(error) = error {
                // The line that it happened in is lost; the next one may find room.
                let end = rest.iter().position(|byte| *byte == b'\n');
                rest = &rest[end.map_or(rest.len(), |end| end + 1)..];
                result = Err(error);
            }
        }
        self.gathered = gathered;
        self.gathered.clear();
        result.and_then(|()| self.sink.flush())
    }

    /// Writes as much as the sink takes: how much that was, and why not more.
    fn write(&mut self, bytes: &[u8]) -> (usize, Option<io::Error>) {
        if self.torn {
            match self.sink.write(b"\n") {
                Ok(1..) => self.torn = false,
                Ok(0) => return (0, Some(io::ErrorKind::WriteZero.into())),
                Err(error) => return (0, Some(error)),
            }
        }
        let mut written = 0;
        while written < bytes.len() {
            let error = match self.sink.write(&bytes[written..]) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(more) => {
                    written += more;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            self.torn = written > 0 && bytes[written - 1] != b'\n';
            return (written, Some(error));
        }
        (written, None)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::dump::store::Counters;

    /// What a sink does with a write.
    enum Act {
        Take(usize),
        Fail(io::ErrorKind),
    }

    /// Does what it is told, then takes everything.
    #[derive(Clone, Default)]
    struct Sink {
        written: Arc<Mutex<Vec<u8>>>,
        acts: Arc<Mutex<VecDeque<Act>>>,
    }

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let most = match self.acts.lock().expect("no panic").pop_front() {
                Some(Act::Fail(kind)) => return Err(kind.into()),
                Some(Act::Take(most)) => most,
                None => bytes.len(),
            };
            let taken = &bytes[..most.min(bytes.len())];
            self.written.lock().expect("no panic").extend(taken);
            Ok(taken.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn line(n: u64) -> Line {
        Line::Counters(Counters {
            n,
            queries: 0,
            hits: 0,
        })
    }

    /// Writes lines 1 to 3 at once through a sink that does `acts` first: what is in the file then,
    /// and how often an error was told.
    fn written(acts: Vec<Act>) -> (String, bool) {
        let sink = Sink::default();
        sink.acts.lock().expect("no panic").extend(acts);
        let mut lines = Lines::new(Box::new(sink.clone()));
        for n in 1..=3 {
            lines.push(&line(n)).expect("only gathered");
        }
        assert!(sink.written.lock().expect("no panic").is_empty());
        let failed = lines.flush().is_err();
        let written = sink.written.lock().expect("no panic").clone();
        (String::from_utf8(written).expect("text"), failed)
    }

    fn numbers(text: &str) -> Vec<Option<u64>> {
        text.lines()
            .map(|line| match serde_json::from_str(line) {
                Ok(Line::Counters(counters)) => Some(counters.n),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn short_and_interrupted_writes_lose_nothing() {
        for acts in [
            vec![],
            vec![Act::Take(1), Act::Take(3)],
            vec![Act::Fail(io::ErrorKind::Interrupted), Act::Take(50)],
        ] {
            let (text, failed) = written(acts);
            assert_eq!(numbers(&text), [Some(1), Some(2), Some(3)]);
            assert!(!failed);
        }
    }

    #[test]
    fn a_refusal_costs_the_line_that_it_falls_on_and_no_other() {
        let full = || Act::Fail(io::ErrorKind::StorageFull);
        let length = serde_json::to_string(&line(1)).expect("a line").len() + 1;
        for (acts, left) in [
            // Between two lines, in the middle of one, and a disk that says nothing and takes none.
            (vec![full()], vec![Some(2), Some(3)]),
            (vec![Act::Take(length), full()], vec![Some(1), Some(3)]),
            (
                vec![Act::Take(length + 5), full()],
                vec![Some(1), None, Some(3)],
            ),
            (
                vec![Act::Take(5), Act::Take(0)],
                vec![None, Some(2), Some(3)],
            ),
            // Also where the newline behind the torn line is refused.
            (vec![Act::Take(5), full(), full()], vec![None, Some(3)]),
            (vec![full(), full(), full()], vec![]),
        ] {
            let (text, failed) = written(acts);
            assert_eq!(numbers(&text), left, "{text}");
            assert!(failed);
        }
    }

    #[test]
    fn what_is_gathered_is_bounded() {
        let sink = Sink::default();
        let mut lines = Lines::new(Box::new(sink.clone()));
        let mut pushed = 0;
        while sink.written.lock().expect("no panic").is_empty() {
            lines.push(&line(pushed)).expect("written");
            pushed += 1;
            assert!(lines.gathered.len() < GATHERED + 100);
        }
        assert!(sink.written.lock().expect("no panic").len() >= GATHERED);
    }
}
