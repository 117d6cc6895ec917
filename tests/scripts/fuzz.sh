#!/usr/bin/env bash
# Runs each fuzz target for a number of seconds: `fuzz.sh [SECONDS]`. A finding fails the run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../fuzz"
seconds=${1:-30}
# cargo-fuzz asks for sanitizer flags that a stable compiler takes only when told to.
export RUSTC_BOOTSTRAP=1
for target in $(cargo fuzz list); do
  echo "-- $target"
  cargo fuzz run "$target" -- -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 2>&1 | tail -n 12
done
