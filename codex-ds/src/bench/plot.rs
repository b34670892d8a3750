//! `--svg FILE`: throughput over concurrency.

use std::fmt::Write as _;

use super::document::{Document, Row};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 56.0;

/// Colours that are told apart by most people on white and on black (Okabe and Ito).
const COLOURS: [&str; 4] = ["#0072b2", "#56b4e9", "#d55e00", "#e69f00"];

struct Line {
    name: String,
    colour: &'static str,
    dashed: bool,
    points: Vec<(f64, f64, f64)>,
}

/// The plot; `None` when no shape was measured at two concurrencies.
pub(super) fn svg(document: &Document) -> Option<String> {
    let lines = lines(document);
    let points = || lines.iter().flat_map(|line| &line.points);
    let most_streams = points().map(|p| p.0).fold(0.0, f64::max);
    let most = points().map(|p| p.1 + p.2).fold(0.0, f64::max);
    if most_streams < 2.0 || most <= 0.0 {
        return None;
    }
    let step = nice(most / 5.0);
    let top = (most / step).ceil() * step;
    // Streams mostly double, so their axis is one of doublings.
    let x = |streams: f64| LEFT + (WIDTH - LEFT - RIGHT) * streams.log2() / most_streams.log2();
    let y = |rate: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * rate / top;

    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#333\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
    );
    let model = document.routes.first().map_or("", |route| &route.model);
    let _ = writeln!(
        text,
        "<text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}: decode over concurrent streams</text>",
        escaped(model)
    );
    let mut rate = 0.0;
    while rate <= top + step / 2.0 {
        let at = y(rate);
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{rate}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0
        );
        rate += step;
    }
    let mut streams: Vec<f64> = points().map(|p| p.0).collect();
    streams.sort_by(f64::total_cmp);
    streams.dedup();
    for value in streams {
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{value}</text>",
            x(value),
            HEIGHT - BOTTOM + 20.0
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">streams</text>\n\
         <text x=\"16\" y=\"{:.1}\" transform=\"rotate(-90 16 {:.1})\" text-anchor=\"middle\">tokens/s</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 14.0,
        HEIGHT / 2.0,
        HEIGHT / 2.0
    );
    let mut legend = LEFT;
    for line in &lines {
        draw(&mut text, line, &x, &y);
        let _ = writeln!(
            text,
            "<rect x=\"{legend:.1}\" y=\"34\" width=\"12\" height=\"4\" fill=\"{}\"/>\
             <text x=\"{:.1}\" y=\"40\">{}</text>",
            line.colour,
            legend + 18.0,
            escaped(&line.name)
        );
        legend += 150.0;
    }
    text.push_str("</svg>\n");
    Some(text)
}

fn draw(text: &mut String, line: &Line, x: &impl Fn(f64) -> f64, y: &impl Fn(f64) -> f64) {
    let colour = line.colour;
    let path: Vec<String> = line
        .points
        .iter()
        .map(|(streams, rate, _)| format!("{:.1},{:.1}", x(*streams), y(*rate)))
        .collect();
    let dash = if line.dashed {
        " stroke-dasharray=\"6 4\""
    } else {
        ""
    };
    let _ = writeln!(
        text,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>",
        path.join(" ")
    );
    for (streams, rate, deviation) in &line.points {
        let at = x(*streams);
        let _ = writeln!(
            text,
            "<line x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>\
             <circle cx=\"{at:.1}\" cy=\"{:.1}\" r=\"3.5\" fill=\"{colour}\"><title>{} at {streams} streams: {rate:.1} tokens/s</title></circle>",
            y(rate - deviation),
            y(rate + deviation),
            y(*rate),
            escaped(&line.name)
        );
    }
}

fn lines(document: &Document) -> Vec<Line> {
    let mut colours = COLOURS.iter();
    let mut lines = Vec::new();
    for route in &document.routes {
        let base = document.rows.iter().find(|row| row.route == route.name);
        let Some(base) = base else { continue };
        let mut rows: Vec<&Row> = document
            .rows
            .iter()
            .filter(|row| {
                let shape = super::shape::Shape {
                    concurrency: base.shape.concurrency,
                    ..row.shape
                };
                row.route == route.name && shape == base.shape
            })
            .collect();
        rows.sort_by_key(|row| row.shape.concurrency);
        for all in [true, false] {
            let (what, dashed) = if all {
                ("all streams", false)
            } else {
                ("a stream", true)
            };
            let points = rows.iter().filter_map(|row| {
                let summary = if all { &row.decode } else { &row.decode_each };
                let summary = summary.as_ref()?;
                #[expect(clippy::cast_precision_loss, reason = "nobody opens 2^52 streams")]
                Some((row.shape.concurrency as f64, summary.mean, summary.std))
            });
            lines.push(Line {
                name: if document.routes.len() > 1 {
                    format!("{}, {what}", route.name)
                } else {
                    what.to_owned()
                },
                colour: colours.next().copied().unwrap_or("#333"),
                dashed,
                points: points.collect(),
            });
        }
    }
    lines
}

/// The next of 1, 2, 5, 10, … that is no smaller.
fn nice(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * unit)
        .find(|step| *step >= value)
        .unwrap_or(10.0 * unit)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
