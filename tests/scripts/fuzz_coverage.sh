#!/usr/bin/env bash
# How much of the code that each fuzz target is for its inputs reach: `fuzz_coverage.sh [TARGET...]`. Inputs are the corpus, if there
# is one, and the committed seeds. The oracles run without a fuzzer, by `tests/examples/oracle.rs`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
declare -A sources=(
  [aql_packet]="core/src/wire/aql.rs"
  [c_api]="capi/src"
  [code_object]="core/src/loader/*.rs"
  [ipc]="capi/src/amd/ipc/message.rs"
  [dwarf]="core/src/loader/source"
  [isa]="backend-sim/src/isa"
  [kernel_descriptor]="core/src/wire/kernel_descriptor.rs backend-sim/src/grid"
  [kernels]="backend-sim/src/exec"
  [kfd]="backend-sim/src/kfd"
  [metadata]="core/src/loader/msgpack.rs core/src/loader/metadata.rs core/src/loader/argument.rs core/src/loader/note.rs core/src/loader/kernarg.rs"
  [pm4]="core/src/wire/pm4 backend-sim/src/cp/pm4"
  [queue]="core/src/queue core/src/runtime/queue backend-sim/src/cp/queue.rs backend-sim/src/cp/table.rs"
  [relocation]="core/src/loader/relocation.rs core/src/loader/link.rs core/src/loader/dynamic.rs core/src/loader/segment.rs core/src/loader/symbol.rs"
  [sdma]="core/src/wire/sdma backend-sim/src/sdma"
  [signal]="core/src/signal core/src/runtime/signals.rs core/src/runtime/reactor"
  [topology]="backend-linux-kfd/src/topology"
)
# Not a target's business: other programs, what tests the crates, and what makes inputs.
ignored='/bin/|/tests?/|tests\.rs|generate\.rs|capi/src/driver|oracle\.rs|/probe\.rs'
tool() {
  command -v "$1-22" || { echo "fuzz_coverage.sh needs $1-22 (llvm-22)" >&2; exit 1; }
}
profdata=$(tool llvm-profdata) cov=$(tool llvm-cov)
export CARGO_TARGET_DIR=$PWD/target/coverage CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0
# Of use where inputs are many; building without is quicker.
export CARGO_PROFILE_DEV_OPT_LEVEL=${CARGO_PROFILE_DEV_OPT_LEVEL:-1}
# Scripts of crates that are built first are instrumented too.
export LLVM_PROFILE_FILE=$CARGO_TARGET_DIR/build-%m.profraw
RUSTFLAGS="-C instrument-coverage" cargo build --locked -p rukh-tests --example oracle
program=$CARGO_TARGET_DIR/debug/examples/oracle
targets=("$@")
[ ${#targets[@]} != 0 ] || mapfile -t targets < <(printf '%s\n' "${!sources[@]}" | sort)
echo "| target | inputs | lines | regions |"
echo "|---|---|---|---|"
for target in "${targets[@]}"; do
  folders=("fuzz/seeds/$target")
  [ ! -d "fuzz/corpus/$target" ] || folders+=("fuzz/corpus/$target")
  # The fuzzer starts with whole objects, too (fuzz.sh).
  [ "$target" != code_object ] || folders+=(core/tests/data/*.co tests/golden/objects/*.co)
  rm -f "$CARGO_TARGET_DIR/$target".prof*
  held=$(LLVM_PROFILE_FILE=$CARGO_TARGET_DIR/$target.profraw "$program" "$target" "${folders[@]}")
  "$profdata" merge -sparse -o "$CARGO_TARGET_DIR/$target.profdata" "$CARGO_TARGET_DIR/$target.profraw"
  # Words of this list are paths.
  # shellcheck disable=SC2086
  "$cov" report "$program" -instr-profile="$CARGO_TARGET_DIR/$target.profdata" --ignore-filename-regex="$ignored" \
    ${sources[$target]} > "$CARGO_TARGET_DIR/$target.txt" 2>&1
  # Of each kind three columns: all of them, those missed, the share.
  awk -v target="$target" -v inputs="$(echo "$held" | grep -oE '[0-9]+ inputs' | cut -d' ' -f1)" \
    '$1 == "TOTAL" { print "| `" target "` | " inputs " | " $10 " | " $4 " |"; found = 1 } END { exit !found }' \
    "$CARGO_TARGET_DIR/$target.txt"
done
