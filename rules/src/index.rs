//! Finds the rows of a table that name a program, in an index that the compiler builds: the guard
//! is started anew for every command, so that whatever it prepared would be prepared each time.

use crate::is_form;

/// Buckets for names; names with a `*` are in one more.
const BUCKETS: usize = 1024;

/// The rows of a table by the names in them: a hash table whose buckets lie one after another.
/// `NAMES` is how many names the table has.
pub(crate) struct Index<const NAMES: usize> {
    /// Where each bucket begins in `rows`.
    starts: [u16; BUCKETS + 2],
    /// Names and the numbers of their rows, in the order of the table inside each bucket.
    rows: [(&'static str, u16); NAMES],
}

/// How many names there are in all rows.
pub(crate) const fn count(names: &[&[&str]]) -> usize {
    let (mut count, mut row) = (0, 0);
    while row < names.len() {
        count += names[row].len();
        row += 1;
    }
    count
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the compiler builds the index, and an overflow here is an error of the build"
)]
const fn short(number: usize) -> u16 {
    assert!(number <= u16::MAX as usize, "the table is too long");
    number as u16
}

const fn bucket(name: &str) -> usize {
    let bytes = name.as_bytes();
    // FNV-1a.
    let (mut hash, mut i) = (0x811c_9dc5_u32, 0);
    while i < bytes.len() {
        if bytes[i] == b'*' {
            return BUCKETS;
        }
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    (hash ^ (hash >> 16)) as usize % BUCKETS
}

impl<const NAMES: usize> Index<NAMES> {
    /// The index of a table whose rows have these names.
    pub(crate) const fn new(names: &[&'static [&'static str]]) -> Self {
        let mut starts = [0; BUCKETS + 2];
        let (mut row, mut name) = (0, 0);
        while row < names.len() {
            while name < names[row].len() {
                starts[bucket(names[row][name]) + 1] += 1;
                name += 1;
            }
            (row, name) = (row + 1, 0);
        }
        let mut i = 1;
        while i < starts.len() {
            starts[i] += starts[i - 1];
            i += 1;
        }
        let mut ends = starts;
        let mut rows = [("", 0); NAMES];
        (row, name) = (0, 0);
        while row < names.len() {
            while name < names[row].len() {
                let bucket = bucket(names[row][name]);
                rows[ends[bucket] as usize] = (names[row][name], short(row));
                ends[bucket] += 1;
                name += 1;
            }
            (row, name) = (row + 1, 0);
        }
        Self { starts, rows }
    }

    fn bucket(&self, bucket: usize) -> &[(&'static str, u16)] {
        &self.rows[self.starts[bucket].into()..self.starts[bucket + 1].into()]
    }

    /// The rows that name a program, in the order of the table; a `*` in a name is any text. A
    /// row that names it twice may come twice.
    pub(crate) fn rows(&self, program: &str) -> impl Iterator<Item = usize> {
        let named = match bucket(program) {
            BUCKETS => &[],
            bucket => self.bucket(bucket),
        };
        let mut named = named
            .iter()
            .filter(move |(name, _)| *name == program)
            .peekable();
        let wild = self.bucket(BUCKETS).iter();
        let mut wild = wild
            .filter(move |(name, _)| is_form(program, name))
            .peekable();
        std::iter::from_fn(move || {
            let next = match (named.peek(), wild.peek()) {
                (Some((_, row)), Some((_, other))) if row > other => wild.next(),
                (Some(_), _) => named.next(),
                (None, _) => wild.next(),
            };
            next.map(|(_, row)| usize::from(*row))
        })
    }
}

/// Makes `INDEX`, the index of a table by a field with names.
macro_rules! index {
    ($table:ident, $($names:tt).+) => {
        const NAMES: [&[&str]; $table.len()] = {
            let mut names = [&[] as &[&str]; $table.len()];
            let mut row = 0;
            while row < names.len() {
                names[row] = $table[row].$($names).+;
                row += 1;
            }
            names
        };

        static INDEX: $crate::index::Index<{ $crate::index::count(&NAMES) }> =
            $crate::index::Index::new(&NAMES);
    };
}
pub(crate) use index;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_finds_its_rows_in_order() {
        const ROWS: &[&[&str]] = &[&["a", "b"], &["x*"], &["b"], &["c", "b"], &["xyz"]];
        static INDEX: Index<{ count(ROWS) }> = Index::new(ROWS);
        let found = |program: &str| -> Vec<usize> { INDEX.rows(program).collect() };
        assert_eq!(found("a"), [0]);
        assert_eq!(found("b"), [0, 2, 3]);
        assert_eq!(found("c"), [3]);
        assert_eq!(found("xyz"), [1, 4]);
        assert_eq!(found("x"), [1]);
        assert_eq!(found("nothing"), []);
        assert_eq!(found("x*"), [1]);
    }
}
