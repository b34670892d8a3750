use std::cmp::Ordering::{Greater, Less};

use super::*;
use crate::site::Shape;
use crate::site::example::site;

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} is not {expected}"
    );
}

/// The published stack on EKS: 1,790,385 tokens, "3.41x" of 524,288.
#[test]
fn the_published_pool_of_the_lws_stack_is_met_to_the_token() {
    let site = site(Shape::Lws, &[]);
    let inputs = Inputs::new(&site, None);
    let pool = inputs.pool_of(17_293);
    assert_eq!(pool.blocks_per_request, 5064);
    assert_eq!(pool.tokens, 1_790_385);
    near(pool.concurrency, 3.415, 0.001);
    near(number(17_293 * inputs.block_bytes()) / GIB, 17.16, 0.01);

    let fit = inputs.fit();
    assert!(fit.tokens.contains(&1_790_385), "{fit:?}");
    assert!(fit.concurrency.contains(&3.415), "{fit:?}");
    assert_eq!(fit.verdict, Verdict::Fits);
}

/// The published stack on RKE2: 470,000 to 478,000 tokens, about 1.8 requests of 262,144.
#[test]
fn the_published_pool_of_the_deployments_is_within_the_bounds() {
    let site = site(Shape::Deployments, &[]);
    let fit = Inputs::new(&site, None).fit();
    for tokens in [470_000, 478_000] {
        assert!(fit.tokens.contains(&tokens), "{fit:?}");
    }
    assert!(fit.concurrency.contains(&1.8), "{fit:?}");
    near(fit.budget_gib, 101.7, 0.05);
    near(fit.host_gib, 18.0, 0.05);

    // 12.6 GiB is what those tokens take, and what is left by an overhead of 8.3 GiB.
    let inputs = Inputs::new(&site, None);
    let pool = inputs.pool(bytes(12.6));
    assert!((470_000..=478_000).contains(&pool.tokens), "{pool:?}");
    near(pool.concurrency, 1.8, 0.03);
}

/// Pools that others published, with other lengths and batches.
#[test]
fn other_published_pools_are_met() {
    let site = site(
        Shape::Lws,
        &[("max_model_len = 524288", "max_model_len = 1048576")],
    );
    let mut inputs = Inputs::new(&site, None);
    // 20,000 blocks of 21,316,272,128 bytes, with one batch and with two under way.
    assert_eq!(inputs.pool(21_316_272_128).blocks, 20_000);
    assert_eq!(inputs.pool_of(20_000).tokens, 2_948_751);
    let constants = FitConstants {
        async_batches: 2,
        ..inputs.constants.clone()
    };
    inputs.constants = &constants;
    assert_eq!(inputs.pool_of(20_000).tokens, 2_075_155);
}

/// The same bytes without asynchronous scheduling hold about 824,000 tokens (3.1x).
#[test]
fn asynchronous_scheduling_costs_a_batch_of_states() {
    let site = site(
        Shape::Deployments,
        &[("max_num_seqs", "async_scheduling = false\nmax_num_seqs")],
    );
    let pool = Inputs::new(&site, None).pool(bytes(12.6));
    near(number(pool.tokens), 824_000.0, 3_000.0);
    near(pool.concurrency, 3.1, 0.05);
}

/// vLLM 0.33 lays the groups over one another: 13.0 GiB for the same pool.
#[test]
fn overlaid_groups_need_a_little_more_memory() {
    let site = site(Shape::Deployments, &[]);
    let mut inputs = Inputs::new(&site, None);
    let constants = FitConstants {
        packing: Packing::Overlay,
        ..inputs.constants.clone()
    };
    inputs.constants = &constants;
    let pool = inputs.pool(bytes(13.0));
    assert!((470_000..=478_000).contains(&pool.tokens), "{pool:?}");
}

#[test]
fn a_boot_log_takes_the_place_of_the_bounds() {
    let site = site(Shape::Lws, &[]);
    let log = "INFO [gpu_worker.py] Model loading took 80.80 GiB and 27.1 seconds\n\
               INFO [kv_cache_utils.py] GPU KV cache size: 1,790,385 tokens\n";
    let measured = Calibration::read(log).unwrap();
    let fit = Inputs::new(&site, Some(&measured)).fit();
    assert!(fit.calibrated);
    // Through floating point a block may be lost at the edge; never more.
    assert!(fit.tokens.end().abs_diff(1_790_385) <= 104, "{fit:?}");
    near(*fit.overhead_gib.start(), 3.8, 0.05);

    let metrics = "vllm:cache_config_info{block_size=\"256\",gpu_memory_utilization=\"0.85\",num_gpu_blocks=\"17293\"} 1.0\n";
    let by_metrics = Calibration::read(metrics).unwrap();
    let other = Inputs::new(&site, Some(&by_metrics)).fit();
    near(
        *other.overhead_gib.start(),
        *fit.overhead_gib.start(),
        0.001,
    );

    let only_memory = Calibration::read("Available KV cache memory: 12.6 GiB").unwrap();
    near(
        *Inputs::new(&site, Some(&only_memory)).fit().kv_gib.end(),
        12.6,
        0.001,
    );
    assert_eq!(Calibration::read("INFO: started\n"), None);
}

#[test]
fn what_does_not_fit_is_refused_with_what_does() {
    let site = site(
        Shape::Deployments,
        &[
            ("max_model_len = 262144", "max_model_len = 1048576"),
            (
                "max_num_batched_tokens = 8192",
                "max_num_batched_tokens = 32768",
            ),
        ],
    );
    let inputs = Inputs::new(&site, None);
    assert_eq!(inputs.fit().verdict, Verdict::Refused);
    let nearest = nearest(&inputs);
    assert!(!nearest.is_empty());
    for knob in &nearest {
        assert_eq!(knob.fit.verdict, Verdict::Fits, "{knob:?}");
    }
    // One block of 256 tokens more does not fit any more.
    let length = nearest
        .iter()
        .find(|knob| knob.key == "max_model_len")
        .unwrap();
    let mut longer = inputs.clone();
    longer.serve.max_model_len = length.to.parse::<u64>().unwrap() + 256;
    assert_ne!(longer.fit().verdict, Verdict::Fits);
    let said = knobs::refusal(&site, &inputs).unwrap();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn each_knob_moves_the_pool_the_way_it_should() {
    let site = site(Shape::Deployments, &[]);
    let inputs = Inputs::new(&site, None);
    let now = *inputs.fit().tokens.end();
    let moved: Vec<(&str, String, std::cmp::Ordering)> = knobs(&inputs)
        .into_iter()
        .map(|knob| (knob.key, knob.to, knob.fit.tokens.end().cmp(&now)))
        .collect();
    assert_eq!(
        moved,
        [
            ("gpu_memory_utilization", "0.84".to_owned(), Less),
            ("gpu_memory_utilization", "0.86".to_owned(), Greater),
            ("max_model_len", "131072".to_owned(), Less),
            ("max_model_len", "524288".to_owned(), Greater),
            ("max_num_batched_tokens", "4096".to_owned(), Greater),
            ("max_num_batched_tokens", "16384".to_owned(), Less),
            ("async_scheduling", "false".to_owned(), Greater),
        ]
    );
}

#[test]
fn a_configuration_that_fits_needs_no_other() {
    let site = site(Shape::Lws, &[]);
    let inputs = Inputs::new(&site, None);
    assert_eq!(nearest(&inputs), []);
    assert_eq!(knobs::refusal(&site, &inputs), None);
}

proptest::proptest! {
    #[test]
    fn more_memory_never_holds_fewer_tokens(gib in 0.0f64..40.0, more in 0.0f64..4.0) {
        static SITE: std::sync::LazyLock<Site> = std::sync::LazyLock::new(|| site(Shape::Lws, &[]));
        let inputs = Inputs::new(&SITE, None);
        assert!(inputs.pool(bytes(gib)).tokens <= inputs.pool(bytes(gib + more)).tokens);
    }
}
