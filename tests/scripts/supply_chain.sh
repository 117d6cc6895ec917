#!/usr/bin/env bash
# What the crates are made of and how they can be used: licences, sources and duplicates of all dependencies
# (`.cargo/deny.toml`), every combination of features, packages as they would be published, documentation and its
# examples. `supply_chain.sh [deny|each|features|archives|packages|docs]` does one of them; without an argument, all.
#
# Two of them have a short form for every change: `each` lints each feature alone, none and all of them, where
# `features` takes every combination; `archives` packs and looks at what is packed, where `packages` builds from it.
#
# Not here: advisories (`cargo deny check advisories` needs a database on the network), and a check of the public
# interface against the last release (`cargo semver-checks`), since there is no release yet to compare with.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD

deny_version=0.20.2

deny() {
  local tool=$root/target/tools/bin/cargo-deny
  if ! "$tool" --version 2>/dev/null | grep -qx "cargo-deny $deny_version"; then
    # Unoptimised: building it takes longer than all that it does here.
    cargo install --debug --locked cargo-deny --version "$deny_version" --root "$root/target/tools" --target-dir "$root/target/tools/build"
    rm -rf "$root/target/tools/build"
  fi
  local lock
  # Every workspace that is committed has a lock file.
  git ls-files '*Cargo.lock' | while read -r lock; do
    echo "-- $lock"
    "$tool" --log-level error --config "$root/.cargo/deny.toml" --manifest-path "$(dirname "$lock")/Cargo.toml" \
      --locked --all-features check --hide-inclusion-graph licenses bans sources
  done
}

# Sets of features of a crate, none and all among them: `combinations each|every CRATE FEATURE...`.
combinations() {
  local sets=$1 crate=$2 set bit at
  shift 2
  for ((set = 0; set < 1 << $#; set++)); do
    local chosen=()
    for ((at = 1; at <= $#; at++)); do
      bit=$((1 << (at - 1)))
      ((set & bit)) && chosen+=("${!at}")
    done
    if [ "$sets" = each ] && ((${#chosen[@]} > 1 && ${#chosen[@]} < $#)); then
      continue
    fi
    local features
    features=$(IFS=,; echo "${chosen[*]-}")
    echo "-- $crate: ${features:-no features}"
    cargo clippy -q --locked -p "$crate" --no-default-features --features "$features" -- -D warnings
  done
}

# The sets of all crates. One without features has a single set, which the workspace's lint has seen.
all_combinations() {
  local crate names
  while IFS=$'\t' read -r crate names; do
    # shellcheck disable=SC2086 # one word for each feature
    combinations "$1" "$crate" $names
  done < <(cargo metadata --no-deps --format-version 1 --locked |
    jq -r '.packages[] | [.name, (.features | keys - ["default"] | join(" "))] | select(.[1] != "") | @tsv')
}

each() { all_combinations each; }
features() { all_combinations every; }

# What would be published, packed, with these arguments of cargo.
pack() {
  # Cargo takes a version that it has seen before for the same, unpacked and built: nothing of an earlier run may stay.
  rm -rf target/packages "${CARGO_HOME:-$HOME/.cargo}"/registry/src/-*/rukh-*
  mkdir -p target
  # Lines are not what a build from an archive is for.
  CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=target/packages \
    cargo package --workspace --locked --allow-dirty "$@" 2>&1 | tee target/package.log
  # Where the project will be found is for who publishes it to say.
  if grep -E '^warning' target/package.log | grep -v 'no documentation, homepage or repository'; then
    echo "supply_chain.sh: a package is not as it should be" >&2
    exit 1
  fi
  local archive files
  for archive in rukh-core rukh-backend-sim rukh-backend-linux-kfd rukh-capi; do
    files=$(tar -tf "target/packages/package/$archive-"*.crate)
    for file in LICENSE-MIT LICENSE-APACHE README.md; do
      grep -q "/$file\$" <<< "$files" || {
        echo "supply_chain.sh: the package of $archive has no $file" >&2
        exit 1
      }
    done
  done
}

archives() { pack --no-verify; }
# Builds each crate from its archive alone, with the others that it needs from theirs.
packages() { pack; }

docs() {
  RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
  RUSTDOCFLAGS="-D warnings" cargo doc -p rukh-core --no-deps --no-default-features --locked
  cargo test --doc --workspace --locked
  cargo test --doc -p rukh-core --no-default-features --locked
}

case ${1:-all} in
all)
  deny
  features
  packages
  docs
  ;;
deny | each | features | archives | packages | docs) "$1" ;;
*)
  echo "usage: bash tests/scripts/supply_chain.sh [deny|each|features|archives|packages|docs]" >&2
  exit 2
  ;;
esac
