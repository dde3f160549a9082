#!/usr/bin/env bash
# Trains the same models with activations kept in float32, float16 and bfloat16, and prints how well each
# has learned, as a Markdown table: the loss of the end, the mean over the seeds and how far apart they
# are, how far that is from float32's, and the bytes of activations.
#
#   scripts/comparisons/storage.sh [TEXT]
#
# The task `copy`, and with TEXT a character model on the last tenth of the text. HEADLIGHT is the program
# (default: build/release/headlight), STEPS the updates of each run, SEEDS the seeds.
set -euo pipefail
cd "$(dirname "$0")/../.."
text=${1:-}
headlight=${HEADLIGHT:-build/release/headlight}
steps=${STEPS:-400} seeds=${SEEDS:-1 2 3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

last_loss() {  # the mean loss of the last tenth of the updates, which are of many rows
  awk -F, -v from="$((steps * 9 / 10))" 'NR > 1 && $1 >= from { s += $2; n++ } END { printf "%.6f\n", s / n }' "$1"
}

validation_loss() { awk -F, '$6 != "" { l = $6 } END { printf "%.6f\n", l }' "$1"; }

train() {  # train STORAGE SEED OPTIONS...
  "$headlight" train --storage "$1" --seed "$2" --steps "$steps" --schedule cosine --warmup 20 --clip 1 \
    --log "$scratch/log.csv" "${@:3}" 2>> "$scratch/said" || { cat "$scratch/said" >&2; exit 1; }
}

table() {  # table NAME MEASURE OPTIONS...
  for storage in float32 float16 bfloat16; do
    : > "$scratch/$storage"
    for seed in $seeds; do
      train "$storage" "$seed" "${@:3}"
      "$2" "$scratch/log.csv" >> "$scratch/$storage"
    done
    paste "$scratch/float32" "$scratch/$storage" | awk -v name="$1" -v storage="$storage" '
      { whole += $1; s += $2; if (NR == 1 || $2 < a) a = $2; if (NR == 1 || $2 > b) b = $2
        d = ($2 / $1 - 1) * 100; if (d < 0) d = -d; if (d > worst) worst = d }
      END { printf "| %s | %s | %.5f (%.5f to %.5f) | %.2f %% | %.2f %% |\n", name, storage, s / NR, a, b,
            (s / whole - 1) * 100, worst }'
  done
}

echo "| learned | activations kept in | loss | the mean, from float32's | a seed, at most |"
echo "|---|---|---|---|---|"
table copy last_loss --task copy --positions learned --layers 2 --heads 4 --d-model 64 --batch 64 --lr 2e-3
[ -z "$text" ] || table text validation_loss --text "$text" --validation 10% --validate-every "$steps" --layers 4 \
  --heads 4 --d-model 64 --context 64 --batch 16 --positions learned --lr 2e-3
