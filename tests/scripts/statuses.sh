#!/bin/sh
# Every status that Debian's HSA headers document for a function was seen by a client, or stands in tests/c/statuses.txt
# with the reason why no client can see it.
#
#   tests/scripts/statuses.sh LOG      LOG: what clients wrote with STATUS_LOG set (tests/c/check.h)
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
log=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

# FUNCTION STATUS: the @retval lines of the comment before each function that returns a status.
awk '
  /\/\*\*/ { count = 0 }
  /@retval/ {
    if (match($0, /HSA_[A-Z_]*STATUS_[A-Z0-9_]+/)) status[count++] = substr($0, RSTART, RLENGTH)
    next
  }
  /^ \*/ { next }
  match($0, /hsa_[a-z0-9_]+ *\(/) {
    name = substr($0, RSTART, RLENGTH)
    sub(/ *\(/, "", name)
    for (i = 0; i < count; i++) if (status[i] != "HSA_STATUS_SUCCESS") print name, status[i]
    count = 0
  }
' /usr/include/hsa/hsa.h /usr/include/hsa/hsa_ext_amd.h /usr/include/hsa/hsa_ext_image.h \
  /usr/include/hsa/hsa_ven_amd_loader.h | sort -u > "$work/documented"
[ "$(wc -l < "$work/documented")" -gt 400 ] || { echo "statuses: the headers are not as they were" >&2; exit 1; }
sort -u "$log" > "$work/seen"

# Exceptions: FUNCTION STATUS REASON, either of the first two may be a pattern of the shell.
comm -23 "$work/documented" "$work/seen" > "$work/unseen"
sed -E '/^(#|$)/d' "$root/tests/c/statuses.txt" > "$work/excepted"
failed=0
: > "$work/used"
while read -r name status; do
  found=
  while read -r pattern wanted reason; do
    # shellcheck disable=SC2254 # patterns they are to be
    case $name in $pattern) case $status in $wanted) found="$pattern $wanted" && break ;; esac ;; esac
  done < "$work/excepted"
  if [ -z "$found" ]; then
    echo "no client sees $name answer $status" >&2
    failed=1
  else
    echo "$found" >> "$work/used"
  fi
done < "$work/unseen"
# An exception without a use is a mistake or out of date.
while read -r pattern wanted reason; do
  [ -n "$reason" ] && grep -qxF "$pattern $wanted" "$work/used" || { echo "not needed: $pattern $wanted" >&2; failed=1; }
done < "$work/excepted"
[ $failed -eq 0 ]
echo "PASS $(comm -12 "$work/documented" "$work/seen" | wc -l) of $(wc -l < "$work/documented") documented statuses were" \
  "seen; the others cannot be: $(wc -l < "$work/excepted") reasons"
