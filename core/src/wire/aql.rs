//! Architected Queuing Language packets: 64 bytes each, the unit of work of a queue
//! (HSA Platform System Architecture 1.2, section 2.9), with AMD's vendor-specific formats.
//!
//! The packet structures are plain views of the 64 bytes. [`Packet`] is the parsed form:
//! [`Packet::parse`] keeps every bit, so that [`Packet::emit`] gives back the same bytes.
//!
//! ```
//! use rukh_core::wire::aql::{FenceScope, Header, KernelDispatchPacket, Packet, PacketType};
//!
//! let packet = Packet::KernelDispatch(KernelDispatchPacket {
//!     header: Header::new(PacketType::KernelDispatch).acquire(FenceScope::System),
//!     setup: 1, // dimensions
//!     workgroup_size: [64, 1, 1],
//!     grid_size: [1000, 1, 1],
//!     ..KernelDispatchPacket::default()
//! });
//! let bytes: [u8; 64] = packet.emit();
//! assert_eq!(Packet::parse(&bytes), packet);
//! ```

use crate::assert_layout;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Size of every AQL packet, in bytes.
pub const PACKET_SIZE: usize = 64;

/// The type field of a packet header, bits 0-7.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketType {
    /// A packet whose meaning a vendor defines; AMD's carry an [`AmdFormat`].
    VendorSpecific,
    /// A slot that no producer has published: the packet processor waits on it.
    Invalid,
    /// Run a kernel over a grid.
    KernelDispatch,
    /// Complete when all dependencies are zero.
    BarrierAnd,
    /// Call a function of an agent that is not a kernel.
    AgentDispatch,
    /// Complete when any dependency is zero.
    BarrierOr,
    /// A value that the specification does not define.
    Unknown(u8),
}

impl PacketType {
    /// From the header's field.
    pub const fn from_bits(bits: u8) -> Self {
        match bits {
            0 => Self::VendorSpecific,
            1 => Self::Invalid,
            2 => Self::KernelDispatch,
            3 => Self::BarrierAnd,
            4 => Self::AgentDispatch,
            5 => Self::BarrierOr,
            other => Self::Unknown(other),
        }
    }

    /// As the header's field.
    pub const fn bits(self) -> u8 {
        match self {
            Self::VendorSpecific => 0,
            Self::Invalid => 1,
            Self::KernelDispatch => 2,
            Self::BarrierAnd => 3,
            Self::AgentDispatch => 4,
            Self::BarrierOr => 5,
            Self::Unknown(other) => other,
        }
    }
}

/// How far an acquire or release fence reaches (header bits 9-10 and 11-12).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FenceScope {
    /// No fence.
    None,
    /// The agent that executes the packet.
    Agent,
    /// All agents and the host.
    System,
    /// The reserved encoding 3.
    Reserved,
}

impl FenceScope {
    const fn from_bits(bits: u16) -> Self {
        match bits & 3 {
            0 => Self::None,
            1 => Self::Agent,
            2 => Self::System,
            _ => Self::Reserved,
        }
    }

    const fn bits(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Agent => 1,
            Self::System => 2,
            Self::Reserved => 3,
        }
    }
}

/// The first 16 bits of a packet. Stored last when a packet is published.
#[derive(Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(transparent)]
pub struct Header(pub u16);

impl Header {
    /// The header of an unpublished slot.
    pub const INVALID: Self = Self::new(PacketType::Invalid);

    /// A header of `kind` with the barrier bit clear and no fences.
    pub const fn new(kind: PacketType) -> Self {
        Self(kind.bits() as u16)
    }

    /// Sets or clears the barrier bit: no later packet starts before this one is complete,
    /// and this one starts when all earlier ones are complete.
    #[must_use]
    pub const fn barrier(self, on: bool) -> Self {
        Self(self.0 & !(1 << 8) | (on as u16) << 8)
    }

    /// Sets the fence that runs before the packet's work.
    #[must_use]
    pub const fn acquire(self, scope: FenceScope) -> Self {
        Self(self.0 & !(3 << 9) | scope.bits() << 9)
    }

    /// Sets the fence that runs after the packet's work.
    #[must_use]
    pub const fn release(self, scope: FenceScope) -> Self {
        Self(self.0 & !(3 << 11) | scope.bits() << 11)
    }

    /// The packet type.
    pub const fn packet_type(self) -> PacketType {
        PacketType::from_bits(self.0 as u8)
    }

    /// Whether the barrier bit is set.
    pub const fn has_barrier(self) -> bool {
        self.0 & 1 << 8 != 0
    }

    /// The acquire fence's scope.
    pub const fn acquire_scope(self) -> FenceScope {
        FenceScope::from_bits(self.0 >> 9)
    }

    /// The release fence's scope.
    pub const fn release_scope(self) -> FenceScope {
        FenceScope::from_bits(self.0 >> 11)
    }
}

impl core::fmt::Debug for Header {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Header")
            .field("type", &self.packet_type())
            .field("barrier", &self.has_barrier())
            .field("acquire", &self.acquire_scope())
            .field("release", &self.release_scope())
            .finish()
    }
}

/// `hsa_kernel_dispatch_packet_t`: run a kernel over a grid of up to three dimensions.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C, align(8))]
pub struct KernelDispatchPacket {
    /// Type, barrier bit and fences.
    pub header: Header,
    /// Bits 0-1: number of dimensions, 1 to 3.
    pub setup: u16,
    /// Work-group size in work-items, per dimension; each at least 1.
    pub workgroup_size: [u16; 3],
    /// Reserved, zero.
    pub reserved0: u16,
    /// Grid size in work-items (not work-groups), per dimension; each at least 1.
    pub grid_size: [u32; 3],
    /// Private (scratch) memory per work-item, in bytes.
    pub private_segment_size: u32,
    /// Group memory (LDS) per work-group, static and dynamic, in bytes.
    pub group_segment_size: u32,
    /// Device address of the kernel descriptor.
    pub kernel_object: u64,
    /// Device address of the kernel arguments, 16-byte aligned.
    pub kernarg_address: u64,
    /// Reserved, zero.
    pub reserved2: u64,
    /// Handle of the signal that is decremented on completion, or 0.
    pub completion_signal: u64,
}
assert_layout!(KernelDispatchPacket, size 64, align 8, header @ 0, setup @ 2, workgroup_size @ 4,
    grid_size @ 12, private_segment_size @ 24, group_segment_size @ 28, kernel_object @ 32,
    kernarg_address @ 40, reserved2 @ 48, completion_signal @ 56);

impl KernelDispatchPacket {
    /// The number of dimensions as the setup field has it; 1 to 3 in a valid packet.
    pub const fn dimensions(&self) -> u16 {
        self.setup & 3
    }
}

/// `hsa_agent_dispatch_packet_t`: call a function of an agent by number.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C, align(8))]
pub struct AgentDispatchPacket {
    /// Type, barrier bit and fences.
    pub header: Header,
    /// The function to call; the destination agent gives it its meaning.
    pub function: u16,
    /// Reserved, zero.
    pub reserved0: u32,
    /// Address that receives the result, or 0.
    pub return_address: u64,
    /// The function's arguments.
    pub arg: [u64; 4],
    /// Reserved, zero.
    pub reserved2: u64,
    /// Handle of the signal that is decremented on completion, or 0.
    pub completion_signal: u64,
}
assert_layout!(AgentDispatchPacket, size 64, align 8, function @ 2, return_address @ 8, arg @ 16,
    completion_signal @ 56);

/// `hsa_barrier_and_packet_t` and `hsa_barrier_or_packet_t`, which differ in the header's type alone.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C, align(8))]
pub struct BarrierPacket {
    /// Type, barrier bit and fences.
    pub header: Header,
    /// Reserved, zero.
    pub reserved0: u16,
    /// Reserved, zero.
    pub reserved1: u32,
    /// Handles of the signals to wait for, each until its value is 0; 0 for none.
    pub dep_signal: [u64; 5],
    /// Reserved, zero.
    pub reserved2: u64,
    /// Handle of the signal that is decremented on completion, or 0.
    pub completion_signal: u64,
}
assert_layout!(BarrierPacket, size 64, align 8, dep_signal @ 8, completion_signal @ 56);

/// The format byte of AMD's vendor-specific packets (byte 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AmdFormat {
    /// [`Pm4IbPacket`].
    Pm4Ib,
    /// [`BarrierValuePacket`].
    BarrierValue,
    /// A format that is not known here.
    Unknown(u8),
}

impl AmdFormat {
    /// From the packet's byte.
    pub const fn from_bits(bits: u8) -> Self {
        match bits {
            1 => Self::Pm4Ib,
            2 => Self::BarrierValue,
            other => Self::Unknown(other),
        }
    }

    /// As the packet's byte.
    pub const fn bits(self) -> u8 {
        match self {
            Self::Pm4Ib => 1,
            Self::BarrierValue => 2,
            Self::Unknown(other) => other,
        }
    }
}

/// `hsa_amd_barrier_value_packet_t`: wait until `(signal & mask) condition value`.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C, align(8))]
pub struct BarrierValuePacket {
    /// Type (vendor specific), barrier bit and fences.
    pub header: Header,
    /// [`AmdFormat::BarrierValue`].
    pub amd_format: u8,
    /// Reserved, zero.
    pub reserved: u8,
    /// Reserved, zero.
    pub reserved0: u32,
    /// Handle of the signal to wait for.
    pub signal: u64,
    /// The value to compare with.
    pub value: i64,
    /// Bits of the signal's value that take part.
    pub mask: i64,
    /// A [`Condition`](super::signal::Condition), as its number.
    pub condition: u32,
    /// Reserved, zero.
    pub reserved1: u32,
    /// Reserved, zero.
    pub reserved2: u64,
    /// Reserved, zero.
    pub reserved3: u64,
    /// Handle of the signal that is decremented on completion, or 0.
    pub completion_signal: u64,
}
assert_layout!(BarrierValuePacket, size 64, align 8, amd_format @ 2, signal @ 8, value @ 16,
    mask @ 24, condition @ 32, completion_signal @ 56);

/// AMD's vendor packet that jumps to an indirect buffer of PM4 commands.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C, align(8))]
pub struct Pm4IbPacket {
    /// Type (vendor specific), barrier bit and fences.
    pub header: Header,
    /// [`AmdFormat::Pm4Ib`].
    pub amd_format: u8,
    /// Reserved, zero.
    pub reserved: u8,
    /// A PM4 INDIRECT_BUFFER command: header, address low, address high, length and flags.
    pub ib_jump: [u32; 4],
    /// Number of dwords that remain after the jump; 10.
    pub dw_count_remain: u32,
    /// Reserved, zero.
    pub reserved1: [u32; 8],
    /// Handle of the signal that is decremented on completion, or 0.
    pub completion_signal: u64,
}
assert_layout!(Pm4IbPacket, size 64, align 8, amd_format @ 2, ib_jump @ 4, dw_count_remain @ 20,
    completion_signal @ 56);

/// A packet, parsed by its type. Keeps every bit of the 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// Run a kernel.
    KernelDispatch(KernelDispatchPacket),
    /// Call a function of an agent.
    AgentDispatch(AgentDispatchPacket),
    /// Wait for all dependencies.
    BarrierAnd(BarrierPacket),
    /// Wait for any dependency.
    BarrierOr(BarrierPacket),
    /// Wait for a value of one signal.
    BarrierValue(BarrierValuePacket),
    /// Run PM4 commands.
    Pm4Ib(Pm4IbPacket),
    /// An unpublished slot.
    Invalid([u8; PACKET_SIZE]),
    /// A type or vendor format that is not known here: kept as it is.
    Unknown([u8; PACKET_SIZE]),
}

impl Packet {
    /// Parses a packet by its header. Total: what is not known becomes [`Packet::Unknown`].
    pub fn parse(bytes: &[u8; PACKET_SIZE]) -> Self {
        let header = Header(u16::from_le_bytes([bytes[0], bytes[1]]));
        match header.packet_type() {
            PacketType::KernelDispatch => Self::KernelDispatch(zerocopy::transmute!(*bytes)),
            PacketType::AgentDispatch => Self::AgentDispatch(zerocopy::transmute!(*bytes)),
            PacketType::BarrierAnd => Self::BarrierAnd(zerocopy::transmute!(*bytes)),
            PacketType::BarrierOr => Self::BarrierOr(zerocopy::transmute!(*bytes)),
            PacketType::Invalid => Self::Invalid(*bytes),
            PacketType::VendorSpecific => match AmdFormat::from_bits(bytes[2]) {
                AmdFormat::Pm4Ib => Self::Pm4Ib(zerocopy::transmute!(*bytes)),
                AmdFormat::BarrierValue => Self::BarrierValue(zerocopy::transmute!(*bytes)),
                AmdFormat::Unknown(_) => Self::Unknown(*bytes),
            },
            PacketType::Unknown(_) => Self::Unknown(*bytes),
        }
    }

    /// The packet's 64 bytes: those that [`Packet::parse`] was given.
    pub fn emit(&self) -> [u8; PACKET_SIZE] {
        match self {
            Self::KernelDispatch(p) => zerocopy::transmute!(*p),
            Self::AgentDispatch(p) => zerocopy::transmute!(*p),
            Self::BarrierAnd(p) | Self::BarrierOr(p) => zerocopy::transmute!(*p),
            Self::BarrierValue(p) => zerocopy::transmute!(*p),
            Self::Pm4Ib(p) => zerocopy::transmute!(*p),
            Self::Invalid(bytes) | Self::Unknown(bytes) => *bytes,
        }
    }

    /// The packet's header.
    pub fn header(&self) -> Header {
        let bytes = self.emit();
        Header(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// The handle of the completion signal, if the packet's type has one and it is not 0.
    pub fn completion_signal(&self) -> Option<u64> {
        let handle = match self {
            Self::KernelDispatch(p) => p.completion_signal,
            Self::AgentDispatch(p) => p.completion_signal,
            Self::BarrierAnd(p) | Self::BarrierOr(p) => p.completion_signal,
            Self::BarrierValue(p) => p.completion_signal,
            Self::Pm4Ib(p) => p.completion_signal,
            Self::Invalid(_) | Self::Unknown(_) => 0,
        };
        (handle != 0).then_some(handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_fields_stand_where_the_specification_puts_them() {
        let header = Header::new(PacketType::KernelDispatch)
            .barrier(true)
            .acquire(FenceScope::System)
            .release(FenceScope::Agent);
        assert_eq!(header.0, 2 | 1 << 8 | 2 << 9 | 1 << 11);
        assert_eq!(header.barrier(false).0, 2 | 2 << 9 | 1 << 11);
        assert_eq!(
            header.acquire(FenceScope::None).acquire_scope(),
            FenceScope::None
        );
    }

    #[test]
    fn every_type_and_format_survives_a_round_trip() {
        for kind in 0..=255u8 {
            for format in [0u8, 1, 2, 3, 0xfe] {
                let mut bytes = [0u8; PACKET_SIZE];
                for (i, b) in bytes.iter_mut().enumerate() {
                    *b = (i as u8).wrapping_mul(37) ^ kind;
                }
                bytes[0] = kind;
                bytes[2] = format;
                let packet = Packet::parse(&bytes);
                assert_eq!(packet.emit(), bytes);
                assert_eq!(packet.header().packet_type().bits(), kind);
            }
        }
    }
}
