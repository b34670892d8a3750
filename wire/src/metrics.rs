//! `/metrics` in Prometheus' text form, as vLLM writes it: read leniently, since a page has
//! thousands of lines of which a client wants ten.

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The series' name.
    pub name: String,
    /// Its labels, in the order of the page.
    pub labels: Vec<(String, String)>,
    /// The value; never NaN.
    pub value: f64,
}

/// A page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metrics {
    samples: Vec<Sample>,
}

impl Metrics {
    /// Reads a page. Lines that are no sample are left out.
    ///
    /// ```
    /// use codex_ds_wire::metrics::Metrics;
    ///
    /// let page = Metrics::parse("# TYPE a gauge\na{engine=\"0\"} 1.5\na{engine=\"1\"} 2\n");
    /// assert_eq!(page.sum(&["a"]), Some(3.5));
    /// assert_eq!(page.sum(&["b"]), None);
    /// ```
    #[must_use]
    pub fn parse(page: &str) -> Self {
        Self {
            samples: page.lines().filter_map(sample).collect(),
        }
    }

    /// All samples, in the order of the page.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The values of the first of `names` that the page has: a series was called otherwise in an
    /// older version.
    fn values(&self, names: &[&str]) -> Vec<f64> {
        names
            .iter()
            .map(|name| {
                let fitting = self.samples.iter().filter(|sample| sample.name == *name);
                fitting.map(|sample| sample.value).collect::<Vec<f64>>()
            })
            .find(|values| !values.is_empty())
            .unwrap_or_default()
    }

    /// The sum over engines and models of the first of `names` that the page has.
    #[must_use]
    pub fn sum(&self, names: &[&str]) -> Option<f64> {
        let values = self.values(names);
        (!values.is_empty()).then(|| values.iter().sum())
    }

    /// The highest value of the first of `names` that the page has.
    #[must_use]
    pub fn max(&self, names: &[&str]) -> Option<f64> {
        self.values(names).into_iter().reduce(f64::max)
    }
}

/// `name{label="value",…} number [timestamp]`.
fn sample(line: &str) -> Option<Sample> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let end = line.find(|c: char| c == '{' || c.is_whitespace())?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
    (!value.is_nan() && !name.is_empty()).then(|| Sample {
        name: name.to_owned(),
        labels,
        value,
    })
}

type Labels = Vec<(String, String)>;

/// The labels behind the opening brace, and what follows the closing one. A value may hold `\\`,
/// `\"` and `\n`.
fn labels(mut rest: &str) -> Option<(Labels, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, after) = rest.split_once('=')?;
        let quoted = after.trim_start().strip_prefix('"')?;
        let mut value = String::new();
        let mut chars = quoted.char_indices();
        let end = loop {
            match chars.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, other) => value.push(other),
            }
        };
        labels.push((name.trim().to_owned(), value));
        rest = &quoted[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_page_of_vllm_is_read() {
        let page = Metrics::parse(
            "# HELP vllm:num_requests_running Number of requests in model execution batches.\n\
             # TYPE vllm:num_requests_running gauge\n\
             vllm:num_requests_running{engine=\"0\",model_name=\"a \\\"b\\\", c}\"} 2.0\n\
             vllm:num_requests_running{engine=\"1\",model_name=\"x\"} 1.0 1700000000\n\
             process_start_time_seconds 1.79605471e+09\n\
             odd NaN\n\
             broken{engine=\"0\n\
             vllm:gpu_cache_usage_perc{engine=\"0\"} 0.25\n",
        );
        assert_eq!(page.samples().len(), 4);
        assert_eq!(page.samples()[0].labels[1].1, "a \"b\", c}");
        assert_eq!(page.sum(&["vllm:num_requests_running"]), Some(3.0));
        assert_eq!(page.max(&["vllm:num_requests_running"]), Some(2.0));
        assert_eq!(
            page.sum(&["process_start_time_seconds"]),
            Some(1_796_054_710.0)
        );
        let names = ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"];
        assert_eq!(page.max(&names), Some(0.25));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_fall(text in "(\\PC|[{}\"=,\\\\\n ])*") {
            let _ = Metrics::parse(&text);
        }

        #[test]
        fn what_was_written_is_read(value in any::<f64>(), label in "\\PC*") {
            prop_assume!(!value.is_nan());
            let written = label.replace('\\', "\\\\").replace('"', "\\\"");
            let page = Metrics::parse(&format!("a:b_total{{l=\"{written}\"}} {value:?}\n"));
            prop_assert_eq!(&page.samples()[0].labels[0].1, &label);
            prop_assert_eq!(page.sum(&["a:b_total"]), Some(value));
        }
    }
}
