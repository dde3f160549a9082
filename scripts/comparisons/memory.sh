#!/usr/bin/env bash
# Trains a small character model on a text with memories of several lengths, and prints how well each
# predicts the last tenth of the text, as a Markdown table: bits per byte, the mean over the seeds and
# how far apart they are.
#
#   scripts/comparisons/memory.sh TEXT
#
# HEADLIGHT is the program (default: build/release/headlight), STEPS the updates of each run, SEEDS the
# seeds, MEMORIES the rows that are remembered. All models see as many tokens, are as large and have the
# same seeds. Each is measured segment after segment; beside it the model without memory with windows
# that begin half a context apart, which lets it read every token with at least half a context before it.
set -euo pipefail
cd "$(dirname "$0")/../.."
text=${1:?usage: scripts/comparisons/memory.sh TEXT}
headlight=${HEADLIGHT:-build/release/headlight}
steps=${STEPS:-4000} seeds=${SEEDS:-1 2 3} memories=${MEMORIES:-0 32 64 128} context=32
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

size=$(wc -c < "$text")
cut=$((size * 9 / 10))
head -c "$cut" "$text" > "$scratch/train.txt"
tail -c +$((cut + 1)) "$text" | head -c "${MEASURED:-100000}" > "$scratch/rest.txt"

bits() {  # bits MODEL OPTIONS...
  "$headlight" eval --model "$1" --text "$scratch/rest.txt" --json "${@:2}" |
    sed -n 's/.*"bits_per_byte": \([0-9.]*\).*/\1/p'
}

mean_and_spread() {
  awk '{ s += $1; if (NR == 1 || $1 < a) a = $1; if (NR == 1 || $1 > b) b = $1 }
       END { printf "%.3f (%.3f to %.3f)", s / NR, a, b }'
}

echo "| memory | bits per byte, segment after segment | windows half a context apart |"
echo "|---|---|---|"
for memory in $memories; do
  : > "$scratch/own"; : > "$scratch/windows"
  for seed in $seeds; do
    model=$scratch/model
    "$headlight" train --text "$scratch/train.txt" --context "$context" --memory "$memory" \
      --positions transformer-xl --layers 2 --heads 4 --d-model 64 --batch 16 --steps "$steps" --lr 2e-3 \
      --schedule cosine --warmup 50 --clip 1 --seed "$seed" --out "$model" 2>> "$scratch/log" ||
      { cat "$scratch/log" >&2; exit 1; }
    bits "$model" --stride "$context" >> "$scratch/own"
    [ "$memory" -gt 0 ] || bits "$model" >> "$scratch/windows"
    rm -rf "$model"
  done
  printf '| %s | %s | %s |\n' "$memory" "$(mean_and_spread < "$scratch/own")" \
    "$([ "$memory" -gt 0 ] || mean_and_spread < "$scratch/windows")"
done
