//! The same stack for people without Kubernetes: one environment file and one `docker run` a node.

use super::engine_pods::cache_path;
use crate::engine::{self, Rank};
use crate::site::Site;

/// The environment file of a rank, for `docker run --env-file`.
#[must_use]
pub fn env_file(site: &Site, rank: Rank) -> String {
    engine::environment(site, rank)
        .into_iter()
        .map(|(name, value)| name + "=" + &value + "\n")
        .collect()
}

/// The name of that file.
#[must_use]
pub fn env_file_name(rank: Rank) -> String {
    format!("{}.env", rank.word())
}

/// The command for a rank's node, on one line for each option; it needs [`env_file`] beside it.
#[must_use]
pub fn run(site: &Site, rank: Rank) -> String {
    let mount = |from: &str, to: &str, mode: &str| format!("--volume={from}:{to}{mode}");
    // Docker has no node to place it on and no probes; and after a reboot the ranks must not come
    // back each for itself, so nothing restarts them.
    let mut words = vec![
        "docker run --detach".to_owned(),
        format!("--name={}-{}", site.name, rank.word()),
        "--restart=no --gpus=all --privileged --cap-add=IPC_LOCK --ulimit=memlock=-1".to_owned(),
        "--network=host --device=/dev/infiniband".to_owned(),
        if site.storage.host_ipc {
            "--ipc=host".to_owned()
        } else {
            format!(
                "--shm-size={}",
                site.storage
                    .shm
                    .as_str()
                    .trim_end_matches('i')
                    .to_lowercase()
            )
        },
        format!("--env-file={}", env_file_name(rank)),
        mount(
            site.storage.models_host_path.as_str(),
            site.storage.models_mount.as_str(),
            ":ro",
        ),
    ];
    words.extend(
        site.recipe
            .caches
            .iter()
            .map(|cache| mount(&cache_path(site), cache.as_str(), "")),
    );
    let mut arguments = engine::arguments(site, rank);
    let entry = match rank {
        Rank::Head => arguments.remove(0),
        Rank::Worker => {
            arguments.splice(
                0..0,
                [
                    "-c".to_owned(),
                    engine::wait_for_head(site),
                    "bash".to_owned(),
                ],
            );
            "/bin/bash".to_owned()
        }
    };
    words.push(format!("--entrypoint={entry}"));
    words.push(site.image.to_string());
    words.extend(
        arguments
            .iter()
            .map(|word| shell_words::quote(word).into_owned()),
    );
    words.join(" \\\n  ") + "\n"
}
