#!/usr/bin/env bash
# Makes the pictures of the READMEs anew: assets/screenshots/light.png, dark.png, the same in
# Chinese, backward.png, train.png and both.png.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"

install_missing "$app_packages"
build release headlight
mkdir -p -- "$root/assets/screenshots"
for theme in light dark; do
  "$root/build/release/headlight" screenshot --theme "$theme" --size 1440x900 --model stories \
    --sentence "The little dog was sad because it lost its ball" \
    --step blocks.2.attn.pattern --head 1 --at 1,6,2 --out "$root/assets/screenshots/$theme.png"
  say "assets/screenshots/$theme.png"
  "$root/build/release/headlight" screenshot --theme "$theme" --size 1440x900 --model poems --lang zh \
    --sentence "我每天都看书，但没看过这本书" \
    --step blocks.2.attn.pattern --head 1 --at 1,3,1 --out "$root/assets/screenshots/$theme-zh.png"
  say "assets/screenshots/$theme-zh.png"
done
"$root/build/release/headlight" screenshot --model grammar --step d.blocks.0.attn.scores_raw --nudge \
  --size 1440x900 --out "$root/assets/screenshots/backward.png"
say "assets/screenshots/backward.png"
"$root/build/release/headlight" screenshot --train induction --train-steps 900 --mark 240 \
  --size 1440x900 --out "$root/assets/screenshots/train.png"
say "assets/screenshots/train.png"
"$root/build/release/headlight" screenshot --backend both --open compute --size 1440x900 \
  --out "$root/assets/screenshots/both.png"
say "assets/screenshots/both.png"
