#!/bin/sh
# Builds the golden kernels: GPU code objects, and the host library that computes what they must give.
#
#   build.sh OUTDIR [FILTER...]   the whole matrix (or the objects whose name holds a filter), and the host library
#   build.sh --committed          the objects of objects/, in place
#   build.sh --check              builds those again elsewhere and compares the bytes
#   build.sh --host OUTDIR        only the host library
#   build.sh --list               the names of the matrix
#   build.sh --object NAME OUTDIR one object; DEVICE_FLAGS may hold more flags for the compiler
#
# An object is named KERNELFILE-TARGET-OPT-vN.co, where gfx1100w64 is gfx1100 with waves of 64 lanes.
# gfx9_4_generic is gfx9-4-generic; generic processors have version 6 only. Needs clang and lld of LLVM 19, and of
# LLVM 22 for gfx950 and version 6 (CLANG, NEWER_CLANG, OBJCOPY and JOBS may say which), no GPU toolkit; libm alone takes
# AMD's device library of functions (DEVICE_LIBRARIES says where it is). The same
# compiler gives the same bytes everywhere: no debug information, relative names, no version strings.
set -eu
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
clang=${CLANG:-clang-19}
newer_clang=${NEWER_CLANG:-clang-22}
objcopy=${OBJCOPY:-llvm-objcopy-19}
jobs=${JOBS:-2}
device_libraries=${DEVICE_LIBRARIES:-/usr/lib/x86_64-linux-gnu/amdgcn/bitcode}

targets="gfx900 gfx906 gfx908 gfx90a gfx942 gfx950 gfx1030 gfx1030w64 gfx1100 gfx1100w64 gfx1201 gfx1201w64"
generic="gfx9_generic gfx9_4_generic gfx10_3_generic gfx11_generic gfx12_generic"
levels="O0 O1 O2 O3"
versions="v4 v5 v6"
committed_targets="gfx90a gfx942 gfx1030 gfx1100 gfx1100w64 gfx1201"
committed="vector_add matmul reduction fault spin"

# Without contraction the host gives the same bits; HIP's own default contracts.
common="-Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -Qn -nogpulib -munsafe-fp-atomics"

# name -> compiles src/FILE to DIRECTORY/NAME.co
object() {
    name=$1 directory=$2
    version=${name##*-v} rest=${name%-v*}
    level=${rest##*-} rest=${rest%-*}
    target=${rest##*-} file=${rest%-*}
    case $target in
    *_generic) cpu=$(echo "$target" | tr _ -) ;;
    *) cpu=${target%w64} ;;
    esac
    case $target in
    *w64) wave="-mwavefrontsize64 -DGOLDEN_WAVE_SIZE=64" ;;
    gfx9*) wave=-DGOLDEN_WAVE_SIZE=64 ;;
    *) wave=-DGOLDEN_WAVE_SIZE=32 ;;
    esac
    case $target-$version in
    # To the older one version 6 is not ready. The newer one keeps the body of an OpenCL kernel as a function
    # beside it too, and warns of its own LDS there.
    gfx950-* | *-6) clang=$newer_clang wave="$wave -Wno-error" ;;
    esac
    flags="$common -$level -mcode-object-version=$version -DGOLDEN_CODE_OBJECT_VERSION=$version $wave ${DEVICE_FLAGS:-}"
    if [ "$file" = libm ]; then
        # gfx90a is 9010: the last two digits of the name are hexadecimal, one each.
        digits=${cpu#gfx} steppings=${cpu#"${cpu%?}"}
        case $steppings in a) steppings=10 ;; esac
        minor=${digits%?} major=${minor%?} minor=${minor#"$major"}
        flags="$flags -DGOLDEN_ISA=$((major * 1000 + minor * 100 + steppings)) \
            -Xclang -mlink-builtin-bitcode -Xclang $device_libraries/ocml.bc"
    fi
    out=$directory/.$name.$$
    cd "$here/src"
    if [ -f "$file.cl" ]; then
        $clang -x cl -cl-std=CL2.0 -cl-fp32-correctly-rounded-divide-sqrt \
            --target=amdgcn-amd-amdhsa -mcpu="$cpu" $flags "$file.cl" -o "$out"
    elif [ -f "$file.hip" ]; then
        $clang -x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -fuse-cuid=none -std=c++17 \
            -fhip-fp32-correctly-rounded-divide-sqrt --offload-arch="$cpu" $flags "$file.hip" -o "$out"
    else
        $clang -x c -std=gnu17 --target=amdgcn-amd-amdhsa -mcpu="$cpu" $flags "$file.c" -o "$out"
    fi
    # The linker's version string is the only thing in it that names a build of the tools.
    $objcopy --remove-section=.comment "$out"
    # Whoever builds at the same time sees a whole object or none.
    mv "$out" "$directory/$name.co"
}

files() {
    cd "$here/src"
    ls *.cl *.hip *.c | sed 's/\.[a-z]*$//' | grep -v '^host_' | sort
}

matrix() {
    for file in $(files); do
        for level in $levels; do
            for target in $targets; do
                for version in $versions; do echo "$file-$target-$level-$version"; done
            done
            for target in $generic; do echo "$file-$target-$level-v6"; done
        done
    done
}

committed_names() {
    for file in $committed; do
        for target in $committed_targets; do echo "$file-$target-O2-v5"; done
    done
}

host() {
    directory=$1
    cd "$here/src"
    # x86-64 has no half arithmetic: each operation is done in single precision and rounded at once.
    flags="-O1 -g0 -fPIC -Wall -Wextra -Werror -Wno-unknown-pragmas -ffp-contract=off -fno-math-errno \
        -Xclang -ffloat16-excess-precision=none ${HOST_FLAGS:-}"
    work=$(mktemp -d "$directory/.host.XXXXXX")
    for file in $(files); do
        cd "$here/src"
        case $file in fault | spin) continue ;; esac
        if [ -f "$file.cl" ]; then
            $clang -x cl -cl-std=CL2.0 $flags -c "$file.cl" -o "$work/$file.o"
        elif [ -f "$file.hip" ]; then
            $clang -x c++ -std=c++17 -fno-exceptions -fno-rtti $flags -c "$file.hip" -o "$work/$file.o"
        else
            $clang -x c -std=gnu17 $flags -c "$file.c" -o "$work/$file.o"
        fi
    done
    $clang -x c -std=gnu17 $flags -c host_run.c -o "$work/host_run.o"
    $clang -shared -Wl,-soname,libgolden_host.so ${HOST_FLAGS:-} "$work"/*.o -lm -o "$work/libgolden_host.so"
    mv "$work/libgolden_host.so" "$directory/libgolden_host.so"
    rm -r "$work"
}

# Names on standard input.
objects() {
    xargs -P "$jobs" -I NAME "$here/build.sh" --object NAME "$1"
}

case ${1:-} in
--object) object "$2" "$3" ;;
--list) matrix ;;
--host)
    mkdir -p "$2"
    host "$(cd "$2" && pwd)"
    ;;
--committed) committed_names | objects "$here/objects" ;;
--check)
    work=$(mktemp -d)
    trap 'rm -r "$work"' EXIT
    committed_names | objects "$work"
    for name in $(committed_names); do
        cmp "$work/$name.co" "$here/objects/$name.co"
    done
    echo "$(committed_names | wc -l) committed objects are what their sources give"
    ;;
"" | -*)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
*)
    mkdir -p "$1"
    directory=$(cd "$1" && pwd)
    shift
    if [ $# -gt 0 ]; then
        filters=$(printf '%s\n' "$@")
        matrix | grep -F -e "$filters" | objects "$directory"
    else
        matrix | objects "$directory"
        host "$directory"
    fi
    ;;
esac
