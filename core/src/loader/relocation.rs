//! Dynamic relocations: the places that depend on where a code object is loaded.

use super::code_object::CodeObject;
use super::error::CodeObjectError;
use crate::elf as amdgpu;
use object::LittleEndian as LE;
use object::elf;

/// What to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocationKind {
    /// Low 32 bits of symbol plus addend.
    Abs32Lo,
    /// High 32 bits of symbol plus addend.
    Abs32Hi,
    /// Symbol plus addend.
    Abs64,
    /// Symbol plus addend, which must fit in 32 bits.
    Abs32,
    /// Load bias plus addend.
    Relative64,
}

impl RelocationKind {
    /// The kind of `r_type` if a loader processes it.
    #[must_use]
    pub const fn from_type(r_type: u32) -> Option<Self> {
        Some(match r_type {
            amdgpu::R_AMDGPU_ABS32_LO => Self::Abs32Lo,
            amdgpu::R_AMDGPU_ABS32_HI => Self::Abs32Hi,
            amdgpu::R_AMDGPU_ABS64 => Self::Abs64,
            amdgpu::R_AMDGPU_ABS32 => Self::Abs32,
            amdgpu::R_AMDGPU_RELATIVE64 => Self::Relative64,
            _ => return None,
        })
    }

    /// LLVM's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Abs32Lo => "R_AMDGPU_ABS32_LO",
            Self::Abs32Hi => "R_AMDGPU_ABS32_HI",
            Self::Abs64 => "R_AMDGPU_ABS64",
            Self::Abs32 => "R_AMDGPU_ABS32",
            Self::Relative64 => "R_AMDGPU_RELATIVE64",
        }
    }

    /// Bytes that it patches: 4 or 8.
    #[must_use]
    pub const fn width(self) -> usize {
        match self {
            Self::Abs64 | Self::Relative64 => 8,
            Self::Abs32Lo | Self::Abs32Hi | Self::Abs32 => 4,
        }
    }

    /// The bytes to store, [`Self::width`] of them: `base` is the symbol's address, or the load bias
    /// for [`Self::Relative64`]. `None` if the value does not fit.
    #[must_use]
    pub const fn value(self, base: u64, addend: i64) -> Option<[u8; 8]> {
        let value = base.wrapping_add_signed(addend);
        let value = match self {
            Self::Abs64 | Self::Relative64 => value,
            Self::Abs32Lo => value & 0xffff_ffff,
            Self::Abs32Hi => value >> 32,
            Self::Abs32 if value >> 32 != 0 => return None,
            Self::Abs32 => value,
        };
        Some(value.to_le_bytes())
    }
}

/// A dynamic relocation whose place is inside a loaded segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// What to store.
    pub kind: RelocationKind,
    /// Where, as an address of the file.
    pub address: u64,
    /// Index of the symbol; 0 stands for the number 0.
    pub symbol: u32,
    /// Added to the symbol or load bias.
    pub addend: i64,
}

impl<'a> CodeObject<'a> {
    /// All dynamic relocations: DT_RELA, DT_REL, then DT_JMPREL.
    pub fn relocations(
        &self,
    ) -> impl Iterator<Item = Result<Relocation, CodeObjectError>> + use<'_, 'a> {
        let explicit = |(index, r): (u64, &elf::Rela64<LE>)| {
            self.relocation(
                index,
                r.r_offset.get(LE),
                r.r_info.get(LE),
                Some(r.r_addend.get(LE)),
            )
        };
        let in_place = |(index, r): (u64, &elf::Rel64<LE>)| {
            self.relocation(index, r.r_offset.get(LE), r.r_info.get(LE), None)
        };
        let d = &self.dynamic;
        let rela = (0..).zip(d.rela).map(explicit);
        let rel = (0..).zip(d.rel).map(in_place);
        let plt_rela = (0..).zip(d.plt_rela).map(explicit);
        let plt_rel = (0..).zip(d.plt_rel).map(in_place);
        rela.chain(rel).chain(plt_rela).chain(plt_rel)
    }

    fn relocation(
        &self,
        index: u64,
        address: u64,
        info: u64,
        addend: Option<i64>,
    ) -> Result<Relocation, CodeObjectError> {
        let (symbol, r_type) = ((info >> 32) as u32, info as u32);
        let kind = RelocationKind::from_type(r_type).ok_or(CodeObjectError::RelocationType {
            index,
            r_type,
            name: amdgpu::relocation_name(r_type).unwrap_or("unknown"),
        })?;
        let width = kind.width() as u64;
        if self.segments().find(address, width).is_none() {
            return Err(CodeObjectError::RelocationOutside {
                index,
                address,
                width,
            });
        }
        let count = self.symbol_count();
        if symbol != 0 && symbol >= count {
            return Err(CodeObjectError::RelocationSymbol {
                index,
                symbol,
                count,
            });
        }
        Ok(Relocation {
            kind,
            address,
            symbol,
            addend: addend.unwrap_or_else(|| self.addend_in_place(address, kind.width())),
        })
    }

    /// What the place holds before loading. Memory that the file does not back is zero.
    fn addend_in_place(&self, address: u64, width: usize) -> i64 {
        let mut bytes = [0; 8];
        if let Some(found) = self.segments().bytes(address, width as u64) {
            bytes[..width].copy_from_slice(found);
        }
        let raw = i64::from_le_bytes(bytes);
        if width == 4 {
            i64::from(raw as i32)
        } else {
            raw
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_stored_as_llvm_defines_them() {
        let low =
            |kind: RelocationKind, base, addend| kind.value(base, addend).map(u64::from_le_bytes);
        let base = 0x1234_5678_9abc_def0;
        assert_eq!(low(RelocationKind::Abs64, base, 0x10), Some(base + 0x10));
        assert_eq!(low(RelocationKind::Relative64, base, -8), Some(base - 8));
        assert_eq!(low(RelocationKind::Abs32Lo, base, 0), Some(0x9abc_def0));
        assert_eq!(
            low(RelocationKind::Abs32Hi, base, 0x7000_0000),
            Some(0x1234_5679)
        );
        assert_eq!(
            low(RelocationKind::Abs32, 0xffff_fff0, 0xf),
            Some(0xffff_ffff)
        );
        assert_eq!(low(RelocationKind::Abs32, 0xffff_fff0, 0x10), None);
    }

    #[test]
    fn only_the_five_dynamic_types_are_processed() {
        for r_type in 0..256 {
            let kind = RelocationKind::from_type(r_type);
            assert_eq!(kind.is_some(), [1, 2, 3, 6, 13].contains(&r_type));
            if let Some(kind) = kind {
                assert_eq!(amdgpu::relocation_name(r_type), Some(kind.name()));
            }
        }
    }
}
