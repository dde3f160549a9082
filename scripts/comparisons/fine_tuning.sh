#!/usr/bin/env bash
# Tunes a model that has read a text with hidden tokens to judge sentences by few labels, and trains the
# same classifier from nothing, as a Markdown table: how many of 500 other rows are judged right after so
# many steps, the mean over the seeds and how far apart they are.
#
#   scripts/comparisons/fine_tuning.sh TEXT
#
# TEXT is a text of stories in English. The model reads its first megabyte. The labels are made of what
# follows: a row is a sentence behind which one begins with "She" or "He", and that word is the label;
# sentences that have such a word themselves are left out, so that names and nouns have to tell.
# HEADLIGHT is the program (default: build/release/headlight), READ the updates of the first run, STEPS
# where the others are measured, ROWS how many labels they have, SEEDS the seeds.
set -euo pipefail
cd "$(dirname "$0")/../.."
text=${1:?usage: scripts/comparisons/fine_tuning.sh TEXT}
headlight=${HEADLIGHT:-build/release/headlight}
read=${READ:-4000} steps=${STEPS:-50 100 200 400} rows=${ROWS:-200} seeds=${SEEDS:-1 2 3}
shape=(--layers 2 --heads 4 --d-model 64 --positions learned --context 32)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

head -c 1000000 "$text" > "$scratch/read.txt"
head -c 5000000 "$text" | tail -c +1000001 | tr '\n' ' ' | grep -oE '[A-Z"][^.!?"]*[.!?]' |
  awk '$1 == "She" || $1 == "He" { if (kept != "") print kept "\t" tolower($1) }
       { kept = tolower($0) ~ /(^|[^a-z])(she|her|hers|he|his|him)([^a-z]|$)/ ? "" : $0 }' |
  sort -u | shuf --random-source="$scratch/read.txt" > "$scratch/all.tsv"
head -n "$rows" "$scratch/all.tsv" > "$scratch/learned.tsv"
sed -n "$((rows + 1)),$((rows + 500))p" "$scratch/all.tsv" > "$scratch/measured.tsv"

train() {
  "$headlight" train "$@" 2>> "$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
}

train --text "$scratch/read.txt" --cut wordpiece --vocabulary 1000 --mask-tokens 15% "${shape[@]}" \
  --steps "$read" --lr 2e-3 --schedule cosine --warmup 100 --clip 1 --out "$scratch/base"

# right NAME OPTIONS...: a row of the table
right() {
  printf '| %s |' "$1"
  for count in $steps; do
    : > "$scratch/right"
    for seed in $seeds; do
      train --labels "$scratch/learned.tsv" --batch 16 --steps "$count" --warmup 10 --clip 1 --seed "$seed" \
        --out "$scratch/tuned" "${@:2}"
      "$headlight" eval --model "$scratch/tuned" --labels "$scratch/measured.tsv" --json 2>> "$scratch/log" |
        sed -n 's/.*"accuracy": \([0-9.]*\).*/\1/p' >> "$scratch/right"
      rm -rf "$scratch/tuned"
    done
    awk '{ x = 100 * $1; s += x; if (NR == 1 || x < a) a = x; if (NR == 1 || x > b) b = x }
         END { printf " %.1f %% (%.1f to %.1f) |", s / NR, a, b }' "$scratch/right"
  done
  echo
}

printf '| begins with |'; for count in $steps; do printf ' %s steps |' "$count"; done; echo
printf '|---|'; for count in $steps; do printf -- '---|'; done; echo
right 'new weights' --cut wordpiece --vocabulary 1000 "${shape[@]}" --lr 2e-3
right 'the model' --from "$scratch/base" --lr 2e-3
right 'the model, a quarter of the rate' --from "$scratch/base" --lr 5e-4
right 'the model, `--freeze 1`' --from "$scratch/base" --freeze 1 --lr 2e-3
right 'the model, `--freeze all`' --from "$scratch/base" --freeze all --lr 1e-2
