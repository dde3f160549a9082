#!/usr/bin/env bash
# Trains every kind of pooling on the task "sentiment", without layers and with one, three seeds
# each, and prints the table of docs/comparisons.md: accuracy on 2,000 fresh examples (mean, lowest
# to highest), and parameters.
#
#   scripts/comparisons/pooling.sh
#
# HEADLIGHT is the program (default: build/release/headlight), STEPS the updates of a run (1000).
set -euo pipefail
cd "$(dirname "$0")/../.."
headlight=${HEADLIGHT:-build/release/headlight}
steps=${STEPS:-1000}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Runs a command whose progress nobody reads; where it fails, all that it said.
quietly() {
  "$@" 2> "$scratch/said" && return
  cat "$scratch/said" >&2
  return 1
}

# The numbers that a model has: what its file holds behind the header, four bytes each.
parameters() {
  local file=$1/model.safetensors
  echo $((($(stat -c %s "$file") - 8 - $(od -An -t u8 -N 8 "$file")) / 4))
}

# Trains one kind of pooling with the options that follow; prints a cell of accuracy and one of
# parameters.
cells() {
  local seed model=$scratch/model
  for seed in 1 2 3; do
    rm -rf "$model"
    quietly "$headlight" train --task sentiment --heads 4 --d-model 32 --init glorot --batch 32 \
      --clip 1 --lr 0.005 --schedule cosine --warmup 100 --steps "$steps" --seed "$seed" \
      --out "$model" "$@"
    "$headlight" eval --model "$model" --task --count 2000 --json |
      sed -n 's/.*"sequence_accuracy": \([0-9.]*\).*/\1/p'
  done | sort -g | awk -v n="$(
    quietly "$headlight" train --task sentiment --heads 4 --d-model 32 --steps 1 \
      --out "$scratch/count" "$@"
    parameters "$scratch/count"
  )" '{ a[NR] = 100 * $1; sum += a[NR] }
      END { printf " %.1f %% (%.1f to %.1f) | %d |", sum / NR, a[1], a[NR], n }'
}

echo "| pooling | without layers | parameters | one layer | parameters |"
echo "|---|---|---|---|---|"
for pool in mean last cls concat vector foci; do
  kind=(--pool "$pool")
  if [ "$pool" = foci ]; then kind+=(--foci 3 --pool-hidden 16 --foci-penalty 0.1); fi
  printf '| `%s` |' "$pool"
  cells --layers 0 "${kind[@]}"
  cells --layers 1 "${kind[@]}"
  echo
done
