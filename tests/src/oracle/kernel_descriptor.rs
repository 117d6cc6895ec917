//! Kernel descriptors: any 64 bytes are read without loss, and a dispatch of them ends or stops its queue with a reason.

use rukh_core::isa::Processor;
use rukh_core::runtime::QueueConfig;
use rukh_core::signal::MemoryOrder;
use rukh_core::wire::aql::{Header, KernelDispatchPacket, PacketType};
use rukh_core::wire::kernel_descriptor::{ENTRY_ALIGN, KernelDescriptor, SIZE};

use super::bed::{Bed, GPU};
use super::input::Input;
use super::queue::{CODE, DESCRIPTOR, end_of_program};

/// Turns within which a kernel that only ends has to end: the device takes a wave or a packet in each.
const TURNS: usize = 400;

/// The first byte chooses the processor; then come the packet's sizes and the descriptor.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let choice = input.byte();
    let knobs = input.byte();
    let sizes = [input.byte(), input.byte()];
    let bytes: [u8; SIZE] = input.array();
    check_fields(&bytes);
    // Half of them begin at code, whatever else they say.
    let mut bytes = bytes;
    if knobs & 1 == 0 {
        bytes[16..24].copy_from_slice(&(CODE - DESCRIPTOR).to_le_bytes());
    }
    Bed::lend(choice, |bed| dispatch(bed, knobs, sizes, &bytes));
}

fn check_fields(bytes: &[u8; SIZE]) {
    let descriptor = KernelDescriptor::parse(bytes);
    assert_eq!(&descriptor.emit(), bytes);
    assert_eq!(KernelDescriptor::new_checked(bytes), Some(descriptor));
    for processor in rukh_core::isa::PROCESSORS {
        check_counts(&descriptor, processor);
    }
    for base in [0, 0x1000, 1 << 40, !0x3f] {
        let entry = descriptor.entry(base);
        let offset = i128::from(descriptor.kernel_code_entry_byte_offset);
        let wanted = u64::try_from(i128::from(base) + offset).ok();
        assert_eq!(entry, wanted.filter(|at| at.is_multiple_of(ENTRY_ALIGN)));
    }
}

/// What the encodings of the counts allow.
fn check_counts(descriptor: &KernelDescriptor, processor: &Processor) {
    let vgprs = descriptor.vgpr_count(processor);
    assert!((4..=512).contains(&vgprs) && vgprs.is_multiple_of(4));
    assert!((8..=128).contains(&descriptor.sgpr_count(processor)));
    let lanes = descriptor.wavefront_size(processor);
    assert!(lanes == 64 || lanes == 32 && processor.version.major >= 10);
    if let Some(offset) = descriptor.accum_offset(processor) {
        assert!((4..=256).contains(&offset));
    }
}

/// Has a small device run it. Its code ends at once, so that it ends, or is refused.
fn dispatch(bed: &Bed, knobs: u8, sizes: [u8; 2], descriptor: &[u8; SIZE]) {
    bed.write(DESCRIPTOR, descriptor);
    bed.write(CODE, &end_of_program(bed.profile).to_le_bytes());
    let config = QueueConfig {
        size: 64,
        ..QueueConfig::default()
    };
    let queue = bed.runtime.create_queue(GPU, config).expect("a queue");
    let signal = bed.runtime.create_signal(1).expect("a signal");
    let group = 1 + u16::from(sizes[0]) * 4;
    let packet = KernelDispatchPacket {
        header: Header::new(PacketType::KernelDispatch),
        setup: 1,
        workgroup_size: [group, 1, 1],
        grid_size: [u32::from(group) * (1 + u32::from(knobs >> 6)), 1, 1],
        private_segment_size: u32::from(knobs >> 1 & 3) * 100,
        group_segment_size: u32::from(knobs >> 3 & 3) * 1000,
        kernel_object: bed.block.0 + DESCRIPTOR,
        kernarg_address: if sizes[1] & 1 == 0 {
            bed.block.0 + 4096
        } else {
            0
        },
        completion_signal: signal.handle().0,
        ..KernelDispatchPacket::default()
    };
    let claim = queue.try_claim().expect("the queue is empty");
    claim.publish_packet(&packet);
    for _ in 0..TURNS / 10 {
        bed.step(10);
        if signal.load(MemoryOrder::Acquire) == 0 || queue.status().is_some() {
            break;
        }
    }
    let status = queue.status();
    let done = signal.load(MemoryOrder::Acquire) == 0;
    // One that begins elsewhere may run for longer.
    if knobs & 1 == 0 {
        assert!(done != status.is_some(), "done: {done}, {status:?}");
    }
    Bed::check_queue(&queue);
    drop(queue);
    bed.check();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::committed;
    use crate::oracle::{mutate::mutate, rng::Rng};
    use rukh_core::loader::CodeObject;

    #[test]
    fn random_descriptors_end_or_are_refused() {
        let mut rng = Rng::new(13);
        let mut data = [0; 4 + SIZE];
        for case in 0..500u32 {
            rng.fill(&mut data);
            data[0] = case as u8;
            check(&data);
        }
    }

    #[test]
    fn compiled_descriptors_hold_also_when_damaged() {
        let mut rng = Rng::new(14);
        for object in committed::ALL {
            let code = CodeObject::parse(object.code_object).expect("it is ours");
            for (_, descriptor) in code.kernels() {
                for choice in 0..6 {
                    let data = [&[choice, 0, 15, 0], &descriptor.emit()[..]].concat();
                    check(&data);
                    check(&mutate(&data, &mut rng));
                }
            }
        }
    }
}
