#!/usr/bin/env bash
# Positions beyond the trained length: trains a small model with each kind of positions on repeated
# sequences (the task `induction`) of one length, and measures it on longer ones. Prints a Markdown
# table: the share of tokens predicted right, the mean of the seeds, and the lowest and highest.
#
#   scripts/comparisons/positions.sh
#
# HEADLIGHT is the program (default: build/release/headlight), STEPS how long each model learns
# (default 1500), SEEDS which ones (default "1 2 3"), THREADS how many threads.
set -euo pipefail
cd "$(dirname "$0")/../.."
headlight=${HEADLIGHT:-build/release/headlight}
steps=${STEPS:-1500}
read -r -a seeds <<< "${SEEDS:-1 2 3}"
threads=${THREADS:-2}
context=32
lengths=(32 48 64 128)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo "| positions | ${lengths[0]} tokens (trained) | ${lengths[1]} (1.5×) | ${lengths[2]} (2×) | ${lengths[3]} (4×) |"
echo "|---|---|---|---|---|"
for positions in none sinusoidal learned rotary relative t5 alibi transformer-xl; do
  for seed in "${seeds[@]}"; do
    "$headlight" train --task induction --context $context --layers 2 --heads 4 --d-model 32 \
      --positions "$positions" --steps "$steps" --lr 0.003 --seed "$seed" --threads "$threads" \
      --out "$scratch/$positions-$seed" > "$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
  done
  row="| \`$positions\` |"
  for length in "${lengths[@]}"; do
    # Learned positions end with the trained length, and eval says so.
    if [ "$positions" = learned ] && [ "$length" -gt $context ]; then
      row="$row not possible |"
      continue
    fi
    figures=$(for seed in "${seeds[@]}"; do
      "$headlight" eval --model "$scratch/$positions-$seed" --task --context "$length" \
        --count 300 --seed 7 --threads "$threads" --json | sed -n 's/.*"token_accuracy": \([0-9.e-]*\).*/\1/p'
    done | awk '{ x = 100 * $1; s += x; if (NR == 1 || x < low) low = x; if (x > high) high = x }
                END { printf "%.1f %% (%.1f – %.1f)", s / NR, low, high }')
    row="$row $figures |"
  done
  echo "$row"
done
