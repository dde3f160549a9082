# shellcheck shell=bash disable=SC2034
# Sourced by run.sh, test.sh, .ci/run and the scripts beside it: installs what is missing, configures and builds.
# Everything it says goes to stderr, so that `./run.sh trace --list | less` shows only the list.

root="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)"
jobs="$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)"

say() { printf '%s\n' "$*" >&2; }

# What to install: package | command | what for. Where a command is named and found, whoever
# installed it, the package is not asked for.
app_packages='
g++|g++|compiles Headlight
cmake|cmake|describes the build
ninja-build|ninja|runs the build
pkg-config|pkg-config|finds libraries
libimgui-dev||Dear ImGui: panels and buttons
libglfw3-dev||GLFW: the window
libepoxy-dev||libepoxy: OpenGL
libglib2.0-dev||GLib: asks the desktop for its file dialogs
libeigen3-dev||Eigen: fast matrix products
nlohmann-json3-dev||JSON files
libcli11-dev||CLI11: the command line
libicu-dev||ICU: words and characters of any language
libstb-dev||stb: PNG pictures
libfreetype-dev||FreeType: letters
doctest-dev||doctest: the tests
libbenchmark-dev||Google Benchmark: measurements
libegl1||OpenGL without a window
libegl-mesa0||OpenGL without a window
libgl1||OpenGL
libgl1-mesa-dri||OpenGL drivers, one of them in software
fonts-inter||letters of the window
fonts-jetbrains-mono||digits of the window
fonts-noto-cjk||Chinese, Japanese and Korean
fonts-dejavu-core||letters that the others lack
fonts-symbola||emoji and symbols
'
test_packages='
xvfb|Xvfb|a screen for the tests of the window
xauth|xauth|a key to that screen
xdotool|xdotool|types and clicks in the tests
mesa-vulkan-drivers||a second implementation of OpenGL for the tests, in software: zink over Vulkan
dbus-daemon|dbus-daemon|a bus for the tests of file dialogs
python3|python3|reads what the window saved, in a test
python3-numpy||runs the code that the inspector shows, in a test
'
package_packages='
dpkg-dev|dpkg-shlibdeps|finds what a package depends on
file|file|what cpack looks at files with
gzip|gzip|packs the manual page
'
ci_packages='
clang|clang++|builds with sanitizers and fuzzers
libclang-rt-14-dev||the sanitizers and the fuzzer
lld|ld.lld|links what has sanitizers, quickly
clang-format|clang-format|checks the format of the code
'

is_installed() {  # package
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# install_missing LIST...: says what is missing and why, and installs just that.
install_missing() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    [ ! -f "$root/build/release/build.ninja" ] || return 0  # it was said the first time
    say "This system has no apt, so nothing is installed here. Headlight needs a C++20 compiler,"
    say "CMake 3.22, Ninja, pkg-config, Dear ImGui, GLFW 3.3, libepoxy, GLib, Eigen 3.4,"
    say "nlohmann-json, CLI11, ICU, stb, FreeType and doctest; the tests of the window also Xvfb and"
    say "xdotool, those of the desktop's dialogs dbus-daemon."
    say "vcpkg.json lists the libraries for vcpkg. Going on with what is there."
    return 0
  fi
  local package command purpose missing=() lines=()
  while IFS='|' read -r package command purpose; do
    [ -n "$package" ] || continue
    if [ -n "$command" ] && command -v "$command" >/dev/null; then continue; fi
    if is_installed "$package"; then continue; fi
    missing+=("$package")
    lines+=("$(printf '  %-22s %s' "$package" "$purpose")")
  done < <(printf '%s' "$@")
  [ "${#missing[@]}" -gt 0 ] || return 0

  say "Headlight needs packages that this system does not have yet:"
  printf '%s\n' "${lines[@]}" >&2
  apt_install "${missing[@]}"
}

# apt_install PACKAGE-OR-FILE...: as administrator.
apt_install() {
  local as_root=() command=(apt-get install --no-install-recommends "$@")
  if [ "$(id -u)" -ne 0 ]; then
    # sudo may ask for a password only where someone can type it.
    if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      as_root=(sudo)
    else
      say "Installing them takes an administrator. Ask one to run this, then start again:"
      say "  ${command[*]}"
      return 1
    fi
  fi
  say "Installing them: ${as_root[*]:+${as_root[*]} }${command[*]}"
  if ! { quietly "${as_root[@]}" apt-get update &&
         quietly "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${command[@]}" -y; }; then
    say "The packages could not be installed; the lines above say why. Is the network there?"
    return 1
  fi
}

# quietly COMMAND...: its output is shown only when it fails.
quietly() {
  local log
  log="$(mktemp)"
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# build PRESET [TARGET]: configures when needed and builds into build/PRESET.
build() {
  local preset="$1" folder="$root/build/$1" home=""
  shift
  if [ -f "$folder/CMakeCache.txt" ]; then
    home="$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$folder/CMakeCache.txt")"
    if [ "$home" != "$root" ]; then
      say "build/$preset was made in another folder ($home); it is made again."
      rm -rf -- "$folder"
    fi
  fi
  if [ ! -f "$folder/build.ninja" ] || [ "$root/CMakePresets.json" -nt "$folder/build.ninja" ]; then
    say "Configuring ($preset) …"
    (cd -- "$root" && quietly cmake --preset "$preset") || return 1
  fi
  local command=(cmake --build "$folder" --parallel "$jobs")
  [ "$#" -eq 0 ] || command+=(--target "$@")
  # One line that moves, where someone watches; else a word, and output only when it fails.
  if [ -t 2 ]; then
    "${command[@]}" >&2
  else
    say "Building ($preset) …"
    quietly "${command[@]}"
  fi
}
