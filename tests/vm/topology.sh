#!/bin/sh
# Prints every file of the topology: its path, then its contents.
cd /sys/devices/virtual/kfd/kfd/topology || exit 1
find . -type f | sort | while read -r file; do
  echo "## ${file#./}"
  cat "$file"
done
