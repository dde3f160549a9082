#!/usr/bin/env bash
# Trains the models of assets/models again, each by its recipe.json: all of them, or those named.
#
#   scripts/make_models.sh [NAME...]
#   TEXT=english.txt scripts/make_models.sh stories
#
# A model that learned from a text needs that text: its recipe names the file, its bytes and its
# SHA-256, which are checked.
#
# HEADLIGHT is the program (default: build/release/headlight). What comes out is the same on any
# number of threads; another machine's instruction set may round otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."
headlight=${HEADLIGHT:-build/release/headlight}
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for recipe in assets/models/*/recipe.json; do names+=("$(basename "$(dirname "$recipe")")"); done
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for name in "${names[@]}"; do
  folder=assets/models/$name
  echo "== $name"
  if grep -q '"sha256"' "$folder/recipe.json"; then
    if [ -z "${TEXT:-}" ]; then
      echo "left out: TEXT must be $(sed -n 's/.*"file": "\(.*\)".*/\1/p' "$folder/recipe.json")"
      continue
    fi
    "$headlight" train --config "$folder/recipe.json" --text "$TEXT" --out "$scratch/$name"
    "$headlight" models --model "$scratch/$name" --half "$folder"
    continue
  fi
  "$headlight" train --config "$folder/recipe.json" --out "$scratch/$name"
  cp "$scratch/$name/config.json" "$scratch/$name/model.safetensors" \
     "$scratch/$name/tokenizer.json" "$folder/"
  # The score beside the one that the recipe promises.
  "$headlight" eval --model "$scratch/$name" --task
  grep '"score"' "$folder/recipe.json"
done
echo "Build the program again: the models are part of it."
