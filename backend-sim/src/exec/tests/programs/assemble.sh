#!/bin/sh
# Assembles the test programs: NAME.TARGET.s gives NAME.TARGET.bin, the bytes of its .text section.
# Needs LLVM 19 (LLVM_MC and OBJCOPY may say which).
set -eu
cd "$(dirname "$0")"
mc=${LLVM_MC:-llvm-mc-19}
objcopy=${OBJCOPY:-llvm-objcopy-19}
for source in *.s; do
    name=${source%.s}
    cpu=${name##*.}
    attributes=
    case $cpu in
    *w64) attributes=-mattr=+wavefrontsize64 ;;
    esac
    $mc -arch=amdgcn -mcpu="${cpu%w64}" $attributes -filetype=obj "$source" -o "$name.o"
    $objcopy -O binary --only-section=.text "$name.o" "$name.bin"
    rm "$name.o"
done
