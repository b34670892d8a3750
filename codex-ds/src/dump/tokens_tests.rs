use codex_ds_wire::body::Body;
use codex_ds_wire::standin::{Config, Script, StandIn};

use super::*;
use crate::dump::store::{Header, Request};

const MAIN: Option<&str> = Some("http://router:4000/");
const NATIVE: Option<&str> = Some("http://vllm:8000/");
const THEIRS: Option<&str> = Some("https://elsewhere.example/llm");

const BODY: &str = r#"{"model":"m","instructions":"12345678","input":[{"role":"user","content":"123456789"},{"role":"user","content":"123456789"}]}"#;

async fn count(config: Config, patience: Duration) -> Result<Vec<u64>, String> {
    let server = StandIn::start(config, Script::default()).expect("a server");
    let root = Url::parse(&server.root_url()).expect("a URL");
    let client = upstream::Upstream::new(&root, None).expect("a client");
    let counter = Counter::new(
        client.client().clone(),
        &root,
        "deepseek-v4-flash",
        patience,
    );
    counter.count(&Breakdown::of(&Body::read(BODY)), BODY).await
}

#[tokio::test]
async fn a_server_that_counts_is_believed_and_another_one_gives_the_reason() {
    let long = Duration::from_secs(60);
    // The stand-in's token is four bytes; parameters and overhead are no prompt.
    let counted = count(Config::default(), long).await.expect("counts");
    assert_eq!(counted, [0, 2, 3, 3, 0]);
    let why = count(Config::router(), long).await.expect_err("a router");
    assert!(why.contains("/tokenize: ") && why.contains("404"), "{why}");
    let why = count(Config::default(), Duration::ZERO).await;
    assert!(why.expect_err("no time").contains("in time"));
}

#[test]
fn only_the_profiles_own_servers_are_asked_unasked() {
    let url = |text: &str| Url::parse(text).expect("a URL");
    let session = |upstream: Option<&str>, path: &str| Session {
        path: "s.jsonl".into(),
        header: Header {
            schema_version: 1,
            started_ms: 0,
            upstream: upstream.map(str::to_owned),
            codex_args: Vec::new(),
            redacted: true,
        },
        exchanges: vec![Exchange {
            request: Request {
                path: path.to_owned(),
                ..Request::unread(1)
            },
            response: None,
            events: Vec::new(),
            end: None,
            counters: None,
        }],
        counters: None,
        skipped: 0,
    };
    let profile = Profile {
        base_url: Some(url("http://router:4000/v1")),
        native_url: Some(url("http://vllm:8000/v1")),
        keys: Vec::new(),
    };
    for (upstream, path, ours, anyone) in [
        (MAIN, "/v1/responses", MAIN, MAIN),
        (MAIN, "/native/v1/responses", NATIVE, NATIVE),
        (NATIVE, "/v1/responses", NATIVE, NATIVE),
        (THEIRS, "/v1/responses", None, THEIRS),
        (None, "/v1/responses", None, MAIN),
        (Some("no URL"), "/v1/responses", None, MAIN),
    ] {
        let session = session(upstream, path);
        let whom = |ask: Ask, profile: &Profile| {
            ask.whom(&session, &session.exchanges[0], profile)
                .map(|url| url.to_string())
        };
        assert_eq!(whom(Ask::Ours, &profile).as_deref(), ours, "{upstream:?}");
        assert_eq!(
            whom(Ask::Anyone, &profile).as_deref(),
            anyone,
            "{upstream:?}"
        );
        assert_eq!(whom(Ask::Nobody, &profile), None);
        assert_eq!(whom(Ask::Ours, &Profile::default()), None);
    }
}
