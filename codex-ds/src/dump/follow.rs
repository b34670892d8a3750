//! `dump show --follow`: a line for each request of a session as it ends.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use fs_err::File;

use super::store::{self, Line, Summary};
use super::{clock, live, report};
use crate::{exit, ui};

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Prints each end of a session as it is written, those that are there first, until the recording
/// ends or Ctrl-C.
pub(super) fn run(path: &Path) -> Result<u8> {
    let header = Summary::read(path)?.header;
    let mut file = Followed {
        reader: BufReader::new(File::open(path)?),
        line: Vec::new(),
    };
    super::runtime()?.block_on(async {
        let mut stop = live::Stop::listen()?;
        ui::err(&format!(
            "following {}, begun {}; stop with Ctrl-C\n",
            store::name(path),
            clock::shown(header.started_ms)
        ));
        tokio::select! {
            told = stop.told() => told.map(drop),
            ended = file.read_on() => ended,
        }
    })?;
    Ok(exit::OK)
}

/// A session's file that is still written.
struct Followed {
    reader: BufReader<File>,
    /// A line may be half written: what is there is kept until its end comes.
    line: Vec<u8>,
}

impl Followed {
    async fn read_on(&mut self) -> Result<()> {
        loop {
            // Asked before reading: whatever was written before the end is there then.
            let ended = store::is_closed(self.reader.get_ref().file());
            self.ends()?;
            if ended {
                ui::err("the recording has ended\n");
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Prints the ends that have come.
    fn ends(&mut self) -> Result<()> {
        while self.reader.read_until(b'\n', &mut self.line)? > 0 && self.line.last() == Some(&b'\n')
        {
            if let Ok(Line::End(end)) = serde_json::from_slice(&self.line) {
                ui::out(&report::line(&end));
            }
            self.line.clear();
        }
        Ok(())
    }
}
