//! The first `site.toml`, with a comment wherever a value has to be looked up.

use super::Shape;
use crate::names::KubernetesVersion;
use crate::recipe::Recipe;

/// What is known of a site before its file exists; the rest is the recipe's or a placeholder that
/// the comments say how to replace.
#[derive(Clone, Debug)]
pub struct Answers {
    /// The form in the cluster.
    pub shape: Shape,
    /// The recipe's id or path.
    pub recipe: String,
    /// The namespace.
    pub namespace: String,
    /// The context of `kubectl`; `None` leaves it to `kubectl`.
    pub context: Option<String>,
    /// The version of the cluster, where it was asked.
    pub kubernetes: Option<KubernetesVersion>,
    /// The node with the API.
    pub head: NodeAnswers,
    /// The other node.
    pub worker: NodeAnswers,
    /// The node of the router; `None` is any but the two.
    pub router_node: Option<String>,
}

/// What is known of one node.
#[derive(Clone, Debug)]
pub struct NodeAnswers {
    /// Its name in the cluster.
    pub host: String,
    /// Its address on the cable.
    pub fabric_ip: String,
    /// The address of the rendezvous, where it is another.
    pub control_ip: Option<String>,
    /// `MemTotal`, GiB, where it was asked.
    pub mem_gib: Option<f64>,
}

impl Answers {
    /// Answers that a reader has to look over: the names and addresses of the published stack.
    #[must_use]
    pub fn example(shape: Shape) -> Self {
        let node = |host: &str, fabric_ip: &str, control_ip: Option<&str>| NodeAnswers {
            host: host.to_owned(),
            fabric_ip: fabric_ip.to_owned(),
            control_ip: control_ip.map(str::to_owned),
            mem_gib: None,
        };
        match shape {
            Shape::Deployments => Self {
                shape,
                recipe: "eugr-b12x".to_owned(),
                namespace: "vllm".to_owned(),
                context: None,
                kubernetes: None,
                head: node("nvidia-spark-1", "192.168.100.10", None),
                worker: node("nvidia-spark-2", "192.168.100.11", None),
                router_node: None,
            },
            Shape::Lws => Self {
                shape,
                recipe: "anemll-0.1.1".to_owned(),
                namespace: "vllm".to_owned(),
                context: None,
                kubernetes: None,
                head: node("spark-101", "10.10.10.1", Some("192.168.100.101")),
                worker: node("spark-102", "10.10.10.2", Some("192.168.100.102")),
                router_node: None,
            },
        }
    }
}

/// The text of a first `site.toml`. What is not in `answers` is as the published stack of the shape
/// has it.
#[must_use]
pub fn template(answers: &Answers, recipe: &Recipe) -> String {
    let shape = answers.shape;
    let lws = shape == Shape::Lws;
    let serve = &recipe.serve;
    let quoted = |text: &str| toml_edit::Value::from(text).to_string().trim().to_owned();
    let context = answers.context.as_deref().map_or_else(
        || "# context = \"…\"            # default: kubectl's current one".to_owned(),
        |context| format!("context = {}", quoted(context)),
    );
    let kubernetes = answers.kubernetes.map_or_else(
        || "# kubernetes = \"1.36\"      # what `check` holds manifests against; default: the newest".to_owned(),
        |version| format!("kubernetes = \"{version}\""),
    );
    let router_node = answers.router_node.as_deref().map_or_else(
        || "# node = \"…\"               # default: any but the two above".to_owned(),
        |node| format!("node = {}", quoted(node)),
    );
    let model_path = if lws {
        "/cache/huggingface/hub/models--deepseek-ai--DeepSeek-V4-Flash-DSpark/snapshots/CHANGE-ME"
            .to_owned()
    } else {
        format!(
            "/mnt/models/{}",
            recipe.repository.rsplit('/').next().unwrap_or_default()
        )
    };
    let [storage, nccl, expose] = tables(lws);
    format!(
        r#"# The two-node serving stack. `codex-ds deploy check` reads this file and says what is wrong;
# `codex-ds deploy fit` says what the memory holds.
version = 1
shape = "{shape}"{shape_note}
namespace = {namespace}
name = "{name}"
recipe = {recipe}         # or "my-recipe.toml", beside this file

[cluster]
{context}
{kubernetes}

[image]
# ref = "{image}"   # default: the recipe's
pull_policy = "IfNotPresent"
prepull = true              # a DaemonSet pulls the image before the first start needs it

[model]
path = "{model_path}"
served_name = "deepseek-v4-flash"
# revision = "…"            # a commit of its repository: `codex-ds deploy render --staging` needs it

# Names as `kubectl get nodes` has them. The fabric is the cable between the two nodes; control is
# where the ranks meet, by default the same.
{head}
{worker}
[serve]
api_port = {api_port}
master_port = {master_port}
max_model_len = {max_model_len}
max_num_seqs = {max_num_seqs}
max_num_batched_tokens = {max_num_batched_tokens}
gpu_memory_utilization = {util}   # a ceiling: the system shares this memory

[nccl]
{nccl}

[storage]
{storage}

[expose]
{expose}

[router]
enabled = true
image = "ghcr.io/berriai/litellm:v1.108.7"
{router_node}
node_port = 30400
key_secret = "litellm-master-key"   # made by hand, see `codex-ds deploy render`
routes = ["bridge", "native"]
"#,
        shape = shape.word(),
        shape_note = if lws {
            "               # a LeaderWorkerSet; \"deployments\" is two Deployments"
        } else {
            "       # two Deployments; \"lws\" is a LeaderWorkerSet"
        },
        namespace = quoted(&answers.namespace),
        name = if lws {
            "dsv4-flash-tp2"
        } else {
            "vllm-deepseek-v4-flash"
        },
        recipe = quoted(&answers.recipe),
        image = recipe.image,
        head = node("head", &answers.head, lws),
        worker = node("worker", &answers.worker, lws),
        api_port = serve.api_port,
        master_port = serve.master_port,
        max_model_len = serve.max_model_len,
        max_num_seqs = serve.max_num_seqs,
        max_num_batched_tokens = serve.max_num_batched_tokens,
        util = serve.gpu_memory_utilization,
    )
}

/// `[storage]`, `[nccl]` and `[expose]` as the published stack of the shape has them.
fn tables(lws: bool) -> [&'static str; 3] {
    let storage = if lws {
        "models_host_path = \"/root/.cache/huggingface\"\n\
         models_mount = \"/cache/huggingface\"   # where the container sees it\n\
         cache_host_path = \"/var/lib/vllm-cache\"  # compiled kernels: a start without them is slow\n\
         shm = \"64Gi\"\n\
         host_ipc = true"
    } else {
        "models_host_path = \"/mnt/models\"     # the same on both nodes\n\
         cache_host_path = \"/mnt/models/.vllm-cache\"  # compiled kernels: a start without them is slow\n\
         shm = \"16Gi\""
    };
    let nccl = if lws {
        "mtu = 9000\nmerge_nics = true           # two devices, one path\n\n\
         [nccl.env]\nNCCL_NET = \"IB\"\nNCCL_IB_ADDR_FAMILY = \"AF_INET\"\nNCCL_CROSS_NIC = \"1\"\n\
         NCCL_IGNORE_CPU_AFFINITY = \"1\"\nNCCL_CUMEM_ENABLE = \"0\"\nNCCL_NVLS_ENABLE = \"0\""
    } else {
        "mtu = 9000                  # of the cable, on both nodes\nmerge_nics = false          # true with two devices"
    };
    let expose = if lws {
        "kind = \"cilium-lb\"\nlb_ip = \"192.168.65.10\"\nlb_pool = \"192.168.65.0/28\"\n\
         # Cilium before 1.15 knows another name:\n# lb_annotation = \"io.cilium/lb-ipam-ips\""
    } else {
        "kind = \"nodeport\"           # or \"clusterip\", \"cilium-lb\" (with lb_ip and lb_pool)\nnode_port = 30800"
    };
    [storage, nccl, expose]
}

fn node(role: &str, node: &NodeAnswers, lws: bool) -> String {
    let mut text = format!(
        "[nodes.{role}]\nhost = \"{}\"\nfabric_ip = \"{}\"\nfabric_if = \"enp1s0f1np1\"\n",
        node.host, node.fabric_ip
    );
    if let Some(control) = &node.control_ip {
        text.push_str("control_ip = \"");
        text.push_str(control);
        text.push_str("\"\n");
    }
    if lws {
        text += "control_if = \"enP7s7\"\nhca = [\"rocep1s0f1\", \"roceP2p1s0f1\"]\n";
    } else {
        text += "hca = [\"rocep1s0f1:1\"]      # ls /sys/class/infiniband\n";
    }
    text += "gid_index = \"auto\"          # a number drifts after a reboot\n";
    text + &match node.mem_gib {
        Some(gib) => format!("mem_gib = {gib:.1}\n"),
        None => "mem_gib = 119.7             # MemTotal of /proc/meminfo\n".to_owned(),
    }
}
