//! What is masked in a session: secrets that were named, and those that its clients send.

use std::borrow::Cow;

use codex_ds_wire::{Redactor, Secret};

use super::store;

/// See the module.
pub(super) struct Masks {
    /// Nothing where everything is written as it came.
    known: Option<Vec<Secret>>,
    redactor: Redactor,
}

impl Masks {
    pub(super) fn new(known: Option<Vec<Secret>>) -> Self {
        Self {
            redactor: Redactor::new(known.iter().flatten()),
            known,
        }
    }

    /// What masks, unless everything is written as it came.
    pub(super) fn redactor(&self) -> Option<&Redactor> {
        self.known.as_ref().map(|_| &self.redactor)
    }

    /// A key that a client sends is masked wherever it comes back.
    pub(super) fn learn(&mut self, headers: &[(String, String)]) {
        let Some(known) = &mut self.known else {
            return;
        };
        for name in ["authorization", "x-api-key", "api-key"] {
            let Some(value) = store::header(headers, name) else {
                continue;
            };
            let secret = Secret::new(value.split_once(' ').map_or(value, |(_, token)| token));
            // What is sent to a server that wants no key is no secret.
            let placeholder = secret.expose() == crate::setup::profile::PLACEHOLDER_KEY;
            if !placeholder && !known.contains(&secret) {
                known.push(secret);
                self.redactor = Redactor::new(known.iter());
            }
        }
    }

    pub(super) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redactor() {
            Some(redactor) => redactor.text(text),
            None => Cow::Borrowed(text),
        }
    }

    pub(super) fn headers(&self, headers: Vec<(String, String)>) -> Vec<(String, String)> {
        let Some(redactor) = self.redactor() else {
            return headers;
        };
        headers
            .into_iter()
            .map(|(name, value)| {
                let value = redactor.header(&name, &value).into_owned();
                (name, value)
            })
            .collect()
    }
}
