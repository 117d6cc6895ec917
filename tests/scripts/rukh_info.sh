#!/bin/sh
# Runs rukh-info under the conditions that it tells apart: in mount namespaces with a /dev of their own, as another
# user, with and without a GPU. Needs root.
#
#   tests/scripts/rukh_info.sh [PREFIX]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=${1:-}
if [ -z "$prefix" ]; then
  prefix=$work/prefix
  "$root/capi/install.sh" "$prefix" "${PROFILE:-release}"
fi
[ "$(id -u)" -eq 0 ] || { echo "needs root, to be another user" >&2; exit 1; }
# Where another user can reach it.
chmod 755 "$work"
cp "$prefix/bin/rukh-info" "$work/rukh-info"
fail() { echo "rukh-info: $*" >&2; cat "$work/out" >&2; exit 1; }
unset RUKH_BACKEND RUKH_KFD RUKH_TRACE

# expect STATUS CODE WORD COMMAND...: the report as JSON has the finding, the text has the word.
expect() {
  status=$1 code=$2 word=$3
  shift 3
  got=0
  "$@" --json > "$work/out" 2>&1 || got=$?
  [ $got -eq "$status" ] || fail "status $got instead of $status: $*"
  if [ -n "$code" ]; then
    jq -e --arg code "$code" 'any(.findings[]; .code == $code and (.advice | length > 0))' "$work/out" > "$work/jq" ||
      fail "no finding $code: $*"
  else
    jq -e '.findings == [] and .usable_gpus > 0' "$work/out" > "$work/jq" || fail "findings: $*"
  fi
  "$@" > "$work/out" 2>&1 || [ $? -eq "$status" ] || fail "the text has another status: $*"
  grep -qF -- "$word" "$work/out" || fail "does not say $word: $*"
  echo "PASS rukh-info: ${code:-a GPU}: $word"
}

# with_dev SCRIPT COMMAND...: in a mount namespace whose /dev the script fills.
with_dev() {
  script=$1
  shift
  unshare --mount sh -c '
    mount -t tmpfs none /dev
    chmod 755 /dev
    ln -s /proc/self/fd /dev/fd
    : > /dev/null
    eval "$1"
    shift
    exec "$@"' sh "$script" "$@"
}

# A user of its own number, in no group of note.
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"

for backend in sim:gfx90a kfd; do
  export RUKH_BACKEND=$backend RUKH_KFD=gfx90a
  expect 0 "" "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-" "$work/rukh-info"
done
export RUKH_KFD=none
got=0
"$work/rukh-info" > "$work/out" || got=$?
[ $got -eq 1 ] || fail "status $got without a GPU"
grep -q '^0 *CPU ' "$work/out" || fail "no CPU agent without a GPU"

# One GPU that cannot be opened costs that GPU alone, and the reason is told.
export RUKH_KFD=gfx90a,gfx1100,deny:/dev/dri/renderD128
"$work/rukh-info" --json > "$work/out"
jq -e '.usable_gpus == 1 and ([.agents[].name] | index("gfx1100") != null and index("gfx90a") == null)
  and any(.findings[]; .what | test("node 1: .*renderD128"))' "$work/out" > "$work/jq" ||
  fail "a refused render node costs more than its GPU, or is not told"
# Over the C library the same is a line on standard error, which RUKH_LOG turns off.
gcc -std=gnu11 -O1 -pthread -o "$work/signals" "$root/tests/c/signals.c" -L"$prefix/lib" -lhsa-runtime64
for log in on off; do
  RUKH_LOG=$log LD_LIBRARY_PATH=$prefix/lib timeout 300 "$work/signals" > "$work/out" 2>&1 || fail "a program does not run with one GPU of two"
  told=$(grep -c 'rukh: hsa_init: a GPU is left out: node 1: /dev/dri/renderD128 cannot be opened (errno 13)' "$work/out" || true)
  [ "$log $told" = "on 1" ] || [ "$log $told" = "off 0" ] || fail "RUKH_LOG=$log: told $told times"
done
# One that a container hides is noteworthy, no failure.
export RUKH_KFD=gfx90a,gfx1100,deny:/sys/devices/virtual/kfd/kfd/topology/nodes/1/gpu_id
for log in on verbose; do
  RUKH_LOG=$log LD_LIBRARY_PATH=$prefix/lib timeout 300 "$work/signals" > "$work/out" 2>&1 || fail "a program does not run with one GPU of two"
  told=$(grep -c 'rukh: hsa_init: a GPU is hidden: node 1' "$work/out" || true)
  [ "$log $told" = "on 0" ] || [ "$log $told" = "verbose 1" ] || fail "RUKH_LOG=$log: told $told times"
done
echo "PASS one GPU of two"
unset RUKH_BACKEND RUKH_KFD

# A machine of its own: nothing of a real driver shows in these namespaces.
[ -e /sys/class/kfd ] || expect 1 "$([ -e /sys/module/amdgpu ] && echo kernel-without-kfd || echo no-gpu)" "there is no /dev/kfd" \
  with_dev : "$work/rukh-info"
group=$(getent group render video | head -n 1)
name=${group%%:*}
gid=$(echo "$group" | cut -d: -f3)
expect 1 no-permission "it belongs to $name (gid $gid)" \
  with_dev ": > /dev/kfd; chown 0:$gid /dev/kfd; chmod 660 /dev/kfd" $nobody "$work/rukh-info"
expect 1 no-permission "udev rule" \
  with_dev ': > /dev/kfd; chmod 600 /dev/kfd' $nobody "$work/rukh-info"
expect 1 no-permission "--group-add 12345" \
  with_dev ': > /dev/kfd; chown 0:12345 /dev/kfd; chmod 660 /dev/kfd' $nobody "$work/rukh-info"
expect 1 not-a-kfd "GET_VERSION" with_dev ': > /dev/kfd' "$work/rukh-info"
# A node of a driver that is not there. Where making one is forbidden, the system says so here as well.
if with_dev 'mknod /dev/kfd c 4094 0' true 2> "$work/err"; then
  code=no-driver-behind-device
  with_dev 'mknod /dev/kfd c 4094 0' sh -c ': < /dev/kfd' 2> "$work/err" || ! grep -q 'not permitted' "$work/err" || code=device-refused
  expect 1 $code "/dev/kfd" with_dev 'mknod /dev/kfd c 4094 0' "$work/rukh-info"
fi

# Called wrongly.
for arguments in --jsn "--json extra"; do
  got=0
  "$work/rukh-info" $arguments > "$work/out" 2>&1 || got=$?
  [ $got -eq 2 ] || fail "status $got for $arguments"
done
got=0
RUKH_BACKEND=cuda "$work/rukh-info" > "$work/out" 2>&1 || got=$?
[ $got -eq 2 ] && grep -q 'RUKH_BACKEND=cuda' "$work/out" || fail "RUKH_BACKEND=cuda is not named"
"$work/rukh-info" --help > "$work/out"
grep -q 'Exit status' "$work/out" || fail "no help"
echo "PASS rukh-info"
