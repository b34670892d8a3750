use super::found::{FOUND, ROUTER, SITE_FOUND};
use super::*;
use crate::names::KubernetesVersion;
use crate::site::Shape;
use crate::site::example::site as site_of;

/// The two published stacks, as their authors print them.
const RKE2: &str = include_str!("data/rke2.yaml");
const EKS: &str = include_str!("data/eks.yaml");

fn of(file: &str, text: &str) -> Result<Vec<Finding>, Fault> {
    let newest = KubernetesVersion::NEWEST;
    manifests(&[(file.to_owned(), text.to_owned())], newest)
}

fn check(text: &str) -> Vec<Finding> {
    of("stack.yaml", text).unwrap()
}

fn listed(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(Finding::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_published_deployments_have_exactly_these_faults() {
    insta::assert_snapshot!(listed(&check(RKE2)));
}

#[test]
fn the_published_leader_worker_set_has_exactly_these_faults() {
    insta::assert_snapshot!(listed(&check(EKS)));
}

#[test]
fn what_is_rendered_has_no_fault_in_any_version() {
    for shape in [Shape::Deployments, Shape::Lws] {
        for minor in KubernetesVersion::OLDEST.minor()..=KubernetesVersion::NEWEST.minor() {
            let version = format!("kubernetes = \"1.{minor}\"");
            let site = site_of(shape, &[("# kubernetes = \"1.36\"", &version)]);
            assert_eq!(site.kubernetes.minor(), minor);
            assert_eq!(listed(&super::site(&site)), "", "{shape:?} {version}");
            let staged = [("served_name = \"deepseek-v4-flash\"", STAGED)];
            for job in render::staging::jobs(&site_of(shape, &staged)) {
                let files = [(job.file.clone(), job.yaml())];
                let findings = manifests(&files, site.kubernetes).unwrap();
                assert_eq!(listed(&findings), "", "{version}");
            }
        }
    }
}

const STAGED: &str = "served_name = \"x\"\nrevision = \"0123456789012345678901234567890123456789\"";

fn codes(findings: &[Finding]) -> Vec<&'static str> {
    let mut codes: Vec<_> = findings.iter().map(|finding| finding.rule.code).collect();
    codes.dedup();
    codes
}

#[test]
fn each_rule_finds_what_it_is_for_and_nothing_before() {
    let with_router = format!("{EKS}{ROUTER}");
    for (stack, code, from, to) in FOUND {
        let text = match *stack {
            "rke2" => RKE2,
            "eks" => EKS,
            _ => &with_router,
        };
        assert!(text.contains(from), "{code}: no {from}");
        assert!(
            !codes(&check(text)).contains(code),
            "{code} is found before"
        );
        let findings = check(&text.replacen(from, to, 1));
        assert!(
            codes(&findings).contains(code),
            "{code} is not found:\n{}",
            listed(&findings)
        );
    }
}

#[test]
fn each_rule_about_a_site_finds_what_it_is_for() {
    let mut said = String::new();
    for (code, shape, from, to) in SITE_FOUND {
        let findings = super::site(&site_of(*shape, &[(from, to)]));
        assert!(
            codes(&findings).contains(code),
            "{code} is not found:\n{}",
            listed(&findings)
        );
        said += &[
            *code,
            "\n  ",
            &listed(&findings).replace('\n', "\n  "),
            "\n",
        ]
        .concat();
    }
    insta::assert_snapshot!(said);
}

#[test]
fn every_rule_is_shown_to_work() {
    let published = format!("{}{}", listed(&check(RKE2)), listed(&check(EKS)));
    for rule in all() {
        let tried = FOUND.iter().any(|(_, code, ..)| *code == rule.code)
            || SITE_FOUND.iter().any(|(code, ..)| *code == rule.code)
            || published.contains(&format!("[{}]", rule.code));
        assert!(tried, "{} is not tried by any test", rule.code);
    }
}

#[test]
fn a_code_has_one_meaning() {
    for (index, rule) in all().iter().enumerate() {
        for other in &all()[index + 1..] {
            if rule.code == other.code {
                assert_eq!((rule.severity, rule.says), (other.severity, other.says));
            }
        }
    }
}

#[test]
fn what_is_no_yaml_is_named_by_its_line() {
    let fault = of("a.yaml", "a: 1\nb: [\n").unwrap_err();
    assert!(fault.line >= 2, "{fault}");
    assert_eq!(fault.found, "no YAML");
    let fault = of("a.yaml", "a: 1\n%=b\n").unwrap_err();
    assert_eq!(
        (fault.line, fault.found.as_str()),
        (2, "a line that begins with %")
    );
    assert_eq!(listed(&check("")), "");
    let fields: Vec<String> = check("- a\n").into_iter().map(|f| f.key).collect();
    assert_eq!(fields, ["apiVersion", "kind"]);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]
    #[test]
    fn no_manifest_is_too_odd_to_be_judged(text in "\\PC{0,80}", at in 0usize..6000, cut in 0usize..60) {
        let _ = of("x", &text);
        let boundary = |index: usize| (0..=index.min(RKE2.len())).rev().find(|i| RKE2.is_char_boundary(*i)).unwrap_or(0);
        let mut whole = RKE2.to_owned();
        whole.replace_range(boundary(at)..boundary(at + cut), &text);
        let _ = of("x", &whole);
    }
}
