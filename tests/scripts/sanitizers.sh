#!/usr/bin/env bash
# Rust's tests of core under a sanitizer: `sanitizers.sh [thread|address] [capi]`, the thread sanitizer without an
# argument; `capi` adds the unit tests of the C library. The tests take seconds, the first build of each minutes. The
# standard library is built with it too (rustup's component rust-src), and a stable compiler takes the flags only when
# told to. C clients have theirs in c_sanitizers.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
host=x86_64-unknown-linux-gnu
[ -e "$(rustc --print sysroot)/lib/rustlib/src/rust/library/std" ] || rustup component add rust-src

export RUSTC_BOOTSTRAP=1
# As the tests are built otherwise, without what a report does not need.
export CARGO_PROFILE_TEST_DEBUG=line-tables-only CARGO_INCREMENTAL=0

# A race or a bad access ends the test that has it. A size that no machine has is refused as it is without a sanitizer,
# and not the end of the program: tests ask for one, to see the error that clients get.
common=allocator_may_return_null=1
export TSAN_OPTIONS="$common halt_on_error=1 exitcode=66 ${TSAN_OPTIONS:-}"
# What tests leak by intent is not what this looks for.
export ASAN_OPTIONS="$common detect_leaks=0 detect_stack_use_after_return=1 ${ASAN_OPTIONS:-}"

sanitizer=${1:-thread}
case $sanitizer-${2:-} in
thread- | address- | thread-capi | address-capi) ;;
*)
  echo "usage: bash tests/scripts/sanitizers.sh [thread|address] [capi]" >&2
  exit 2
  ;;
esac

# Beside the ordinary build: every crate is another one. Macros and build scripts stay those of the host.
under_sanitizer() {
  RUSTFLAGS="-Zsanitizer=$sanitizer --cfg rukh_sanitizer" cargo test -Zbuild-std --locked --target "$host" \
    --target-dir "target/sanitizer-$sanitizer" "$@" -- --test-threads=2
}
under_sanitizer -p rukh-core --features std --lib --test ring --test runtime
if [ "${2:-}" = capi ]; then
  under_sanitizer -p rukh-capi --lib
fi
