#!/usr/bin/env bash
# Builds and runs the tier-0 binary: no std, no allocator, no C library. Proves it by what is linked in.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../freestanding"
cargo build --release --locked
binary=target/release/rukh-freestanding
./"$binary"
if nm "$binary" | grep -E ' [TtWw] (__rust_alloc|__rust_realloc|malloc|_ZN3std|__libc_start_main)'; then
  echo "the freestanding binary links an allocator, std or libc" >&2
  exit 1
fi
if readelf -d "$binary" 2>/dev/null | grep -q NEEDED; then
  echo "the freestanding binary needs a shared library" >&2
  exit 1
fi
size "$binary"
