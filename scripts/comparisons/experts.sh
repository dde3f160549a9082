#!/usr/bin/env bash
# One feed-forward network against four experts: all of them, or the best one, with and without the
# loss that balances their load. Prints the table of docs/comparisons.md.
#
#   scripts/comparisons/experts.sh
#
# HEADLIGHT is the program (default: build/release/headlight), SEEDS the seeds (1 2 3), STEPS the
# steps of each run (600). Needs Python 3, without further packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
export HEADLIGHT=${HEADLIGHT:-build/release/headlight} SEEDS=${SEEDS:-1 2 3} STEPS=${STEPS:-600}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
SCRATCH=$scratch exec python3 - <<'PYTHON'
import json, os, random, statistics, subprocess

headlight, scratch = os.environ["HEADLIGHT"], os.environ["SCRATCH"]
seeds, steps = os.environ["SEEDS"].split(), os.environ["STEPS"]
SHAPE = ["--task", "sort", "--layers", "1", "--heads", "4", "--d-model", "32", "--lr", "0.003"]
MODELS = [
    ("one network, 64 hidden", ["--d-hidden", "64"]),
    ("one network, 256 hidden", ["--d-hidden", "256"]),
    ("4 experts of 64, all", ["--d-hidden", "64", "--experts", "4"]),
    ("4 experts of 64, all, C = 0.01",
     ["--d-hidden", "64", "--experts", "4", "--balance", "0.01"]),
    ("4 experts of 64, best 1", ["--d-hidden", "64", "--experts", "4", "--top-experts", "1"]),
    ("4 experts of 64, best 1, C = 0.01",
     ["--d-hidden", "64", "--experts", "4", "--top-experts", "1", "--balance", "0.01"]),
]


def run(*arguments):
    return subprocess.run([headlight, *arguments], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout


def rows():
    """The same 20 rows of numbers for each model, with their answers."""
    draw = random.Random(7)
    for _ in range(20):
        numbers = [draw.randrange(16) for _ in range(8)]
        yield " ".join(map(str, numbers)) + " [SEP] " + " ".join(map(str, sorted(numbers)))


def loads(folder):
    """The share of all tokens whose best expert is each."""
    counts = [0] * 4
    for i, row in enumerate(rows()):
        out = os.path.join(scratch, "trace.json")
        run("trace", "--model", folder, "--sentence", row, "--out", out)
        gate = json.load(open(out))["tensors"]["blocks.0.mlp.gate"]
        tokens, experts = gate["shape"]
        for t in range(tokens):
            weights = gate["data"][t * experts:(t + 1) * experts]
            counts[weights.index(max(weights))] += 1
    return [count / sum(counts) for count in counts]


def spread(numbers):
    mean = statistics.mean(numbers)
    deviation = statistics.stdev(numbers) if len(numbers) > 1 else 0
    return f"{mean:.3f} ± {deviation:.3f}"


print(f"| feed-forward layer | loss | rows right | largest load | smallest load |")
print("|---|---|---|---|---|")
for name, options in MODELS:
    losses, right, most, least = [], [], [], []
    for seed in seeds:
        folder = os.path.join(scratch, f"{len(losses)}-{name}".replace(" ", "_"))
        run("train", *SHAPE, *options, "--seed", seed, "--steps", steps, "--out", folder)
        score = json.loads(run("eval", "--model", folder, "--task", "--seed", "1", "--json"))
        losses.append(score["loss"])
        right.append(score["sequence_accuracy"])
        if "--experts" in options:
            shares = loads(folder)
            most.append(max(shares))
            least.append(min(shares))
    load = f"{spread(most)} | {spread(least)}" if most else "– | –"
    print(f"| {name} | {spread(losses)} | {spread(right)} | {load} |", flush=True)
PYTHON
