//! What is wrong with a site, or with manifests that anyone wrote.
//!
//! Every rule is a row of a table: a code that never changes and is its heading in the docs, how bad
//! it is, what it says, and what to do. A site is checked by the rules about sites and, once
//! rendered, by those about manifests.

use std::fmt;

use crate::names::KubernetesVersion;
use crate::reader::Fault;
use crate::render;
use crate::site::Site;

pub mod bundle;
#[cfg(test)]
mod found;
pub mod node;
mod rules;
mod schema;
#[cfg(test)]
mod tests;

pub use bundle::Bundle;
pub use rules::{MANIFEST_RULES, SITE_RULES, all};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The stack does not come up, or not as it should.
    Error,
    /// It comes up, and gets into trouble.
    Warning,
    /// It could be better.
    Note,
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// What a rule is, whatever it looks at.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The code, which is the heading in the docs.
    pub code: &'static str,
    /// How bad a finding is.
    pub severity: Severity,
    /// What is wrong, in a sentence.
    pub says: &'static str,
    /// What to do.
    pub fix: &'static str,
}

/// A rule about manifests.
pub struct ManifestRule {
    /// The rule.
    pub rule: Rule,
    check: fn(&Bundle, &mut Hits),
}

/// A rule about a site.
pub struct SiteRule {
    /// The rule.
    pub rule: Rule,
    check: fn(&Site, &mut Vec<(&'static str, String)>),
}

/// Where a rule struck, and on what.
#[derive(Default)]
struct Hits(Vec<Hit>);

#[derive(Default)]
struct Hit {
    file: String,
    line: usize,
    object: String,
    key: String,
    found: String,
    expected: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The object, or the key of a site.
    pub object: String,
    /// The field of the object, where the rule looks at all of them; else empty.
    pub key: String,
    /// What was found.
    pub found: String,
    /// What the field may be; empty where the rule itself says it.
    pub expected: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {} [{}] {}: ",
            self.file,
            self.line,
            self.rule.severity.word(),
            self.rule.code,
            self.object,
        )?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}; found {}", self.rule.says, self.found)?;
        if !self.expected.is_empty() {
            write!(f, ", expected {}", self.expected)?;
        }
        Ok(())
    }
}

/// Checks manifests, each with the name of its file, for a version of Kubernetes.
///
/// # Errors
/// When a file is not YAML.
pub fn manifests(
    files: &[(String, String)],
    kubernetes: KubernetesVersion,
) -> Result<Vec<Finding>, Fault> {
    Ok(of_bundle(&Bundle::read(files, kubernetes)?))
}

fn of_bundle(bundle: &Bundle) -> Vec<Finding> {
    let mut findings = Vec::new();
    for row in MANIFEST_RULES.iter().copied().flatten() {
        let mut hits = Hits::default();
        (row.check)(bundle, &mut hits);
        findings.extend(hits.0.into_iter().map(|hit| Finding {
            rule: &row.rule,
            file: hit.file,
            line: hit.line,
            object: hit.object,
            key: hit.key,
            found: hit.found,
            expected: hit.expected,
        }));
    }
    sort(&mut findings);
    findings
}

/// Checks a site, and the manifests that it renders.
///
/// # Panics
/// Never: what is rendered is YAML.
#[must_use]
pub fn site(site: &Site) -> Vec<Finding> {
    let mut findings: Vec<Finding> = SITE_RULES
        .iter()
        .flat_map(|row| {
            let mut hits = Vec::new();
            (row.check)(site, &mut hits);
            hits.into_iter().map(|(key, found)| Finding {
                rule: &row.rule,
                file: site.file.clone(),
                line: site.line(key),
                object: key.to_owned(),
                key: String::new(),
                found,
                expected: String::new(),
            })
        })
        .collect();
    let files: Vec<(String, String)> = render::manifests(site)
        .iter()
        .map(|manifest| (manifest.file.clone(), manifest.yaml()))
        .collect();
    // What the site's own rules say of a key needs no second finding in the rendered text.
    let codes: Vec<&str> = findings.iter().map(|finding| finding.rule.code).collect();
    findings.extend(
        manifests(&files, site.kubernetes)
            .expect("a test reads back all that is written")
            .into_iter()
            .filter(|finding| !codes.contains(&finding.rule.code)),
    );
    sort(&mut findings);
    findings
}

fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        (a.rule.severity, &a.file, a.line, a.rule.code).cmp(&(
            b.rule.severity,
            &b.file,
            b.line,
            b.rule.code,
        ))
    });
}
