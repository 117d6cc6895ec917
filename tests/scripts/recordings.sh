#!/bin/sh
# Records what programs ask the driver, on the software GPU's KFD face, and replays it: the programs must
# not see a difference, nor the recording one.
#
#   tests/scripts/recordings.sh [PREFIX]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=${1:-}
if [ -z "$prefix" ]; then
  prefix=$work/prefix
  "$root/capi/install.sh" "$prefix" "${PROFILE:-release}"
fi
export LD_LIBRARY_PATH="$prefix/lib" RUKH_BACKEND=kfd
fail() { echo "recordings: $*" >&2; exit 1; }

# Programs that wait for no GPU: nothing computes behind a recording.
for program in misuse signals; do
  gcc -std=gnu11 -O1 -g -pthread -o "$work/$program" "$root/tests/c/$program.c" -L"$prefix/lib" -lhsa-runtime64
  file=$work/$program.trace
  RUKH_KFD=gfx90a,gfx1100 RUKH_TRACE=kfd:$file timeout 300 "$work/$program"
  [ "$(head -n 1 "$file")" = "rukh-kfd-trace 1" ] || fail "$program: no recording"
  grep -q '^open "/dev/kfd" = ' "$file" || fail "$program: the driver is not opened"
  grep -qE '^ioctl [0-9]+ CREATE_EVENT .* -> .* = 0$' "$file" || fail "$program: no event is created"
  RUKH_KFD=replay:$file timeout 300 "$work/$program" 2> "$work/err" || { cat "$work/err" >&2; fail "$program fails on its recording"; }
  last=$(grep 'rukh: replay:' "$work/err" | tail -n 1)
  [ "$last" = "rukh: replay: 0 calls were not in the recording; 0 of its calls are left, next: none" ] ||
    { cat "$work/err" >&2; fail "$program differs from its recording"; }
  # A recording of which a call is missing is noticed.
  grep -v ' GET_PROCESS_APERTURES_NEW ' "$file" > "$work/short.trace"
  ! RUKH_KFD=replay:$work/short.trace timeout 300 "$work/$program" > "$work/out" 2>&1 ||
    fail "$program: a call that is not in the recording goes unnoticed"
  grep -q 'rukh' "$work/out" || fail "$program: a call that is not in the recording is not told"
  echo "PASS replay of $program: $(wc -l < "$file") calls"
done

# What somebody sends is looked at with the tool: it shows the machine of the recording.
info=$prefix/bin/rukh-info
RUKH_KFD=gfx942,gfx90a RUKH_TRACE=kfd:$work/info.trace "$info" --json > "$work/recorded.json"
RUKH_KFD=replay:$work/info.trace "$info" --json > "$work/replayed.json"
for file in recorded replayed; do
  jq -e '.agents | length == 3' "$work/$file.json" > "$work/out" || fail "$file: not three agents"
  jq '[.agents, .kfd_interface]' "$work/$file.json" > "$work/$file.agents"
done
cmp "$work/recorded.agents" "$work/replayed.agents" || fail "the tool shows another machine on its recording"
[ "$(jq '.findings | length' "$work/replayed.json")" = 0 ] || { cat "$work/replayed.json" >&2; fail "findings"; }

# The file's name can have the process in it; what cannot be is refused by name.
( cd "$work" && RUKH_KFD=none RUKH_TRACE=kfd:run-%p.trace "$info" > out || [ $? -eq 1 ] )
ls "$work" | grep -qE '^run-[0-9]+\.trace$' || fail "%p is not the process"
for wrong in "kfd:" "file" "kfd:/nowhere/at/all"; do
  if RUKH_KFD=gfx90a RUKH_TRACE=$wrong "$work/signals" 2> "$work/err"; then fail "RUKH_TRACE=$wrong is taken"; fi
  grep -F "RUKH_TRACE" "$work/err" | grep -qF -- "${wrong#kfd:}" || { cat "$work/err" >&2; fail "RUKH_TRACE=$wrong is not named"; }
done
for wrong in gfx9999 replay:/nowhere/at/all "replay:$0"; do
  if RUKH_KFD=$wrong "$work/signals" 2> "$work/err"; then fail "RUKH_KFD=$wrong is taken"; fi
  grep -F "RUKH_KFD" "$work/err" | grep -qF "${wrong#replay:}" || { cat "$work/err" >&2; fail "RUKH_KFD=$wrong is not named"; }
done
# A recording that is not whole, and one where nothing can be recorded, are told; the program runs.
RUKH_KFD=gfx90a RUKH_TRACE=kfd:/dev/full "$work/signals" 2> "$work/err" || fail "a full disk stops the program"
grep -q 'RUKH_TRACE: the recording /dev/full is not whole' "$work/err" || { cat "$work/err" >&2; fail "a full disk is not told"; }
RUKH_BACKEND=sim RUKH_TRACE=kfd:$work/no.trace "$work/signals" 2> "$work/err" || fail "sim does not run"
grep -qF "RUKH_TRACE=kfd:$work/no.trace records nothing" "$work/err" || fail "a recording of nothing is not told"
echo "PASS recordings"
