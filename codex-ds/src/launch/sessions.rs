//! The folders of stored sessions: where `resume` and `fork` can go.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// How many of the newest sessions are looked at.
const NEWEST: usize = 100;
/// How much of a session's file is read, bytes. Its folder is within the first 600 bytes, measured
/// on Codex 0.163.0 and 0.171.0.
const HEAD: u64 = 4096;

/// The working folders of the newest sessions in a profile. What cannot be read is left out.
pub(super) fn folders(home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl: the names sort by time.
    collect(&home.join("sessions"), 3, &mut found);
    let mut folders: Vec<PathBuf> = found.iter().filter_map(|file| folder_of(file)).collect();
    folders.sort();
    folders.dedup();
    folders
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable_by(|a, b| b.cmp(a));
    for path in paths {
        if found.len() == NEWEST {
            return;
        }
        if depth > 0 {
            collect(&path, depth - 1, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            found.push(path);
        }
    }
}

fn folder_of(file: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    File::open(file)
        .ok()?
        .take(HEAD)
        .read_to_end(&mut head)
        .ok()?;
    let key = b"\"cwd\":";
    let at = head.windows(key.len()).position(|window| window == key)? + key.len();
    let folder = serde_json::Deserializer::from_slice(&head[at..])
        .into_iter::<String>()
        .next()?
        .ok()?;
    Some(PathBuf::from(folder)).filter(|folder| folder.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_folder_of_each_session_and_passes_over_what_is_none() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let day = home.path().join("sessions/2026/11/30");
        std::fs::create_dir_all(&day).expect("a folder");
        let line =
            |cwd: &str| format!(r#"{{"type":"session_meta","payload":{{"id":"x","cwd":{cwd},"a":"#);
        for (name, text) in [
            ("rollout-1.jsonl", line(r#""/repos/a \"b\"""#)),
            ("rollout-2.jsonl", line(r#""relative""#)),
            ("rollout-3.jsonl", line("7")),
            ("rollout-4.jsonl", String::new()),
            ("rollout-5.jsonl", line(r#""/repos/c""#)),
            ("other.txt", line(r#""/repos/d""#)),
        ] {
            fs_err::write(day.join(name), text).expect("a file");
        }
        assert_eq!(
            folders(home.path()),
            [PathBuf::from("/repos/a \"b\""), PathBuf::from("/repos/c")]
        );
        assert_eq!(folders(&home.path().join("none")), Vec::<PathBuf>::new());
    }
}
