#!/bin/sh
# Measures what host operations cost with AMD's library (Debian's, over a stub of /dev/kfd) and with ours, in one run,
# and prints the ratios. Asserts no time.
#
#   tests/scripts/host_costs.sh [PREFIX]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=${1:-}
if [ -z "$prefix" ]; then
  prefix=$work/prefix
  "$root/capi/install.sh" "$prefix" release
fi
amd=/usr/lib/$(gcc -print-multiarch)/libhsa-runtime64.so.1
[ -e "$amd" ] || { echo "needs Debian's libhsa-runtime64-1" >&2; exit 1; }
source=$root/tests/c/host_costs
# The kernel's header wants DRM's, of which it uses nothing but these.
mkdir -p "$work/include/drm"
printf '#include <linux/types.h>\n#include <linux/ioctl.h>\n' > "$work/include/drm/drm.h"
gcc -std=gnu11 -O2 -Wall -Wextra -Werror -I "$work/include" -shared -fPIC -o "$work/stub.so" "$source/kfd_stub.c" -pthread
gcc -std=gnu11 -O2 -Wall -Wextra -Werror -o "$work/measure" "$source/measure.c" -pthread -L"$prefix/lib" -lhsa-runtime64

# One CPU node, as the kernel shows it.
node=$work/kfd/topology/nodes/0
mkdir -p "$node/mem_banks/0"
echo 1 > "$work/kfd/topology/generation_id"
printf 'platform_oem 0\nplatform_id 0\nplatform_rev 0\n' > "$work/kfd/topology/system_properties"
echo 0 > "$node/gpu_id"
echo > "$node/name"
{
  echo "cpu_cores_count $(nproc)"
  for key in simd_count caches_count io_links_count p2p_links_count cpu_core_id_base simd_id_base max_waves_per_simd \
    lds_size_in_kb gds_size_in_kb num_gws wave_front_size array_count simd_arrays_per_engine cu_per_simd_array \
    simd_per_cu max_slots_scratch_cu gfx_target_version vendor_id device_id location_id domain drm_render_minor hive_id; do
    echo "$key 0"
  done
  printf 'mem_banks_count 1\nmax_engine_clk_ccompute 3000\n'
} > "$node/properties"
printf 'heap_type 0\nsize_in_bytes %s\nflags 0\nwidth 64\nmem_clk_max 3200\n' \
  "$(awk '/MemTotal/ { printf "%d", $2 * 1024 }' /proc/meminfo)" > "$node/mem_banks/0/properties"

amds() {
  KFD_STUB=$work/kfd LD_PRELOAD=$work/stub.so LD_LIBRARY_PATH=$(dirname "$amd") timeout 300 "$work/measure" 2> "$work/amd.err" ||
    { cat "$work/amd.err" >&2; exit 1; }
}
ours() { RUKH_BACKEND=sim:gfx90a LD_LIBRARY_PATH=$prefix/lib timeout 300 "$work/measure"; }
# Twice each in turn: a noisy moment hits both.
for round in 1 2; do
  amds > "$work/amd$round"
  ours > "$work/our$round"
done
paste "$work/amd1" "$work/amd2" "$work/our1" "$work/our2" | awk '
  function least(a, b) { return a < b ? a : b }
  BEGIN { printf "%-24s %12s %12s %8s\n", "operation", "AMD (ns)", "ours (ns)", "ratio" }
  {
    amd = least($2, $4); our = least($6, $8)
    printf "%-24s %12.1f %12.1f %8.2f\n", $1, amd, our, our / amd
    value[$1] = our
  }
  END {
    printf "store: %.1f times a bare atomic by a function pointer, load: %.1f times\n",
      value["signal_store"] / value["bare_store"], value["signal_load"] / value["bare_load"]
  }'
