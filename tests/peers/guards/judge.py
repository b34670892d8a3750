"""Judges cases of the guard's tests with several guards, through their hooks, and times them.

A guard is a program that gets one JSON request on standard input, as Codex or Claude Code sends it
before a tool call, and answers on standard output or by its exit code. Prints Markdown tables.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import statistics
import subprocess
import sys
import time

HOME = "/home/dev"
CWD = os.path.join(HOME, "work", "llm-serve")
ROUNDS = 100
# Every which line of our own larger corpus the others judge: they take up to 0.1 s each.
SAMPLE = 20

# What a guard that reads shell commands can know by itself, without a list of programs.
SHELL = set(
    "plain-rm wrapper name-obfusc variable nested-shell eval heredoc-shell pipe-shell substitution "
    "xargs-find loops functions-alias git unicode long-deep parser-gap syntax-error-after soundness".split()
)
# Deletes in the workspace and the like, on which presets differ.
MATTER_OF_TASTE = {"rm-workspace", "debatable"}


def guards(world, named=""):
    """Name, command and further environment of each guard whose name has `named` in it."""
    node, python = world + "/bin/node", world + "/bin/python3"
    safety_net = [node, world + "/cc-safety-net/node_modules/cc-safety-net/dist/bin/cc-safety-net.js", "hook", "--codex"]
    hook = HOME + "/.codex-ds/{}/bin/codex-ds-hook"
    every = [
        ("codex-ds, `lab`", [hook.format("lab")], {}),
        ("codex-ds, `dev`", [hook.format("dev")], {}),
        ("cc-safety-net, standard", safety_net, {"CC_SAFETY_NET_LEVEL": "standard"}),
        ("cc-safety-net, strict", safety_net, {"CC_SAFETY_NET_LEVEL": "strict"}),
        ("nah", [python, "-m", "nah.hook"], {"PYTHONPATH": glob.glob(world + "/nah/lib/python*/site-packages")[0]}),
    ]
    return [guard for guard in every if named in guard[0]]


def request(command):
    return json.dumps(
        {
            "session_id": "s",
            "turn_id": "t",
            "transcript_path": None,
            "cwd": CWD,
            "hook_event_name": "PreToolUse",
            "model": "m",
            "permission_mode": "default",
            "tool_name": "Bash",
            "tool_use_id": "call_1",
            "tool_input": {"command": command},
        }
    ).encode()


def verdict(guard, command):
    """deny, ask or allow."""
    _, program, environment = guard
    run = subprocess.run(program, input=request(command), capture_output=True, env=os.environ | environment)
    if run.returncode == 2:
        return "deny"
    if run.returncode != 0:
        sys.exit(f"{guard[0]} ended with {run.returncode}: {run.stderr.decode(errors='replace')[:300]}")
    if not run.stdout.strip():
        return "allow"
    answer = json.loads(run.stdout)
    decision = answer.get("hookSpecificOutput", {}).get("permissionDecision") or answer.get("decision", "allow")
    return {"block": "deny", "approve": "allow"}.get(decision, decision)


def cases(world, name, every=1):
    """Class and command of each case, or of every so many."""
    lines = open(f"{world}/{name}.tsv", encoding="utf-8").read().splitlines()
    lines = [line.split("\t", 1) for line in lines if line and not line.startswith("#")]
    return [(kind, json.loads(command)) for kind, command in lines[::every]]


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "–"


def coverage(world, every, named, pool):
    given = cases(world, "deny"), cases(world, "allow")
    own = [
        [case for name in names for case in cases(world, name, every)]
        for names in (["deny-more", "deny-wide", "deny-sound"], ["allow-more", "allow-wide"])
    ]
    for title, (deny, allow) in (("given", given), ("own", own)):
        shell = [command for kind, command in deny if kind in SHELL]
        machine = [command for kind, command in deny if kind not in SHELL]
        work = [command for kind, command in allow if kind not in MATTER_OF_TASTE]
        taste = [command for kind, command in allow if kind in MATTER_OF_TASTE]
        print(f"\n{title}: {len(shell)} + {len(machine)} to deny, {len(work)} + {len(taste)} to let pass\n")
        print("| guard | shell | machines | daily work | of taste |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for guard in guards(world, named):
            cells = []
            for commands in (shell, machine, work, taste):
                verdicts = list(pool.map(lambda command: verdict(guard, command), commands))
                cell = share(verdicts.count("deny"), len(verdicts))
                if asks := verdicts.count("ask"):
                    cell += f" (+ {share(asks, len(verdicts))} asked)"
                cells.append(cell)
            print(f"| {guard[0]} | {' | '.join(cells)} |", flush=True)


def heredoc():
    text = "A line of text about nothing in particular.\n"
    return "cat > notes.md <<'EOF'\n" + text * (4096 // len(text) + 1) + "EOF\n"


def spawn(program, environment, file):
    """Milliseconds from start to end of a process with the file on its standard input, and those of
    them that the processor worked for it."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, file, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0),
    ]
    started = time.perf_counter()
    child = os.posix_spawn(program[0], program, os.environ | environment, file_actions=actions)
    _, _, used = os.wait4(child, 0)
    return (time.perf_counter() - started) * 1e3, (used.ru_utime + used.ru_stime) * 1e3


def latency(world, rounds):
    commands = {
        "short": "cargo test --workspace 2>&1 | tail -20",
        "here-document, 4 KB": heredoc(),
        "denied": "git push --force origin main",
    }
    kinds = [("`/bin/true`", ["/bin/true"], {})]
    kinds += [guard for guard in guards(world) if guard[0] not in ("codex-ds, `dev`", "cc-safety-net, strict")]
    kinds += [("Node alone", [world + "/bin/node", "-e", "0"], {}), ("Python alone", [world + "/bin/python3", "-c", ""], {})]
    cells = {kind[0]: [] for kind in kinds}
    for name, command in commands.items():
        file = f"{HOME}/{name}.json"
        with open(file, "wb") as out:
            out.write(request(command))
        times = {kind[0]: [] for kind in kinds}
        for _ in range(rounds):
            for title, program, environment in kinds:
                times[title].append(spawn(program, environment, file))
        base = None
        for title, of in times.items():
            wall, cpu = (statistics.median(figures) for figures in zip(*of))
            base = base or wall
            cells[title].append(f"{wall:.2f} ms, {wall / base:.1f} x ({cpu:.2f} ms)")
    print(f"\nfrom spawn to exit, median of {rounds}, and beside `/bin/true`; in brackets the processor's time\n")
    print(f"| program | {' | '.join(commands)} |")
    print("| --- |" + " ---: |" * len(commands))
    for title, row in cells.items():
        print(f"| {title} | {' | '.join(row)} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("world")
    parser.add_argument("--every", type=int, default=SAMPLE, help="take every so many of our own larger corpus")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="spawns of each program")
    parser.add_argument("--guard", default="", help="judge with those whose name has this in it")
    parser.add_argument("--only", choices=["coverage", "latency"])
    args = parser.parse_args()
    if args.only != "coverage":
        latency(args.world, args.rounds)
    if args.only != "latency":
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            coverage(args.world, args.every, args.guard, pool)


main()
