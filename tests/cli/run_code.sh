#!/usr/bin/env bash
# Runs a script of this folder with a Python that has NumPy, with PyTorch where there is one.
#   run_code.sh SCRIPT.py ARGUMENT...
here="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
python=""
for candidate in python3 /usr/bin/python3; do
  "$candidate" -c 'import numpy' 2>/dev/null || continue
  [ -n "$python" ] || python="$candidate"
  if "$candidate" -c 'import torch' 2>/dev/null; then
    python="$candidate"
    break
  fi
done
if [ -z "$python" ]; then
  echo "skipped: no python3 here has NumPy (Debian: python3-numpy)"
  [ "${HEADLIGHT_REQUIRE_NUMPY:-0}" = 1 ] && exit 1
  exit 77
fi
exec "$python" "$here/$1" "${@:2}"
