//! Bounded access to the bytes of an ELF file. Every range that the file itself names passes here.

use super::error::CodeObjectError;
use object::pod::{self, Pod};

/// The whole file.
#[derive(Clone, Copy, Debug)]
pub(super) struct File<'a>(pub &'a [u8]);

impl<'a> File<'a> {
    /// `size` bytes at `offset`; `what` names them in the error.
    pub fn range(
        &self,
        what: &'static str,
        offset: u64,
        size: u64,
    ) -> Result<&'a [u8], CodeObjectError> {
        let range = || {
            let start = usize::try_from(offset).ok()?;
            let end = start.checked_add(usize::try_from(size).ok()?)?;
            self.0.get(start..end)
        };
        range().ok_or(CodeObjectError::OutsideFile {
            what,
            offset,
            size,
            file: self.0.len() as u64,
        })
    }

    /// `count` entries at `offset`.
    pub fn table<T: Pod>(
        &self,
        what: &'static str,
        offset: u64,
        count: u64,
    ) -> Result<&'a [T], CodeObjectError> {
        let size = count.saturating_mul(size_of::<T>() as u64);
        Ok(entries(self.range(what, offset, size)?))
    }
}

/// `bytes` as entries; a rest that is no whole entry is left out.
///
/// The ELF structures of `object` have alignment 1, so that a cast cannot fail at any address.
pub(super) fn entries<T: Pod>(bytes: &[u8]) -> &[T] {
    const { assert!(align_of::<T>() == 1 && size_of::<T>() != 0) };
    match pod::slice_from_bytes(bytes, bytes.len() / size_of::<T>()) {
        Ok((entries, _)) => entries,
        Err(()) => &[],
    }
}
