#!/usr/bin/env bash
# Trains attention, a recurrent layer, a gated one and convolutions on the task recall, each with
# three seeds, about as many parameters and the same time on the clock, and prints how often each
# tells the key that stood so many tokens before: a Markdown table, mean and spread of the seeds.
#
#   scripts/comparisons/mixers.sh [SECONDS]
#
# SECONDS (default 30) is the time that each run learns for. HEADLIGHT is the program (default:
# build/release/headlight), THREADS how many threads train (default 2).
set -euo pipefail
cd "$(dirname "$0")/../.."
headlight=${HEADLIGHT:-build/release/headlight}
seconds=${1:-30}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Widths chosen so that all have about 29,000 parameters; the feed-forward network is twice as wide.
common=(--task recall --layers 2 --positions sinusoidal --init glorot --batch 64 --steps 1000000
        --lr 0.003 --clip 1 --threads "${THREADS:-2}")
options_of() {
  case $1 in
    attention) echo "--mixer attention --heads 4 --d-model 40 --d-hidden 80" ;;
    recurrent) echo "--mixer recurrent --d-model 43 --d-hidden 86" ;;
    gru) echo "--mixer gru --d-model 34 --d-hidden 68" ;;
    convolution) echo "--mixer convolution --kernel 3 --d-model 40 --d-hidden 80" ;;
    dilated) echo "--mixer convolution --kernel 4 --dilation 4 --d-model 38 --d-hidden 76" ;;
  esac
}

for mixer in attention recurrent gru convolution dilated; do
  for seed in 1 2 3; do
    out=$scratch/$mixer-$seed
    read -ra own <<< "$(options_of $mixer)"
    # Interrupted once its time is over; it saves what it has learned before it ends.
    timeout --signal=INT "$seconds" "$headlight" train "${common[@]}" "${own[@]}" --seed "$seed" \
      --out "$out" --log "$out.csv" > "$out.txt" 2>&1 || true
    "$headlight" eval --model "$out" --task --count 4000 --seed 7 --json > "$out.json"
    echo "$mixer, seed $seed: $(($(wc -l < "$out.csv") - 1)) steps" >&2
  done
done

python3 - "$scratch" <<'PYTHON'
import json, pathlib, statistics, struct, sys

folder = pathlib.Path(sys.argv[1])
bands = [(1, 2), (3, 4), (5, 8), (9, 16), (17, 24), (25, 32)]
print("| mixer | parameters | steps | " + " | ".join(f"d {a}–{b}" for a, b in bands) + " |")
print("|---|---|---|" + "---|" * len(bands))
for mixer in ("attention", "recurrent", "gru", "convolution", "dilated"):
    steps, rows = [], []
    for seed in (1, 2, 3):
        name = folder / f"{mixer}-{seed}"
        steps.append(len(pathlib.Path(f"{name}.csv").read_text().splitlines()) - 1)
        told = json.loads(pathlib.Path(f"{name}.json").read_text())["by_distance"]
        row = []
        for low, high in bands:
            part = [d for d in told if low <= d["distance"] <= high]
            right = sum(d["tokens"] * d["token_accuracy"] for d in part)
            row.append(100 * right / sum(d["tokens"] for d in part))
        rows.append(row)
    data = (name / "model.safetensors").read_bytes()
    header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
    parameters = 0
    for key, value in header.items():
        size = 1
        for axis in value.get("shape", [0]):
            size *= axis
        parameters += size if key != "__metadata__" else 0
    cells = []
    for column in zip(*rows):
        cells.append(f"{statistics.mean(column):.0f} ± {statistics.stdev(column):.0f} %")
    print(f"| {mixer} | {parameters:,} | {round(statistics.mean(steps)):,} | " + " | ".join(cells) + " |")
PYTHON
