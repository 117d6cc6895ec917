#!/bin/sh
# Lays the C library out under a prefix, with the names that clients open:
#   PREFIX/lib/libhsa-runtime64.so.1 and PREFIX/lib/libhsa-runtime64.so
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
built=${CARGO_TARGET_DIR:-$root/target}/$dir/librukh_capi.so
mkdir -p "$prefix/lib"
# Not copied over a library that is in use: a new file takes the name.
cp "$built" "$prefix/lib/.libhsa-runtime64.so.new"
mv "$prefix/lib/.libhsa-runtime64.so.new" "$prefix/lib/libhsa-runtime64.so.1"
ln -sf libhsa-runtime64.so.1 "$prefix/lib/libhsa-runtime64.so"
