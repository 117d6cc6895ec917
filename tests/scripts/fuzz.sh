#!/usr/bin/env bash
# Runs fuzz targets for a number of seconds each: `fuzz.sh [SECONDS [TARGET...]]`. A finding fails the run.
#
# Each corpus (`fuzz/corpus/TARGET`) starts with the committed seeds, and grows from run to run; `fuzz_seeds.sh` makes seeds of
# it. A finding is minimised with `cargo fuzz tmin TARGET FILE` and becomes a seed with a name that says what it was.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../fuzz"
seconds=${1:-30}
shift || true
# cargo-fuzz asks for sanitizer flags that a stable compiler takes only when told to.
export RUSTC_BOOTSTRAP=1 ASAN_OPTIONS=detect_odr_violation=0
begun=$SECONDS
# As one unit each crate would occupy one processor.
cargo fuzz build --codegen-units 8
programs=target/$(rustc -vV | sed -n 's/^host: //p')/release
echo "-- built in $((SECONDS - begun)) s"
targets=("$@")
[ ${#targets[@]} != 0 ] || mapfile -t targets < <(cargo fuzz list)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# One target, for its time; what it says is printed whole when it is done.
run() {
  local target=$1 log=$logs/$1 executed edges
  mkdir -p "corpus/$target" "artifacts/$target"
  cp "seeds/$target"/* "corpus/$target"
  # Whole objects are there already.
  if [ "$target" = code_object ]; then
    cp ../core/tests/data/*.co ../tests/golden/objects/*.co "corpus/$target"
  fi
  local options=(-max_total_time="$seconds" -print_final_stats=1 -rss_limit_mb=4096 -timeout=60
    -artifact_prefix="artifacts/$target/")
  if [ -f "dictionaries/$target.dict" ]; then
    options+=(-dict="dictionaries/$target.dict")
  fi
  if ! "$programs/$target" "corpus/$target" "${options[@]}" > "$log" 2>&1; then
    # What failed and the input: a finding on another machine must be reproducible from what is printed.
    grep -a -A 3 -E "panicked|^SUMMARY|ERROR: |Base64:|std::fmt::Debug" "$log" >&2 || tail -n 60 "$log" >&2
    echo "-- $target: a finding" >&2
    return 1
  fi
  executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  edges=$(grep -aoE "cov: [0-9]+" "$log" | tail -n 1)
  # A target that does nothing must not look like one that finds nothing.
  if [ "${executed:-0}" -lt 20 ]; then
    echo "-- $target: only ${executed:-0} executions" >&2
    return 1
  fi
  echo "-- $target: $executed executions, $edges edges"
}

# As many at once as there are processors; all of them, so that one finding does not hide another.
running=0 failed=0
for target in "${targets[@]}"; do
  if [ "$running" = "$(nproc)" ]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
  run "$target" &
  running=$((running + 1))
done
while [ "$running" != 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
exit "$failed"
