#!/usr/bin/env bash
# Learns whether one sentence follows another, from new weights and from a model that has learned hidden
# tokens of the same text first, as a Markdown table: the validation loss after so many steps and how many of
# 512 held-out pairs are judged right at the end, the mean over the seeds and how far apart they are. With --both
# hidden tokens and pairs are learned at once instead (BERT's pretraining): both losses, and what is right of each.
#
#   scripts/comparisons/next_sentence.sh [--both] TEXT
#
# TEXT is a text of stories with an empty line between two of them. Its first megabyte is read, the last
# tenth of the sentences is held out. HEADLIGHT is the program (default: build/release/headlight), READ the
# updates of the run that learns hidden tokens, STEPS where the others are measured (multiples of 500; they
# end with the last), SEEDS the seeds.
set -euo pipefail
cd "$(dirname "$0")/../.."
both=
if [ "${1:-}" = --both ]; then both=yes; shift; fi
text=${1:?usage: scripts/comparisons/next_sentence.sh [--both] TEXT}
headlight=${HEADLIGHT:-build/release/headlight}
read=${READ:-20000} steps=${STEPS:-500 1000 2000 4000} seeds=${SEEDS:-1 2 3}
shape=(--cut wordpiece --vocabulary 2000 --layers 2 --heads 4 --d-model 64 --positions learned --context 64)
course=(--bytes 0:1000000 --validation 10% --schedule cosine --warmup 200 --clip 1 --batch 32)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# train NAME OPTIONS...
train() {
  "$headlight" train --text "$text" "${course[@]}" --log "$scratch/$1.csv" --out "$scratch/$1" "${@:2}" \
    2> "$scratch/$1.log" || { cat "$scratch/$1.log" >&2; exit 1; }
}

# of FILE FORMAT [UNIT]: the mean of its numbers, and the least and the largest
of() {
  awk -v format="$2" '{ s += $1; if (NR == 1 || $1 < a) a = $1; if (NR == 1 || $1 > b) b = $1 }
    END { printf " " format unit " (" format " to " format ") |", s / NR, a, b }' unit="${3:-}" "$1"
}

# column NUMBER STEP FACTOR: of the logs of all seeds
column() {
  for seed in $seeds; do
    awk -F, -v c="$1" -v at="$2" -v k="$3" 'NR > 1 && $1 + 1 == at { print k * $c }' "$scratch/both-$seed.csv"
  done > "$scratch/numbers"
}

if [ -n "$both" ]; then
  for seed in $seeds; do
    began=$SECONDS
    train "both-$seed" --next-sentence --mask-tokens 15% "${shape[@]}" --lr 0.003 --steps 8000 \
      --validate-every 1000 --seed "$seed"
    echo "both, seed $seed: $((SECONDS - began)) s" >&2
  done
  echo '| steps | loss of pairs | loss of hidden tokens | pairs right | hidden tokens right |'
  echo '|---|---|---|---|---|'
  for count in 1000 2000 4000 6000 8000; do
    printf '| %s |' "$count"
    for number in 9 10; do column "$number" "$count" 1; of "$scratch/numbers" '%.3f'; done
    for number in 11 12; do column "$number" "$count" 100; of "$scratch/numbers" '%.1f' ' %%'; done
    echo
  done
  exit
fi

# row NAME OPTIONS...: of the table
row() {
  local seed count began=$SECONDS
  for seed in $seeds; do
    train "$seed" --next-sentence --lr 0.001 --steps "${steps##* }" --validate-every 500 --seed "$seed" "${@:2}"
  done
  printf '| %s |' "$1"
  for count in $steps; do
    for seed in $seeds; do
      awk -F, -v at="$count" 'NR > 1 && $1 + 1 == at { print $NF }' "$scratch/$seed.csv"
    done > "$scratch/losses"
    of "$scratch/losses" '%.3f'
  done
  for seed in $seeds; do
    sed -n 's/.*: \([0-9.]*\) % of [0-9,]* answers right.*/\1/p' "$scratch/$seed.log"
    rm -rf "${scratch:?}/$seed"
  done > "$scratch/right"
  of "$scratch/right" '%.1f' ' %%'
  echo
  echo "$1: $((SECONDS - began)) s for all seeds" >&2
}

began=$SECONDS
train hidden --mask-tokens 15% "${shape[@]}" --lr 0.003 --steps "$read" --validate-every 2000
echo "hidden tokens: $((SECONDS - began)) s, $(grep 'answers right' "$scratch/hidden.log")" >&2

printf '| next sentences |'; for count in $steps; do printf ' %s steps |' "$count"; done; echo ' right |'
printf '|---|'; for count in $steps; do printf -- '---|'; done; echo '---|'
row 'new weights' "${shape[@]}"
row 'the model of hidden tokens' --from "$scratch/hidden"
