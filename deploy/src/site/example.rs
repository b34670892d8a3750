//! The site that tests begin with.

use super::{Answers, Shape, Site, template};
use crate::recipe::Recipe;

/// The template of a shape, as `init` writes it.
pub(crate) fn text(shape: Shape) -> String {
    let answers = Answers::example(shape);
    template(&answers, Recipe::built_in(&answers.recipe).unwrap())
}

/// The site of that text without placeholders, with changes: what is replaced, once each, and by what.
///
/// # Panics
/// When a text to replace is not there, or the result is at fault.
pub(crate) fn site(shape: Shape, changes: &[(&str, &str)]) -> Site {
    let mut text = text(shape).replace("CHANGE-ME", "0123456789abcdef");
    for (from, to) in changes {
        assert!(text.contains(from), "no {from}");
        text = text.replacen(from, to, 1);
    }
    Site::parse("site.toml", &text, &|path| panic!("no {path}")).unwrap()
}
