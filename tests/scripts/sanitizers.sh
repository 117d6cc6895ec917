#!/usr/bin/env bash
# Rust's tests of core and of the C library under sanitizers: `sanitizers.sh [thread|address]...`, both without an
# argument. The standard library is built with them too (rustup's component rust-src), and a stable compiler takes
# the flags only when told to. The C programs' tests have theirs in c_clients.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
host=x86_64-unknown-linux-gnu
[ -e "$(rustc --print sysroot)/lib/rustlib/src/rust/library/std" ] || rustup component add rust-src

export RUSTC_BOOTSTRAP=1
# As the tests are built otherwise, without what a report does not need.
export CARGO_PROFILE_TEST_DEBUG=line-tables-only CARGO_INCREMENTAL=0

run() {
  local sanitizer=$1
  echo "-- $sanitizer sanitizer"
  # Detached from the ordinary build: every crate is another one. Macros stay those of the host.
  RUSTFLAGS="-Zsanitizer=$sanitizer --cfg rukh_sanitizer" \
    cargo test -Zbuild-std --locked --target "$host" --target-dir "target/sanitizer-$sanitizer" \
    -p rukh-core --features std --lib --test ring --test runtime -- --test-threads=2
  RUSTFLAGS="-Zsanitizer=$sanitizer --cfg rukh_sanitizer" \
    cargo test -Zbuild-std --locked --target "$host" --target-dir "target/sanitizer-$sanitizer" \
    -p rukh-capi --lib -- --test-threads=2
}

# A race or a bad access ends the test that has it.
export TSAN_OPTIONS="halt_on_error=1 exitcode=66 ${TSAN_OPTIONS:-}"
# What a test leaks by intent (signals outlive their arena's users) is not what this looks for.
export ASAN_OPTIONS="detect_leaks=0 detect_stack_use_after_return=1 ${ASAN_OPTIONS:-}"

for sanitizer in "${@:-thread}"; do
  case $sanitizer in
  thread | address) run "$sanitizer" ;;
  *)
    echo "usage: bash tests/scripts/sanitizers.sh [thread|address]..." >&2
    exit 2
    ;;
  esac
done
