#!/usr/bin/env bash
# The text that the bundled model `poems` has learned, on standard output: poems and plain sentences,
# a line each, then every fiftieth of both, which are kept for measuring.
#   scripts/poems_text.sh chinese-poems.txt chinese-sentences.txt > poems-and-sentences.txt
set -euo pipefail
if [[ $# -ne 2 ]]; then
  echo "usage: $0 POEMS SENTENCES" >&2
  exit 2
fi
for keep in 'FNR % 50 != 0' 'FNR % 50 == 0'; do
  awk "$keep" "$@"
done
