#!/usr/bin/env bash
# Numbers for numbers: one network against two experts on a curve with two regions, and one number
# against a mixture density where one x has several y. Prints the tables of docs/comparisons.md.
#
#   scripts/comparisons/curve.sh
#
# HEADLIGHT is the program (default: build/release/headlight), SEEDS the seeds (1 2 3), STEPS the
# steps of each run (1500). Needs Python 3, without further packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
export HEADLIGHT=${HEADLIGHT:-build/release/headlight} SEEDS=${SEEDS:-1 2 3} STEPS=${STEPS:-1500}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
SCRATCH=$scratch exec python3 - <<'PYTHON'
import json, os, statistics, subprocess

headlight, scratch = os.environ["HEADLIGHT"], os.environ["SCRATCH"]
seeds, steps = os.environ["SEEDS"].split(), os.environ["STEPS"]
GRID = " ".join(f"{-1 + 0.02 * i:.2f}" for i in range(101))
CURVE = [
    ("one network, 16 hidden", ["--experts", "0", "--d-hidden", "16"]),
    ("one network, 34 hidden", ["--experts", "0", "--d-hidden", "34"]),
    ("2 experts of 16", ["--experts", "2", "--d-hidden", "16"]),
]
BRANCHES = [
    ("one number, spread 0.1", ["--components", "0"]),
    ("1 component, which learns its spread", ["--components", "1"]),
    ("3 components", ["--components", "3"]),
]


def run(*arguments):
    return subprocess.run([headlight, *arguments], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout


def trained(task, name, options, seed):
    folder = os.path.join(scratch, f"{task}-{seed}-{name}".replace(" ", "_"))
    run("train", "--task", task, *options, "--seed", seed, "--steps", steps, "--out", folder)
    return folder, json.loads(run("eval", "--model", folder, "--task", "--seed", "1", "--json"))["loss"]


def tensors(folder):
    out = os.path.join(scratch, "trace.json")
    run("trace", "--model", folder, f"--sentence={GRID}", "--out", out)
    return json.load(open(out))["tensors"]


def error(found):
    """The root mean square of the distance from the curve without noise."""
    squares = []
    for x, y in zip(found["number"]["data"], found["y"]["data"]):
        right = -0.8 - 1.2 * x if x < -1e-6 else 2.2 * (x - 0.5) ** 2 - 0.4
        squares.append((y - right) ** 2)
    return statistics.mean(squares) ** 0.5


def regions(found):
    """The share of the numbers at which one expert is heard most left of 0 and the other right."""
    gate = found["blocks.0.mlp.gate"]["data"]
    first = [gate[2 * i] > gate[2 * i + 1] for i in range(101)]
    agree = sum(best == (i < 50) for i, best in enumerate(first)) / 101
    return max(agree, 1 - agree)


def spread(numbers):
    deviation = statistics.stdev(numbers) if len(numbers) > 1 else 0
    return f"{statistics.mean(numbers):.3f} ± {deviation:.3f}"


print("| `curve` | loss | distance from the curve | regions told apart |")
print("|---|---|---|---|")
for name, options in CURVE:
    losses, errors, apart = [], [], []
    for seed in seeds:
        folder, loss = trained("curve", name, options, seed)
        found = tensors(folder)
        losses.append(loss)
        errors.append(error(found))
        if options[1] != "0":
            apart.append(regions(found))
    told = spread(apart) if apart else "–"
    print(f"| {name} | {spread(losses)} | {spread(errors)} | {told} |", flush=True)
print("\n| `branches` | loss |")
print("|---|---|")
for name, options in BRANCHES:
    losses = [trained("branches", name, options, seed)[1] for seed in seeds]
    print(f"| {name} | {spread(losses)} |", flush=True)
PYTHON
