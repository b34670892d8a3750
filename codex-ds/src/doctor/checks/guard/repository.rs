//! What the working folder's repository brings along: which of its configuration counts, and whether
//! that weakens the profile.

use crate::doctor::check::{Finding, Outcome};
use crate::doctor::context::Context;
use crate::trust::{Effect, Snapshot, Standing, TrustList, Weight};
use crate::{home, project, trust};

pub(super) fn repository(context: &Context) -> Outcome {
    let own = home::user_home()
        .map(|home| home.join(project::DOT_CODEX))
        .ok();
    let layers: Vec<_> = project::layers(&context.cwd)
        .into_iter()
        .filter(|folder| {
            let dot = folder.join(project::DOT_CODEX);
            Some(&dot) != own.as_ref() && dot != context.home
        })
        .collect();
    if layers.is_empty() {
        return Outcome::pass("it has none");
    }
    let (list, _) = TrustList::load_or_empty(&context.home);
    let mut findings = Vec::new();
    for folder in layers {
        let shown = trust::plain(&folder.join(project::DOT_CODEX).to_string_lossy());
        let effects = match Snapshot::read(&folder) {
            Ok(snapshot) => trust::effects_of(&snapshot),
            Err(error) => {
                findings.push(
                    Finding::note(format!(
                        "{shown} cannot be read whole, so it can never be trusted"
                    ))
                    .measured(error.to_string())
                    .source(shown),
                );
                continue;
            }
        };
        let lines = lines(&effects);
        findings.push(match list.standing(&folder) {
            Standing::Unknown => {
                Finding::note(format!("{shown} does not count: you have not trusted it"))
                    .measured(lines)
                    .source(shown)
            }
            Standing::Changed(why) => Finding::warn(format!(
                "{shown} does not count any more: it is not what you trusted"
            ))
            .measured(format!("{why}\n{lines}"))
            .expected("the files as they were then")
            .source(shown)
            .remedy("look at what changed, then trust it again, or revoke it")
            .command(format!(
                "codex-ds trust {}",
                shell_words::quote(&folder.to_string_lossy())
            )),
            Standing::Trusted if effects.iter().any(|effect| effect.weight == Weight::Danger) => {
                Finding::warn(format!("{shown} weakens the profile, and you trust it"))
                    .measured(lines)
                    .expected("nothing that weakens it, or your word that it may")
                    .source(shown)
                    .remedy("if that was not meant, take the trust back")
                    .command(format!(
                        "codex-ds trust --revoke {}",
                        shell_words::quote(&folder.to_string_lossy())
                    ))
            }
            Standing::Trusted => Finding::note(format!("{shown} counts: you trust it"))
                .measured(lines)
                .source(shown),
        });
    }
    let seen: Vec<&str> = findings
        .iter()
        .map(|finding| finding.text.as_str())
        .collect();
    Outcome::of(seen.join("; "), findings)
}

fn lines(effects: &[Effect]) -> String {
    if effects.is_empty() {
        return "it changes nothing".to_owned();
    }
    let lines: Vec<String> = effects
        .iter()
        .map(|effect| format!("{}: {}", effect.source, effect.text))
        .collect();
    lines.join("\n")
}
