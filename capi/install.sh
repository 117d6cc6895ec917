#!/bin/sh
# Lays the C library out under a prefix, with the names that clients open, and the tool beside it:
#   PREFIX/lib/libhsa-runtime64.so.1, PREFIX/lib/libhsa-runtime64.so, PREFIX/bin/rukh-info
#
#   capi/install.sh PREFIX [PROFILE]      PROFILE: release (default) or dev
#
# Builds first. Cargo cannot name a library with a hyphen, so the name is given here.
set -eu
[ $# -ge 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
prefix=$1
profile=${2:-release}
root=$(cd "$(dirname "$0")/.." && pwd)
cargo build --manifest-path "$root/Cargo.toml" --profile "$profile" -p rukh-capi
case $profile in dev) dir=debug ;; *) dir=$profile ;; esac
built=${CARGO_TARGET_DIR:-$root/target}/$dir
mkdir -p "$prefix/lib" "$prefix/bin"
# Not copied over a library that is in use: a new file takes the name.
cp "$built/librukh_capi.so" "$prefix/lib/.libhsa-runtime64.so.new"
mv "$prefix/lib/.libhsa-runtime64.so.new" "$prefix/lib/libhsa-runtime64.so.1"
ln -sf libhsa-runtime64.so.1 "$prefix/lib/libhsa-runtime64.so"
cp "$built/rukh-info" "$prefix/bin/.rukh-info.new"
mv "$prefix/bin/.rukh-info.new" "$prefix/bin/rukh-info"
