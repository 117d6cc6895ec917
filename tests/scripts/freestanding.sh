#!/usr/bin/env bash
# Builds and runs the tier-0 binary: no std, no allocator, no C library, no panics. Proves it by what is linked in.
# Says how much stack each entry uses (the binary measures it) and how large all of it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../freestanding"
limit=40960 # bytes of all that is loaded but the code object, with everything that tier 0 has

cargo build --release --locked
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
# Every section that has an address and bytes in the file, the test's own code among them. Not the code object that the
# test brings along, which is its data.
object=$(stat -c %s ../golden/objects/vector_add-gfx90a-O2-v5.co)
bytes=$(size -A "$binary" | awk -v object="$object" \
  '$3 > 0 && $1 !~ /^\.(bss|relro_padding)$/ { sum += $2 } END { print sum - object }')
echo "tier 0: $bytes bytes of code and data with the test's own (at most $limit), no allocator, no panics"
if [ "$bytes" -gt "$limit" ]; then
  echo "tier 0 has grown past $limit bytes" >&2
  exit 1
fi
