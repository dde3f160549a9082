#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test. Arguments go to ctest:
# ./test.sh -L unit
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/scripts/setup.sh"

install_missing "$app_packages" "$test_packages" "$package_packages"
build release
# Tests that draw may not pass by being skipped. Those that need a window start their own Xvfb.
export HEADLIGHT_REQUIRE_GL=1 HEADLIGHT_REQUIRE_WINDOW=1
exec ctest --test-dir "$root/build/release" --output-on-failure --parallel "$jobs" "$@"
