//! A result for a terminal, as the table that people post, and as CSV.

use std::fmt::Write as _;

use super::compare::Comparison;
use super::document::{Document, Row};
use super::stats::Summary;
use crate::text::{Align, plain, table};

fn shown(summary: Option<&Summary>, digits: usize) -> String {
    summary.map_or_else(String::new, |summary| {
        if summary.values.len() > 1 {
            format!("{:.digits$} ± {:.digits$}", summary.mean, summary.std)
        } else {
            format!("{:.digits$}", summary.mean)
        }
    })
}

fn mean(summary: Option<&Summary>, digits: usize) -> String {
    summary.map_or_else(String::new, |summary| format!("{:.digits$}", summary.mean))
}

/// What a terminal shows.
pub(super) fn text(document: &Document, comparison: Option<&Comparison>) -> String {
    let mut text = String::new();
    for route in &document.routes {
        let _ = writeln!(
            text,
            "{}: {} at {} ({}), round trip {:.1} ms",
            route.name,
            plain(&route.model),
            plain(&route.endpoint),
            plain(&route.server),
            route.latency_ms
        );
    }
    text.push('\n');
    text.push_str(&rows(document));
    if !document.router_cost.is_empty() {
        text.push_str("\nwhat the router costs\n");
        text.push_str(&costs(document));
    }
    if let Some(comparison) = comparison {
        let _ = writeln!(text, "\nagainst the result of {}", plain(&comparison.date));
        text.push_str(&changes(comparison));
    }
    text.push('\n');
    text.push_str(&clean(document));
    for note in document
        .notes
        .iter()
        .chain(comparison.iter().flat_map(|c| &c.notes))
    {
        let _ = writeln!(text, "note: {}", plain(note));
    }
    text
}

fn rows(document: &Document) -> String {
    let several = document.routes.len() > 1;
    let mut cells = vec![
        [
            "test",
            "route",
            "prefill t/s",
            "TTFT ms",
            "p99",
            "decode t/s",
            "each t/s",
            "output t/s",
            "accept",
            "cached",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for row in &document.rows {
        let mut name = row.test.clone();
        if row.spoiled {
            name.push_str(" *");
        }
        if let Some(error) = &row.error {
            cells.push(vec![name, row.route.clone(), plain(error)]);
            continue;
        }
        cells.push(vec![
            name,
            row.route.clone(),
            shown(row.prefill.as_ref(), 1),
            shown(row.ttft_ms.as_ref(), 0),
            row.ttft_percentiles
                .map_or_else(String::new, |p| format!("{:.0}", p.p99)),
            shown(row.decode.as_ref(), 1),
            if row.shape.concurrency > 1 {
                shown(row.decode_each.as_ref(), 1)
            } else {
                String::new()
            },
            mean(row.output.as_ref(), 1),
            mean(row.acceptance_length.as_ref(), 2),
            row.prefix_hit_rate
                .map_or_else(String::new, |rate| format!("{:.0}%", rate * 100.0)),
        ]);
    }
    // A column that nobody filled says nothing.
    let mut keep: Vec<bool> = (0..10)
        .map(|column| {
            let mut filled = cells.iter().skip(1).filter_map(|row| row.get(column));
            filled.any(|cell| !cell.is_empty())
        })
        .collect();
    keep[1] &= several;
    let cells: Vec<Vec<String>> = cells
        .into_iter()
        .map(|row| {
            row.into_iter()
                .zip(&keep)
                .filter_map(|(cell, keep)| keep.then_some(cell))
                .collect()
        })
        .collect();
    let align: Vec<Align> = keep
        .iter()
        .enumerate()
        .filter(|(_, keep)| **keep)
        .map(|(column, _)| {
            if column < 2 {
                Align::Left
            } else {
                Align::Right
            }
        })
        .collect();
    table(&align, &cells)
}

fn costs(document: &Document) -> String {
    let ratio = |ratio: Option<f64>| ratio.map_or_else(String::new, |r| format!("×{r:.3}"));
    let mut cells = vec![
        ["test", "TTFT", "added ms", "decode"]
            .map(str::to_owned)
            .to_vec(),
    ];
    cells.extend(document.router_cost.iter().map(|cost| {
        vec![
            cost.test.clone(),
            ratio(cost.ttft_ratio),
            cost.ttft_added_ms
                .map_or_else(String::new, |added| format!("{added:+.1}")),
            ratio(cost.decode_ratio),
        ]
    }));
    table(
        &[Align::Left, Align::Right, Align::Right, Align::Right],
        &cells,
    )
}

fn changes(comparison: &Comparison) -> String {
    let mut cells = vec![
        [
            "test", "route", "figure", "before", "now", "change", "noise", "verdict",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    cells.extend(comparison.changes.iter().map(|change| {
        vec![
            change.test.clone(),
            change.route.clone(),
            change.figure.to_owned(),
            format!("{:.1}", change.before),
            format!("{:.1}", change.after),
            format!("{:+.1}%", change.change * 100.0),
            format!("±{:.1}%", change.noise * 100.0),
            change.verdict.name().to_owned(),
        ]
    }));
    let mut align = [Align::Right; 8];
    for column in [0, 1, 2, 7] {
        align[column] = Align::Left;
    }
    table(&align, &cells)
}

/// Whether somebody else was there.
fn clean(document: &Document) -> String {
    let attempts: Vec<_> = document.rows.iter().flat_map(|row| &row.attempts).collect();
    let Some(counters) = &document.counters else {
        return format!(
            "{} runs; whether other clients were at work is not known: no engine counters \
             (name them with --metrics URL)\n",
            attempts.len()
        );
    };
    let spoiled = attempts.iter().filter(|run| run.spoiled.is_some()).count();
    let mut text = format!(
        "{} runs, {} of them clean by the engine's counters ({})\n",
        attempts.len(),
        attempts.len() - spoiled,
        plain(counters)
    );
    for row in &document.rows {
        for why in row.attempts.iter().filter_map(|run| run.spoiled.as_ref()) {
            let _ = writeln!(text, "  spoiled: {} ({}): {why}", row.test, row.route);
        }
    }
    if document.rows.iter().any(|row| row.spoiled) {
        text.push_str("* no clean run: the figures of this row are not the engine's best\n");
    }
    text
}

/// The table that llama-benchy prints and people post: a row for prefill and one for decode.
pub(super) fn markdown(document: &Document) -> String {
    let several = document.routes.len() > 1;
    let streams = document.rows.iter().any(|row| row.shape.concurrency > 1);
    let mut text = String::from(if streams {
        "| model | test | t/s (total) | t/s (req) | peak t/s | ttfr (ms) | est_ppt (ms) | e2e_ttft (ms) |\n\
         |:---|---:|---:|---:|---:|---:|---:|---:|\n"
    } else {
        "| model | test | t/s | peak t/s | ttfr (ms) | est_ppt (ms) | e2e_ttft (ms) |\n\
         |:---|---:|---:|---:|---:|---:|---:|\n"
    });
    for row in document.rows.iter().filter(|row| row.error.is_none()) {
        let model = document
            .routes
            .iter()
            .find(|route| route.name == row.route)
            .map_or("", |route| route.model.as_str());
        for prefill in [true, false] {
            let _ = writeln!(text, "{}", posted(row, model, prefill, streams, several));
        }
    }
    let _ = write!(
        text,
        "\n{}\n{} | latency mode: api",
        document.tool, document.date
    );
    let accepted: Vec<f64> = document
        .rows
        .iter()
        .filter_map(|row| row.acceptance_length.as_ref())
        .map(|summary| summary.mean)
        .collect();
    if let Some(summary) = Summary::of(accepted) {
        let _ = write!(text, " | acceptance length: {:.2}", summary.mean);
    }
    for route in &document.routes {
        let _ = write!(text, " | {}: {}", route.name, route.server);
    }
    text.push('\n');
    text
}

fn posted(row: &Row, model: &str, prefill: bool, streams: bool, several: bool) -> String {
    let shape = &row.shape;
    let mut name = if prefill {
        format!("pp{}", shape.prompt)
    } else {
        format!("tg{}", shape.generate)
    };
    if shape.depth > 0 {
        let _ = write!(name, " @ d{}", shape.depth);
    }
    if streams {
        let _ = write!(name, " (c{})", shape.concurrency);
    }
    if shape.thinking {
        name.push_str(" think");
    }
    if several {
        let _ = write!(name, " {}", row.route);
    }
    let cell = |summary: &Option<Summary>| shown(summary.as_ref(), 2);
    let mut cells = vec![model.replace('|', "\\|"), name];
    let (total, each) = if prefill {
        (&row.prefill, &row.prefill_each)
    } else {
        (&row.decode, &row.decode_each)
    };
    cells.push(cell(total));
    if streams {
        cells.push(cell(each));
    }
    if prefill {
        cells.extend([
            String::new(),
            cell(&row.ttfr_ms),
            cell(&row.prefill_ms),
            cell(&row.ttft_ms),
        ]);
    } else {
        cells.extend([cell(&row.peak), String::new(), String::new(), String::new()]);
    }
    format!("| {} |", cells.join(" | "))
}

type Figure = fn(&Row) -> &Option<Summary>;

/// The summaries of a row by their column's name.
const COLUMNS: [(&str, Figure); 12] = [
    ("prefill_tps", |row| &row.prefill),
    ("prefill_each_tps", |row| &row.prefill_each),
    ("decode_tps", |row| &row.decode),
    ("decode_each_tps", |row| &row.decode_each),
    ("peak_tps", |row| &row.peak),
    ("output_tps", |row| &row.output),
    ("ttfr_ms", |row| &row.ttfr_ms),
    ("ttft_ms", |row| &row.ttft_ms),
    ("prefill_ms", |row| &row.prefill_ms),
    ("acceptance_length", |row| &row.acceptance_length),
    ("prompt_tokens", |row| &row.prompt_tokens),
    ("completion_tokens", |row| &row.completion_tokens),
];

/// One line a row, with mean and deviation of each figure.
pub(super) fn csv(document: &Document) -> String {
    let mut lines = csv::Writer::from_writer(Vec::new());
    let mut head: Vec<String> = [
        "test",
        "route",
        "prompt",
        "generate",
        "depth",
        "concurrency",
        "thinking",
    ]
    .map(str::to_owned)
    .to_vec();
    for (name, _) in COLUMNS {
        head.extend([format!("{name}_mean"), format!("{name}_std")]);
    }
    head.extend(
        [
            "ttft_p50_ms",
            "ttft_p90_ms",
            "ttft_p99_ms",
            "prefix_hit_rate",
            "runs",
            "spoiled",
            "error",
        ]
        .map(str::to_owned),
    );
    let mut write = |cells: &[String]| {
        lines
            .write_record(cells)
            .expect("every row has as many cells as the head");
    };
    write(&head);
    for row in &document.rows {
        let shape = &row.shape;
        let mut cells = vec![
            row.test.clone(),
            row.route.clone(),
            shape.prompt.to_string(),
            shape.generate.to_string(),
            shape.depth.to_string(),
            shape.concurrency.to_string(),
            shape.thinking.to_string(),
        ];
        let number = |value: Option<f64>| value.map_or_else(String::new, |v| format!("{v:.4}"));
        for (_, read) in COLUMNS {
            let summary = read(row).as_ref();
            cells.push(number(summary.map(|summary| summary.mean)));
            cells.push(number(summary.map(|summary| summary.std)));
        }
        let percentiles = row.ttft_percentiles;
        cells.extend([
            number(percentiles.map(|p| p.p50)),
            number(percentiles.map(|p| p.p90)),
            number(percentiles.map(|p| p.p99)),
            number(row.prefix_hit_rate),
            row.attempts.len().to_string(),
            row.spoiled.to_string(),
            row.error.clone().unwrap_or_default(),
        ]);
        write(&cells);
    }
    let bytes = lines.into_inner().expect("writing to memory does not fail");
    String::from_utf8(bytes).expect("every cell is text")
}
