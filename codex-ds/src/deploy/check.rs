//! `codex-ds deploy check`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use codex_ds_deploy::check::{self, Finding, Severity};
use codex_ds_deploy::names::KubernetesVersion;
use codex_ds_deploy::reader::Value;
use serde_json::json;

use crate::error::UserError;
use crate::{exit, ui};

/// Find what is wrong with a site, or with anyone's manifests
///
/// A file that ends in .toml is a site, and is checked together with the manifests that it renders.
/// Every other file is YAML; those named together are one stack. Needs no cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds deploy check
  codex-ds deploy check head.yaml worker.yaml service.yaml
  codex-ds deploy check --kubernetes 1.33 stack.yaml
  kubectl -n vllm get deploy,svc -o yaml | codex-ds deploy check -

Exit codes: 0 no error was found; 1 errors were found; 2 wrong usage, or a file cannot be read")]
pub(super) struct Args {
    /// Sites and manifests; - is standard input
    #[arg(value_name = "FILE", default_value = "site.toml")]
    files: Vec<PathBuf>,
    /// The version of Kubernetes whose fields manifests may have, 1.25 to 1.37; a site names its own
    #[arg(long, value_name = "VERSION", default_value = "1.37", value_parser = version)]
    kubernetes: KubernetesVersion,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

fn version(text: &str) -> Result<KubernetesVersion, String> {
    KubernetesVersion::parse(text)
        .ok_or_else(|| format!("expected {}", <KubernetesVersion as Value>::EXPECTED))
}

pub(super) fn run(args: &Args) -> Result<u8> {
    let (sites, manifests): (Vec<&PathBuf>, Vec<&PathBuf>) =
        args.files.iter().partition(|path| is_site(path));
    let mut findings = Vec::new();
    for site in sites {
        findings.extend(check::site(&super::load(site)?));
    }
    let texts = manifests
        .into_iter()
        .map(|path| Ok((path.display().to_string(), read(path)?)))
        .collect::<Result<Vec<_>>>()?;
    findings.extend(
        check::manifests(&texts, args.kubernetes)
            .map_err(|fault| UserError::usage(fault.to_string()))?,
    );
    let errors = count(&findings, Severity::Error);
    if args.json {
        ui::json(&json!({
            "schema_version": 1,
            "findings": findings.iter().map(|finding| json!({
                "code": finding.rule.code,
                "severity": finding.rule.severity.word(),
                "file": finding.file,
                "line": finding.line,
                "object": finding.object,
                "key": finding.key,
                "found": finding.found,
                "expected": finding.expected,
                "says": finding.rule.says,
                "fix": finding.rule.fix,
                "docs": format!("docs/deploy-checks.md#{}", finding.rule.code),
            })).collect::<Vec<_>>(),
        }));
    } else {
        for finding in &findings {
            ui::out(&format!("{finding}\n  fix: {}\n", finding.rule.fix));
        }
        ui::out(&format!(
            "{errors} errors, {} warnings, {} notes\n",
            count(&findings, Severity::Warning),
            count(&findings, Severity::Note)
        ));
    }
    Ok(if errors > 0 { exit::FAILURE } else { exit::OK })
}

fn is_site(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "toml")
}

fn read(path: &Path) -> Result<String> {
    if path.as_os_str() == "-" {
        return Ok(std::io::read_to_string(std::io::stdin())?);
    }
    fs_err::read_to_string(path).map_err(|error| UserError::usage(error.to_string()).into())
}

fn count(findings: &[Finding], severity: Severity) -> usize {
    findings
        .iter()
        .filter(|finding| finding.rule.severity == severity)
        .count()
}
