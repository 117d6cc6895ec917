#!/usr/bin/env bash
# Builds and lints core and the software GPU for processors without an operating system, and holds the crates to
# saying what they need where they cannot work.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

for target in x86_64-unknown-none aarch64-unknown-none riscv64gc-unknown-none-elf; do
  echo "-- $target"
  cargo clippy --locked --target "$target" -p rukh-core --no-default-features -- -D warnings
  cargo clippy --locked --target "$target" -p rukh-core --no-default-features --features dwarf -- -D warnings
  cargo clippy --locked --target "$target" -p rukh-backend-sim --no-default-features -- -D warnings
done

echo "-- the kernel that boots"
for target in x86_64-unknown-none aarch64-unknown-none; do
  (cd tests/freestanding/kernel && cargo fmt --check && cargo clippy --locked --target "$target" -- -D warnings)
done

# 32-bit and big-endian hosts are refused in words. The crates before core must build there, so that its words are
# what is said.
for target in i686-unknown-linux-gnu powerpc64-unknown-linux-gnu; do
  if words=$(cargo check --locked --target "$target" -p rukh-core --no-default-features 2>&1); then
    echo "targets.sh: core builds for $target, which has 32-bit addresses or is big-endian" >&2
    exit 1
  fi
  grep -q 'needs a 64-bit little-endian host' <<<"$words" || {
    echo "$words" >&2
    echo "targets.sh: core does not say what it needs on $target" >&2
    exit 1
  }
  echo "-- $target: refused, and told why"
done
