#!/bin/sh
# Runs Debian's rocminfo over the C library on the software GPU, and through the Linux KFD backend on its KFD face. There
# it prints what it prints over AMD's own runtime (Debian's), line for line, but for what later versions of that changed.
#
#   tests/scripts/rocminfo.sh [PREFIX]
#
# rocminfo calls the library only if lsmod lists amdgpu and /dev/kfd can be opened. Both are
# given to it in a mount namespace of its own: a tmpfs as /dev with a plain file, a stub lsmod first in PATH.
# The machine's own /dev is not touched. Needs root (or unprivileged user namespaces).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v rocminfo > /dev/null || { echo "needs Debian's rocminfo" >&2; exit 1; }
prefix=${1:-}
if [ -z "$prefix" ]; then
  prefix=$work/prefix
  "$root/capi/install.sh" "$prefix" "${PROFILE:-release}"
fi

mkdir "$work/bin"
printf '#!/bin/sh\necho "amdgpu 1 0"\n' > "$work/bin/lsmod"
chmod +x "$work/bin/lsmod"
unshare=unshare
[ "$(id -u)" -eq 0 ] || unshare="unshare --user --map-root-user"

# ours BACKEND GPUS: to $work/out and $work/err
ours() {
  RUKH_BACKEND=$1 RUKH_KFD=$2 LD_LIBRARY_PATH=$prefix/lib PATH=$work/bin:$PATH \
    $unshare --mount sh -c '
      mount -t tmpfs none /dev
      : > /dev/kfd
      ln -s /proc/self/fd /dev/fd
      : > /dev/null
      exec rocminfo' > "$work/out" 2> "$work/err"
}

for with in sim:gfx90a sim:gfx1100 kfd:gfx90a kfd:gfx1100; do
  status=0
  gpu=${with#*:}
  backend=$with
  [ "$with" = "sim:$gpu" ] || backend=kfd
  ours "$backend" "$gpu" || status=$?
  fail() { echo "rocminfo on $with: $*" >&2; cat "$work/out" "$work/err" >&2; exit 1; }
  [ $status -eq 0 ] || fail "exit status $status"
  ! grep -q 'no version information' "$work/out" "$work/err" || fail "an unversioned symbol"
  ! grep -q 'rukh:' "$work/err" || fail "the library complains"
  agents=$(grep -c '^Agent [0-9]' "$work/out")
  [ "$agents" -eq 2 ] || fail "$agents agents instead of 2"
  grep -qE "Device Type: +CPU" "$work/out" || fail "no CPU"
  grep -qE "^ +Name: +$gpu *\$" "$work/out" || fail "no agent named $gpu"
  grep -qE "Name: +amdgcn-amd-amdhsa--$gpu" "$work/out" || fail "no ISA of $gpu"
  # Not the generic one as well: HIP 5 and LLVM 19's OpenMP take agents of one ISA.
  ! grep -qE "Name: +amdgcn-amd-amdhsa--gfx.*-generic" "$work/out" || fail "a second ISA"
  grep -qE 'Segment: +GLOBAL; FLAGS: KERNARG, FINE GRAINED' "$work/out" || fail "no kernarg pool"
  grep -qE 'Segment: +GLOBAL; FLAGS: COARSE GRAINED' "$work/out" || fail "no device memory"
  grep -qE 'Segment: +GROUP' "$work/out" || fail "no group memory"
  grep -qE 'Wavefront Size: +(32|64)\(' "$work/out" || fail "no wavefront size"
  grep -q 'Done' "$work/out" || fail "ended early"
  echo "PASS rocminfo on $with"
  [ -z "${SHOW:-}" ] || cat "$work/out"
done

# A driver without a GPU: the CPU agent alone.
ours kfd none || { cat "$work/out" "$work/err" >&2; exit 1; }
[ "$(grep -c '^Agent [0-9]' "$work/out")" -eq 1 ] && grep -qE "Device Type: +CPU" "$work/out" ||
  { echo "rocminfo without a GPU: not one CPU agent" >&2; cat "$work/out" >&2; exit 1; }
echo "PASS rocminfo on a driver without a GPU"

# What is not the same, because versions of AMD's runtime after Debian's have it as ours does: the version, extended
# fine-grained pools (which this rocminfo shows without a flag), the largest grid, the CPU's caches, the size of gfx9's cache
# lines, gfx1030's engines, which Debian's counts as arrays.
comparable() {
  awk -v gpu="$2" '
    function flush() {
      if (pool !~ /FLAGS: *\n/) printf "%s", pool
      pool = ""
    }
    /^Agent/ { agent = $2 }
    /^Runtime Version/ || agent == 1 && /^ +L[1-4]:/ { next }
    agent == 2 && (/Cacheline Size/ || gpu == "gfx1030" && /Shader Engines/) { next }
    { gsub(/4294967295\(0xffffffff\)|2147483647\(0x7fffffff\)|65535\(0xffff\)/, "the most"); sub(/ +$/, "") }
    /^    Pool [0-9]/ { flush(); pool = "    Pool\n"; next }
    /^  ISA Info/ { flush() }
    pool != "" { pool = pool $0 "\n"; next }
    { print }
    END { flush() }' "$1"
}
cargo build --quiet --manifest-path "$root/Cargo.toml" --release --locked -p rukh-kfd-preload
preload=${CARGO_TARGET_DIR:-$root/target}/release/librukh_kfd.so
for gpu in gfx90a gfx908 gfx906 gfx1030; do
  RUKH_KFD=$gpu LD_PRELOAD=$preload timeout 60 rocminfo > "$work/amd" 2> "$work/err" || { cat "$work/err" >&2; exit 1; }
  ours kfd $gpu || { cat "$work/out" "$work/err" >&2; exit 1; }
  comparable "$work/amd" $gpu > "$work/amds"
  comparable "$work/out" $gpu > "$work/ours"
  [ "$(wc -l < "$work/amds")" -gt 120 ] && diff "$work/amds" "$work/ours" >&2 ||
    { echo "rocminfo on $gpu: not as over AMD's runtime" >&2; exit 1; }
  echo "PASS rocminfo on $gpu prints what it prints over AMD's runtime ($(wc -l < "$work/ours") lines)"
done
