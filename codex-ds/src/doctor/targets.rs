//! The endpoints and models that checks ask, and what comes of asking each.

use std::future::Future;

use anyhow::Result;
use futures_util::future::join_all;

use super::check::{Finding, Outcome};
use super::context::Context;
use super::profile::Route;
use crate::probe::litellm;
use crate::probe::{Failure, Target};

/// An address, and the profiles that send requests there.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The profiles, by name.
    pub(super) profiles: Vec<String>,
    /// The address, with the key and the model of the first of them.
    pub(super) target: Target,
}

/// A route, and the target that it comes to.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// The profile.
    pub(super) profile: String,
    /// Where its requests go.
    pub(super) target: Target,
}

impl Way {
    /// Where a finding was made.
    pub(super) fn source(&self) -> String {
        format!(
            "POST {}/responses, model {}",
            self.target.base, self.target.model
        )
    }
}

/// The target of a route. A key that cannot be had is left out: `config.key` says so.
///
/// # Errors
/// When the address is none.
pub(super) fn target(route: &Route) -> Result<Target> {
    let key = route.key.clone().unwrap_or_default();
    Target::new(&route.base_url, &route.model, key)
}

/// Each address once. One that cannot be read is left out: `config.provider` says so.
pub(super) fn places(context: &Context) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for way in ways(context) {
        match places
            .iter_mut()
            .find(|place| place.target.base == way.target.base)
        {
            Some(place) => place.profiles.push(way.profile),
            None => places.push(Place {
                profiles: vec![way.profile],
                target: way.target,
            }),
        }
    }
    places
}

/// Every route.
pub(super) fn ways(context: &Context) -> Vec<Way> {
    context
        .routes
        .iter()
        .filter_map(|route| {
            Some(Way {
                profile: route.profile.clone(),
                target: target(route).ok()?,
            })
        })
        .collect()
}

/// Asks each address, side by side. What was seen is the summary where nothing is wrong.
pub(super) async fn each_place<F: Future<Output = Finding>>(
    context: &Context,
    ask: impl Fn(Place) -> F,
) -> Result<Outcome> {
    Ok(together(
        join_all(places(context).into_iter().map(ask)).await,
    ))
}

/// Asks each route, side by side; the texts of its findings begin with the profile's name.
pub(super) async fn each_way<F: Future<Output = Vec<Finding>>>(
    context: &Context,
    ask: impl Fn(Way) -> F,
) -> Result<Outcome> {
    let named = ways(context).into_iter().map(|way| {
        let (profile, source) = (way.profile.clone(), way.source());
        let asked = ask(way);
        async move {
            let mut findings = asked.await;
            for finding in &mut findings {
                finding.text = format!("{profile}: {}", finding.text);
                finding.source.get_or_insert_with(|| source.clone());
            }
            findings
        }
    });
    let found = join_all(named).await;
    Ok(together(found.into_iter().flatten().collect()))
}

fn together(findings: Vec<Finding>) -> Outcome {
    if findings.is_empty() {
        return Outcome::skip("the configuration names no endpoint");
    }
    let seen: Vec<&str> = findings
        .iter()
        .map(|finding| finding.text.as_str())
        .collect();
    Outcome::of(seen.join("; "), findings)
}

/// A failure as a finding: what it means, what Codex makes of it, and what to do.
pub(super) fn failed(what: &str, failure: &Failure) -> Finding {
    let Some(meaning) = litellm::meaning(failure) else {
        return Finding::fail(format!("{what}: {failure}")).measured(failure.to_string());
    };
    let mut text = format!("{what}: {}", meaning.means);
    if let Some(shown) = meaning.codex_shows {
        text.push_str(". Codex shows: ");
        text.push_str(shown);
    }
    Finding::fail(text)
        .measured(failure.to_string())
        .remedy(meaning.remedy)
}
