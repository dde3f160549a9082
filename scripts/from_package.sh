# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by run.sh: takes Headlight from a package that scripts/package.sh made here or elsewhere.

# from_package FILE: installs a .deb, or unpacks an archive into out/; $headlight is then the program.
from_package() {
  local file="$1" name
  if [ ! -f "$file" ]; then
    say "There is no file ${file:-named}. It has to be a headlight_VERSION_amd64.deb or a"
    say "headlight-VERSION-x86_64.tar.gz; scripts/package.sh makes both, on a machine with a compiler."
    return 2
  fi
  case "$file" in
    *.deb)
      apt_install "$(realpath -- "$file")" || return
      headlight=/usr/bin/headlight
      ;;
    *.tar.gz)
      # As the archive calls its folder, whatever the file is called by now.
      name="$(tar -tzf "$file" | sed -n '1s|^\(\./\)\?\([^/]*\)/.*|\2|p')"
      case "$name" in
        headlight-*) ;;
        *) say "$file holds no Headlight: its first folder is not headlight-VERSION-x86_64."; return 2 ;;
      esac
      mkdir -p -- "$root/out"
      rm -rf -- "${root:?}/out/$name"
      tar -xzf "$file" -C "$root/out" || return
      headlight="$root/out/$name/bin/headlight"
      ;;
    *) say "$file is neither a .deb nor a .tar.gz"; return 2 ;;
  esac
}
