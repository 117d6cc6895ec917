#!/usr/bin/env bash
# The test command of Rukh: `bash tests/run.sh [quick|full]`.
#
#   quick    unit and conformance tests, a small sample of the golden kernels (under 5 minutes)
#   (none)   what CI runs: everything, the golden matrix as a pairwise sample seeded by the commit
#   full     everything, the golden matrix whole, each injected fault, every combination of features, packages built from
#            their archives, more code under sanitizers, fuzz targets ten minutes each and what their inputs cover
#
# RUKH_TEST_SEED overrides the seed of the sample. Nothing is skipped: a missing tool is installed from
# Debian's packages or crates.io, or the run fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=${1:-default}
case $mode in quick | default | full) ;; *)
  echo "usage: bash tests/run.sh [quick|full]" >&2
  exit 2
  ;;
esac

# The commit's hash seeds the sample, so that one commit always tests the same and the next one other pairs.
export RUKH_TEST_SEED=${RUKH_TEST_SEED:-$((16#$(git rev-parse HEAD 2>/dev/null | cut -c1-8 || echo 1)))}
export RUKH_TEST_MODE=$mode
prefix=$PWD/target/prefix
started=$SECONDS

stage() {
  local name=$1 begun=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "== $name: passed in $((SECONDS - begun)) s"
}

install_tools() { bash tests/scripts/install.sh "$mode"; }

lint() {
  cargo fmt --all --check
  cargo clippy --workspace --all-targets --locked -- -D warnings
  cargo clippy -p rukh-core --no-default-features --locked -- -D warnings
  cargo clippy -p rukh-backend-sim --no-default-features --locked -- -D warnings
}

# The tests build the objects of their sample themselves, under a name that belongs to the state of the sources.
build_golden() {
  bash tests/golden/build.sh --check && sh backend-linux-kfd/src/trap/build.sh --check
  # Builds core for each GPU: not between two edits.
  [ "$mode" = quick ] || bash tests/golden/rust/build.sh --check
}
# The matrix has a stage of its own, on optimised code; here a few cases do.
unit_tests() { RUKH_TEST_MODE=quick cargo test --workspace --locked; }
# Quick ones are among the unit tests.
port_faults() { cargo test --release --locked -p rukh-tests --test port_faults -- --nocapture; }
golden_matrix() {
  cargo test --release --locked -p rukh-tests --test golden --test exactness --test triton -- --nocapture
  # The unit tests hold the debug build to the same digests.
  cargo test --release --locked -p rukh-backend-sim --test digests
}
freestanding() { bash tests/scripts/freestanding.sh; }
bare_targets() { bash tests/scripts/targets.sh; }
boot_kernel() { bash tests/scripts/boot.sh; }
loom_models() { (cd tests/loom && cargo fmt --check && cargo test --locked); }
sanitizers() { bash tests/scripts/sanitizers.sh thread; }
more_sanitizers() {
  bash tests/scripts/sanitizers.sh address capi
  bash tests/scripts/sanitizers.sh thread capi
}
supply_chain() { bash tests/scripts/supply_chain.sh deny; }
# Each feature alone, none and all of them; in mode full every combination.
features() { bash tests/scripts/supply_chain.sh "$([ "$mode" = full ] && echo features || echo each)"; }
# What would be published, looked at; in mode full also built from it.
packages() { bash tests/scripts/supply_chain.sh "$([ "$mode" = full ] && echo packages || echo archives)"; }
example() { cargo run --release --locked -p rukh-backend-sim --example vector_add; }
c_library() { sh capi/install.sh "$prefix" && sh tests/scripts/exports.sh release; }
package() { sh tests/scripts/package.sh "$prefix"; }
c_clients() { sh tests/scripts/c_clients.sh "$prefix"; }
c_sanitizers() { bash tests/scripts/c_sanitizers.sh; }
amd_runtime() { sh tests/scripts/amd_runtime.sh; }
rocminfo_run() { sh tests/scripts/rocminfo.sh "$prefix"; }
programs() { bash tests/scripts/programs.sh "$prefix"; }
host_costs() { sh tests/scripts/host_costs.sh "$prefix"; }
recordings() { sh tests/scripts/recordings.sh "$prefix"; }
rukh_info() { sh tests/scripts/rukh_info.sh "$prefix"; }
fuzz() { bash tests/scripts/fuzz.sh "$([ "$mode" = full ] && echo 600 || echo 20)"; }
# Not of CI: the figures belong to corpora that have grown.
fuzz_coverage() { bash tests/scripts/fuzz_coverage.sh; }
kfd_record() { sh tests/scripts/kfd_record.sh; }
virtual_machine() { bash tests/scripts/vm.sh; }
docs() { RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked; }
# Examples in the documentation are among the unit tests; here those without features, too.
docs_of_features() { bash tests/scripts/supply_chain.sh docs; }

stage "install tools" install_tools
stage "lint" lint
stage "committed objects are what their sources give" build_golden
stage "unit and integration tests" unit_tests
stage "golden kernels against the host ($mode, seed $RUKH_TEST_SEED)" golden_matrix
if [ "$mode" != quick ]; then
  stage "a system that refuses" port_faults
  stage "tier 0 without std and alloc" freestanding
  stage "processors without an operating system" bare_targets
  stage "a kernel that boots, on x86-64 and on AArch64" boot_kernel
  stage "models of the queue ring, locks, signals, waits, callbacks, queues and copies" loom_models
  stage "core under the thread sanitizer" sanitizers
  stage "licences, sources and duplicates of dependencies" supply_chain
  stage "combinations of features" features
  stage "packages as they would be published" packages
  stage "example" example
  stage "C library" c_library
  stage "CMake and pkg-config" package
  stage "C clients" c_clients
  stage "C clients and the library under sanitizers" c_sanitizers
  stage "rocminfo" rocminfo_run
  stage "programs" programs
  stage "host costs beside AMD's library" host_costs
  stage "AMD's runtime on the KFD face" amd_runtime
  stage "recordings of the driver" recordings
  stage "rukh-info" rukh_info
  stage "records of kernels on the KFD face" kfd_record
  stage "the real KFD in a virtual machine" virtual_machine
  stage "documentation" docs
  stage "fuzz targets" fuzz
fi
if [ "$mode" = full ]; then
  stage "core and the C library under the address and the thread sanitizer" more_sanitizers
  stage "documentation without features" docs_of_features
  stage "coverage of the fuzz targets" fuzz_coverage
fi
echo "== all stages of mode '$mode' passed in $((SECONDS - started)) s"
