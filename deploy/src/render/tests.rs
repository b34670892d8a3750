use super::*;
use crate::engine::Rank;
use crate::site::Shape;
use crate::site::example::site;

fn text(manifests: &[Manifest]) -> String {
    manifests
        .iter()
        .map(|manifest| format!("=== {}\n{}", manifest.file, manifest.yaml()))
        .collect::<Vec<_>>()
        .concat()
}

#[test]
fn two_deployments() {
    let site = site(Shape::Deployments, &[]);
    let manifests = manifests(&site);
    insta::assert_snapshot!(text(&manifests));
    assert_eq!(text(&manifests), text(&super::manifests(&site)));
}

#[test]
fn a_leader_worker_set() {
    insta::assert_snapshot!(text(&manifests(&site(Shape::Lws, &[]))));
}

#[test]
fn a_kustomization_names_every_file_in_order() {
    let manifests = manifests(&site(
        Shape::Deployments,
        &[("prepull = true", "prepull = false")],
    ));
    insta::assert_snapshot!(kustomization(&manifests).yaml());
}

#[test]
fn jobs_that_bring_the_model_need_a_revision() {
    assert!(staging::jobs(&site(Shape::Deployments, &[])).is_empty());
    let pinned = "served_name = \"deepseek-v4-flash\"\nrevision = \"0123456789012345678901234567890123456789\"";
    let site = site(
        Shape::Deployments,
        &[("served_name = \"deepseek-v4-flash\"", pinned)],
    );
    insta::assert_snapshot!(text(&staging::jobs(&site)[1..2]));
    let worker = &staging::jobs(&site)[2].object;
    assert_eq!(
        worker["spec"]["template"]["spec"]["nodeSelector"]["kubernetes.io/hostname"],
        "nvidia-spark-2"
    );
}

#[test]
fn lines_for_docker() {
    for shape in [Shape::Deployments, Shape::Lws] {
        let site = site(shape, &[]);
        let both = [Rank::Head, Rank::Worker].map(|rank| {
            format!(
                "=== {}\n{}=== run\n{}",
                docker::env_file_name(rank),
                docker::env_file(&site, rank),
                docker::run(&site, rank)
            )
        });
        insta::assert_snapshot!(format!("docker_{}", shape.word()), both.concat());
    }
}

/// What the ranks do not agree on is only where they are and what the API needs.
#[test]
fn the_ranks_differ_in_nothing_that_they_must_agree_on() {
    for shape in [Shape::Deployments, Shape::Lws] {
        let site = site(shape, &[]);
        let head = crate::engine::arguments(&site, Rank::Head);
        let worker = crate::engine::arguments(&site, Rank::Worker);
        let only = |a: &[String], b: &[String]| -> Vec<String> {
            a.iter().filter(|word| !b.contains(word)).cloned().collect()
        };
        assert_eq!(only(&worker, &head), ["--node-rank=1", "--headless"]);
        for word in only(&head, &worker) {
            let known = [
                "--node-rank=0",
                "--host",
                "--port",
                "--tool",
                "--reasoning",
                "--enable-auto",
                "--default-chat",
                "--enable-prompt-tokens",
            ];
            assert!(known.iter().any(|known| word.starts_with(known)), "{word}");
        }
    }
}

#[test]
fn a_site_overrules_its_recipe() {
    let site = site(
        Shape::Deployments,
        &[(
            "[nccl]\n",
            "[serve.flags]\nload-format = false\nmoe-backend = \"auto\"\nswap-space = 0\n\n\
             [serve.env]\nVLLM_USE_B12X_MOE = \"0\"\nVLLM_NEW = true\n\n[nccl]\n",
        )],
    );
    let words = crate::engine::arguments(&site, Rank::Worker).join(" ");
    assert!(!words.contains("load-format"), "{words}");
    assert!(
        words.contains("--moe-backend=auto --linear-backend=b12x"),
        "{words}"
    );
    assert!(words.contains("--swap-space=0"), "{words}");
    let env = docker::env_file(&site, Rank::Head);
    assert!(env.contains("VLLM_USE_B12X_MOE=0\n"), "{env}");
    assert!(env.contains("VLLM_NEW=1\n"), "{env}");
}

#[test]
fn a_service_without_an_outside_has_no_node_port() {
    let site = site(
        Shape::Deployments,
        &[("kind = \"nodeport\"", "kind = \"clusterip\"")],
    );
    let service = manifests(&site)
        .into_iter()
        .find(|m| m.file == "20-service.yaml")
        .unwrap();
    assert_eq!(service.object["spec"]["type"], "ClusterIP");
    assert_eq!(service.object["spec"]["ports"][0].get("nodePort"), None);
}

#[test]
fn a_gid_index_is_each_nodes_own() {
    let site = site(
        Shape::Deployments,
        &[
            ("gid_index = \"auto\"", "gid_index = 3"),
            ("gid_index = \"auto\"", "gid_index = 5"),
        ],
    );
    assert!(docker::env_file(&site, Rank::Head).contains("NCCL_IB_GID_INDEX=3\n"));
    assert!(docker::env_file(&site, Rank::Worker).contains("NCCL_IB_GID_INDEX=5\n"));
}
