#!/bin/sh
# Runs kfd_record, which makes all calls of a kernel's record and compares the answers, on the KFD face that the preload
# library puts before it: with the interface of Linux 6.1 and with that of 6.12, on a machine without GPUs. The same program
# runs on the kernels themselves in tests/scripts/vm.sh.
#
#   tests/scripts/kfd_record.sh
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
known=$root/tests/records/kfd-preload-differences.txt
target=${CARGO_TARGET_DIR:-$root/target}/release
cargo build --manifest-path "$root/Cargo.toml" --release --locked -p rukh-kfd-preload
cargo build --manifest-path "$root/Cargo.toml" --release --locked -p rukh-backend-linux-kfd --example kfd_record

for interface in 1.11 1.17; do
  LD_PRELOAD=$target/librukh_kfd.so RUKH_KFD=$interface:none timeout 100 "$target/examples/kfd_record" > "$work/out" || true
  grep -qx "interface $interface" "$work/out" || { cat "$work/out" >&2; echo "interface $interface: not reached" >&2; exit 1; }
  # What differs and is not listed; then what is listed and does not differ.
  grep '^DIFFERENCE' "$work/out" | sed 's/^DIFFERENCE \(recorded: *\)\{0,1\}//' > "$work/differences"
  grep -v '^#' "$known" | cut -f 1 > "$work/known"
  awk 'NR == FNR { known[$0]; next } { for (k in known) if (index($0, k) == 1) next; print }' \
    "$work/known" "$work/differences" > "$work/new"
  awk 'NR == FNR { found[$0]; next } /^[0-9]+$/ { next } { for (f in found) if (index(f, $0) == 1) next; print }' \
    "$work/differences" "$work/known" > "$work/gone"
  if [ -s "$work/new" ] || [ -s "$work/gone" ]; then
    cat "$work/out" >&2
    sed 's/^/differs, and is not listed: /' "$work/new" >&2
    sed 's/^/listed, and does not differ: /' "$work/gone" >&2
    exit 1
  fi
  echo "PASS record over the preload library, interface $interface: $(grep 'lines compared' "$work/out")"
done
