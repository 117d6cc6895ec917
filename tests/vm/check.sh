# Sourced by tests/scripts/vm.sh: takes apart and judges what a boot printed.

# Splits $1/results at its marks: NAME.out and NAME.status for each program.
split_results() {
  tr -d '\r' < "$1/results" | awk -v run="$1" '
    $1 == "@@" && $2 == "begin" { file = run "/" $3 ".out"; printf "" > file; next }
    $1 == "@@" && $2 == "end" { close(file); print $4 > (run "/" $3 ".status"); file = ""; next }
    $1 == "@@" { print >> (run "/marks"); next }
    file != "" { print > file }'
}

# Holds the run $3 of kernel $1 with $2 nodes to everything that is known of it.
check_run() {
  local kernel=$1 run=$3 name failed=0
  shift 1
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
  return $failed
}
