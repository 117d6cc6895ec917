#!/usr/bin/env bash
# Builds the golden kernels in Rust with the compiler that builds everything else, for amdgcn-amd-amdhsa:
#
#   build.sh            the objects of objects/, in place
#   build.sh --check    builds those again elsewhere and compares the bytes
#   build.sh --check TARGET...
#
# Core is built with the kernel (rustup's component rust-src), and the flags for that are taken by a stable compiler
# only when told to. The same compiler gives the same bytes everywhere.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here"
target_folder=${CARGO_TARGET_DIR:-$here/../../../target/golden-rust}

[ -e "$(rustc --print sysroot)/lib/rustlib/src/rust/library/core" ] || rustup component add rust-src

# The object of a processor, to a file.
build() {
  local cpu=$1 file=$2
  # Profiles and flags of whoever calls are for the host.
  env -u CARGO_ENCODED_RUSTFLAGS -u CARGO_INCREMENTAL -u RUSTC_WRAPPER RUSTC_BOOTSTRAP=1 \
    RUSTFLAGS="-Ctarget-cpu=$cpu -Cpanic=immediate-abort -Zunstable-options --remap-path-prefix=$here=." \
    cargo build -q --release --locked --target amdgcn-amd-amdhsa -Zbuild-std=core --target-dir "$target_folder/$cpu"
  cp "$target_folder/$cpu/amdgcn-amd-amdhsa/release/rukh_golden_rust.elf" "$file"
}

check=
if [ "${1:-}" = --check ]; then
  check=yes
  shift
fi
cargo fmt --check
targets=${*:-gfx90a gfx1100}
for cpu in $targets; do
  if [ -n "$check" ]; then
    file=$(mktemp)
    build "$cpu" "$file"
    cmp "$file" "objects/items-$cpu.co" || {
      echo "golden/rust: objects/items-$cpu.co is not what its source gives with $(rustc --version)" >&2
      exit 1
    }
    rm "$file"
  else
    mkdir -p objects
    build "$cpu" "objects/items-$cpu.co"
  fi
done
echo "kernels in Rust: $targets"
