# Homebrew formula. `url` and `sha256` are those of codex-ds-source.tar.gz of `make dist`, at the
# address where a release is published; until there is one: brew install --build-from-source --HEAD
# with a `head` line of your own clone.
class CodexDs < Formula
  desc "Run OpenAI's Codex CLI, safely and lean, on a model that you serve yourself"
  homepage "https://example.org/codex-ds"
  url "https://example.org/codex-ds/codex-ds-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "codex-ds")
    generate_completions_from_executable(bin/"codex-ds", "completions")
    system bin/"codex-ds", "man", "--output", man1
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/codex-ds --version")
    assert_match "denied", shell_output("#{bin}/codex-ds guard check 'rm junk.txt && ls'", 1)
  end
end
