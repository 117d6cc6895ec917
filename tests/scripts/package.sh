#!/bin/sh
# Builds a C client the way other projects do, with CMake's find_package and with pkg-config, and runs it.
#
#   tests/scripts/package.sh [PREFIX]
#
# PREFIX is what capi/install.sh laid out; without one that is done first.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=${1:-}
if [ -z "$prefix" ]; then
  prefix=$work/prefix
  "$root/capi/install.sh" "$prefix" "${PROFILE:-release}"
fi
# Found by its own files, wherever the prefix is moved.
cp -a "$prefix" "$work/moved"

mkdir "$work/project"
cat > "$work/project/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.18)
project(client C)
find_package(hsa-runtime64 1.5 REQUIRED CONFIG)
add_executable(client "$root/tests/c/signals.c")
target_link_libraries(client PRIVATE hsa-runtime64::hsa-runtime64 pthread)
EOF
cmake -S "$work/project" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/moved" > "$work/log" 2>&1 &&
  cmake --build "$work/build" >> "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
readelf -d "$work/build/client" | grep -q 'NEEDED.*libhsa-runtime64.so.1'
readelf -d "$work/build/client" | grep -q "$work/moved/lib" || { echo "CMake chose another library" >&2; exit 1; }
RUKH_BACKEND=sim:gfx90a "$work/build/client"
echo "PASS find_package(hsa-runtime64)"

# A version that is too new is refused.
sed -i 's/hsa-runtime64 1.5/hsa-runtime64 1.99/' "$work/project/CMakeLists.txt"
if cmake -S "$work/project" -B "$work/build2" -DCMAKE_PREFIX_PATH="$work/moved" > "$work/log" 2>&1; then
  echo "find_package accepted version 1.99" >&2
  exit 1
fi

export PKG_CONFIG_PATH="$work/moved/lib/pkgconfig"
[ "$(pkg-config --modversion hsa-runtime64)" = 1.18.0 ]
# shellcheck disable=SC2046
gcc -std=gnu11 "$root/tests/c/signals.c" -o "$work/client" -pthread $(pkg-config --cflags --libs hsa-runtime64)
LD_LIBRARY_PATH=$work/moved/lib RUKH_BACKEND=sim:gfx90a "$work/client"
echo "PASS pkg-config hsa-runtime64"
