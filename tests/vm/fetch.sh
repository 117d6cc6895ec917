# Sourced by tests/scripts/vm.sh: gets QEMU and Debian's kernels, under $vm (target/vm), without installing either.
#
# Nothing is installed, since Debian's QEMU of one release throws out parts of another release's, and a kernel package would
# change how the machine boots. What was fetched once stays; remove the folder to have today's packages.

# The package that a kernel of series $1 (6.1, 6.12) is in today: what one of the meta packages depends on. $2... are
# options for apt.
kernel_package() {
  local series=$1 meta
  shift
  for meta in "linux-image-$series-amd64" linux-image-amd64; do
    apt-cache "$@" depends "$meta" 2>/dev/null | sed -n 's/^ *Depends: //p' | grep -E "^linux-image-${series//./\\.}[.-]" && return
  done
  return 1
}

# Options for apt by which it knows Debian's backports and nothing else, with lists of their own.
backports_options() {
  mkdir -p "$vm/backports/lists/partial"
  echo 'deb http://deb.debian.org/debian bookworm-backports main' > "$vm/backports/sources.list"
  backports=(-o "Dir::Etc::SourceList=$vm/backports/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$vm/backports/lists")
  [ -n "$(find "$vm/backports/lists" -name '*Packages*')" ] || apt-get -q "${backports[@]}" update
}

# Looks for a package with a kernel of series $1: sets $package and $options. Fails if neither Debian's sources nor its
# backports have one.
find_kernel() {
  package='' options=()
  [ ! -e "$vm/kernel-$1/complete" ] || return 0
  apt-cache show linux-image-amd64 > /dev/null 2>&1 || apt-get update -q
  package=$(kernel_package "$1") && return
  local backports
  backports_options && options=("${backports[@]}") && package=$(kernel_package "$1" "${options[@]}")
}

# Fetches the kernel of series $1, which was found, to $vm/kernel-$1.
fetch_kernel() {
  local into=$vm/kernel-$1
  [ ! -e "$into/complete" ] || return 0
  echo "fetching $package"
  rm -rf "$into" && mkdir -p "$into/tree"
  # apt's own user may have no access to the folder: then it says so and does without.
  (cd "$into" && apt-get -q "${options[@]}" download "$package")
  dpkg -x "$into/$package"_*.deb "$into/tree"
  local release modules
  modules=$(echo "$into"/tree/lib/modules/*)
  release=$(basename "$modules")
  bash "$here/vmlinux.sh" "$into/tree/boot/vmlinuz-$release" "$into/vmlinux"
  take_modules "$into/tree" "$release" "$into/modules"
  rm -r "$into/tree" "$into/$package"_*.deb
  echo "$package" > "$into/complete"
}

# Copies amdgpu of the tree $1, release $2, and all that it needs to $3, without debug information; $3/order lists them
# as they must be loaded.
take_modules() {
  local needed module name
  depmod -b "$1" "$2"
  mkdir -p "$3"
  # `amdgpu.ko: the last that must be there, ..., the first`
  needed=$(sed -n 's|^\([^:]*/amdgpu\.ko[^:]*\):\(.*\)|\1\2|p' "$1/lib/modules/$2/modules.dep")
  [ -n "$needed" ] || { echo "$2 has no amdgpu module" >&2; return 1; }
  for module in $(echo "$needed" | tr ' ' '\n' | tac); do
    name=$(basename "${module%.xz}")
    case $module in
      *.xz) xz -dc "$1/lib/modules/$2/$module" > "$3/$name" ;;
      *) cp "$1/lib/modules/$2/$module" "$3/$name" ;;
    esac
    strip --strip-debug "$3/$name"
    echo "$name" >> "$3/order"
  done
}

# Unpacks the files of package $1 to $2.
fetch_package() {
  [ ! -e "$2/complete" ] || return 0
  echo "fetching $1"
  rm -rf "$2" && mkdir -p "$2"
  (cd "$2" && apt-get -q download "$1" && dpkg -x "$1"_*.deb . && rm "$1"_*.deb && touch complete)
}

# Sets $qemu, the command. Takes the machine's own if it has one.
fetch_qemu() {
  if command -v qemu-system-x86_64 > /dev/null; then
    qemu=(qemu-system-x86_64)
    return
  fi
  local root=$vm/qemu
  if [ ! -e "$root/complete" ]; then
    echo "fetching QEMU"
    rm -rf "$root" && mkdir -p "$root/debs/partial"
    apt-cache show qemu-system-x86 > /dev/null 2>&1 || apt-get update -q
    apt-get -q -y --no-install-recommends --download-only -o "Dir::Cache::Archives=$root/debs" install qemu-system-x86
    local deb
    for deb in "$root"/debs/*.deb; do dpkg -x "$deb" "$root"; done
    rm -r "$root/debs"
    touch "$root/complete"
  fi
  local libraries
  libraries=$(find "$root" -name '*.so*' -printf '%h\n' | sort -u | tr '\n' ':')
  qemu=(env "LD_LIBRARY_PATH=$libraries" "$root/usr/bin/qemu-system-x86_64" -L "$root/usr/share/qemu"
    -L "$root/usr/share/seabios")
}
