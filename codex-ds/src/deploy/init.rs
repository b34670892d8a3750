//! `codex-ds deploy init`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use codex_ds_deploy::cluster::collect::{self, GpuNode};
use codex_ds_deploy::kubectl::Program;
use codex_ds_deploy::recipe::{BUILT_IN, Recipe};
use codex_ds_deploy::site::{Answers, NodeAnswers, Shape, Site, template};

use crate::error::UserError;
use crate::file::{self, Mode};
use crate::{exit, ui};

/// Write a first site.toml
///
/// Asks on a terminal for what no option gives; elsewhere the values of the published stacks stand
/// in, and the file's comments say how to look up your own.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  codex-ds deploy init
  codex-ds deploy init --shape lws --head spark-101 --worker spark-102
  codex-ds deploy init --from-cluster
  codex-ds deploy init --stdout > site.toml

Exit codes: 0 written; 1 failed; 2 wrong usage, or the file exists")]
pub(super) struct Args {
    /// The form in the cluster
    #[arg(long, value_enum)]
    shape: Option<ShapeArg>,
    /// A built-in recipe, or the path of your own
    #[arg(long, value_name = "ID|FILE")]
    recipe: Option<String>,
    /// The namespace
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Read the version, and the two nodes' names, addresses and memory, from the cluster
    #[arg(long)]
    from_cluster: bool,
    /// The kubectl to use
    #[arg(long, value_name = "PROGRAM", default_value = "kubectl")]
    kubectl: PathBuf,
    /// The context of kubectl
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The node that gets the API, as `kubectl get nodes` names it
    #[arg(long, value_name = "NODE")]
    head: Option<String>,
    /// The other node
    #[arg(long, value_name = "NODE")]
    worker: Option<String>,
    /// The head's address on the cable
    #[arg(long, value_name = "IP")]
    head_ip: Option<String>,
    /// The worker's address on the cable
    #[arg(long, value_name = "IP")]
    worker_ip: Option<String>,
    /// The node that runs the router
    #[arg(long, value_name = "NODE")]
    router_node: Option<String>,
    /// The file to write
    #[arg(long, short, value_name = "FILE", default_value = "site.toml")]
    output: PathBuf,
    /// Print it instead of writing a file
    #[arg(long)]
    stdout: bool,
    /// Replace a file that exists
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ShapeArg {
    /// Two Deployments
    Deployments,
    /// A LeaderWorkerSet
    Lws,
}

pub(super) fn run(args: &Args) -> Result<u8> {
    if !args.stdout && !args.force && args.output.exists() {
        return Err(
            UserError::usage(format!("{} exists", args.output.display()))
                .hint("change it with an editor, or replace it with --force")
                .into(),
        );
    }
    let answers = answers(args)?;
    let recipe = recipe(&answers.recipe)?;
    let text = template(&answers, &recipe);
    // Read back before it is written: an answer may be a word that no site can have.
    let read = |path: &str| Ok(fs_err::read_to_string(path).unwrap_or_default());
    if let Err(error) = Site::parse(&args.output.display().to_string(), &text, &read) {
        return Err(UserError::usage(error.to_string())
            .hint("an option or answer has a value that a site cannot have")
            .into());
    }
    if args.stdout {
        ui::out(&text);
        return Ok(exit::OK);
    }
    file::write_atomic(&args.output, text.as_bytes(), Mode::Private)?;
    ui::out(&format!(
        "wrote {}\nnext: look over its values, then run `codex-ds deploy check`\n",
        args.output.display()
    ));
    Ok(exit::OK)
}

fn recipe(name: &str) -> Result<Recipe> {
    if let Some(recipe) = Recipe::built_in(name) {
        return Ok(recipe.clone());
    }
    if Path::new(name).extension().is_some_and(|end| end == "toml") {
        let text = fs_err::read_to_string(name)?;
        return Recipe::parse(name, &text)
            .map_err(|faults| UserError::usage(faults.to_string()).into());
    }
    let known: Vec<&str> = BUILT_IN.iter().map(|(id, _)| *id).collect();
    Err(UserError::usage(format!("there is no recipe {name}"))
        .hint(format!("choose {}, or FILE.toml", known.join(" or ")))
        .into())
}

fn answers(args: &Args) -> Result<Answers> {
    let shape = shape(args.shape)?;
    let mut example = Answers::example(shape);
    if args.from_cluster {
        let kubectl = Program {
            program: args.kubectl.clone(),
            context: args.context.clone(),
            limit: std::time::Duration::from_secs(30),
        };
        example.kubernetes = collect::kubernetes(&kubectl);
        let [head, worker] = from_cluster(args, &kubectl)?;
        fill(&mut example.head, head, shape);
        fill(&mut example.worker, worker, shape);
    }
    let ask = |given: &Option<String>, question: &str, default: &str| -> Result<String> {
        if let Some(given) = given {
            return Ok(given.clone());
        }
        if !ui::can_ask() {
            return Ok(default.to_owned());
        }
        Ok(ui::ask(&format!("{question} [{default}] "))?.unwrap_or_else(|| default.to_owned()))
    };
    let node = |name: &Option<String>,
                ip: &Option<String>,
                role: &str,
                example: NodeAnswers|
     -> Result<NodeAnswers> {
        Ok(NodeAnswers {
            host: ask(
                name,
                &format!("The {role}'s name in `kubectl get nodes`?"),
                &example.host,
            )?,
            fabric_ip: ask(
                ip,
                "Its address on the cable between the two?",
                &example.fabric_ip,
            )?,
            ..example
        })
    };
    Ok(Answers {
        recipe: ask(&args.recipe, "The recipe?", &example.recipe)?,
        namespace: ask(&args.namespace, "The namespace?", &example.namespace)?,
        context: args.context.clone(),
        kubernetes: example.kubernetes,
        head: node(&args.head, &args.head_ip, "head", example.head)?,
        worker: node(&args.worker, &args.worker_ip, "worker", example.worker)?,
        router_node: args.router_node.clone(),
        shape,
    })
}

fn shape(given: Option<ShapeArg>) -> Result<Shape> {
    if let Some(given) = given {
        return Ok(match given {
            ShapeArg::Deployments => Shape::Deployments,
            ShapeArg::Lws => Shape::Lws,
        });
    }
    if !ui::can_ask() {
        return Ok(Shape::Deployments);
    }
    let answer = ui::ask(
        "Two Deployments (any cluster), or a LeaderWorkerSet (its controller is installed)? \
         [deployments/lws, default deployments] ",
    )?;
    match answer.as_deref() {
        Some("lws") => Ok(Shape::Lws),
        Some("deployments") | None => Ok(Shape::Deployments),
        Some(other) => {
            Err(UserError::usage(format!("{other} is neither deployments nor lws")).into())
        }
    }
}

/// The two nodes of the cluster that have a GPU, or those of them that the options name.
fn from_cluster(args: &Args, kubectl: &Program) -> Result<[GpuNode; 2]> {
    let nodes = collect::gpu_nodes(kubectl).map_err(|error| super::cluster::failed(&error))?;
    let named = |name: &Option<String>| {
        name.as_ref()
            .and_then(|name| nodes.iter().find(|node| node.name == *name))
            .cloned()
    };
    if let (Some(head), Some(worker)) = (named(&args.head), named(&args.worker)) {
        return Ok([head, worker]);
    }
    let found: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    <[GpuNode; 2]>::try_from(nodes.clone()).map_err(|_| {
        UserError::new(format!(
            "{} nodes have nvidia.com/gpu to give: {}",
            found.len(),
            found.join(", ")
        ))
        .hint("name two of them with --head and --worker")
        .into()
    })
}

fn fill(answers: &mut NodeAnswers, node: GpuNode, shape: Shape) {
    answers.host = node.name;
    answers.mem_gib = node.memory_gib;
    // Where the ranks meet on the management network, that is the address that the cluster knows.
    if shape == Shape::Lws && !node.address.is_empty() {
        answers.control_ip = Some(node.address);
    }
}
