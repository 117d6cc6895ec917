//! Packets into a buffer of the caller's, without an allocator.

use super::heads::{
    Atomic, ConstantFill, CopyLinear, Fence, Gcr, HdpFlush, Nop, Poll, Timestamp, Trap, WriteLinear,
};
use super::{AtomicOp, CopyRect, Generation, Packet};
use thiserror_no_std::Error;

/// The buffer has no place for a packet; nothing of it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("{needed} dwords of packets do not fit {left} dwords that are left")]
pub struct Full {
    /// Dwords that were to be written.
    pub needed: u64,
    /// Dwords that were left.
    pub left: u64,
}

crate::impl_error!(Full);

/// Writes packets for one generation of engines.
///
/// A copy or fill that is too large for one packet becomes several; [`Writer::copy_dwords`] tells how many dwords before
/// space for them is claimed in a ring.
#[derive(Debug)]
pub struct Writer<'a> {
    generation: Generation,
    buffer: &'a mut [u32],
    length: usize,
}

impl<'a> Writer<'a> {
    /// Writes to the beginning of `buffer`.
    pub const fn new(generation: Generation, buffer: &'a mut [u32]) -> Self {
        Self {
            generation,
            buffer,
            length: 0,
        }
    }

    /// Dwords of the packets of a copy.
    pub const fn copy_dwords(generation: Generation, bytes: u64) -> u64 {
        bytes.div_ceil(generation.max_copy()) * CopyLinear::DWORDS as u64
    }

    /// Dwords of the packets of a fill.
    pub const fn fill_dwords(generation: Generation, dwords: u64) -> u64 {
        dwords.div_ceil(generation.max_fill() / 4) * ConstantFill::DWORDS as u64
    }

    /// What has been written.
    pub fn written(&self) -> &[u32] {
        self.buffer.get(..self.length).unwrap_or(&[])
    }

    /// Dwords that are left.
    pub const fn left(&self) -> u64 {
        (self.buffer.len() - self.length) as u64
    }

    fn reserve(&self, needed: u64) -> Result<(), Full> {
        let left = self.left();
        if needed > left {
            return Err(Full { needed, left });
        }
        Ok(())
    }

    /// A packet whose head is all of it.
    ///
    /// # Errors
    /// [`Full`].
    pub fn packet(&mut self, packet: &Packet) -> Result<(), Full> {
        self.dwords(packet.emit())
    }

    fn dwords(&mut self, dwords: &[u32]) -> Result<(), Full> {
        self.reserve(dwords.len() as u64)?;
        if let Some(to) = self.buffer.get_mut(self.length..self.length + dwords.len()) {
            to.copy_from_slice(dwords);
            self.length += dwords.len();
        }
        Ok(())
    }

    /// Copies any number of bytes; none are no packet.
    ///
    /// # Errors
    /// [`Full`].
    pub fn copy(&mut self, destination: u64, source: u64, bytes: u64) -> Result<(), Full> {
        self.reserve(Self::copy_dwords(self.generation, bytes))?;
        let mut done = 0;
        while done < bytes {
            let piece = (bytes - done).min(self.generation.max_copy());
            self.packet(&Packet::CopyLinear(CopyLinear::new(
                destination.wrapping_add(done),
                source.wrapping_add(done),
                piece as u32,
            )))?;
            done += piece;
        }
        Ok(())
    }

    /// Fills any number of dwords; none are no packet. The address is a dword's.
    ///
    /// # Errors
    /// [`Full`].
    pub fn fill(&mut self, destination: u64, value: u32, dwords: u64) -> Result<(), Full> {
        self.reserve(Self::fill_dwords(self.generation, dwords))?;
        let mut done = 0;
        while done < dwords {
            let piece = (dwords - done).min(self.generation.max_fill() / 4);
            self.packet(&Packet::ConstantFill(ConstantFill::new(
                destination.wrapping_add(done.wrapping_mul(4)),
                value,
                piece as u32,
            )))?;
            done += piece;
        }
        Ok(())
    }

    /// Copies a box: see [`CopyRect::new`].
    ///
    /// # Errors
    /// [`Full`].
    pub fn copy_rect(&mut self, rect: &CopyRect) -> Result<(), Full> {
        self.packet(&Packet::CopyRect(*rect))
    }

    /// Writes dwords; at most [`WriteLinear::MAX_DWORDS`] of them, none are no packet.
    ///
    /// # Errors
    /// [`Full`].
    pub fn write(&mut self, destination: u64, dwords: &[u32]) -> Result<(), Full> {
        if dwords.is_empty() {
            return Ok(());
        }
        self.reserve((WriteLinear::DWORDS + dwords.len()) as u64)?;
        self.packet(&Packet::WriteLinear(WriteLinear::new(
            destination,
            dwords.len() as u32,
        )))?;
        self.dwords(dwords)
    }

    /// Waits until a 64-bit value of memory is 0, upper half first: a signal that others count down has its upper half
    /// at 0 before the lower one gets there.
    ///
    /// # Errors
    /// [`Full`].
    pub fn wait_for_zero(&mut self, address: u64) -> Result<(), Full> {
        self.reserve(2 * Poll::DWORDS as u64)?;
        self.packet(&Packet::Poll(Poll::equal(address.wrapping_add(4), 0)))?;
        self.packet(&Packet::Poll(Poll::equal(address, 0)))
    }

    /// Adds to 64 bits of memory.
    ///
    /// # Errors
    /// [`Full`].
    pub fn add_64(&mut self, address: u64, value: i64) -> Result<(), Full> {
        let atomic = Atomic::new(AtomicOp::ADD_64, address, value as u64);
        self.packet(&Packet::Atomic(atomic))
    }

    /// Writes a dword after everything before.
    ///
    /// # Errors
    /// [`Full`].
    pub fn fence(&mut self, address: u64, data: u32) -> Result<(), Full> {
        self.packet(&Packet::Fence(Fence::new(address, data, self.generation)))
    }

    /// Raises an event.
    ///
    /// # Errors
    /// [`Full`].
    pub fn trap(&mut self, event: u32) -> Result<(), Full> {
        self.packet(&Packet::Trap(Trap::new(event)))
    }

    /// Stores the device's clock; the address is 8-byte aligned.
    ///
    /// # Errors
    /// [`Full`].
    pub fn timestamp(&mut self, address: u64) -> Result<(), Full> {
        self.packet(&Packet::TimestampGlobal(Timestamp::global(address)))
    }

    /// Has the host data path write back what it holds, so that what the host stored to device memory is there.
    ///
    /// # Errors
    /// [`Full`].
    pub fn flush_host_data_path(&mut self) -> Result<(), Full> {
        self.packet(&Packet::HdpFlush(HdpFlush::new()))
    }

    /// Writes caches back, and drops them with `invalidate`; nothing where the engine is behind none.
    ///
    /// # Errors
    /// [`Full`].
    pub fn caches(&mut self, invalidate: bool) -> Result<(), Full> {
        if self.generation.has_gcr() {
            self.packet(&Packet::Gcr(Gcr::all(invalidate)))?;
        }
        Ok(())
    }

    /// Dwords that do nothing.
    ///
    /// # Errors
    /// [`Full`].
    pub fn pad(&mut self, dwords: u64) -> Result<(), Full> {
        self.reserve(dwords)?;
        for _ in 0..dwords {
            self.packet(&Packet::Nop(Nop::new(0)))?;
        }
        Ok(())
    }
}
