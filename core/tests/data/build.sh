#!/bin/sh
# Builds the code objects of this folder. clang-19 and lld-19 make versions 4 to 6, clang-15 and lld-15
# version 3; an object's name tells its source, the processor and the version.
set -eu
cd "$(dirname "$0")"
build() {
    clang=$1 source=$2 target=$3 version=$4
    shift 4
    out=$source-${target%%:*}-v$version.co
    "$clang" -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu="$target" \
        -mcode-object-version="$version" -nogpulib -w -Wl,-z,undefs -Wl,--strip-debug "$@" \
        "$source.cl" -o "$out"
    chmod -x "$out"
}
build "${CLANG15:-clang-15}" linked gfx906:sramecc+:xnack- 3 -O1
build clang-19 linked gfx90a:xnack+ 4 -O1 -Wl,--hash-style=gnu
build clang-19 linked gfx942 4 -O1 -Wl,-z,rel
build clang-19 linked gfx1100 5 -O1 -Wl,--hash-style=sysv
build clang-19 linked gfx11-generic 6 -O1 -Wl,--build-id=sha1
build clang-19 hidden gfx900 4 -O0
build clang-19 hidden gfx803 5 -O0
# With debug information, of both versions that compilers write.
lines() {
    target=$1 version=$2
    out=lines-$target-dwarf$version.co
    clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu="$target" -mcode-object-version=5 -nogpulib -w -Qn \
        -g -gdwarf-"$version" -fdebug-compilation-dir=/source "$3" lines.cl -o "$out"
    llvm-objcopy-19 --remove-section=.comment "$out"
    chmod -x "$out"
}
lines gfx90a 5 -O2
lines gfx1100 4 -O2
