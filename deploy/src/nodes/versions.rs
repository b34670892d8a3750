//! Kernels and drivers that others had trouble with on these machines.

/// What others had with this kernel.
#[must_use]
pub fn bad_kernel(kernel: &str) -> Option<&'static str> {
    (kernel == "7.0.0-1019-nvidia")
        .then_some("NCCL over RoCE fails with it: ibv_reg_mr_iova2 has no memory")
}

/// The newest driver that leaks memory, and decoded 3.5 times slower than its neighbours.
const LEAKS: &str = "580.159.03";

/// What others had with this NVIDIA driver.
#[must_use]
pub fn bad_driver(driver: &str) -> Option<&'static str> {
    let numbers = |version: &str| -> Option<Vec<u32>> {
        version.split('.').map(|part| part.parse().ok()).collect()
    };
    (numbers(driver)? <= numbers(LEAKS)?).then_some(
        "it leaks memory until NV_ERR_NO_MEMORY; 580.159.03 also decodes 3.5 times slower",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        for driver in ["580.159.03", "580.142", "575.57.08", "580.95.05"] {
            assert!(bad_driver(driver).is_some(), "{driver}");
        }
        for driver in ["580.173.02", "590.1", "1000.1", "", "unknown"] {
            assert_eq!(bad_driver(driver), None, "{driver}");
        }
        assert!(bad_kernel("7.0.0-1019-nvidia").is_some());
        assert_eq!(bad_kernel("6.17.0-1026-nvidia"), None);
    }
}
