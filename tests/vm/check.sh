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

# Lines with single spaces, without what the programs print on standard error and what names their own checks, and without
# pools that are fine-grained in the extended scope (flag 8; rocminfo 5.2.3 has no name for it), which AMD's runtime
# has offered since 6.0 only.
comparable() {
  sed -e 's/[[:space:]]\+/ /g; s/^ //; s/ $//' "$1" |
    awk '
      /^Pool Info:/ { pools = 0 }
      /^Pool [0-9]+$/ { held = 1; next }
      held && $0 == "Segment: GLOBAL; FLAGS:" { held = 0; skipped = 1; next }
      held { held = 0; print "Pool " ++pools }
      skipped { if (/^Accessible by all:/) skipped = 0; next }
      /^pool segment 0 flags 0x8 / { filled = 1; next }
      filled { filled = 0; if (/^bytes that filling/) next }
      { print }' |
    grep -vE '^KFD does not support xnack|^ROCr must assume|^PASS |^a blocked waiter sleeps|^$'
}

# Prints the figures of the C library over those of AMD's, each the better one of two runs.
ratios() {
  local library
  for library in rukh amd; do
    comparable "$1/wake-$library.out" > "$1/wake-$library.all"
    comparable "$1/wake-$library-again.out" >> "$1/wake-$library.all"
  done
  awk -F ': ' '
    !(($1, FILENAME) in least) || $2 < least[$1, FILENAME] { least[$1, FILENAME] = $2 }
    FILENAME == ARGV[1] && !($1 in seen) { seen[$1]; order[++count] = $1 }
    END {
      for (i = 1; i <= count; i++) {
        ours = least[order[i], ARGV[1]]; other = least[order[i], ARGV[2]]
        printf "  %s: %.1f us, AMD'\''s %.1f us, ratio %.2f\n", order[i], ours / 1000, other / 1000, ours / other
      }
    }' "$1/wake-rukh.all" "$1/wake-amd.all"
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
      echo "$name: did not end, nor did what comes after it" >&2
      failed=1
    elif [ "$(cat "$run/$name.status")" -ne 0 ]; then
      echo "$name: status $(cat "$run/$name.status")" >&2
      failed=1
    else
      continue
    fi
    [ ! -e "$run/$name.out" ] || tail -n 20 "$run/$name.out" >&2
    [ -e "$run/$name.status" ] || break
  done < "$run/plan"
  [ $failed -eq 0 ] || return 1
  check_topology "$kernel" "$nodes" "$run" || failed=1
  check_same "$run/rocminfo-rukh.out" "$run/rocminfo-amd.out" tests/vm/rocminfo-differences.txt || failed=1
  check_same "$run/agents-rukh.out" "$run/agents-amd.out" tests/vm/agents-differences.txt || failed=1
  grep -E '^[0-9]+ (lines compared|differences)' "$run/record.out" | sed 's/^/  record: /'
  ratios "$run"
  return $failed
}
