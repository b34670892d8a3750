//! Which model is measured, and through what.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use codex_ds_wire::Secret;
use reqwest::{Client, Url};

use crate::error::UserError;
use crate::home;
use crate::home::HomeArg;
use crate::setup::decide;
use crate::setup::endpoint::{self, Kind};
use crate::setup::profile::Side;
use crate::setup::receipt::{Choices, Receipt};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a stream may stay silent: a long prompt behind a full queue is silent for minutes.
const SILENCE: Duration = Duration::from_secs(900);

/// The options that say which model is meant.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct EndpointArgs {
    /// The LiteLLM or vLLM address [default: the profile's]
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// The model [default: the profile's, or what is served]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The address of the engine behind a router [default: the profile's]
    #[arg(long, value_name = "URL")]
    pub native_endpoint: Option<String>,
    /// The model's name there [default: the same without -cc]
    #[arg(long, value_name = "NAME")]
    pub native_model: Option<String>,
    /// The environment variable that holds the server's key [default: the profile's]
    #[arg(long, value_name = "NAME", conflicts_with = "api_key_file")]
    pub api_key_env: Option<String>,
    /// A file of mode 0600 that holds the server's key [default: the profile's]
    #[arg(long, value_name = "FILE")]
    pub api_key_file: Option<PathBuf>,
    /// The engine's counters [default: /metrics of the engine, else of the endpoint]
    #[arg(long, value_name = "URL")]
    pub metrics: Option<String>,
    /// The profile's folder.
    #[command(flatten)]
    pub home: HomeArg,
}

/// A model at an address.
#[derive(Clone, Debug)]
pub struct Target {
    /// The client to ask with.
    pub client: Client,
    /// The base URL, which ends in `/v1`.
    pub base: String,
    /// What answers there.
    pub kind: Kind,
    /// The served model.
    pub model: String,
    /// Its longest sequence, tokens, where the server tells.
    pub limit: Option<u64>,
    /// The key.
    pub key: Option<Secret>,
}

/// What [`EndpointArgs`] come to.
#[derive(Debug)]
pub struct Targets {
    /// What the profile's default route asks.
    pub main: Target,
    /// The engine itself: `main` where that is no router, and `None` where it is not known.
    pub native: Option<Target>,
    /// What the engine's counters may be read from, the likeliest first.
    pub metrics: Vec<Url>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Target {
    /// The server's root: the base URL without `/v1`.
    #[must_use]
    pub fn root(&self) -> &str {
        self.base.trim_end_matches("/v1")
    }

    fn new(side: &Side, key: Option<Secret>) -> Result<Self> {
        Ok(Self {
            client: client(&side.base_url)?,
            base: side.base_url.clone(),
            kind: side.kind.clone(),
            model: side.model.id.clone(),
            limit: side.model.max_model_len,
            key,
        })
    }
}

/// Settles endpoint, model and key, and asks the endpoint whether it serves that.
///
/// # Errors
/// When there is neither a profile nor `--endpoint`, or the endpoint does not answer as one.
pub async fn resolve(args: &EndpointArgs) -> Result<Targets> {
    let choices = choices(args)?;
    let decided = decide::decide(&choices, false).await?;
    let decisions = decided.decisions;
    let key = decide::secret(&decisions.key)?;
    let main = Target::new(&decisions.main, key.clone())?;
    let native = if decisions.native.base_url != decisions.main.base_url {
        Some(Target::new(&decisions.native, key)?)
    } else if matches!(main.kind, Kind::Vllm(_)) {
        Some(main.clone())
    } else {
        None
    };
    let metrics = match &args.metrics {
        Some(text) => vec![Url::parse(text).map_err(|error| {
            UserError::usage(format!(
                "--metrics {text}: {error}; expected http://HOST:PORT/metrics"
            ))
            .hint("for example --metrics http://spark-1:8000/metrics")
        })?],
        None => native
            .iter()
            .chain([&main])
            .filter_map(|target| Url::parse(&format!("{}/metrics", target.root())).ok())
            .collect(),
    };
    Ok(Targets {
        main,
        native,
        metrics,
        notes: decided.notes,
    })
}

/// The profile's choices under the flags. Another endpoint is another server: then nothing of the
/// profile's holds.
fn choices(args: &EndpointArgs) -> Result<Choices> {
    let home = home::wanted(args.home.home.as_deref())?;
    let receipts = Receipt::load(&home)?;
    let stored = receipts.latest().map(|receipt| receipt.choices.clone());
    let mut choices = match (&args.endpoint, stored) {
        (None, None) => {
            return Err(UserError::not_ready(format!(
                "no endpoint: there is no profile in {}",
                home.display()
            ))
            .hint("name one: --endpoint http://HOST:PORT/v1")
            .hint("or write a profile first: codex-ds setup --endpoint URL")
            .into());
        }
        (None, Some(stored)) => stored,
        (Some(endpoint), Some(stored)) if same(endpoint, stored.endpoint.as_deref()) => stored,
        (Some(_), _) => Choices::default(),
    };
    // The window is Codex's; a measurement has lengths of its own.
    choices.context = None;
    for (flag, choice) in [
        (&args.endpoint, &mut choices.endpoint),
        (&args.model, &mut choices.model),
        (&args.native_endpoint, &mut choices.native_endpoint),
        (&args.native_model, &mut choices.native_model),
    ] {
        if flag.is_some() {
            choice.clone_from(flag);
        }
    }
    if args.api_key_env.is_some() || args.api_key_file.is_some() {
        choices.api_key_env.clone_from(&args.api_key_env);
        choices.api_key_file.clone_from(&args.api_key_file);
    }
    Ok(choices)
}

fn same(given: &str, stored: Option<&str>) -> bool {
    let url = |text: &str| endpoint::base_url("--endpoint", text).ok();
    stored.is_some_and(|stored| url(given).is_some() && url(given) == url(stored))
}

/// A client for the server at `base`.
///
/// # Errors
/// When there is no TLS.
pub fn client(base: &str) -> Result<Client> {
    // A second installation in one process is refused, and the first one serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("codex-ds/", env!("CARGO_PKG_VERSION")));
    if base.starts_with("http://") {
        // No certificate is looked at, so a machine without any is no reason to fail.
        builder = builder.tls_certs_only([]);
    }
    builder.build().context("cannot set up a client")
}
