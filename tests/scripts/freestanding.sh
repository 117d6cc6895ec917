#!/usr/bin/env bash
# Builds and runs the tier-0 binary: no std, no allocator, no C library, no panics. Proves it by what is linked in.
# Says how much stack each entry uses (the binary measures it) and how large all of it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../freestanding"
limit=40960 # bytes of code and data, with everything that tier 0 has

RUSTFLAGS="-C force-unwind-tables=no" cargo build --release --locked
binary=target/release/rukh-freestanding
./"$binary"
if nm "$binary" | grep -E ' [TtWw] (__rust_alloc|__rust_realloc|__rdl_|__rg_|malloc|_ZN3std|_RNv[^ ]*3std|__libc_start_main)'; then
  echo "the freestanding binary links an allocator, std or libc" >&2
  exit 1
fi
if nm -C "$binary" | grep -iE 'panic|unwrap_failed|expect_failed|slice_index_fail|handle_alloc'; then
  echo "the freestanding binary can panic: something in tier 0 has a check that the compiler cannot remove" >&2
  exit 1
fi
if readelf -d "$binary" 2>/dev/null | grep -q NEEDED; then
  echo "the freestanding binary needs a shared library" >&2
  exit 1
fi
# What a kernel would link: not the code object that the test brings along, its printing and its measuring, nor tables
# for unwinding.
object=$(stat -c %s ../golden/objects/vector_add-gfx90a-O2-v5.co)
for size in $(nm -CS "$binary" | awk '$3 == "t" && $4 ~ /^rukh_freestanding::(run|stack::.*|system::print.*)$/ { print $2 }'); do
  object=$((object + 16#$size))
done
bytes=$(size -A "$binary" | awk -v object="$object" \
  '$1 ~ /^\.(text|rodata|data|data\.rel\.ro|got)$/ { sum += $2 } END { print sum - object }')
echo "tier 0: $bytes bytes of code and data (at most $limit), no allocator, no panics"
if [ "$bytes" -gt "$limit" ]; then
  echo "tier 0 has grown past $limit bytes" >&2
  exit 1
fi
