#!/usr/bin/env bash
# Installs what the tests need from Debian's packages and crates.io: `install.sh [quick|default|full]`.
set -euo pipefail
packages=(clang-19 lld-19 llvm-19 clang-22 lld-22 llvm-22 gcc libc6-dev linux-libc-dev libhsa-runtime-dev libhsa-runtime64-1 rocm-device-libs
  rocminfo kmod libdrm-dev valgrind util-linux jq
  xz-utils zstd qemu-system-x86 qemu-system-arm)
# What programs.sh compiles and runs.
programs=(gcc-12 g++-12 gcc-12-offload-amdgcn gfortran-12 libomp-19-dev clang-tools-19 hipcc libamdhip64-dev
  librocrand-dev librocsparse-dev liboffload-22-dev libclang-rt-22-dev cmake pkg-config gdb)
[ "${1:-default}" = quick ] || packages+=("${programs[@]}")
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q
  apt-get install -q -y --no-install-recommends "${missing[@]}"
fi
# The thread sanitizer needs the standard library built with it (c_sanitizers.sh).
[ "${1:-default}" = quick ] || rustup component add rust-src
for component in rustfmt clippy; do
  cargo "${component/rustfmt/fmt}" --version >/dev/null || rustup component add "$component"
done
# Processors without an operating system, and one that must be refused.
if [ "${1:-default}" != quick ]; then
  rustup target add x86_64-unknown-none aarch64-unknown-none riscv64gc-unknown-none-elf i686-unknown-linux-gnu powerpc64-unknown-linux-gnu
fi
if [ "${1:-default}" != quick ] && ! cargo fuzz --version >/dev/null 2>&1; then
  cargo install --locked cargo-fuzz
fi
