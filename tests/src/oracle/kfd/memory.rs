//! Memory: objects, their mappings on GPUs and the host, dmabufs, and attributes of shared virtual memory.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use rukh_core::kfd::uapi::*;
use rukh_core::kfd::{KfdPort, Mapping, Protection};

use super::{Client, HostMapping, MOST, Object, PAGE, VA, known};
use crate::oracle::input::Input;

impl Client {
    pub(super) fn allocate(&mut self, input: &mut Input<'_>) {
        if self.objects.len() >= MOST {
            return;
        }
        let kinds = [
            AllocFlags::VRAM,
            AllocFlags::GTT,
            AllocFlags::USERPTR,
            AllocFlags::DOORBELL,
            AllocFlags::MMIO_REMAP,
            AllocFlags::GTT,
            AllocFlags::VRAM | AllocFlags::GTT,
            AllocFlags::empty(),
        ];
        let kind = input.pick(&kinds);
        let own = self.own.0.as_ptr().expose_provenance() as u64;
        let size = match input.byte() {
            0..=199 => PAGE * (1 + input.below(4) as u64),
            200..=229 => 1 + u64::from(input.u16()),
            // Of memory that is there only when it is used: more than a machine has, or none.
            _ => input.pick(&[0, u64::MAX, 1 << 45, 1 << 63, 64 << 30]),
        };
        let host = input.pick(&[own, own, own + PAGE, own + 1, 0, 0x1000, 1 << 47]);
        let va = match input.byte() {
            0..=229 => self.next_va,
            _ => self.va(input),
        };
        let rights = [
            AllocFlags::WRITABLE | AllocFlags::EXECUTABLE,
            AllocFlags::WRITABLE | AllocFlags::PUBLIC,
            AllocFlags::empty(),
        ];
        let size = if kind == AllocFlags::USERPTR {
            size.min(2 * PAGE)
        } else {
            size
        };
        self.object(va, size, kind | input.pick(&rights), host, input);
    }

    /// Allocates; gives whether it was.
    pub(super) fn object(
        &mut self,
        va_addr: u64,
        size: u64,
        flags: AllocFlags,
        host: u64,
        input: &mut Input<'_>,
    ) -> bool {
        let mut argument = AllocMemoryOfGpu {
            va_addr,
            size,
            handle: input.number(),
            mmap_offset: host,
            gpu_id: self.gpu(input),
            flags: flags.bits(),
        };
        let answer = self.call(&mut argument);
        if answer.is_ok() {
            let handle = argument.handle;
            let twice = self.objects.iter().any(|object| object.handle == handle);
            assert!(!twice, "{handle:#x} was given out twice");
            self.next_va += size.next_multiple_of(PAGE).min(1 << 40);
            self.objects.push(Object {
                handle,
                va: va_addr,
                size,
                offset: argument.mmap_offset,
            });
        }
        answer.is_ok()
    }

    pub(super) fn map(&mut self, input: &mut Input<'_>) {
        if self.maps.len() >= MOST {
            return;
        }
        let file = input.below(self.files.len());
        let object = self.objects.get(input.below(self.objects.len()));
        let queue = self.queues.get(input.below(self.queues.len()));
        let (offset, size) = match (input.below(8), object, queue) {
            (0..=3, Some(object), _) => (object.offset, object.size.min(1 << 20)),
            (4, _, Some((_, doorbell))) => (doorbell & !0xfff, 2 * PAGE),
            (5, ..) => (2 << 62, 8 * PAGE),
            (6, ..) => (u64::from(self.gpu(input)) << 46, PAGE),
            _ => (input.number() & !0xfff, PAGE),
        };
        let size = match input.byte() {
            0..=199 => size,
            _ => input.pick(&[0, 1, PAGE, 3 * PAGE, 1 << 46]),
        };
        let mapping = Mapping {
            file: self.files.get(file).copied(),
            offset,
            size: size as usize,
            protection: input.pick(&[Protection::ReadWrite, Protection::Read, Protection::None]),
            fixed: None,
        };
        // SAFETY: not at a fixed address.
        match unsafe { self.face.map(&mapping) } {
            Ok(at) => {
                let size = (size as usize).next_multiple_of(PAGE as usize);
                if input.below(4) == 0 {
                    // SAFETY: mapped just now, and nothing uses it.
                    unsafe { self.face.unmap(at, size) };
                } else if mapping.protection == Protection::ReadWrite {
                    self.maps.push(HostMapping { at, size });
                } else {
                    // SAFETY: as above; of several pages the first goes first.
                    unsafe {
                        self.face.unmap(at, PAGE as usize);
                        if size > PAGE as usize {
                            self.face.unmap(at.add(PAGE as usize), size - PAGE as usize);
                        }
                    }
                }
            }
            Err(error) => {
                let _ = known(Err(error.errno()));
            }
        }
    }

    /// Writes packets, indices, doorbells: anything where the client has mapped something.
    pub(super) fn write(&mut self, input: &mut Input<'_>) {
        let Some(map) = self.maps.get(input.below(self.maps.len())) else {
            return;
        };
        let at = usize::from(input.u16()) * 8 % map.size;
        let count = input.below(16) * 8;
        let bytes = input.take(count);
        for (word, chunk) in (at..map.size).step_by(8).zip(bytes.as_chunks::<8>().0) {
            // SAFETY: within a mapping that may be read and written; devices use it as atomics too.
            let cell =
                unsafe { std::sync::atomic::AtomicU64::from_ptr(map.at.add(word).cast().as_ptr()) };
            cell.store(
                u64::from_le_bytes(*chunk),
                std::sync::atomic::Ordering::Release,
            );
        }
    }

    /// A buffer object goes out as a descriptor, is asked about and comes in again.
    pub(super) fn share(&mut self, input: &mut Input<'_>) {
        let mut export = ExportDmabuf {
            handle: self.handle(input),
            flags: input.pick(&[0, 0o2_000_000, 2, u32::MAX]),
            ..ExportDmabuf::default()
        };
        let file = self.call(&mut export).ok().map(|()| {
            let number = export.dmabuf_fd.cast_signed();
            // SAFETY: a descriptor that the driver has just made for its caller.
            unsafe { OwnedFd::from_raw_fd(number) }
        });
        let other = input.pick(&[u32::MAX, 1 << 30, 0, 1 << 20]);
        let number = file
            .as_ref()
            .map_or(other, |file| file.as_raw_fd().cast_unsigned());
        let mut info = GetDmabufInfo {
            metadata_ptr: self.pointer(input),
            metadata_size: input.pick(&[0, 8, 4096, u32::MAX]),
            dmabuf_fd: number,
            ..GetDmabufInfo::default()
        };
        let told = self.call(&mut info).is_ok();
        assert!(!told || file.is_some());
        if self.objects.len() >= MOST {
            return;
        }
        let va = if input.byte() < 200 {
            self.next_va
        } else {
            self.va(input)
        };
        let mut import = ImportDmabuf {
            va_addr: va,
            handle: 0,
            gpu_id: self.gpu(input),
            dmabuf_fd: number,
        };
        if self.call(&mut import).is_ok() {
            assert!(file.is_some());
            let handle = import.handle;
            assert!(self.objects.iter().all(|object| object.handle != handle));
            self.next_va += 1 << 40;
            self.objects.push(Object {
                handle,
                va,
                size: info.size,
                offset: 0,
            });
        }
    }

    /// Attributes of ranges of the client's own memory, or of none.
    pub(super) fn shared_memory(&mut self, input: &mut Input<'_>) {
        let own = self.own.0.as_ptr().expose_provenance() as u64;
        let start = input.pick(&[own, own + PAGE, own + 1, VA, 0, u64::MAX - 0xfff, 1 << 47]);
        let size = input.pick(&[PAGE, 2 * PAGE, 3 * PAGE, 1, 0, !0xfff]);
        let count = input.below(5);
        let said = input.pick(&[
            count as u32,
            count as u32,
            count as u32,
            0x1fff_ffff,
            u32::MAX,
        ]);
        let mut argument = Vec::new();
        argument.extend(start.to_le_bytes());
        argument.extend(size.to_le_bytes());
        argument.extend(input.pick(&[0u32, 1, 0, 1, 2]).to_le_bytes());
        argument.extend(said.to_le_bytes());
        for _ in 0..count {
            let kind = u32::from(input.byte() % 10);
            let value = match input.below(4) {
                0 => input.number() as u32,
                1 => 1 << input.below(8),
                _ => self.gpu(input),
            };
            argument.extend(kind.to_le_bytes());
            argument.extend(value.to_le_bytes());
        }
        let length = argument.len() as u32;
        let size = input.pick(&[length, length, length, length - 1, 24, 0x3fff]);
        let request = Svm::INFO.request & !(0x3fff << 16) | size << 16;
        let _ = self.raw(self.kfd, request, &mut argument);
    }
}
