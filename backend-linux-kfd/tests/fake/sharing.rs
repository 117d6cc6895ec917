//! Shared virtual memory and dmabufs, as the kernel answers them.

use super::kernel::{Bo, EFAULT, EINVAL, EPERM, Kernel, PAGE};
use rukh_core::kfd::uapi::{
    AllocFlags, GetDmabufInfo, ImportDmabuf, Svm, SvmAttribute as Attribute,
};
use std::collections::BTreeMap;
use zerocopy::{FromBytes, IntoBytes};

/// Attributes of one range; what is not set is as the kernel begins.
#[derive(Clone, Debug)]
pub struct Range {
    preferred: u32,
    prefetch: u32,
    /// Kinds of access (2 any, 3 in place), by GPU.
    access: BTreeMap<u32, u32>,
    flags: u32,
    granularity: u32,
}

impl Default for Range {
    fn default() -> Self {
        Self {
            preferred: u32::MAX,
            prefetch: u32::MAX,
            access: BTreeMap::new(),
            flags: 0b11,
            granularity: 9,
        }
    }
}

pub fn svm(kernel: &mut Kernel, argument: &mut [u8]) -> Result<(), i32> {
    if !kernel.has_svm {
        return Err(EPERM);
    }
    let (head, rest) = Svm::read_from_prefix(argument).map_err(|_| EINVAL)?;
    let count = head.nattr as usize;
    let mut attributes = Vec::new();
    for bytes in rest.chunks_exact(8).take(count) {
        attributes.push(Attribute::read_from_bytes(bytes).unwrap());
    }
    if attributes.len() != count || head.size == 0 || (head.start_addr | head.size) % PAGE != 0 {
        return Err(EINVAL);
    }
    if head.start_addr < PAGE {
        return Err(EFAULT);
    }
    let known = |id: u32| kernel.gpus.iter().any(|gpu| gpu.id == id);
    let key = (head.start_addr, head.size);
    let mut range = kernel.svm.get(&key).cloned().unwrap_or_default();
    for attribute in &mut attributes {
        let value = attribute.value;
        match (head.op, attribute.kind) {
            (0, 0 | 1) if value != 0 && value != u32::MAX && !known(value) => return Err(EINVAL),
            (0, 0) => range.preferred = value,
            (0, 1) => range.prefetch = value,
            (_, 2..=4) if !known(value) => return Err(EINVAL),
            (0, 4) => drop(range.access.remove(&value)),
            (0, kind @ (2 | 3)) => drop(range.access.insert(value, kind)),
            (0, 5) => range.flags |= value,
            (0, 6) => range.flags &= !value,
            (0, 7) => range.granularity = value.min(0x3f),
            (1, 0) => attribute.value = range.preferred,
            (1, 1) => attribute.value = range.prefetch,
            (1, 2) => attribute.kind = range.access.get(&value).copied().unwrap_or(4),
            (1, 5) => attribute.value = range.flags,
            (1, 6) => attribute.value = !range.flags,
            (1, 7) => attribute.value = range.granularity,
            _ => return Err(EINVAL),
        }
    }
    if head.op == 0 {
        kernel.svm.insert(key, range);
    }
    let at = argument.len() - rest_bytes(count);
    argument[at..].copy_from_slice(attributes.as_bytes());
    Ok(())
}

const fn rest_bytes(count: usize) -> usize {
    count * 8
}

pub fn dmabuf_info(kernel: &Kernel, a: &mut GetDmabufInfo) -> Result<(), i32> {
    let &(gpu, size) = kernel.exported.get(&a.dmabuf_fd).ok_or(EINVAL)?;
    (a.size, a.gpu_id, a.flags) = (size, gpu, AllocFlags::VRAM.bits());
    Ok(())
}

pub fn import(kernel: &mut Kernel, a: &mut ImportDmabuf) -> Result<(), i32> {
    kernel.gpu(a.gpu_id)?;
    let &(_, size) = kernel.exported.get(&a.dmabuf_fd).ok_or(EINVAL)?;
    let handle = kernel.next_bo;
    kernel.next_bo += 1;
    kernel.bos.insert(
        handle,
        Bo {
            gpu: a.gpu_id,
            va: a.va_addr,
            size,
            flags: AllocFlags::VRAM,
            host: 0,
            mapped: Default::default(),
            memory: None,
        },
    );
    a.handle = handle;
    Ok(())
}
