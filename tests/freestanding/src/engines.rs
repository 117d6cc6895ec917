//! Packets for DMA engines of every generation, and PM4 commands: what a kernel sends. Reading them is a device's.

use core::hint::black_box;
use rukh_core::wire::pm4::{
    AcquireMem, AcquireMemGcr, Command, CopyData, DispatchDirect, DmaData, Header, IndirectBuffer,
    Packet as Pm4, ReleaseMem, SetRegisters, WaitRegMem, WriteData, register,
};
use rukh_core::wire::sdma::{CopyRect, Generation, Rect, RectSide, Writer};

const DESTINATION: u64 = 0x7f12_3456_7000;
const SOURCE: u64 = 0x7f65_4321_0000;

/// One packet of each kind that a runtime sends, as every generation of engines has it.
pub(crate) fn sdma() -> Option<()> {
    // Unknown to the compiler: nothing of the encoders is left out because it is not used here.
    for generation in black_box(Generation::ALL) {
        let mut buffer = [0u32; 192];
        let mut writer = Writer::new(generation, &mut buffer);
        writer.wait_for_zero(DESTINATION).ok()?;
        writer.timestamp(DESTINATION).ok()?;
        writer.caches(true).ok()?;
        writer
            .copy(DESTINATION, SOURCE, generation.max_copy() + 4)
            .ok()?;
        writer.fill(DESTINATION, 0x0102_0304, 1000).ok()?;
        writer.write(DESTINATION, &[1, 2, 3]).ok()?;
        writer.add_64(DESTINATION, -1).ok()?;
        writer.fence(DESTINATION, 7).ok()?;
        writer.flush_host_data_path().ok()?;
        let side = |base| RectSide {
            base,
            pitch: 256,
            slice: 4096,
            at: [0; 3],
        };
        let rect = Rect {
            destination: side(DESTINATION),
            source: side(SOURCE),
            size: [64, 8, 1],
            element_log2: 2,
        };
        writer.copy_rect(&CopyRect::new(&rect, generation)?).ok()?;
        writer.trap(3).ok()?;
        writer.pad(2).ok()?;
        // No room for more than the buffer has: refused, and nothing is written.
        let length = writer.written().len();
        if writer.pad(192).is_ok() || writer.written().len() != length {
            return None;
        }
        // Of the packets of fixed size: two waits, a clock, three dwords of data with their head, an addition, a fence,
        // a flush, a rectangle, a trap, two dwords of nothing.
        let fixed = 2 * 6 + 3 + (4 + 3) + 8 + 4 + 6 + 13 + 2 + 2;
        let expected = fixed
            + if generation.has_gcr() { 5 } else { 0 }
            + Writer::copy_dwords(generation, generation.max_copy() + 4)
            + Writer::fill_dwords(generation, 1000);
        if length as u64 != expected {
            return None;
        }
    }
    Some(())
}

/// The commands that a runtime sends.
pub(crate) fn pm4() -> Option<()> {
    let mut buffer = [0u32; 128];
    let mut length = 0;
    let mut emit = |packet: Pm4, rest: &[u32]| {
        length += Command { packet, rest }.emit(buffer.get_mut(length..)?)?;
        Some(())
    };
    emit(Pm4::AcquireMem(AcquireMem::all()), &[])?;
    emit(Pm4::AcquireMemGcr(AcquireMemGcr::all()), &[])?;
    emit(Pm4::WaitRegMem(WaitRegMem::equal(SOURCE, 5)), &[])?;
    let registers = SetRegisters::shader(register::NUM_THREAD, 3);
    emit(Pm4::SetShReg(registers), &[64, 1, 1])?;
    emit(Pm4::DispatchDirect(DispatchDirect::new([4, 5, 6], 1)), &[])?;
    emit(Pm4::DmaData(DmaData::copy(DESTINATION, SOURCE, 64)), &[])?;
    emit(Pm4::CopyData(CopyData::clock(DESTINATION)), &[])?;
    emit(Pm4::WriteData(WriteData::new(DESTINATION, 2)), &[1, 2])?;
    emit(Pm4::IndirectBuffer(IndirectBuffer::new(SOURCE, 32)), &[])?;
    emit(
        Pm4::ReleaseMem(ReleaseMem::write_64(DESTINATION, 9, 4)),
        &[],
    )?;

    // Each header leads to the next one.
    let mut commands = 0;
    let mut at = 0;
    while at < length {
        at += Header(*buffer.get(at)?).dwords()? as usize;
        commands += 1;
    }
    (commands == 10 && at == length).then_some(())
}
