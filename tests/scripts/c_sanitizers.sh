#!/usr/bin/env bash
# Runs C clients over the C library with both instrumented by a sanitizer of LLVM: the address sanitizer with its check for
# leaks, then the thread sanitizer, for which Rust's standard library is built again.
#
#   tests/scripts/c_sanitizers.sh [address|thread]...      default: both
#
# All clients of tests/c that c_clients.sh runs, but quiet: it has an allocator of its own in the place of the C library's,
# where the sanitizers' is, and a thread that may make no system call, in which their runtimes would. Of memory_fault the
# part that goes on is run: the other one ends in abort by intent.
#
# The builds stay in target/sanitize-address and target/sanitize-thread. Stable Rust refuses the flags but for
# RUSTC_BOOTSTRAP.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
objects=$root/tests/golden/objects
host=x86_64-unknown-linux-gnu
clang=clang-22
[ $# -gt 0 ] || set -- address thread
unset LD_LIBRARY_PATH
export ASAN_OPTIONS=allocator_may_return_null=1
# Clients fork while the runtime's threads run, and the child starts a runtime of its own.
export TSAN_OPTIONS="die_after_fork=0 allocator_may_return_null=1 halt_on_error=0 exitcode=66 \
external_symbolizer_path=$(command -v llvm-symbolizer-22)"

# Line numbers are for who reads a report; optimised a little, for the software GPU's sake.
build() {
  local extra=()
  local flags=-Zsanitizer=$1
  [ "$1" = address ] || { extra=(-Zbuild-std=std,panic_unwind) && flags+=" --cfg rukh_sanitizer"; }
  CARGO_TARGET_DIR=$root/target/sanitize-$1 CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=line-tables-only RUSTC_BOOTSTRAP=1 \
    RUSTFLAGS="$flags" cargo build --quiet --manifest-path "$root/Cargo.toml" --locked "${extra[@]}" \
    --target $host -p rukh-capi --lib
  mkdir -p "$work/$1/lib"
  cp "$root/target/sanitize-$1/$host/debug/librukh_capi.so" "$work/$1/lib/libhsa-runtime64.so.1"
  # It is instrumented.
  nm -D "$work/$1/lib/libhsa-runtime64.so.1" > "$work/symbols"
  grep -q "__${1:0:1}san_init" "$work/symbols" || { echo "c_sanitizers: the library is not instrumented" >&2; exit 1; }
  ln -s libhsa-runtime64.so.1 "$work/$1/lib/libhsa-runtime64.so"
}

# What clients load: kernels, and a tool.
for gpu in gfx90a gfx1100; do
  for kernel in scratch undefined; do
    clang-19 --target=amdgcn-amd-amdhsa -mcpu=$gpu -nogpulib -O1 -mcode-object-version=5 -Wl,-z,undefs \
      "$root/tests/c/device/$kernel.c" -o "$work/$kernel-$gpu.co"
  done
done

# The sanitizers report what they are for: a program with a defect of each kind fails.
control() {
  local program=$work/control-$1
  $clang -O0 -g -fsanitize="$1" -pthread -x c -o "$program" - <<'END'
#include <pthread.h>
#include <stdlib.h>
static char *volatile shared;
static void *write_to(void *data) { return *shared = 1, data; }
int main(void) {
  pthread_t thread;
  shared = malloc(1);
  pthread_create(&thread, NULL, write_to, NULL);
  *shared = 2; /* a race */
  pthread_join(thread, NULL);
  shared[1] = 0; /* beyond the end */
}
END
  ! "$program" > "$work/out" 2>&1 && grep -q 'ERROR: AddressSanitizer\|WARNING: ThreadSanitizer' "$work/out" ||
    { cat "$work/out" >&2; echo "c_sanitizers: the $1 sanitizer reports nothing" >&2; exit 1; }
}

# run SANITIZER BACKEND CLIENT ARGUMENT...
run() {
  local sanitizer=$1 with=$2 client=$3 dir=$work/$1 compiler=$clang source=$root/tests/c/$3.c begun=$SECONDS status=0
  shift 3
  [ -e "$source" ] || { compiler=clang++-22 source=$root/tests/c/$client.cpp; }
  [ -e "$dir/$client" ] || $compiler -O1 -g -fsanitize="$sanitizer" -fno-omit-frame-pointer -pthread -o "$dir/$client" \
    "$source" -L"$dir/lib" -lhsa-runtime64 -lm
  local backend=$with kfd=
  [ "${with%%:*}" = sim ] || { backend=kfd kfd=${with#*:}; }
  RUKH_BACKEND=$backend RUKH_KFD=$kfd LD_LIBRARY_PATH=$dir/lib timeout 300 "$dir/$client" "$@" > "$work/out" 2> "$work/err" || status=$?
  [ $status -eq 0 ] ||
    { cat "$work/out" "$work/err" >&2; echo "c_sanitizers: $client on $with, $sanitizer: status $status" >&2; exit 1; }
  echo "PASS $client on $with, $sanitizer sanitizer ($((SECONDS - begun)) s)"
}

for sanitizer; do
  begun=$SECONDS
  control "$sanitizer"
  build "$sanitizer"
  $clang -O1 -g -fsanitize="$sanitizer" -shared -fPIC -o "$work/$sanitizer/libcounting.so" "$root/tests/c/tools/counting.c"
  echo "built in $((SECONDS - begun)) s"
  add_gfx90a=$objects/vector_add-gfx90a-O2-v5.co add_gfx1100=$objects/vector_add-gfx1100-O2-v5.co
  for with in sim:gfx90a kfd:gfx90a; do
    for client in signals handlers queues lifecycle edges copies; do
      run "$sanitizer" "$with" "$client"
    done
    run "$sanitizer" "$with" lifecycle exit
    run "$sanitizer" "$with" vector_add "$add_gfx90a" 1000
    run "$sanitizer" "$with" faults "$objects/fault-gfx90a-O2-v5.co"
    run "$sanitizer" "$with" memory_fault "$objects/fault-gfx90a-O2-v5.co" handled
    run "$sanitizer" "$with" profiling "$add_gfx90a"
    for client in tool_client intercept; do
      arguments=("$work/$sanitizer/libcounting.so")
      [ $client = intercept ] || arguments+=("$work/scratch-gfx90a.co")
      HSA_TOOLS_LIB=$work/$sanitizer/libcounting.so run "$sanitizer" "$with" $client "${arguments[@]}"
    done
  done
  for client in misuse statuses statuses_closed; do
    run "$sanitizer" sim:gfx90a $client
  done
  run "$sanitizer" sim:gfx90a exceptions "$add_gfx90a"
  run "$sanitizer" sim:gfx90a statuses_code "$add_gfx90a" "$add_gfx1100" "$work/undefined-gfx90a.co"
  run "$sanitizer" sim:gfx90a debugger "$add_gfx90a"
  run "$sanitizer" sim:gfx90a unload "$work/$sanitizer/lib/libhsa-runtime64.so.1"
  run "$sanitizer" sim:gfx90a cpu_agents
  run "$sanitizer" sim:gfx90a,gfx1100 environment
  run "$sanitizer" sim:gfx90a matmul "$objects/matmul-gfx90a-O2-v5.co" 32
  run "$sanitizer" sim:gfx90a executables "$add_gfx90a"
  run "$sanitizer" kfd:smallbar:gfx90a executables "$add_gfx90a"
  run "$sanitizer" sim:gfx1100 vector_add "$add_gfx1100" 1000
done
