//! Handles: 64-bit numbers that a client passes back.
//!
//! A handle is arithmetic, never a pointer that this library follows: `kind 8 | generation 16 |
//! slot 20 | sub 20` bits. Any number that a client makes up is therefore told apart from a valid
//! handle without touching memory, and a handle of an object that is gone is not mistaken for
//! its successor in the same slot (until the generation wraps).
//!
//! Signals are the exception: devices and kernels follow them, so they are addresses, and
//! core's signal arena checks them.

/// What a handle names; its top byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// An agent: slot is its index.
    Agent = 0xA1,
    /// A memory pool or region: slot is the agent, sub the pool.
    Pool = 0xA2,
    /// A cache: slot is the agent, sub the cache.
    Cache = 0xA3,
    /// An instruction set: slot is its place in the runtime's list.
    Isa = 0xA4,
    /// A wavefront: slot is its size in lanes.
    Wavefront = 0xA5,
    /// A code object reader.
    Reader = 0xA6,
    /// A code object of the deprecated interface.
    CodeObject = 0xA7,
    /// A symbol of a code object: sub is its place there.
    CodeSymbol = 0xA8,
    /// An executable.
    Executable = 0xA9,
    /// A symbol of an executable: sub is its place there.
    ExecutableSymbol = 0xAA,
    /// A loaded code object: sub is its place in its executable.
    LoadedCodeObject = 0xAB,
    /// A signal group.
    SignalGroup = 0xAC,
    /// Memory without an address.
    Vmem = 0xAD,
}

impl Kind {
    /// Whether objects in one slot follow each other, so that the generation tells them apart.
    const fn has_generation(self) -> bool {
        !matches!(
            self,
            Self::Agent | Self::Pool | Self::Cache | Self::Isa | Self::Wavefront
        )
    }

    /// Whether the handle names a part of what is in the slot.
    const fn has_sub(self) -> bool {
        matches!(
            self,
            Self::Pool
                | Self::Cache
                | Self::CodeSymbol
                | Self::ExecutableSymbol
                | Self::LoadedCodeObject
        )
    }
}

/// Largest slot or sub number.
pub const MAX_SLOT: u32 = (1 << 20) - 1;

/// The parts of a handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    /// Tells successive objects in one slot apart.
    pub generation: u16,
    /// Which object.
    pub slot: u32,
    /// Which part of it.
    pub sub: u32,
}

impl Parts {
    /// Parts with a slot alone.
    pub const fn slot(slot: u32) -> Self {
        Self::sub(slot, 0)
    }

    /// Parts with a slot and a part of it.
    pub const fn sub(slot: u32, sub: u32) -> Self {
        Self {
            generation: 0,
            slot,
            sub,
        }
    }

    /// The handle, or `None` if a number does not fit.
    pub const fn pack(self, kind: Kind) -> Option<u64> {
        if self.slot > MAX_SLOT || self.sub > MAX_SLOT {
            return None;
        }
        Some(
            (kind as u64) << 56
                | (self.generation as u64) << 40
                | (self.slot as u64) << 20
                | self.sub as u64,
        )
    }

    /// The parts of a handle, or `None` if it is not one of this kind: bits that the kind has no use for are zero in
    /// each that was given out.
    pub const fn unpack(kind: Kind, handle: u64) -> Option<Self> {
        let parts = Self {
            generation: (handle >> 40) as u16,
            slot: (handle >> 20) as u32 & MAX_SLOT,
            sub: handle as u32 & MAX_SLOT,
        };
        if handle >> 56 != kind as u64
            || parts.generation != 0 && !kind.has_generation()
            || parts.sub != 0 && !kind.has_sub()
        {
            return None;
        }
        Some(parts)
    }
}

macro_rules! handles {
    ($($name:ident $c:ident $(: $kind:ident)? $(, $newer:ident)?;)*) => {
        $(
            #[doc = concat!("`", stringify!($c), "`")]
            #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
            #[repr(C)]
            pub struct $name {
                /// The opaque number.
                pub handle: u64,
            }
            $(impl $name {
                /// The handle of these parts, or `None` if a number does not fit.
                pub const fn from_parts(parts: Parts) -> Option<Self> {
                    match parts.pack(Kind::$kind) {
                        Some(handle) => Some(Self { handle }),
                        None => None,
                    }
                }

                /// The parts, or `None` if this is no handle of this kind.
                pub const fn parts(self) -> Option<Parts> {
                    Parts::unpack(Kind::$kind, self.handle)
                }
            })?
        )*
        /// C names of the handle types, and whether the oldest headers lack them.
        #[cfg(test)]
        pub(crate) const HANDLE_TYPES: &[(&str, bool)] =
            &[$((stringify!($c), !matches!(stringify!($($newer)?).as_bytes(), b""))),*];
    };
}

handles! {
    Agent hsa_agent_t: Agent;
    Cache hsa_cache_t: Cache;
    Signal hsa_signal_t;
    SignalGroup hsa_signal_group_t: SignalGroup;
    Region hsa_region_t: Pool;
    MemoryPool hsa_amd_memory_pool_t: Pool;
    Isa hsa_isa_t: Isa;
    Wavefront hsa_wavefront_t: Wavefront;
    CodeObjectReader hsa_code_object_reader_t: Reader;
    CodeObject hsa_code_object_t: CodeObject;
    CodeSymbol hsa_code_symbol_t: CodeSymbol;
    Executable hsa_executable_t: Executable;
    ExecutableSymbol hsa_executable_symbol_t: ExecutableSymbol;
    LoadedCodeObject hsa_loaded_code_object_t: LoadedCodeObject;
    CallbackData hsa_callback_data_t;
    ExtImage hsa_ext_image_t;
    ExtSampler hsa_ext_sampler_t;
    ExtProgram hsa_ext_program_t;
    VmemAllocHandle hsa_amd_vmem_alloc_handle_t: Vmem, newer;
    PcSampling hsa_ven_amd_pcs_t, newer;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_gives_back_what_it_was_made_of() {
        let parts = Parts {
            generation: 0xfedc,
            slot: MAX_SLOT,
            sub: 0x12345,
        };
        let handle = ExecutableSymbol::from_parts(parts).unwrap();
        assert_eq!(handle.parts(), Some(parts));
    }

    #[test]
    fn a_number_of_another_kind_is_no_handle() {
        let agent = Agent::from_parts(Parts::slot(3)).unwrap();
        let executable = Executable {
            handle: agent.handle,
        };
        assert_eq!(executable.parts(), None);
        for handle in [0, 1, 0x7fff_ffff_f000, u64::MAX] {
            assert_eq!(Agent { handle }.parts(), None);
        }
    }

    #[test]
    fn a_handle_with_parts_that_its_kind_has_not_is_refused() {
        let group = SignalGroup::from_parts(Parts::slot(0)).unwrap();
        assert_eq!(group.parts(), Some(Parts::slot(0)));
        for bit in 0..20 {
            let handle = group.handle | 1 << bit;
            assert_eq!(SignalGroup { handle }.parts(), None);
        }
        let pool = MemoryPool::from_parts(Parts::sub(1, 2)).unwrap();
        assert_eq!(pool.parts(), Some(Parts::sub(1, 2)));
        for bit in 40..56 {
            let handle = pool.handle | 1 << bit;
            assert_eq!(MemoryPool { handle }.parts(), None);
        }
    }

    #[test]
    fn slots_that_do_not_fit_are_refused() {
        assert_eq!(Agent::from_parts(Parts::slot(MAX_SLOT + 1)), None);
        assert_eq!(Agent::from_parts(Parts::sub(0, u32::MAX)), None);
    }
}
