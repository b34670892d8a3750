# `make demo` and `make test` are all that a first visit needs; `make help` lists the rest.

# With a HOME other than the one that Rust was installed in, rustup's cargo has to be told where its
# toolchains are.
cargo := $(shell command -v cargo)
ifneq ($(filter %/.cargo/bin/cargo,$(cargo)),)
ifeq ($(wildcard $(HOME)/.rustup),)
export RUSTUP_HOME ?= $(patsubst %/.cargo/bin/cargo,%/.rustup,$(cargo))
endif
endif

.PHONY: help demo test soak test-page test-vllm test-benchy test-apiserver peers peers-vllm peers-guard bench-peers install dist check check-tests

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r target what; do \
		printf '  make %-12s %s\n' "$$target" "$$what"; done

demo: check ## one guarded turn of the real Codex against a built-in endpoint, in a temporary home
	cargo build --package codex-ds
	@cargo run --quiet --package codex-ds --bin codex-ds -- demo

test: check-tests peers ## everything that has to hold before a commit
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo build --workspace
	cargo test --workspace
	@if cargo deny --version >/dev/null 2>&1; then \
		echo "cargo deny check"; cargo deny check; \
	else \
		echo "cargo-deny is not installed: the check of licences and advisories is skipped"; \
	fi

soak: check peers ## ten thousand calls of the guard and requests through the dump, with faults
	cargo build --workspace
	cargo test --package codex-ds-tests --test soak -- --ignored

test-page: check ## the dump's page in a real Chromium (CHROMIUM names it, else the one on PATH)
	cargo build --workspace
	cargo test --package codex-ds-tests --test dump_page -- --ignored

test-benchy: check ## the bench beside llama-benchy (LLAMA_BENCHY names it, else the one on PATH)
	cargo build --workspace
	cargo test --package codex-ds-tests --test bench -- --ignored --nocapture

test-vllm: check peers peers-vllm ## the tests against a real vLLM on CPU (4 GB of memory, Linux)
	cargo build --workspace
	cargo test --package codex-ds-tests --test vllm -- --ignored --nocapture

test-apiserver: check-tests ## the tests of the serving stack against a real kube-apiserver (builds it once, Debian 12)
	tests/peers/apiserver/fetch.sh
	cargo build --workspace
	cargo test --package codex-ds-tests --test apiserver -- --ignored

peers: ## fetch the real Codex and LiteLLM that the tests run, once
	@tests/peers/fetch.sh

peers-vllm: ## fetch vLLM for CPU, for test-vllm (6 GB)
	@tests/peers/vllm/fetch.sh

peers-guard: ## fetch the other guards that bench-peers looks at (40 MB)
	@tests/peers/guards/fetch.sh

bench-peers: check peers-guard ## what the guard's test cases and the time of a call are with other guards (Linux)
	cargo build --release --package codex-ds --bin codex-ds-hook
	@tests/peers/guards/bench.sh target/release/codex-ds-hook $(BENCH_PEERS)

install: check ## install codex-ds and codex-ds-hook with cargo
	cargo install --path codex-ds

# Of the build only the paths would differ from one machine to another: they are cut short. A target
# folder of its own, since other flags build everything again.
cargo_home = $(or $(CARGO_HOME),$(HOME)/.cargo)
dist_target = target/dist-build
dist: check ## build a release archive for this machine, with checksums and an SBOM, into target/dist
	RUSTFLAGS="--remap-path-prefix=$(CURDIR)=codex-ds --remap-path-prefix=$(cargo_home)=cargo" \
	CFLAGS="-ffile-prefix-map=$(CURDIR)=codex-ds -ffile-prefix-map=$(cargo_home)=cargo" \
		cargo build --release --locked --package codex-ds --target-dir $(dist_target)
	@mkdir -p target/dist
	git archive --format=tar.gz --prefix=codex-ds/ --output=target/dist/codex-ds-source.tar.gz HEAD
	@python3 codex-ds/dist/pack.py --programs $(dist_target)/release --out target/dist \
		--target "$$(rustc -vV | sed -n 's/^host: //p')" --epoch "$$(git log -1 --format=%ct)"

check:
	@tests/peers/check.sh

check-tests:
	@tests/peers/check.sh test
