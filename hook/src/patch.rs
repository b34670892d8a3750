//! The paths that a patch of `apply_patch` writes, deletes or moves.

use codex_ds_rules::effects::Act;

/// The heads of a patch's sections.
const HEADS: &[(&str, Act)] = &[
    ("*** Add File: ", Act::Write),
    ("*** Update File: ", Act::Write),
    ("*** Delete File: ", Act::Move),
    ("*** Move to: ", Act::Write),
];

/// Each path with what the patch does to it. A deletion counts as a move away: the patch is
/// applied by Codex inside its own bounds, and the session keeps the text.
pub(crate) fn targets(patch: &str) -> impl Iterator<Item = (Act, &str)> {
    patch.lines().filter_map(|line| {
        let line = line.trim_start();
        HEADS
            .iter()
            .find_map(|(head, act)| line.strip_prefix(head).map(|path| (*act, path.trim())))
    })
}
