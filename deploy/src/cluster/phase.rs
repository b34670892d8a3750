//! What the engine is doing, by its log.

/// A line of the log, and what it says that the engine does from there on.
const PHASES: &[(&str, &str)] = &[
    ("Initializing a V1 LLM engine", "starting"),
    ("Loading safetensors", "loading weights"),
    ("Starting to load model", "loading weights"),
    ("Loading drafter model", "loading the drafter"),
    ("Model loading took", "profiling memory"),
    ("Available KV cache memory", "allocating KV"),
    ("GPU KV cache size", "warming kernels"),
    ("Capturing CUDA graph", "capturing graphs"),
    ("Graph capturing finished", "finishing"),
    ("init engine", "starting the API"),
    ("Application startup complete", "serving"),
    ("Engine core initialization failed", "failed"),
];

/// What the engine is doing by the end of its log; `None` where the log does not tell.
#[must_use]
pub fn of_log(log: &str) -> Option<&'static str> {
    log.lines().rev().find_map(|line| {
        PHASES
            .iter()
            .find(|(words, _)| line.contains(words))
            .map(|(_, phase)| *phase)
    })
}

#[cfg(test)]
mod tests {
    use super::of_log;

    #[test]
    fn the_last_line_that_tells_counts() {
        let log =
            "INFO Initializing a V1 LLM engine (v0.33)\nINFO Starting to load model x\nINFO step\n";
        assert_eq!(of_log(log), Some("loading weights"));
        assert_eq!(
            of_log(&(log.to_owned() + "INFO Model loading took 80.8 GiB\n")),
            Some("profiling memory")
        );
        assert_eq!(of_log("hello\n"), None);
    }
}
