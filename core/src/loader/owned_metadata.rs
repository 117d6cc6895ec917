//! Metadata that outlives the file, with kernels found by name.

use super::code_object::CodeObject;
use super::error::CodeObjectError;
use super::metadata::{KernelMetadata, Metadata, MetadataError};
use super::msgpack::Map;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;

/// A copy of a code object's metadata. Parsing has checked all of its kernels (their arguments are
/// checked as they are iterated).
#[derive(Clone, Debug)]
pub struct OwnedMetadata {
    bytes: Box<[u8]>,
    /// Where a kernel's map lies in `bytes`, and its number of pairs; by symbol and by name.
    kernels: BTreeMap<Box<str>, (usize, u32)>,
}

impl OwnedMetadata {
    /// Copies the metadata of a code object; `None` if it has none.
    ///
    /// # Errors
    /// Those of [`CodeObject::metadata`], and of the first malformed kernel.
    pub fn new(code: &CodeObject<'_>) -> Result<Option<Self>, CodeObjectError> {
        let Some((bytes, metadata)) = code.metadata_note()? else {
            return Ok(None);
        };
        let mut kernels = BTreeMap::new();
        for kernel in metadata.kernels() {
            let kernel = kernel?;
            let place = kernel.raw().place();
            // A symbol is unique; a name may be another kernel's symbol only by malice.
            kernels.insert(kernel.symbol.into(), place);
            kernels.entry(kernel.name.into()).or_insert(place);
        }
        Ok(Some(Self {
            bytes: bytes.into(),
            kernels,
        }))
    }

    /// The whole metadata.
    ///
    /// # Errors
    /// None that [`Self::new`] has not reported.
    pub fn metadata(&self) -> Result<Metadata<'_>, MetadataError> {
        Metadata::parse(&self.bytes)
    }

    /// The kernel whose descriptor's symbol or whose name is `name`.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<KernelMetadata<'_>> {
        let map = Map::at(&self.bytes, *self.kernels.get(name)?);
        KernelMetadata::parse(map).ok()
    }
}
