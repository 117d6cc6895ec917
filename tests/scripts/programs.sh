#!/usr/bin/env bash
# Runs real programs over the C library on the software GPU: what Debian's compilers and libraries make of
# tests/programs, which check their own results. They run through the Linux KFD backend on the software GPU's KFD face as
# well, and over AMD's own runtime (Debian's) on that face where it knows the GPU.
#
#   tests/scripts/programs.sh [PREFIX] [WORD...]
#
# PREFIX has lib/libhsa-runtime64.so.1; without one the library is built first. WORDs choose cases by their names.
# RUKH_TEST_MODE=full runs every case; otherwise each program runs on one of its GPUs at least, which one
# RUKH_TEST_SEED decides.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source=$root/tests/programs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=${1:-}
[ $# -eq 0 ] || shift
if [ -z "$prefix" ]; then
  prefix=$work/prefix
  "$root/capi/install.sh" "$prefix" "${PROFILE:-release}"
fi
mode=${RUKH_TEST_MODE:-default}
seed=${RUKH_TEST_SEED:-1}
words=("$@")
multiarch=$(gcc -print-multiarch)
bitcode=/usr/lib/$multiarch/amdgcn/bitcode
gcn_run=/usr/lib/gcc/$multiarch/12/accel/amdgcn-amdhsa/gcn-run
llvm22=/usr/lib/llvm-22
llvm=/usr/lib/llvm-19/lib:$llvm22/lib
unset LD_LIBRARY_PATH RUKH_BACKEND RUKH_KFD
cargo build --quiet --manifest-path "$root/Cargo.toml" --release --locked -p rukh-kfd-preload
preload=${CARGO_TARGET_DIR:-$root/target}/release/librukh_kfd.so
passed=0

fail() {
  echo "FAIL $*" >&2
  exit 1
}

# wanted PROGRAM GPU GPU...: those of its GPUs that this run is to cover, one a line.
wanted() {
  local program=$1 gpus=("${@:2}")
  if [ ${#words[@]} -gt 0 ]; then
    local gpu word
    for gpu in "${gpus[@]}"; do
      for word in "${words[@]}"; do
        case "$program-$gpu" in *"$word"*) echo "$gpu" && break ;; esac
      done
    done
  elif [ "$mode" = full ]; then
    printf '%s\n' "${gpus[@]}"
  else
    # Programs differ in where they start, so that every GPU has some.
    local number
    number=$(printf %s "$program" | cksum | cut -d' ' -f1)
    echo "${gpus[$(((seed + number) % ${#gpus[@]}))]}"
  fi
}

# run NAME GPUS PATTERN COMMAND...: the command succeeds and says what it is to say, and the library complains of
# nothing. Where it runs is $over: on the software GPU itself, by default; through the KFD backend on its face (kfd); over
# AMD's runtime on its face, which then tells that the GPU has worked (amd).
run() {
  local name=$1 gpus=$2 pattern=$3 status=0 begun=$SECONDS settings
  shift 3
  case ${over:=sim} in
    sim) settings=(RUKH_BACKEND="sim:$gpus" LD_LIBRARY_PATH="$prefix/lib:$llvm") ;;
    kfd) settings=(RUKH_BACKEND=kfd RUKH_KFD="$gpus" LD_LIBRARY_PATH="$prefix/lib:$llvm") ;;
    amd) settings=(RUKH_KFD="$gpus" RUKH_KFD_LOG=1 LD_PRELOAD="$preload" LD_LIBRARY_PATH="$llvm") ;;
  esac
  env "${settings[@]}" timeout 300 "$@" > "$work/out" 2> "$work/err" || status=$?
  if [ $status -ne "${expect:-0}" ] || ! grep -qE "$pattern" "$work/out" || grep -q '^rukh:' "$work/err" ||
    { [ $over = amd ] && ! grep -qE 'executed [1-9][0-9]* wave instructions' "$work/err"; }; then
    cat "$work/out" "$work/err" >&2
    fail "$name on $over:$gpus: exit status $status, expected ${expect:-0} and output like '$pattern'"
  fi
  passed=$((passed + 1))
  echo "PASS $name on $over:$gpus ($((SECONDS - begun)) s)"
}

# everywhere NAME GPUS PATTERN COMMAND...: on the software GPU itself, through the KFD backend, and, if AMD's runtime of
# Debian's knows the GPUs for such programs ($amds lists them), over that.
everywhere() {
  local over gpu=${2%%,*}
  for over in sim kfd; do run "$@"; done
  case " $amds " in *" $gpu "*) over=amd run "$@" ;; esac
}

# Compilers' messages are shown only if they fail.
compile() { "$@" > "$work/compiler" 2>&1 || { cat "$work/compiler" >&2; fail "cannot compile: $*"; }; }

libgomp() {
  export GCN_SUPPRESS_HOST_FALLBACK=1
  local gpu amds="gfx906 gfx900"
  for gpu in $(wanted libgomp-c gfx906 gfx900); do
    compile gcc-12 -O2 -fopenmp -foffload=amdgcn-amdhsa "-foffload-options=-march=$gpu -lm" \
      "$source/libgomp/target.c" -o "$work/target-$gpu"
    everywhere libgomp/target.c "$gpu" 'from the device: 42 text 2.50' "$work/target-$gpu"
  done
  for gpu in $(wanted libgomp-openacc gfx906 gfx900); do
    compile gcc-12 -O2 -fopenacc -foffload=amdgcn-amdhsa "-foffload-options=-march=$gpu -lm" \
      "$source/libgomp/openacc.c" -o "$work/openacc-$gpu"
    everywhere libgomp/openacc.c "$gpu" PASS "$work/openacc-$gpu"
  done
  for gpu in $(wanted libgomp-fortran gfx906 gfx900); do
    compile gfortran-12 -O2 -fopenmp -foffload=amdgcn-amdhsa "-foffload-options=-march=$gpu -lm -lgfortran" \
      -J "$work" "$source/libgomp/fortran.f90" -o "$work/fortran-$gpu"
    everywhere libgomp/fortran.f90 "$gpu" PASS "$work/fortran-$gpu"
  done
  for gpu in $(wanted gcn-run gfx906 gfx900); do
    compile clang-19 --target=amdgcn-amd-amdhsa -mcpu="$gpu" -nogpulib -O2 -mcode-object-version=4 \
      "$source/libgomp/gcn_run.c" -o "$work/gcn_run-$gpu.co"
    expect=43 everywhere gcn-run "$gpu" 'fib\(60\)1548008755920' "$gcn_run" "$work/gcn_run-$gpu.co" one two
  done
}

# Device libraries for targets that are newer than Debian's: the number of the processor is all that differs.
device_libraries() {
  [ -d "$work/bitcode" ] && return
  mkdir "$work/bitcode"
  ln -s "$bitcode"/*.bc "$work/bitcode"
  local pair
  for pair in 942:9402 1100:11000; do
    llvm-dis-19 "$bitcode/oclc_isa_version_90a.bc" -o - |
      sed -E "s/(@__oclc_ISA_version = .* i32) [0-9]+/\1 ${pair#*:}/" > "$work/isa.ll"
    grep -q "i32 ${pair#*:}" "$work/isa.ll" || fail "oclc_isa_version_90a.bc is not what it was"
    llvm-as-19 "$work/isa.ll" -o "$work/bitcode/oclc_isa_version_${pair%:*}.bc"
  done
}

openmp() {
  local gpu amds=gfx90a
  for gpu in $(wanted openmp gfx90a gfx942 gfx1100); do
    device_libraries
    compile clang-19 -O2 -fopenmp --offload-arch="$gpu" --rocm-device-lib-path="$work/bitcode" \
      "$source/openmp/target.c" -o "$work/openmp-$gpu" -lm
    OMP_TARGET_OFFLOAD=MANDATORY everywhere openmp/target.c "$gpu" 'from the device: 42 of 1234567890123, 2.50' \
      "$work/openmp-$gpu"
  done
}

liboffload() {
  local gpu amds=gfx90a
  for gpu in $(wanted liboffload gfx90a gfx1100); do
    compile gcc -I "$llvm22/include/offload" "$source/openmp/offload.c" -o "$work/offload" \
      -L "$llvm22/lib" -lLLVMOffload
    everywhere openmp/offload.c "$gpu" PASS "$work/offload" "$root/tests/golden/objects/vector_add-$gpu-O2-v5.co"
    # Over AMD's runtime nothing would tell that the GPU was there: it computes nothing.
    amds='' everywhere llvm-offload-device-info "$gpu" "Name: $gpu" "$llvm22/bin/llvm-offload-device-info"
  done
}

hip() {
  local gpu program all=(gfx90a gfx908 gfx906 gfx1030) amds="gfx90a gfx908 gfx906 gfx1030"
  hip_program() { # PROGRAM GPU LIBRARY...
    local binary=$work/hip-$1-$2
    compile hipcc --offload-arch="$2" -O2 "$source/hip/$1.hip" -o "$binary" "${@:3}"
  }
  for program in vector_add mix; do
    for gpu in $(wanted "hip-$program" "${all[@]}"); do
      hip_program $program "$gpu"
      everywhere "hip/$program" "$gpu" PASS "$work/hip-$program-$gpu"
      [ $program != mix ] || grep -q 'lane 2 of block 1 says hello 1.000' "$work/out" || fail "hip/mix: no printf"
    done
  done
  for gpu in $(wanted hip-runtime "${all[@]}"); do
    hip_program runtime "$gpu"
    compile hipcc --genco --offload-arch="$gpu" -O2 "$source/hip/module.hip" -o "$work/module-$gpu"
    everywhere hip/runtime "$gpu" PASS "$work/hip-runtime-$gpu" "$work/module-$gpu"
  done
  for gpu in $(wanted hip-peers "${all[@]}"); do
    hip_program peers "$gpu"
    everywhere hip/peers "$gpu,$gpu" PASS "$work/hip-peers-$gpu"
  done
  for program in rocrand rocsparse; do
    for gpu in $(wanted $program "${all[@]}"); do
      hip_program $program "$gpu" -l$program
      everywhere "hip/$program" "$gpu" PASS "$work/hip-$program-$gpu"
    done
  done
}

libgomp
openmp
liboffload
hip
[ $passed -gt 0 ] || fail "no case of this name: ${words[*]}"
echo "PASS programs: $passed cases (mode $mode, seed $seed)"
