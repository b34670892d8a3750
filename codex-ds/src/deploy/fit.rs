//! `codex-ds deploy fit`.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use anyhow::Result;
use codex_ds_deploy::fit::{Calibration, Fit, Inputs, Knob, Verdict, knobs, nearest};
use codex_ds_deploy::site::Site;
use serde_json::{Value as Json, json};

use super::SiteArg;
use crate::error::UserError;
use crate::text::count;
use crate::{exit, ui};

/// Show what the memory of the two nodes holds, and what each knob does
///
/// The engine's overhead cannot be derived: without a log the numbers are a range. With a boot log
/// of the engine, or the text of its /metrics, they are one number.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds deploy fit
  kubectl -n vllm logs deploy/vllm-deepseek-v4-flash-head | codex-ds deploy fit --log -
  curl -s http://spark:8000/metrics | codex-ds deploy fit --log -

Exit codes: 0 it fits, or may fit; 1 it does not fit; 2 wrong usage, or a fault in the site")]
pub(super) struct Args {
    #[command(flatten)]
    site: SiteArg,
    /// A boot log of the engine or the text of its /metrics; - is standard input
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<u8> {
    let site = args.site.load()?;
    let measured = args.log.as_ref().map(read_log).transpose()?;
    let inputs = Inputs::new(&site, measured.as_ref());
    let fit = inputs.fit();
    let (knobs, nearest) = (knobs(&inputs), nearest(&inputs));
    if args.json {
        ui::json(&json!({
            "schema_version": 1,
            "site": site.file,
            "fit": as_json(&fit),
            "knobs": knobs.iter().map(knob_json).collect::<Vec<_>>(),
            "nearest": nearest.iter().map(knob_json).collect::<Vec<_>>(),
        }));
    } else {
        ui::out(&text(&site, &fit, &knobs, &nearest));
    }
    Ok(if fit.verdict == Verdict::Refused {
        exit::FAILURE
    } else {
        exit::OK
    })
}

fn read_log(path: &PathBuf) -> Result<Calibration> {
    let text = if path.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin())?
    } else {
        // A log may hold a broken character; the lines that count do not.
        String::from_utf8_lossy(&fs_err::read(path)?).into_owned()
    };
    Calibration::read(&text).ok_or_else(|| {
        UserError::usage(format!("{} says nothing of KV memory", path.display()))
            .hint("it has to be the engine's log from its start (\"GPU KV cache size: … tokens\"), or its /metrics (vllm:cache_config_info)")
            .into()
    })
}

fn text(site: &Site, fit: &Fit, knobs: &[Knob], nearest: &[Knob]) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String, note: &str| {
        let line = format!("{name:<14}{value:>16}   {note}");
        let _ = writeln!(text, "{}", line.trim_end());
    };
    row("memory", gib(fit.memory_gib), "of the smaller node");
    row(
        "budget",
        gib(fit.budget_gib),
        &format!(
            "serve.gpu_memory_utilization = {}",
            site.serve.gpu_memory_utilization
        ),
    );
    row("weights", gib(fit.weights_gib), "");
    row(
        "overhead",
        range(&fit.overhead_gib, |value| format!("{value:.1}")) + " GiB",
        if fit.calibrated {
            "measured"
        } else {
            "measured on other stacks; --log FILE tells yours"
        },
    );
    row(
        "KV memory",
        range(&fit.kv_gib, |value| format!("{value:.1}")) + " GiB",
        &format!("{}, all of it on each node", site.serve.kv_cache_dtype),
    );
    row(
        "host left",
        gib(fit.host_gib),
        "for the system and page cache",
    );
    row("KV tokens", range(&fit.tokens, |value| count(*value)), "");
    row(
        "at full length",
        range(&fit.concurrency, |value| format!("{value:.2}")),
        &format!(
            "requests of {} tokens at once",
            count(site.serve.max_model_len)
        ),
    );
    let _ = writeln!(
        text,
        "\none request of the full length {}",
        fit.verdict.word()
    );
    if !nearest.is_empty() {
        let _ = writeln!(text, "it fits with any one of:");
        for knob in nearest {
            let _ = writeln!(
                text,
                "  serve.{} = {}   (now {})",
                knob.key, knob.to, knob.from
            );
        }
    }
    let _ = writeln!(
        text,
        "\nwhat a change does, to KV tokens and requests of the full length:"
    );
    for knob in knobs {
        let _ = writeln!(
            text,
            "  {:<34}{:>24}{:>14}",
            format!("{} = {}", knob.key, knob.to),
            range(&knob.fit.tokens, |value| count(*value)),
            range(&knob.fit.concurrency, |value| format!("{value:.2}"))
        );
    }
    text
}

fn gib(value: f64) -> String {
    format!("{value:.1} GiB")
}

fn range<T: PartialEq>(range: &RangeInclusive<T>, show: impl Fn(&T) -> String) -> String {
    let (low, high) = (show(range.start()), show(range.end()));
    if low == high {
        low
    } else {
        format!("{low} – {high}")
    }
}

fn as_json(fit: &Fit) -> Json {
    json!({
        "verdict": fit.verdict.word(),
        "calibrated": fit.calibrated,
        "memory_gib": fit.memory_gib,
        "budget_gib": fit.budget_gib,
        "weights_gib": fit.weights_gib,
        "overhead_gib": [fit.overhead_gib.start(), fit.overhead_gib.end()],
        "kv_gib": [fit.kv_gib.start(), fit.kv_gib.end()],
        "host_gib": fit.host_gib,
        "tokens": [fit.tokens.start(), fit.tokens.end()],
        "concurrency": [fit.concurrency.start(), fit.concurrency.end()],
    })
}

fn knob_json(knob: &Knob) -> Json {
    json!({ "key": format!("serve.{}", knob.key), "from": knob.from, "to": knob.to, "fit": as_json(&knob.fit) })
}
