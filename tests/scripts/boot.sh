#!/usr/bin/env bash
# Builds the kernel of tests/freestanding/kernel, boots it in QEMU, decodes its log and compares it with what is
# expected: `boot.sh [x86_64|aarch64]`, both without an argument. Then boots it to overflow its stack, which must end in
# words. `boot.sh ARCHITECTURE --show [WORD]` just shows the log, of a boot with that word as its command line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../freestanding"

# The statuses that the kernel leaves with (src/log.rs).
passed=33 overflowed=107
# Emulation without hardware help, on a machine with other work to do. What hangs is stopped.
patience=900

# Boots a built kernel with this command line: the status to `status`, the log as text to `$serial.txt`.
start() {
  status=0
  timeout "$patience" "${machine[@]}" -accel tcg -m 768M -display none -monitor none -no-reboot \
    -serial "file:$serial" -kernel "$kernel" ${1:+-append "$1"} </dev/null || status=$?
  decode/target/debug/rukh-decode "$kernel" <"$serial" >"$serial.txt" || {
    echo "boot.sh: $architecture: the log does not decode (QEMU ended with $status)" >&2
    exit 1
  }
}

boot() {
  local architecture=$1 show=${2:-} kernel serial status machine
  # At fixed addresses below 2 GiB, as the linker scripts place it.
  (cd kernel && DEFMT_LOG=info RUSTFLAGS="-C relocation-model=static -C code-model=small" \
    cargo build --release --locked --target "$architecture-unknown-none")
  (cd decode && cargo build --locked)
  kernel=kernel/target/$architecture-unknown-none/release/rukh-kernel
  serial=kernel/target/$architecture.serial
  case $architecture in
  x86_64) machine=(qemu-system-x86_64 -machine q35 -cpu max -device isa-debug-exit,iobase=0xf4,iosize=4) ;;
  aarch64) machine=(qemu-system-aarch64 -machine virt -cpu max -semihosting-config enable=on,target=native) ;;
  *)
    echo "boot.sh: $architecture is neither x86_64 nor aarch64" >&2
    exit 2
    ;;
  esac
  start "${3:-}"
  if [ "$show" = --show ]; then
    cat "$serial.txt"
    echo "status $status"
    return
  fi
  if [ "$status" != $passed ]; then
    cat "$serial.txt"
    echo "boot.sh: $architecture: the kernel ended with $status, not with $passed" >&2
    exit 1
  fi
  # The same on every processor: the software GPU is exact.
  diff kernel/expected.txt "$serial.txt" || {
    echo "boot.sh: $architecture: the log is not the one of kernel/expected.txt" >&2
    exit 1
  }
  echo "$architecture: booted, $(wc -l <"$serial.txt") lines of log as expected; the kernel has" \
    "$(size -A "$kernel" | awk '$1 == ".text" { print int($2 / 1024) }') KiB of code"

  start overflow
  if [ "$status" != $overflowed ] ||
    ! diff <(printf '%s\n' 'info using up the stack' 'error the stack overflowed: code at X used address X') \
      <(sed 's/0x[0-9a-f]*/X/g' "$serial.txt"); then
    cat "$serial.txt"
    echo "boot.sh: $architecture: a stack that overflows ended with $status, not with $overflowed and words" >&2
    exit 1
  fi
  echo "$architecture: $(tail -n 1 "$serial.txt")"
}

if [ $# -eq 0 ]; then
  boot x86_64
  boot aarch64
else
  boot "$@"
fi
