//! The shape of the code: in no crate do modules at the top use each other in a ring.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const CRATES: &[&str] = &[
    "catalog", "codex-ds", "deploy", "hook", "mcp", "rules", "tests", "wire",
];

/// Which of a crate's modules each of them uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_crate_has_a_ring_of_modules() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut rings = Vec::new();
    for name in CRATES {
        let uses = uses(&workspace.join(name).join("src"));
        assert!(uses.len() > 3, "{name} has lost its modules");
        rings.extend(ring(&uses).map(|ring| format!("{name}: {}", ring.join(" → "))));
    }
    assert!(rings.is_empty(), "{}", rings.join("\n"));
}

#[test]
fn a_ring_is_found() {
    let text =
        "mod x { use crate::{b::B, c}; } // crate::d\n#[cfg(test)]\nmod tests { use crate::e; }";
    let names = ["a", "b", "c", "d", "e"].map(str::to_owned);
    assert_eq!(used(text, &names), ["b", "c"].map(str::to_owned).into());
    let uses = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")]
        .map(|(from, to)| (from.to_owned(), BTreeSet::from([to.to_owned()])));
    assert_eq!(ring(&uses.into()).expect("b and c").join(" "), "b c b");
}

fn uses(source: &Path) -> Uses {
    let mut files: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in source.read_dir().expect("a crate's source").flatten() {
        let path = entry.path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        if !matches!(&*name, "lib" | "main" | "bin") {
            collect(&path, files.entry(name.into_owned()).or_default());
        }
    }
    let names: Vec<String> = files.keys().cloned().collect();
    let all = files.into_iter().map(|(name, files)| {
        let mut found = BTreeSet::new();
        for file in files {
            let text = fs_err::read_to_string(file).expect("source text");
            found.append(&mut used(&text, &names));
        }
        found.remove(&name);
        (name, found)
    });
    all.collect()
}

/// The files of a module, without those that hold its tests.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in path.read_dir().expect("a module's folder").flatten() {
            collect(&entry.path(), files);
        }
    } else if path.extension() == Some("rs".as_ref())
        && !path.to_string_lossy().ends_with("tests.rs")
    {
        files.push(path.to_owned());
    }
}

/// The modules that a text names behind `crate::`, one by one or in braces, in front of its tests.
fn used(text: &str, names: &[String]) -> BTreeSet<String> {
    let text = text
        .split("\n#[cfg(test)]\nmod ")
        .next()
        .unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let text = lines.collect::<Vec<_>>().join(" ");
    let word = |text: &str| {
        let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        text[..end.unwrap_or(text.len())].to_owned()
    };
    let mut found = BTreeSet::new();
    for rest in text.split("crate::").skip(1) {
        let Some(list) = rest.strip_prefix('{') else {
            found.insert(word(rest));
            continue;
        };
        let mut level = 0;
        let mut start = true;
        for (at, c) in list.char_indices() {
            match c {
                '{' => level += 1,
                '}' if level == 0 => break,
                '}' => level -= 1,
                ',' if level == 0 => start = true,
                c if start && !c.is_whitespace() => {
                    found.insert(word(&list[at..]));
                    start = false;
                }
                _ => {}
            }
        }
    }
    found.retain(|name| names.contains(name));
    found
}

/// A way from a module back to itself.
fn ring(uses: &Uses) -> Option<Vec<&str>> {
    let mut clear = BTreeSet::new();
    uses.keys()
        .find_map(|name| walk(name, uses, &mut Vec::new(), &mut clear))
}

fn walk<'u>(
    name: &'u str,
    uses: &'u Uses,
    way: &mut Vec<&'u str>,
    clear: &mut BTreeSet<&'u str>,
) -> Option<Vec<&'u str>> {
    if let Some(at) = way.iter().position(|step| *step == name) {
        let mut ring = way.split_off(at);
        ring.push(name);
        return Some(ring);
    }
    if clear.contains(name) {
        return None;
    }
    way.push(name);
    for next in uses.get(name).into_iter().flatten() {
        if let Some(ring) = walk(next, uses, way, clear) {
            return Some(ring);
        }
    }
    way.pop();
    clear.insert(name);
    None
}
