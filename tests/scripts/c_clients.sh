#!/bin/sh
# Builds the C clients against Debian's HSA headers and runs them over the C library, plain, under the address
# sanitizer's allocator and under valgrind: on the software GPU itself (sim:PROFILE), and through the Linux KFD backend on the software
# GPU's KFD face (kfd:PROFILE).
#
#   tests/scripts/c_clients.sh [--no-valgrind] [PREFIX]
#
# PREFIX has lib/libhsa-runtime64.so.1; without one the library is built first.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
valgrind=yes
[ "${1:-}" != --no-valgrind ] || { valgrind=no; shift; }
prefix=${1:-}
if [ -z "$prefix" ]; then
  prefix=$work/prefix
  "$root/capi/install.sh" "$prefix" "${PROFILE:-release}"
fi

for source in "$root"/tests/c/*.c; do
  name=$(basename "$source" .c)
  [ "$name" = quiet ] || gcc -std=gnu11 -O1 -g -fsanitize=address -fno-omit-frame-pointer -pthread -o "$work/$name-asan" "$source" \
    -L"$prefix/lib" -lhsa-runtime64 -lm
  gcc -std=gnu11 -O1 -g -Wall -Wextra -Werror -pthread -o "$work/$name" "$source" \
    -L"$prefix/lib" -lhsa-runtime64 -lm
done
g++ -std=c++17 -O1 -g -Wall -Wextra -Werror -o "$work/exceptions" "$root/tests/c/exceptions.cpp" \
  -L"$prefix/lib" -lhsa-runtime64
gcc -std=gnu11 -O1 -g -Wall -Wextra -Werror -shared -fPIC -o "$work/libcounting.so" "$root/tests/c/tools/counting.c"
for gpu in gfx90a gfx1100; do
  for kernel in scratch undefined; do
    clang-19 --target=amdgcn-amd-amdhsa -mcpu=$gpu -nogpulib -O1 -mcode-object-version=5 -Wl,-z,undefs \
      "$root/tests/c/device/$kernel.c" -o "$work/$kernel-$gpu.co"
  done
done
export LD_LIBRARY_PATH="$prefix/lib"
# The statuses that clients expected and saw.
export STATUS_LOG="$work/statuses"

# Sets the variables for a backend.
use() {
  case $1 in
    kfd:*) export RUKH_BACKEND=kfd RUKH_KFD="${1#kfd:}" ;;
    *) export RUKH_BACKEND="$1" RUKH_KFD= ;;
  esac
}

# run BACKEND PROGRAM ARGUMENT...
run() {
  use "$1"
  echo "== $1 $2"
  binary=$work/$2
  shift 2
  timeout 300 "$binary" "$@"
}

# The same under valgrind: no error, no leak of memory that nothing points to any more.
grind() {
  [ $valgrind = yes ] || return 0
  use "$1"
  echo "== valgrind $1 $2"
  binary=$work/$2
  shift 2
  timeout 900 valgrind --quiet --error-exitcode=99 --suppressions="$root/tests/c/valgrind.supp" --leak-check=full \
    --errors-for-leak-kinds=definite --show-leak-kinds=definite "$binary" "$@"
}

# The same with the sanitizer's allocator under client and library, and its check for leaks.
sanitize() {
  use "$1"
  echo "== ASan $1 $2"
  binary=$work/$2-asan
  shift 2
  # Clients ask for more than there is, to see it refused.
  ASAN_OPTIONS=allocator_may_return_null=1 timeout 300 "$binary" "$@"
}

objects=$root/tests/golden/objects
code="$objects/vector_add-gfx90a-O2-v5.co $objects/vector_add-gfx1100-O2-v5.co $work/undefined-gfx90a.co"
# Not edges: the allocator of GCC 12's sanitizer may be locked in a child. Clang's is not (c_sanitizers.sh).
for program in misuse signals handlers queues lifecycle statuses statuses_closed; do
  sanitize sim:gfx90a "$program"
done
# shellcheck disable=SC2086 # three files
sanitize sim:gfx90a statuses_code $code
sanitize sim:gfx90a,gfx1100 environment
sanitize sim:gfx90a vector_add "$objects/vector_add-gfx90a-O2-v5.co" 1000
sanitize sim:gfx90a executables "$objects/vector_add-gfx90a-O2-v5.co"
sanitize sim:gfx90a faults "$objects/fault-gfx90a-O2-v5.co"
sanitize sim:gfx90a dmabuf "$objects/vector_add-gfx90a-O2-v5.co"
sanitize sim:gfx90a ipc "$objects/vector_add-gfx90a-O2-v5.co"
for backend in sim kfd; do
  for gpu in gfx90a gfx1100; do
    with=$backend:$gpu
    for program in misuse signals handlers queues lifecycle cpu_agents edges statuses statuses_closed; do
      run "$with" "$program"
    done
    run "$with" exceptions "$objects/vector_add-$gpu-O2-v5.co"
    run "$with" profiling "$objects/vector_add-$gpu-O2-v5.co"
    run "$with" lifecycle exit
    run "$with" quiet
    run "$with" unload "$prefix/lib/libhsa-runtime64.so.1"
    case $gpu in gfx90a) other=gfx1100 ;; *) other=gfx90a ;; esac
    run "$with" statuses_code "$objects/vector_add-$gpu-O2-v5.co" "$objects/vector_add-$other-O2-v5.co" \
      "$work/undefined-$gpu.co"
    run "$with" executables "$objects/vector_add-$gpu-O2-v5.co"
    run "$with" faults "$objects/fault-$gpu-O2-v5.co"
    run "$with" memory_fault "$objects/fault-$gpu-O2-v5.co" handled
    run "$with" matmul "$objects/matmul-$gpu-O2-v5.co"
    run "$with" copies
    run "$with" vmem "$objects/vector_add-$gpu-O2-v5.co" "$objects/fault-$gpu-O2-v5.co"
    run "$with" dmabuf "$objects/vector_add-$gpu-O2-v5.co"
    run "$with" svm "$objects/vector_add-$gpu-O2-v5.co"
    run "$with" ipc "$objects/vector_add-$gpu-O2-v5.co"
    run "$with" copy_faults
    run "$with" debugger "$objects/vector_add-$gpu-O2-v5.co"
  done
  for object in gfx90a gfx1100 gfx1100w64; do
    run "$backend:${object%w64}" vector_add "$objects/vector_add-$object-O2-v5.co"
  done
  run "$backend:gfx90a,gfx90a" copies
  run "$backend:gfx90a,gfx90a" vmem "$objects/vector_add-gfx90a-O2-v5.co" "$objects/fault-gfx90a-O2-v5.co"
  run "$backend:gfx90a,gfx1100" vector_add "$objects/vector_add-gfx1100-O2-v5.co" 100000 gfx1100
done
# The host does not reach device memory there: engines copy.
for gpu in gfx90a gfx1100; do
  run "kfd:smallbar:$gpu" copies
  run "kfd:smallbar:$gpu" matmul "$objects/matmul-$gpu-O2-v5.co"
  run "kfd:smallbar:$gpu" executables "$objects/vector_add-$gpu-O2-v5.co"
  run "kfd:smallbar:$gpu" svm "$objects/vector_add-$gpu-O2-v5.co"
done
run kfd:smallbar:gfx90a,gfx90a copies
run kfd:smallbar:gfx90a copy_faults
for program in misuse signals queues lifecycle statuses statuses_closed; do
  grind sim:gfx90a "$program"
done
grind sim:gfx90a handlers 500
# shellcheck disable=SC2086 # three files
grind sim:gfx90a statuses_code $code
grind sim:gfx90a exceptions "$objects/vector_add-gfx90a-O2-v5.co"
grind sim:gfx90a edges
run sim:gfx90a,gfx1100 environment
run kfd:gfx90a,gfx1100 environment
grind sim:gfx90a executables "$objects/vector_add-gfx90a-O2-v5.co"
grind sim:gfx90a faults "$objects/fault-gfx90a-O2-v5.co"
for object in gfx90a gfx1100 gfx1100w64; do
  grind "sim:${object%w64}" vector_add "$objects/vector_add-$object-O2-v5.co" 1000
done
grind kfd:gfx90a lifecycle
grind kfd:gfx90a faults "$objects/fault-gfx90a-O2-v5.co"
grind kfd:gfx1100 vector_add "$objects/vector_add-gfx1100-O2-v5.co" 1000

# What is said of a kernel that faults, of code with debug information: its name, and the line of the store.
DEVICE_FLAGS=-g "$root/tests/golden/build.sh" --object fault-gfx90a-O2-v5 "$work"
use sim:gfx90a
status=0
(ulimit -c 0; timeout 60 "$work/memory_fault" "$work/fault-gfx90a-O2-v5.co") > "$work/out" 2> "$work/err" || status=$?
if [ $status -ne 134 ] || ! grep -q "kernel fault_store stopped at .*/fault\.c:7:[0-9]* in fault_store: " "$work/err"; then
  cat "$work/out" "$work/err" >&2
  echo "memory_fault: status $status, and no source line" >&2
  exit 1
fi

# A tool puts its functions into the API table; one that is not there is reported to it.
for backend in sim:gfx90a sim:gfx1100 kfd:gfx90a; do
  HSA_TOOLS_LIB="$work/libcounting.so /none/such.so" run "$backend" tool_client "$work/libcounting.so" \
    "$work/scratch-${backend#*:}.co"
done
for with in sim:gfx90a sim:gfx1100 kfd:gfx90a; do
  HSA_TOOLS_LIB=$work/libcounting.so run $with intercept "$work/libcounting.so"
done
HSA_TOOLS_LIB=$work/libcounting.so grind sim:gfx90a intercept "$work/libcounting.so"
HSA_TOOLS_LIB=$work/libcounting.so grind sim:gfx90a tool_client "$work/libcounting.so" "$work/scratch-gfx90a.co"

# A debugger that knows nothing of GPUs stops where the list of loaded code says, and reads it.
object=$objects/vector_add-gfx90a-O2-v5.co
uri="file://$(realpath "$object")#offset=0&size=$(stat -c %s "$object")"
cat > "$work/stops" <<END
stop 1:
stop 0: $uri at ADDRESS
stop 2: $uri at ADDRESS
stop 0:
END
for backend in sim kfd; do
  use $backend:gfx90a
  timeout 300 gdb -nx -batch -x "$root/tests/c/debugger.gdb" --args "$work/vector_add" "$object" 1000 > "$work/gdb" 2>&1
  if ! sed -n 's/ at 0x[0-9a-f]*000$/ at ADDRESS/; /^stop/p' "$work/gdb" | diff - "$work/stops" || ! grep -q '^PASS' "$work/gdb"; then
    cat "$work/gdb" >&2
    exit 1
  fi
  echo "PASS gdb reads the debugger's list ($backend)"
done

sh "$root/tests/scripts/statuses.sh" "$STATUS_LOG"

# Without a backend hsa_init fails, and says how to have one.
if [ ! -e /dev/kfd ]; then
  if RUKH_BACKEND= RUKH_KFD= "$work/signals" 2> "$work/stderr"; then
    echo "hsa_init succeeded without a GPU" >&2
    exit 1
  fi
  grep -q 'RUKH_BACKEND=sim' "$work/stderr"
  echo "PASS no backend: $(grep -m1 rukh: "$work/stderr")"
fi
