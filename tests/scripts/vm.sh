#!/usr/bin/env bash
# Boots Debian's kernels with their amdgpu module in QEMU, without any GPU, and holds programs of ours and the C library to
# the real `/dev/kfd` that is there then.
#
#   tests/scripts/vm.sh [6.1|6.12 [NUMA-NODES]]    without arguments: 6.1 with 2 nodes and with 1, 6.12 with 2
#
# Kernels and QEMU are fetched from Debian, whichever are current, to target/vm, and stay there; each boot leaves what its
# programs printed in target/vm/run-KERNEL-NODES/. 6.12 is tested if there is a package of it; 6.1 must
# be there.
#
# What is tested is in the plan below; `tests/vm/` has the parts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=$PWD/tests/vm
vm=$PWD/target/vm
mkdir -p "$vm"
. tests/vm/fetch.sh
. tests/vm/initramfs.sh
. tests/vm/check.sh
# Longest time of a boot and all its programs, in seconds: about ten times what it takes.
limit=${RUKH_VM_TIMEOUT:-400}

# Builds everything that runs inside, and lays it out in $vm/tree.
build() {
  local target=x86_64-unknown-linux-gnu tree=$vm/tree multiarch name
  # A target named on the command line keeps build scripts and derive macros out of the static linking.
  RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --target $target \
    -p rukh-backend-linux-kfd --example kfd_witness --example kfd_record
  capi/install.sh "$vm/prefix"
  rm -rf "$tree"
  mkdir -p "$tree"/{bin,dev,proc,sys,tmp,t}
  cp "$busybox" "$tree/bin/busybox"
  ln -s busybox "$tree/bin/sh"
  cp tests/vm/init "$tree/init"
  cp tests/vm/topology.sh "$tree/t/topology"
  chmod +x "$tree/init" "$tree/t/topology"
  for name in kfd_witness kfd_record; do
    cp "target/$target/release/examples/$name" "$tree/t/$name"
    strip "$tree/t/$name"
  done
  for name in signals cpu_agents wake; do
    gcc -std=gnu11 -O2 -Wall -Wextra -Werror -pthread -o "$vm/$name" "tests/c/$name.c" -L"$vm/prefix/lib" -lhsa-runtime64
    add_program "$vm/$name" "t/$name" "$tree"
  done
  # AMD's library is where Debian has it, ours at a place of its own.
  multiarch=$(gcc -print-multiarch)
  add_program /usr/bin/rocminfo t/rocminfo "$tree"
  add_program "/usr/lib/$multiarch/libhsa-runtime64.so.1" "usr/lib/$multiarch/libhsa-runtime64.so.1" "$tree"
  add_program "$vm/prefix/lib/libhsa-runtime64.so.1" rukh/libhsa-runtime64.so.1 "$tree"
}

# The programs of one boot: name, limit in seconds, command.
plan() {
  local ours='RUKH_BACKEND=kfd LD_LIBRARY_PATH=/rukh'
  cat << END
topology 20 /t/topology
record 60 /t/kfd_record
witness 60 /t/kfd_witness
signals 60 $ours /t/signals
agents-rukh 60 $ours /t/cpu_agents kfd
agents-amd 60 /t/cpu_agents
rocminfo-rukh 60 $ours /t/rocminfo
rocminfo-amd 60 /t/rocminfo
no-gpu 20 LD_LIBRARY_PATH=/rukh /t/signals 2>&1 | grep 'the kernel driver has no usable GPU'
wake-rukh 60 $ours /t/wake
wake-amd 60 /t/wake
wake-rukh-again 60 $ours /t/wake
wake-amd-again 60 /t/wake
END
}

# Boots kernel $1 with $2 nodes, and checks what comes out.
boot() {
  local kernel=$1 nodes=$2 attempt=${3:-1} run=$vm/run-$1-$2 begun=$SECONDS status=0 memory=()
  rm -rf "$run" && mkdir -p "$run"
  plan > "$run/plan"
  pack "$vm/tree" "$vm/kernel-$kernel" "$run/plan" "$run/initramfs"
  if [ "$nodes" -eq 2 ]; then
    memory=(-object memory-backend-ram,id=m0,size=750M -object memory-backend-ram,id=m1,size=750M
      -numa node,cpus=0,memdev=m0 -numa node,cpus=1,memdev=m1)
  fi
  # KVM is not asked for: where it is there, it does not always boot, and one way is enough.
  timeout "$limit" "${qemu[@]}" -accel tcg,thread=multi -cpu max -smp 2 -m 1500 "${memory[@]}" \
    -nodefaults -no-user-config -display none -serial "file:$run/console" -serial "file:$run/results" -no-reboot \
    -kernel "$vm/kernel-$kernel/vmlinux" -initrd "$run/initramfs" \
    -append "console=ttyS0 panic=-1 quiet loglevel=3 nokaslr mitigations=off" > "$run/qemu" 2>&1 || status=$?
  rm "$run/initramfs"
  [ $status -ne 124 ] || echo "kernel $kernel, $nodes nodes: not done after $limit s; the boot hangs" >&2
  # The emulated processors sometimes execute half of an instruction that the kernel is just patching, and it stops with
  # "Oops: int3". What is to be tested would stop it every time.
  if [ "$attempt" -lt 3 ] && grep -q "Kernel panic" "$run/console"; then
    echo "kernel $kernel, $nodes nodes: the kernel panicked: $(grep -m 1 -E 'Oops|BUG|panic' "$run/console"); again"
    boot "$kernel" "$nodes" $((attempt + 1))
    return
  fi
  split_results "$run"
  check_run "$kernel" "$nodes" "$run" || {
    echo "kernel $kernel, $nodes nodes: failed (QEMU's status $status); see $run" >&2
    echo "-- the console's end:" >&2
    tail -n 15 "$run/console" "$run/qemu" >&2 || true
    return 1
  }
  echo "PASS $(cat "$vm/kernel-$kernel/complete"), NUMA nodes: $nodes, $((SECONDS - begun)) s"
}

fetch_qemu
fetch_package busybox-static "$vm/busybox"
busybox=$vm/busybox/bin/busybox
if [ $# -gt 0 ]; then
  find_kernel "$1" || { echo "no package has a kernel $1" >&2; exit 1; }
  fetch_kernel "$1"
  build
  boot "$1" "${2:-2}"
  exit
fi
find_kernel 6.1 || { echo "no package has a kernel 6.1" >&2; exit 1; }
fetch_kernel 6.1
newer=
if find_kernel 6.12; then
  fetch_kernel 6.12
  newer=yes
fi
build
boot 6.1 2
boot 6.1 1
if [ -n "$newer" ]; then
  boot 6.12 2
else
  echo "NOT TESTED: kernel 6.12. Neither Debian's sources nor bookworm-backports have a package of it." >&2
fi
