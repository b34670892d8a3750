//! Server-sent events: writing them.

/// One event as it goes over the wire. Data of several lines gets a `data:` field for each.
#[must_use]
pub fn write(event: Option<&str>, data: &str) -> String {
    let mut out = String::with_capacity(data.len() + 64);
    if let Some(event) = event {
        out.push_str("event: ");
        out.push_str(event);
        out.push('\n');
    }
    for line in data.split('\n') {
        out.push_str("data: ");
        out.push_str(line);
        out.push('\n');
    }
    out.push('\n');
    out
}
