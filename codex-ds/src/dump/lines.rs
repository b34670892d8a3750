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
