#!/bin/sh
# AMD's own runtime (Debian's libhsa-runtime64 and what it loads) on the KFD face of the software GPU, by LD_PRELOAD.
#
#   tests/scripts/amd_runtime.sh [--show]      --show: print what rocminfo prints
#
# RUKH_TEST_SEED chooses golden kernels (with RUKH_TEST_MODE=full it is all of gfx90a's); RUKH_GOLDEN_DIR may have their objects.
#
# The programs are compiled against Debian's headers and linked with Debian's library; that it is theirs and that the
# simulated GPU executed the kernels is asserted.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
show=${1:-}
objects=$root/tests/golden/objects
fail() { echo "amd_runtime: $*" >&2; exit 1; }

cargo build --manifest-path "$root/Cargo.toml" --release --locked -p rukh-kfd-preload -p rukh-tests \
  --lib --example golden_over_hsa
built=${CARGO_TARGET_DIR:-$root/target}/release
preload=$built/librukh_kfd.so
unset LD_LIBRARY_PATH RUKH_BACKEND RUKH_KFD

# AMD's, as Debian packages it; nothing of ours beside the preload library.
library=$(readlink -f "/usr/lib/$(gcc -print-multiarch)/libhsa-runtime64.so.1")
dpkg -S "$library" | grep -q '^libhsa-runtime64-1:' || fail "$library is not Debian's"
dpkg --verify libhsa-runtime64-1 libhsakmt1 libdrm-amdgpu1 rocminfo || fail "files of the packages were changed"
[ ! -e /dev/kfd ] || echo "note: this machine has a /dev/kfd of its own, which is not used"
theirs() {
  ldd "$1" | grep -q "libhsa-runtime64.so.1 => .*/$(basename "$(dirname "$library")")/libhsa-runtime64.so.1 " ||
    fail "$1 does not load Debian's library"
}

# The DRM's headers are elsewhere; of them the driver's needs the types alone.
mkdir -p "$work/include/drm"
printf '#include <linux/types.h>\n' > "$work/include/drm/drm.h"
gcc -std=gnu11 -O1 -g -Wall -Wextra -Werror -pthread -I"$work/include" -I/usr/include/libdrm -o "$work/driver_files" \
  "$root/tests/c/driver/driver_files.c" -ldrm_amdgpu
for name in vector_add matmul copies signals queues memory_fault; do
  gcc -std=gnu11 -O1 -g -Wall -Wextra -Werror -pthread -o "$work/$name" "$root/tests/c/$name.c" -lhsa-runtime64 -lm
done
theirs "$work/vector_add"

# run GPUS PROGRAM ARGUMENT...: succeeds, and the simulated GPU worked for it.
run() {
  gpus=$1 program=$2
  shift 2
  echo "== RUKH_KFD=$gpus ${settings:-} $program $*"
  status=0
  env ${settings:-} RUKH_KFD="$gpus" RUKH_KFD_LOG=1 LD_PRELOAD="$preload" timeout 300 "$work/$program" "$@" \
    > "$work/out" 2> "$work/err" || status=$?
  [ $status -eq 0 ] && grep -q '^PASS' "$work/out" || { cat "$work/out" "$work/err" >&2; fail "$program: status $status"; }
  cat "$work/out"
}
executed() {
  instructions=$(sed -n 's/.*executed \([0-9]*\) wave instructions/\1/p' "$work/err" | tail -n 1)
  [ "${instructions:-0}" -ge "$1" ] || { cat "$work/err" >&2; fail "${instructions:-no} wave instructions, not $1"; }
  echo "   the simulated GPU executed $instructions wave instructions"
}

run gfx90a,gfx90a driver_files
if "$work/driver_files" > "$work/out" 2>&1; then fail "driver_files passes without the library"; fi

# Programs that were written for nobody's driver see its files too, and leave none behind.
look() { RUKH_KFD=gfx90a,gfx90a LD_PRELOAD=$preload "$@"; }
look ls -l /dev/kfd /dev/dri /sys/class/kfd/kfd > "$work/out"
[ "$(grep -c '^crw-rw-rw-.* 226, *12[89] .* renderD12[89]$' "$work/out")" -eq 2 ] || fail "ls: $(cat "$work/out")"
[ "$(look find /sys/class/kfd/kfd/topology/nodes -name gpu_id -exec cat {} + | sort -u | wc -l)" -eq 3 ] || fail "find"
look lsmod | grep -q '^amdgpu ' || fail "lsmod"
! look cat /sys/class/kfd/kfd/topology/nodes/0/nothing 2> /dev/null || fail "cat"
echo "PASS ls, find, cat and lsmod"

for gpu in gfx90a gfx908 gfx906 gfx1030 gfx90a,gfx90a gfx90a,gfx1030; do
  RUKH_KFD=$gpu LD_PRELOAD=$preload timeout 60 rocminfo > "$work/out" 2> "$work/err" ||
    { cat "$work/out" "$work/err" >&2; fail "rocminfo on $gpu"; }
  [ -z "$show" ] || cat "$work/out"
  want() { grep -qE "$1" "$work/out" || { cat "$work/out" "$work/err" >&2; fail "rocminfo on $gpu: no $1"; }; }
  want 'ROCk module is loaded'
  want 'Device Type: +CPU'
  for name in $(echo "$gpu" | tr , ' '); do
    want "^ +Name: +$name *\$"
    want "Name: +amdgcn-amd-amdhsa--$name"
  done
  # Unique ids of simulated GPUs begin with "rukh"; each GPU has its own.
  count=$(echo "$gpu" | tr , '\n' | wc -l)
  [ "$(grep -oE 'Uuid: +GPU-72756b68[0-9a-f]{8}' "$work/out" | sort -u | wc -l)" -eq "$count" ] || fail "ids on $gpu"
  want 'Marketing Name: +AMD (Instinct|Radeon)'
  want 'Segment: +GLOBAL; FLAGS: COARSE GRAINED'
  want 'Done'
  echo "PASS rocminfo on $gpu"
done

# Why there is no GPU is said, with the value.
if RUKH_KFD=gfx90b LD_PRELOAD=$preload rocminfo > "$work/out" 2> "$work/err"; then fail "rocminfo on gfx90b"; fi
grep -q 'RUKH_KFD="gfx90b".*gfx90a' "$work/err" || fail "gfx90b: $(cat "$work/err")"
if LD_PRELOAD=$preload rocminfo > "$work/out" 2> "$work/err"; then fail "rocminfo without GPUs"; fi
grep -q 'RUKH_KFD is not set' "$work/err" || fail "no GPUs: $(cat "$work/err")"
echo "PASS wrong lists of GPUs"

# The runtime's own kernels and SDMA packets, generation by generation.
for gpu in gfx906 gfx908 gfx1030 gfx90a,gfx1030; do
  run $gpu copies
  executed 1000
done

# With SDMA engines and interrupts; with copies by kernels alone; with polling instead of interrupts.
for settings in "" "HSA_ENABLE_SDMA=0" "HSA_ENABLE_INTERRUPT=0"; do
  for gpus in gfx90a gfx90a,gfx90a; do
    run $gpus vector_add "$objects/vector_add-gfx90a-O2-v5.co"
    executed 10000
  done
  run gfx90a matmul "$objects/matmul-gfx90a-O2-v5.co" 128
  executed 100000
  run gfx90a copies
  executed 1000
  run gfx90a,gfx90a copies
  executed 1000
  run gfx90a signals
  run gfx90a queues
  # Without interrupts AMD's runtime does not hear of faults.
  case $settings in *INTERRUPT=0*) continue ;; esac
  run gfx90a memory_fault "$objects/fault-gfx90a-O2-v5.co" handled
  grep -q 'rukh-kfd: queue .* memory fault: write of 4 bytes' "$work/err" || fail "the fault is not the simulated GPU's"
done

# Without a handler of the program's the runtime says where, and ends the process.
status=0
(ulimit -c 0; RUKH_KFD=gfx90a LD_PRELOAD=$preload timeout 60 "$work/memory_fault" \
  "$objects/fault-gfx90a-O2-v5.co" > "$work/out" 2> "$work/err") || status=$?
[ $status -eq 134 ] || { cat "$work/out" "$work/err" >&2; fail "memory_fault: status $status instead of an abort"; }
address=$(sed -n 's/^address 0x//p' "$work/out")
grep -q "Memory access fault by GPU node-1 .* on address 0x$address. Reason: Page not present" "$work/err" ||
  { cat "$work/out" "$work/err" >&2; fail "the runtime does not name $address"; }
echo "PASS a memory fault without a handler"

# The golden kernels, which use all that compilers ask a runtime for: scratch, dynamic group memory, hidden arguments.
# This runtime reads code objects up to version 5.
case ${RUKH_TEST_MODE:-default} in full) cases=full ;; *) cases=${RUKH_TEST_SEED:-1} ;; esac
RUKH_GOLDEN=$cases RUKH_KFD=gfx90a RUKH_KFD_LOG=1 LD_PRELOAD=$preload timeout 3000 \
  "$built/examples/golden_over_hsa" "$library" gfx90a v4 v5 > "$work/out" 2> "$work/err" ||
  { cat "$work/out" "$work/err" >&2; fail "golden kernels"; }
cat "$work/out"
executed 1000000
