#!/bin/sh
# "Dispatch and wait" on the software GPU's KFD face, side by side: AMD's runtime (Debian's, through the preload library), ours,
# and in each process a client that writes packets by hand and polls: the floor.
#
#   tests/scripts/side_by_side.sh [SECONDS [RUNS]]      of each measurement; how often both runtimes take turns (default 1, 3)
#
# One program, compiled once, is run with either library, with a real-time priority where that is allowed, so that other
# programs do not disturb it. Prints the lowest medians and tenth percentiles of all runs, and what each runtime adds to its
# floor: the median of all runs' medians of differences between neighbours, with its standard error.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seconds=${1:-1}
runs=${2:-3}
objects=$root/tests/golden/objects
unset LD_LIBRARY_PATH RUKH_BACKEND RUKH_KFD

cargo build --manifest-path "$root/Cargo.toml" --release --locked -p rukh-kfd-preload
preload=${CARGO_TARGET_DIR:-$root/target}/release/librukh_kfd.so
sh "$root/capi/install.sh" "$work/prefix"
gcc -std=gnu11 -O2 -g -Wall -Wextra -Werror -pthread -o "$work/bench" "$root/tests/c/bench_dispatch.c" -lhsa-runtime64 -lm

realtime=
if chrt --rr 10 true 2> /dev/null; then realtime="chrt --rr 10"; else echo "side_by_side: no real-time priority; the machine should be quiet" >&2; fi
bench() { timeout 600 $realtime "$work/bench" "$objects/vector_add-gfx90a-O2-v5.co" "$objects/spin-gfx90a-O2-v5.co" "$seconds"; }
run=0
while [ $run -lt "$runs" ]; do
  run=$((run + 1))
  (export RUKH_KFD=gfx90a LD_PRELOAD="$preload"; bench) | sed -n '/^measured/,$s/^/amd /p' >> "$work/lines"
  (export RUKH_BACKEND=kfd RUKH_KFD=gfx90a LD_LIBRARY_PATH="$work/prefix/lib"; bench) |
    sed -n '/^measured/,$s/^/rukh /p' >> "$work/lines"
done
for runtime in amd rukh; do
  [ "$(grep -c "^$runtime wake" "$work/lines")" -eq "$runs" ] || { echo "side_by_side: $runtime did not finish" >&2; exit 1; }
done

echo "load: $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) processors; $runs runs of $seconds s; times in microseconds"
awk '
  function least(key, value) { if (!(key in found) || value < found[key]) found[key] = value }
  # The median of the runs, by insertion.
  function middle(key,   n, i, j, v, a) {
    n = runs[key]
    for (i = 1; i <= n; i++) { v = added[key, i]; for (j = i - 1; j > 0 && a[j] > v; j--) a[j + 1] = a[j]; a[j + 1] = v }
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
  }
  NF == 12 {
    key = $2 " " $3
    if (!(key in seen)) { seen[key] = 1; order[++count] = key }
    # runtime what batch floor MEDIAN LOW api MEDIAN LOW added MEDIAN ERROR
    least($1 " " key " floor median", $5); least($1 " " key " floor low", $6)
    least($1 " " key " api median", $8); least($1 " " key " api low", $9)
    added[$1 " " key, ++runs[$1 " " key]] = $11; error[$1 " " key] += $12
  }
  END {
    printf "%-14s %-7s %10s %10s %10s %10s %10s %10s %10s\n", "what", "figure", "amd floor", "amd", "added",
      "rukh floor", "rukh", "added", "rukh/amd"
    for (i = 1; i <= count; i++) for (f = 1; f <= 3; f++) {
      key = order[i]; figure = f == 1 ? "median" : f == 2 ? "low" : "pairs"
      af = found["amd " key " floor " figure]; aa = found["amd " key " api " figure]
      rf = found["rukh " key " floor " figure]; ra = found["rukh " key " api " figure]
      x = aa - af; y = ra - rf
      if (f == 3) {
        x = middle("amd " key); y = middle("rukh " key)
        af = rf = ""; aa = sprintf("+-%.4f", error["amd " key] / runs["amd " key])
        ra = sprintf("+-%.4f", error["rukh " key] / runs["rukh " key])
        printf "%-14s %-7s %10s %10s %10.4f %10s %10s %10.4f %10s\n", key, figure, "", aa, x, "", ra, y,
          (x > 0 ? sprintf("%.2f", y / x) : "-")
        continue
      }
      # Of a wake-up the whole counts; of a dispatch what the runtime adds.
      ratio = key ~ /^wake/ ? ra / aa : (aa > af ? (ra - rf) / (aa - af) : -1)
      printf "%-14s %-7s %10.3f %10.3f %10.4f %10.3f %10.3f %10.4f %10s\n", key, figure, af, aa, aa - af, rf, ra,
        ra - rf, ratio == -1 ? "-" : sprintf("%.2f", ratio)
    }
  }' "$work/lines"
