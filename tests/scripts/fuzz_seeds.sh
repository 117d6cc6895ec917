#!/usr/bin/env bash
# Makes seeds of corpora: `fuzz_seeds.sh [TARGET...]`. Of the inputs up to 2 KiB those that together cover what all of them cover,
# and of these about 100, small ones and large ones. Seeds whose names say something (findings, inputs made by hand) stay.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../fuzz"
export RUSTC_BOOTSTRAP=1 ASAN_OPTIONS=detect_odr_violation=0
cargo fuzz build --codegen-units 8
programs=target/$(rustc -vV | sed -n 's/^host: //p')/release
targets=("$@")
[ ${#targets[@]} != 0 ] || mapfile -t targets < <(cargo fuzz list)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for target in "${targets[@]}"; do
  rm -rf "$work"/*
  mkdir "$work/small" "$work/cover"
  mkdir -p "seeds/$target"
  # The search for inputs that cover all takes the square of their number: of a large corpus a sample, as hashes order it.
  find "corpus/$target" -type f -size -2048c | sort | sed -n 1,1500p | xargs -r cp -t "$work/small"
  find "seeds/$target" -type f -size -2048c -exec cp {} "$work/small" \;
  "$programs/$target" -set_cover_merge=1 -rss_limit_mb=4096 "$work/cover" "$work/small" > "$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; exit 1; }
  # Names of hashes are the fuzzer's.
  find "seeds/$target" -type f -regextype egrep -regex '.*/[0-9a-f]{40}' -delete
  step=$((($(find "$work/cover" -type f | wc -l) + 99) / 100))
  find "$work/cover" -type f -printf '%s %p\n' | sort -n | awk -v step="$step" 'NR % step == 0' | cut -d' ' -f2 |
    while read -r file; do cp "$file" "seeds/$target"; done
  echo "-- $target: $(find "seeds/$target" -type f | wc -l) seeds of $(find "corpus/$target" -type f | wc -l) inputs"
done
du -sh seeds
