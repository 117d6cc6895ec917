#!/usr/bin/env bash
# Takes the uncompressed kernel out of a bzImage: `vmlinux.sh BZIMAGE VMLINUX`.
#
# QEMU starts an ELF kernel at its PVH entry, which spares the emulated machine the decompression: half a minute. Where the
# compressed kernel stands is in the image's header (the x86 boot protocol, 2.08 and later).
set -euo pipefail
image=$1 output=$2

# $2 bytes at offset $1, as a number.
number() { od -An -v -t "u$2" -j $(($1)) -N "$2" --endian=little "$image" | tr -d ' '; }

[ "$(number 0x202 4)" = $((0x53726448)) ] || { echo "$image: no bzImage" >&2; exit 1; }
[ "$(number 0x206 2)" -ge $((0x208)) ] || { echo "$image: boot protocol without payload_offset" >&2; exit 1; }
start=$((($(number 0x1f1 1) + 1) * 512 + $(number 0x248 4)))
# The last four bytes are the size of the uncompressed kernel.
length=$(($(number 0x24c 4) - 4))
size=$(number $((start + length)) 4)
case $(od -An -v -t x1 -j $start -N 4 "$image" | tr -d ' ') in
  fd377a58) decompress=(xz -dc) ;;
  28b52ffd) decompress=(zstd -dc) ;;
  1f8b08*) decompress=(gzip -dc) ;;
  *) echo "$image: an unknown compression" >&2; exit 1 ;;
esac
dd if="$image" bs=1M iflag=skip_bytes,count_bytes skip=$start count=$length status=none | "${decompress[@]}" > "$output"
[ "$(stat -c %s "$output")" = "$size" ] || { echo "$image: $(stat -c %s "$output") bytes instead of $size" >&2; exit 1; }
[ "$(head -c 4 "$output" | od -An -t x1 | tr -d ' ')" = 7f454c46 ] || { echo "$image: no ELF kernel in it" >&2; exit 1; }
