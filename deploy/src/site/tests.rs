use super::example::text;
use super::*;

fn parse(text: &str) -> Result<Site, SiteError> {
    Site::parse("site.toml", text, &|path| {
        panic!("no recipe {path} to read")
    })
}

/// The faults of the example with one line put in the place of another.
fn faults(from: &str, to: &str) -> Vec<String> {
    let lws = from.starts_with("lws:");
    let from = from.trim_start_matches("lws:");
    let text = text(if lws { Shape::Lws } else { Shape::Deployments });
    assert!(text.contains(from), "the example has no {from}");
    let changed = text.replacen(from, to, 1);
    match parse(&changed) {
        Ok(_) => panic!("{to} is taken"),
        Err(SiteError::Faults(Faults(faults))) => faults
            .iter()
            .map(|fault| {
                let line = changed.lines().nth(fault.line - 1).unwrap();
                format!(
                    "{}: found {}, expected {}\n        at: {line}",
                    fault.key, fault.found, fault.expected
                )
            })
            .collect(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_init_writes_can_be_read() {
    for shape in [Shape::Deployments, Shape::Lws] {
        let site = parse(&text(shape)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(site.shape, shape);
        insta::assert_snapshot!(format!("init_{}", shape.word()), text(shape));
    }
}

#[test]
fn the_agents_side_is_told_where_and_what() {
    let site = parse(&text(Shape::Deployments)).unwrap();
    assert_eq!(
        site.endpoint(),
        Endpoint {
            url: "http://192.168.100.10:30400/v1".to_owned(),
            models: vec![
                "deepseek-v4-flash-cc".to_owned(),
                "deepseek-v4-flash".to_owned()
            ],
            window: 262_144,
            key_env: Some(KEY_ENV),
        }
    );
    let direct = text(Shape::Lws).replace("enabled = true", "enabled = false");
    let site = parse(&direct).unwrap();
    assert_eq!(site.endpoint().url, "http://192.168.65.10/v1");
    assert_eq!(site.endpoint().key_env, None);
}

#[test]
fn a_line_is_known_also_for_a_key_that_is_not_there() {
    let site = parse(&text(Shape::Deployments)).unwrap();
    assert_eq!(site.line("shape"), 4);
    assert_eq!(site.line("serve.kv_cache_dtype"), site.line("serve"));
    assert_eq!(site.line("nothing.like.it"), 1);
}

#[test]
fn a_recipe_of_ones_own_is_a_file() {
    let site = text(Shape::Deployments).replace("\"eugr-b12x\"", "\"mine.toml\"");
    let read = |path: &str| {
        assert_eq!(path, "mine.toml");
        Ok(crate::recipe::BUILT_IN[1]
            .1
            .replace("anemll-0.1.1\"\ntitle", "mine\"\ntitle"))
    };
    let site = Site::parse("site.toml", &site, &read).unwrap();
    assert_eq!(site.recipe.id, "mine");
    assert_eq!(site.serve.kv_cache_dtype, "nvfp4_ds_mla");
}

#[test]
fn no_toml_is_named_by_its_line() {
    let Err(SiteError::Faults(faults)) = parse("version = 1\nshape = \n") else {
        panic!("it is taken");
    };
    assert_eq!(faults.0[0].line, 2);
    assert_eq!(faults.0[0].found, "no TOML");
}

#[test]
fn all_faults_come_at_once_in_the_order_of_the_file() {
    let text = text(Shape::Deployments)
        .replace("192.168.100.11", "192.168.100")
        .replace("max_num_seqs = 8", "max_num_seqs = 0")
        .replace("namespace = \"vllm\"", "namespace = \"VLLM\"");
    let shown = parse(&text).unwrap_err().to_string();
    insta::assert_snapshot!(shown);
}

/// A line of the example, and a wrong one in its place.
const WRONG: &[(&str, &str)] = &[
    ("version = 1", "version = 2"),
    ("shape = \"deployments\"", "shape = \"pods\""),
    ("namespace = \"vllm\"", "namespace = \"-vllm\""),
    ("name = \"vllm-deepseek-v4-flash\"", "name = \"4-flash\""),
    ("recipe = \"eugr-b12x\"", "recipe = \"eugr\""),
    ("# context = \"…\"", "context = 7 #"),
    ("# kubernetes = \"1.36\"", "kubernetes = \"1.99\" #"),
    ("# context = \"…\"", "pod_security_label = \"yes\" #"),
    (
        "pull_policy = \"IfNotPresent\"",
        "pull_policy = \"Sometimes\"",
    ),
    ("prepull = true", "prepull = \"yes\""),
    (
        "# ref = \"docker.io/eugr/spark-vllm-b12x:nightly-20260928\"",
        "ref = \"docker.io/eugr/spark-vllm-b12x\"",
    ),
    ("path = \"/mnt/models/", "path = \"mnt/models/"),
    ("path = \"/mnt/models/", "path = \"/srv/"),
    (
        "served_name = \"deepseek-v4-flash\"",
        "served_name = \"deep seek\"",
    ),
    (
        "served_name = \"deepseek-v4-flash\"",
        "served_name = \"x\"\nrevision = \"main\"",
    ),
    ("host = \"nvidia-spark-1\"", "host = \"Nvidia_1\""),
    ("host = \"nvidia-spark-2\"", "host = \"nvidia-spark-1\""),
    (
        "fabric_ip = \"192.168.100.11\"",
        "fabric_ip = \"192.168.100.10\"",
    ),
    (
        "fabric_ip = \"192.168.100.11\"",
        "fabric_ip = \"127.0.0.1\"",
    ),
    (
        "fabric_if = \"enp1s0f1np1\"",
        "fabric_if = \"a-name-of-sixteen\"",
    ),
    ("hca = [\"rocep1s0f1:1\"]", "hca = [\"rocep1s0f1:x\"]"),
    ("hca = [\"rocep1s0f1:1\"]", "hca = []"),
    ("gid_index = \"auto\"", "gid_index = 256"),
    ("mem_gib = 119.7", "mem_gib = 8"),
    ("gid_index = \"auto\"", "control_ip = \"224.0.0.1\""),
    ("gid_index = \"auto\"", "control_if = \"e/0\""),
    (
        "served_name = \"deepseek-v4-flash\"",
        "served_name = \"x\"\nweights_gib = 0",
    ),
    ("max_num_seqs = 8", "prefix_caching = \"on\""),
    ("shm = \"16Gi\"", "host_ipc = 1"),
    ("shm = \"16Gi\"", "models_mount = \"models\""),
    (
        "cache_host_path = \"/mnt/models/.vllm-cache\"",
        "cache_host_path = \"/a b\"",
    ),
    ("merge_nics = false", "merge_nics = 0"),
    ("lws:lb_ip = \"192.168.65.10\"", "lb_annotation = \"\""),
    ("node_port = 30800", "address = 1"),
    ("node_port = 30400", "address = \"\""),
    ("enabled = true", "enabled = \"true\""),
    ("api_port = 8000", "api_port = 70000"),
    ("master_port = 29501", "master_port = 8000"),
    ("max_model_len = 262144", "max_model_len = 262100"),
    ("max_model_len = 262144", "max_model_len = 2097152"),
    ("max_num_seqs = 8", "max_num_seqs = \"8\""),
    (
        "max_num_batched_tokens = 8192",
        "max_num_batched_tokens = 8",
    ),
    (
        "gpu_memory_utilization = 0.85",
        "gpu_memory_utilization = 0.95",
    ),
    ("max_num_seqs = 8", "kv_cache_dtype = \"bf16\""),
    ("max_num_seqs = 8", "speculative_tokens = 17"),
    ("max_num_seqs = 8", "cudagraph_capture = 513"),
    ("max_num_seqs = 8", "async_scheduling = \"default\""),
    ("max_num_seqs = 8", "long_prefill_token_threshold = -1"),
    ("max_num_seqs = 8", "max_num_seq = 8"),
    ("[nccl]", "[serve.flags]\nport = 9000\n[nccl]"),
    ("[nccl]", "[serve.flags]\n\"--x\" = true\n[nccl]"),
    ("[nccl]", "[serve.flags]\nx = 1.5\n[nccl]"),
    ("[nccl]", "[serve.env]\nhf_token = \"1\"\n[nccl]"),
    ("[nccl]", "[serve.env]\nHF_TOKEN = \"hf_1\"\n[nccl]"),
    ("mtu = 9000", "mtu = 90000"),
    ("merge_nics = false", "debug = \"LOUD\""),
    (
        "models_host_path = \"/mnt/models\"",
        "models_host_path = \"/mnt/../models\"",
    ),
    ("shm = \"16Gi\"", "shm = \"16GB\""),
    ("kind = \"nodeport\"", "kind = \"ingress\""),
    ("node_port = 30800", "node_port = 8000"),
    ("lws:lb_ip = \"192.168.65.10\"", "lb_ip = \"192.168.65.16\""),
    ("lws:lb_ip = \"192.168.65.10\"", "address = \"x\""),
    (
        "lws:lb_pool = \"192.168.65.0/28\"",
        "lb_pool = \"192.168.65.0\"",
    ),
    (
        "image = \"ghcr.io/berriai/litellm:v1.108.7\"",
        "image = \"ghcr.io/berriai/litellm\"",
    ),
    ("# node = \"…\"", "node = \"nvidia-spark-1\" #"),
    ("node_port = 30400", "node_port = 30800"),
    (
        "key_secret = \"litellm-master-key\"",
        "key_secret = \"LITELLM_KEY\"",
    ),
    ("routes = [\"bridge\", \"native\"]", "routes = [\"chat\"]"),
    ("routes = [\"bridge\", \"native\"]", "routes = []"),
    ("[nccl]", "[probes]\nstartup_minutes = 0\n[nccl]"),
    ("[nodes.worker]", "[nodes.wrker]"),
    ("[storage]", "[storag]"),
    ("[model]\n", "[[model]]\n"),
];

/// What is said of every line of [`WRONG`].
fn said_of_all() -> String {
    WRONG
        .iter()
        .map(|(from, to)| [*to, "\n    ", &faults(from, to).join("\n    "), "\n\n"].concat())
        .collect()
}

/// Every key that a site may have, by its table: what is said of a key that none has names them.
#[test]
fn no_key_is_without_a_wrong_value() {
    let said = said_of_all();
    for (table, line) in [
        ("", "version = 1"),
        ("cluster.", "[cluster]"),
        ("image.", "[image]"),
        ("model.", "[model]"),
        ("nodes.head.", "[nodes.head]"),
        ("serve.", "[serve]"),
        ("nccl.", "[nccl]"),
        ("storage.", "[storage]"),
        ("expose.", "[expose]"),
        ("router.", "[router]"),
        ("probes.", "[probes]"),
    ] {
        let text = text(Shape::Deployments) + "\n[probes]\nstartup_minutes = 60\n";
        let strange = text.replacen(line, &format!("{line}\nzzz = 1"), 1);
        let Err(SiteError::Faults(Faults(faults))) = parse(&strange) else {
            panic!("{line} takes zzz")
        };
        let known = faults[0].expected.strip_prefix("one of ").unwrap();
        for key in known.split(", ") {
            let is_table = text.contains(&format!("[{table}{key}")) || key.ends_with("flags");
            let node =
                table == "nodes.head." && said.contains(&format!("    nodes.worker.{key}: "));
            assert!(
                is_table || node || key == "env" || said.contains(&format!("    {table}{key}: ")),
                "{table}{key} is tried with no wrong value"
            );
        }
    }
}

/// Each rule of the schema: a wrong value, and what is said of it.
#[test]
fn a_wrong_value_is_named_with_what_was_expected() {
    insta::assert_snapshot!(said_of_all());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_is_too_odd_to_be_judged(text in "\\PC{0,200}", at in 0usize..2000, cut in 0usize..40) {
        let _ = parse(&text);
        let mut whole = self::text(Shape::Deployments);
        let boundary = |index: usize, whole: &str| {
            (0..=index.min(whole.len())).rev().find(|i| whole.is_char_boundary(*i)).unwrap_or(0)
        };
        let (from, to) = (boundary(at, &whole), boundary(at + cut, &whole));
        whole.replace_range(from..to, &text);
        if !whole.contains(".toml\"") {
            let _ = parse(&whole);
        }
    }
}
