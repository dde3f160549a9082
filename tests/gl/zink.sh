#!/usr/bin/env bash
# Runs a test program on a second implementation of OpenGL: zink, over Vulkan without a graphics card.
# Run as: zink.sh right|faulty path/to/program [doctest options]
# right: as zink should be used. faulty: as Mesa 22.3 brings it, which puts the values of uniforms into
# its programs after some runs, and the wrong ones: a driver that computes wrongly, to be found out.
# Exit status 77: skipped, with the reason.
set -u

kind=${1:?usage: zink.sh right|faulty path/to/program}
program=${2:?usage: zink.sh right|faulty path/to/program}
shift 2

if ! compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' >/dev/null; then
  echo "SKIPPED: no Vulkan without a graphics card (Debian: mesa-vulkan-drivers)"
  exit 77
fi
export LIBGL_ALWAYS_SOFTWARE=1 GALLIUM_DRIVER=zink
# A driver that is not there would be left out in silence, and the first one tested twice.
export HEADLIGHT_EXPECT_RENDERER=zink
# What the program finds of this driver is not kept for the next time.
XDG_CACHE_HOME="$(mktemp -d)" || exit 1
export XDG_CACHE_HOME
trap 'rm -rf -- "$XDG_CACHE_HOME"' EXIT
if [ "$kind" = right ]; then
  export ZINK_INLINE_UNIFORMS=0
else
  unset ZINK_INLINE_UNIFORMS
fi
"$program" "$@"
