#!/usr/bin/env bash
# Learns whether one sentence follows another, from new weights and from a model that has learned hidden
# tokens of the same text first, as a Markdown table: the loss and how many of 512 held-out pairs are judged
# right after so many steps, and how long each run took.
#
#   scripts/comparisons/next_sentence.sh TEXT
#
# TEXT is a text of stories with an empty line between two of them. Its first megabyte is read, the last
# tenth of the sentences is held out. HEADLIGHT is the program (default: build/release/headlight).
set -euo pipefail
cd "$(dirname "$0")/../.."
text=${1:?usage: scripts/comparisons/next_sentence.sh TEXT}
headlight=${HEADLIGHT:-build/release/headlight}
shape=(--cut wordpiece --vocabulary 2000 --layers 2 --heads 4 --d-model 64 --positions learned --context 64)
course=(--bytes 0:1000000 --validation 10% --schedule cosine --warmup 200 --clip 1 --batch 32)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# train NAME OPTIONS...
train() {
  local name=$1 began=$SECONDS
  "$headlight" train --text "$text" "${course[@]}" --log "$scratch/$name.csv" --out "$scratch/$name" "${@:2}" \
    2> "$scratch/$name.log" || { cat "$scratch/$name.log" >&2; exit 1; }
  echo "$name: $((SECONDS - began)) s"
}

train hidden --mask-tokens 15% "${shape[@]}" --lr 0.003 --steps 20000 --validate-every 2000
train tuned --next-sentence --from "$scratch/hidden" --lr 0.001 --steps 8000 --validate-every 500
train new --next-sentence "${shape[@]}" --lr 0.001 --steps 8000 --validate-every 500

for name in hidden tuned new; do
  echo; echo "| $name: step | validation loss |"; echo '|---|---|'
  awk -F, 'NR > 1 && $NF != "" { printf "| %d | %.4f |\n", $1 + 1, $NF }' "$scratch/$name.csv"
  grep -E 'answers right' "$scratch/$name.log"
done
