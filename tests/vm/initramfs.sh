# Sourced by tests/scripts/vm.sh: what the virtual machine has for a disk.

# Copies the program or library $1 to the tree $3 as $2, with the libraries that it is linked to, which keep their places.
add_program() {
  local library
  mkdir -p "$3/$(dirname "$2")"
  cp -L "$1" "$3/$2"
  strip "$3/$2" 2> /dev/null || true
  while read -r library; do
    [ -e "$3$library" ] && continue
    mkdir -p "$3$(dirname "$library")"
    cp -L "$library" "$3$library"
  done < <(ldd "$1" 2> /dev/null | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^\s*\(\/[^ ]*ld-linux[^ ]*\).*/\1/p')
}

# Makes the archive $4 of the tree $1, with the modules of the kernel in $2 and the plan $3.
pack() {
  rm -rf "$1/modules"
  cp -r "$2/modules" "$1/modules"
  cp "$3" "$1/plan"
  (cd "$1" && find . | "$busybox" cpio -o -H newc 2> /dev/null) > "$4"
}
