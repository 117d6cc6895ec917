#!/bin/sh
# The C library exports every function that Debian's HSA headers declare and Debian's own library exports,
# 259 names in all, each with version ROCR_1, in a debug and in a release build.
#
#   tests/scripts/exports.sh [PROFILE...]      PROFILE: dev, release (default: dev)
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- dev

# Functions that the headers declare; the loader's and the profiler's are reached by tables alone.
for header in hsa.h hsa_ext_amd.h hsa_ext_image.h hsa_ext_finalize.h; do
  gcc -E -P "/usr/include/hsa/$header"
done | tr '\n' ' ' | grep -oE '\bhsa_[a-z0-9_]+ *\(' | tr -d ' (' |
  grep -vE '_(t|s)$' | sort -u > "$work/declared"

debian=/usr/lib/$(gcc -print-multiarch)/libhsa-runtime64.so.1
[ ! -e "$debian" ] || nm -D --defined-only "$debian" | sed -n 's/.* \([^ ]*\)@@ROCR_1$/\1/p' | sort > "$work/debian"
touch "$work/debian"

for profile; do
  "$root/capi/install.sh" "$work/$profile" "$profile"
  library=$work/$profile/lib/libhsa-runtime64.so.1
  nm -D --defined-only "$library" > "$work/symbols"
  sed -n 's/.* \([^ ]*\)@@ROCR_1$/\1/p' "$work/symbols" | sort > "$work/exports"
  count=$(wc -l < "$work/exports")
  [ "$count" -eq 259 ] || { echo "$profile: $count exports instead of 259" >&2; exit 1; }
  if grep -vE '@@ROCR_1$| A ROCR_1$' "$work/symbols" >&2; then
    echo "$profile: the symbols above have no version" >&2
    exit 1
  fi
  for list in declared debian; do
    missing=$(comm -23 "$work/$list" "$work/exports")
    [ -z "$missing" ] || { echo "$profile: not exported, though $list: $missing" >&2; exit 1; }
  done
  readelf -d "$library" | grep -q 'SONAME.*\[libhsa-runtime64.so.1\]'
  readelf -d "$library" | grep -q NODELETE
  echo "PASS exports ($profile): $count"
done
