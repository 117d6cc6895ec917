#!/bin/sh
# Lays the C library out under a prefix, with the names that clients open, and the tool beside it:
#   PREFIX/lib/libhsa-runtime64.so.1, PREFIX/lib/libhsa-runtime64.so, PREFIX/bin/rukh-info
# and with what lets builds find it: pkg-config's hsa-runtime64.pc, CMake's find_package(hsa-runtime64). The public
# HSA headers are the system's.
#
#   capi/install.sh PREFIX [PROFILE]      PROFILE: release (default) or dev
#
# Builds first. Cargo cannot name a library with a hyphen, so the name is given here.
set -eu
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
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

# The version of AMD's runtime with the same interface (HSA_SYSTEM_INFO_VERSION_*).
version=1.18.0
mkdir -p "$prefix/lib/pkgconfig" "$prefix/lib/cmake/hsa-runtime64"
cat > "$prefix/lib/pkgconfig/hsa-runtime64.pc" <<EOF
prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib

Name: hsa-runtime64
Description: HSA runtime (Rukh)
Version: $version
Libs: -L\${libdir} -lhsa-runtime64
EOF
cat > "$prefix/lib/cmake/hsa-runtime64/hsa-runtime64-config.cmake" <<'EOF'
# The imported target hsa-runtime64::hsa-runtime64.
if(NOT TARGET hsa-runtime64::hsa-runtime64)
  get_filename_component(_hsa_runtime64_lib "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
  add_library(hsa-runtime64::hsa-runtime64 SHARED IMPORTED)
  set_target_properties(hsa-runtime64::hsa-runtime64 PROPERTIES
    IMPORTED_LOCATION "${_hsa_runtime64_lib}/libhsa-runtime64.so.1"
    IMPORTED_SONAME "libhsa-runtime64.so.1")
  get_filename_component(_hsa_runtime64_include "${_hsa_runtime64_lib}/../include" ABSOLUTE)
  if(EXISTS "${_hsa_runtime64_include}/hsa/hsa.h")
    set_target_properties(hsa-runtime64::hsa-runtime64 PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${_hsa_runtime64_include}")
  endif()
  unset(_hsa_runtime64_lib)
  unset(_hsa_runtime64_include)
endif()
set(hsa-runtime64_FOUND TRUE)
EOF
cat > "$prefix/lib/cmake/hsa-runtime64/hsa-runtime64-config-version.cmake" <<EOF
set(PACKAGE_VERSION "$version")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION OR NOT PACKAGE_FIND_VERSION_MAJOR MATCHES "^(1)?\$")
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
EOF
