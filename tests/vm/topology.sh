#!/bin/sh
# Prints the topology: every line of every file, after the file's path.
cd /sys/devices/virtual/kfd/kfd/topology || exit 1
find . -type f | sort | while read -r file; do
  while read -r line; do
    echo "${file#./} $line"
  done < "$file"
done
