#!/usr/bin/env bash
# Runs each fuzz target for a number of seconds: `fuzz.sh [SECONDS]`. A finding fails the run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../fuzz"
seconds=${1:-30}
# cargo-fuzz asks for sanitizer flags that a stable compiler takes only when told to.
export RUSTC_BOOTSTRAP=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for target in $(cargo fuzz list); do
  echo "-- $target"
  if ! cargo fuzz run "$target" -- -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 > "$log" 2>&1; then
    # What failed and the input: a finding on another machine must be reproducible from what is printed.
    grep -a -A 3 -E "panicked|^SUMMARY|ERROR: |Base64:|std::fmt::Debug" "$log" >&2 || tail -n 60 "$log" >&2
    exit 1
  fi
  tail -n 12 "$log"
done
