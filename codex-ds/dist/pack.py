#!/usr/bin/env python3
"""Packs built programs into a release archive: the same inputs give the same bytes.

  pack.py --programs target/release --target x86_64-unknown-linux-gnu --epoch 0 --out target/dist

Called by `make dist`. The programs have to run on this machine, since the man pages and completions
are printed by them.
"""

import argparse
import gzip
import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ["codex-ds", "codex-ds-hook"]
COMPLETIONS = {
    "bash": "share/bash-completion/completions/codex-ds",
    "zsh": "share/zsh/site-functions/_codex-ds",
    "fish": "share/fish/vendor_completions.d/codex-ds.fish",
}
DOCUMENTS = ["README.md", "CHANGELOG.md", "THREAT-MODEL.md"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of the built programs")
    parser.add_argument("--target", required=True, help="the target's triple, for the archive's name")
    parser.add_argument("--epoch", type=int, required=True, help="time of every file, seconds since 1970")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the archive")
    args = parser.parse_args()

    metadata = json.loads(run("cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={args.target}"))
    packages = shipped(metadata)
    version = next(p["version"] for p in metadata["packages"] if p["name"] == "codex-ds")
    name = f"codex-ds-{version}-{args.target}"

    files = {f"bin/{program}": ((args.programs / program).read_bytes(), 0o755) for program in PROGRAMS}
    files |= {path: (data, 0o644) for path, data in texts(args.programs / "codex-ds", packages, version).items()}
    files["install.sh"] = ((ROOT / "codex-ds/dist/install.sh").read_bytes(), 0o755)
    sums = "".join(f"{sha256(files[path][0])}  {path}\n" for path in sorted(files))
    files["SHA256SUMS"] = (sums.encode(), 0o644)

    args.out.mkdir(parents=True, exist_ok=True)
    archive = args.out / f"{name}.tar.gz"
    archive.write_bytes(pack(name, files, args.epoch))
    digest = sha256(archive.read_bytes())
    (args.out / f"{name}.tar.gz.sha256").write_text(f"{digest}  {archive.name}\n")

    for program in PROGRAMS:
        print(f"{len(files[f'bin/{program}'][0]):>12,} bytes  {program}")
    print(f"{archive.stat().st_size:>12,} bytes  {archive}")
    print(f"sha256 {digest}")


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def texts(program, packages, version):
    """Every file of the archive that is no program, by its path in it."""
    program = program.resolve()
    out = {path: run(program, "completions", shell) for shell, path in COMPLETIONS.items()}
    for page, text in man_pages(program).items():
        out[f"share/man/man1/{page}"] = text
    documents = DOCUMENTS + sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md"))
    for document in documents:
        out[f"share/doc/codex-ds/{document}"] = (ROOT / document).read_bytes()
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"]:
        out[f"share/licenses/codex-ds/{licence}"] = (ROOT / licence).read_bytes()
    out["share/licenses/codex-ds/THIRD-PARTY.txt"] = third_party(packages).encode()
    out["sbom.cdx.json"] = sbom(packages, version).encode()
    return out


def man_pages(program):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        run(program, "man", "--output", folder)
        return {page.name: page.read_bytes() for page in pathlib.Path(folder).iterdir()}


def shipped(metadata):
    """The packages from registries whose code is in the programs: no build or test dependencies."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    todo = [id for id, package in packages.items() if package["name"] == "codex-ds"]
    seen = set(todo)
    while todo:
        for dep in nodes[todo.pop()]["deps"]:
            normal = any(kind["kind"] is None for kind in dep["dep_kinds"])
            if normal and dep["pkg"] not in seen:
                seen.add(dep["pkg"])
                todo.append(dep["pkg"])
    found = [packages[id] for id in seen if packages[id]["source"]]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def sbom(packages, version):
    """A CycloneDX 1.5 document (https://cyclonedx.org/docs/1.5/json/)."""
    lock = (ROOT / "Cargo.lock").read_text()
    checksums = {
        (name, found): checksum
        for name, found, checksum in re.findall(
            r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([0-9a-f]{64})"', lock
        )
    }
    components = [
        {
            "type": "library",
            "name": package["name"],
            "version": package["version"],
            "purl": f"pkg:cargo/{package['name']}@{package['version']}",
            "licenses": [{"expression": expression(package)}],
            "hashes": [{"alg": "SHA-256", "content": checksums[package["name"], package["version"]]}],
        }
        for package in packages
    ]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "codex-ds", "version": version}},
        "components": components,
    }
    return json.dumps(document, indent=2) + "\n"


def expression(package):
    # Old manifests write `MIT/Apache-2.0`, which is no SPDX expression.
    return (package["license"] or "NOASSERTION").replace("/", " OR ")


def third_party(packages):
    """The licences of all that is linked in: a list, then each text once with whom it is of."""
    lines = ["Licences of the packages that the programs of codex-ds contain", ""]
    texts = {}
    for package in packages:
        name = f"{package['name']} {package['version']}"
        lines.append(f"{name}: {expression(package)}")
        folder = pathlib.Path(package["manifest_path"]).parent
        for file in sorted(folder.iterdir()):
            if file.is_file() and re.match(r"(?i)(licen[cs]e|copying|notice|unlicense)", file.name):
                text = file.read_text(errors="replace").replace("\r\n", "\n").strip()
                texts.setdefault(text, []).append(name)
    for text, names in texts.items():
        lines += ["", "-" * 80, "Of: " + ", ".join(names), "", text]
    return "\n".join(lines) + "\n"


def pack(name, files, epoch):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(files):
            data, mode = files[path]
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mode, entry.mtime = len(data), mode, epoch
            tar.addfile(entry, io.BytesIO(data))
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=epoch, compresslevel=9) as zipped:
        zipped.write(raw.getvalue())
    return out.getvalue()


if __name__ == "__main__":
    sys.exit(main())
