//! AMDGPU's ELF vocabulary: the constants that the generic ELF definitions of [`object::elf`] lack.
//!
//! Source: LLVM's "User Guide for AMDGPU Backend", section "ELF Code Object".

use object::elf::SymbolType;

/// `EI_OSABI` of a code object for an HSA runtime.
pub const ELFOSABI_AMDGPU_HSA: u8 = 64;

/// `EI_ABIVERSION` of code object version 2.
pub const ELFABIVERSION_AMDGPU_HSA_V2: u8 = 0;
/// `EI_ABIVERSION` of code object version 3.
pub const ELFABIVERSION_AMDGPU_HSA_V3: u8 = 1;
/// `EI_ABIVERSION` of code object version 4.
pub const ELFABIVERSION_AMDGPU_HSA_V4: u8 = 2;
/// `EI_ABIVERSION` of code object version 5.
pub const ELFABIVERSION_AMDGPU_HSA_V5: u8 = 3;
/// `EI_ABIVERSION` of code object version 6.
pub const ELFABIVERSION_AMDGPU_HSA_V6: u8 = 4;

/// Bits of `e_flags` that select the processor; the values are the `mach` column of
/// [`crate::isa::PROCESSORS`].
pub const EF_AMDGPU_MACH: u32 = 0x0ff;
/// `e_flags` of version 3: XNACK replay is enabled.
pub const EF_AMDGPU_FEATURE_XNACK_V3: u32 = 0x100;
/// `e_flags` of version 3: SRAM ECC is enabled.
pub const EF_AMDGPU_FEATURE_SRAMECC_V3: u32 = 0x200;
/// Bits of `e_flags` (version 4 and later) that hold the XNACK setting.
pub const EF_AMDGPU_FEATURE_XNACK_V4: u32 = 0x300;
/// Lowest bit of [`EF_AMDGPU_FEATURE_XNACK_V4`].
pub const EF_AMDGPU_FEATURE_XNACK_V4_SHIFT: u32 = 8;
/// Bits of `e_flags` (version 4 and later) that hold the SRAM ECC setting.
pub const EF_AMDGPU_FEATURE_SRAMECC_V4: u32 = 0xc00;
/// Lowest bit of [`EF_AMDGPU_FEATURE_SRAMECC_V4`].
pub const EF_AMDGPU_FEATURE_SRAMECC_V4_SHIFT: u32 = 10;
/// Bits of `e_flags` (version 6) that hold the version of a generic processor.
pub const EF_AMDGPU_GENERIC_VERSION: u32 = 0xff00_0000;
/// Lowest bit of [`EF_AMDGPU_GENERIC_VERSION`].
pub const EF_AMDGPU_GENERIC_VERSION_SHIFT: u32 = 24;

/// Symbol type of a kernel in code object version 2; later versions use an object named `*.kd`.
pub const STT_AMDGPU_HSA_KERNEL: SymbolType = SymbolType(10);
/// Symbol type of an indirect function (HSA 1.2, section 2.7).
pub const STT_AMDGPU_HSA_INDIRECT_FUNCTION: SymbolType = SymbolType(11);

/// Owner of the notes that carry metadata since code object version 3.
pub const NOTE_OWNER_AMDGPU: &[u8] = b"AMDGPU";
/// Note type of the MessagePack metadata, owner [`NOTE_OWNER_AMDGPU`].
pub const NT_AMDGPU_METADATA: u32 = 32;

/// `S + A`, low 32 bits.
pub const R_AMDGPU_ABS32_LO: u32 = 1;
/// `S + A`, high 32 bits.
pub const R_AMDGPU_ABS32_HI: u32 = 2;
/// `S + A`, 64 bits.
pub const R_AMDGPU_ABS64: u32 = 3;
/// `S + A`, which must fit in 32 bits.
pub const R_AMDGPU_ABS32: u32 = 6;
/// `B + A`, 64 bits.
pub const R_AMDGPU_RELATIVE64: u32 = 13;

/// LLVM's name of an AMDGPU relocation type, also of those that only a static linker may see.
#[must_use]
pub const fn relocation_name(r_type: u32) -> Option<&'static str> {
    Some(match r_type {
        0 => "R_AMDGPU_NONE",
        1 => "R_AMDGPU_ABS32_LO",
        2 => "R_AMDGPU_ABS32_HI",
        3 => "R_AMDGPU_ABS64",
        4 => "R_AMDGPU_REL32",
        5 => "R_AMDGPU_REL64",
        6 => "R_AMDGPU_ABS32",
        7 => "R_AMDGPU_GOTPCREL",
        8 => "R_AMDGPU_GOTPCREL32_LO",
        9 => "R_AMDGPU_GOTPCREL32_HI",
        10 => "R_AMDGPU_REL32_LO",
        11 => "R_AMDGPU_REL32_HI",
        13 => "R_AMDGPU_RELATIVE64",
        14 => "R_AMDGPU_REL16",
        _ => return None,
    })
}
