#!/bin/sh
# Builds the trap handlers: `build.sh` in place, `build.sh --check` elsewhere, and compares the bytes.
# Needs clang and llvm-objcopy of LLVM 19 (CLANG and OBJCOPY may say which).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
clang=${CLANG:-clang-19}
objcopy=${OBJCOPY:-llvm-objcopy-19}

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
for family in gfx9:gfx900:9:0 gfx94:gfx942:9:4 gfx10:gfx1030:10:3 gfx11:gfx1100:11:0 gfx12:gfx1201:12:0; do
    name=${family%%:*} rest=${family#*:}
    cpu=${rest%%:*} rest=${rest#*:}
    "$clang" --target=amdgcn-amd-amdhsa -mcpu="$cpu" -Wa,-defsym,GEN="${rest%:*}" -Wa,-defsym,MINOR="${rest#*:}" \
        -c "$here/handler.s" -o "$work/$name.o"
    "$objcopy" -O binary --only-section=.text "$work/$name.o" "$work/$name.bin"
    if [ "${1:-}" = --check ]; then
        cmp "$work/$name.bin" "$here/$name.bin"
    else
        cp "$work/$name.bin" "$here/$name.bin"
    fi
done
