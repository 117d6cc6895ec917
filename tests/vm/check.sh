# Sourced by tests/scripts/vm.sh: takes apart and judges what a boot printed.

# Splits $1/results at its marks: NAME.out and NAME.status for each program.
split_results() {
  tr -d '\r' < "$1/results" | awk -v run="$1" '
    $1 == "@@" && $2 == "begin" { file = run "/" $3 ".out"; printf "" > file; next }
    $1 == "@@" && $2 == "end" { close(file); print $4 > (run "/" $3 ".status"); file = ""; next }
    $1 == "@@" { print >> (run "/marks"); next }
    file != "" { print > file }'
}

# The topology's files, comparable: sorted, without what depends on the machine's memory, and, if the record $2 is one
# without them, without values of 0.
topology_of() {
  local pattern='^$'
  if grep -q '^# Lines whose value is 0' "$2"; then pattern=' 0$'; fi
  # Files with a number alone are kept whatever it is.
  sed -e '/^#/d; /^$/d; s/ *$//; s/\(size_in_bytes\) .*/\1 */' "$1" |
    awk -v zero="$pattern" '!($0 ~ zero && NF == 3)' | sort
}

# Holds the topology of the run $3 to the record of kernel $1 with $2 nodes.
check_topology() {
  local record=tests/records/kfd-topology-$1-$2.txt
  diff <(topology_of "$record" "$record") <(topology_of "$3/topology.out" "$record") || {
    echo "topology: the lines above differ from $record (<: recorded)" >&2
    return 1
  }
}

# Holds the output $1 of the C library to the output $2 of AMD's, but for the differences that $3 lists and explains.
check_same() {
  local found
  found=$(diff <(comparable "$1") <(comparable "$2") | grep '^[<>]' |
    grep -vxFf <(sed -e '/^#/d' -e 's/\t\t.*//' "$3") || true)
  [ -z "$found" ] || {
    printf '%s\n' "$found" >&2
    echo "the lines above differ (<: the C library, >: AMD's) and are not in $3" >&2
    return 1
  }
}

# Lines with single spaces, without what the programs print on standard error and what names their own checks.
comparable() {
  sed -e 's/[[:space:]]\+/ /g; s/^ //; s/ $//' "$1" |
    grep -vE '^KFD does not support xnack|^ROCr must assume|^PASS |^a blocked waiter sleeps|^$'
}

# Prints the figures of the C library over those of AMD's.
ratios() {
  join -t : <(comparable "$1/wake-rukh.out" | sort) <(comparable "$1/wake-amd.out" | sort) |
    awk -F : '{ printf "  %s: %.1f us, AMD'\''s %.1f us, ratio %.2f\n", $1, $2 / 1000, $3 / 1000, $2 / $3 }'
}

# Holds the run $3 of kernel $1 with $2 nodes to everything that is known of it.
check_run() {
  local kernel=$1 nodes=$2 run=$3 name failed=0
  if ! grep -q '^@@ done' "$run/marks" 2> /dev/null; then
    echo "the machine stopped before the end: $(tail -n 1 "$run/marks" 2> /dev/null || echo it never started programs)" >&2
    failed=1
  fi
  while read -r name _; do
    if [ ! -e "$run/$name.status" ]; then
      echo "$name: did not end" >&2
    elif [ "$(cat "$run/$name.status")" -ne 0 ]; then
      echo "$name: status $(cat "$run/$name.status")" >&2
    else
      continue
    fi
    tail -n 20 "$run/$name.out" >&2 || true
    failed=1
  done < "$run/plan"
  [ $failed -eq 0 ] || return 1
  check_topology "$kernel" "$nodes" "$run" || failed=1
  check_same "$run/rocminfo-rukh.out" "$run/rocminfo-amd.out" tests/vm/rocminfo-differences.txt || failed=1
  check_same "$run/agents-rukh.out" "$run/agents-amd.out" tests/vm/agents-differences.txt || failed=1
  grep -E '^[0-9]+ (lines compared|differences)' "$run/record.out" | sed 's/^/  record: /'
  ratios "$run"
  return $failed
}
