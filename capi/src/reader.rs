//! Chapter code object readers: where code objects come from.

use crate::abi::{CodeObjectReader, Status};
use crate::arg::Out;
use crate::entry::{Result, entry};
use core::ffi::c_void;
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of a code object, and where they come from.
#[derive(Debug)]
pub struct Source {
    bytes: Bytes,
    /// What a debugger or profiler is told.
    pub origin: Origin,
}

#[derive(Debug)]
enum Bytes {
    /// The client's memory, which stays as it is until the reader is destroyed.
    Borrowed { address: usize, size: usize },
    /// A copy.
    Owned(Box<[u8]>),
}

/// Where a code object comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Memory of the process.
    Memory {
        /// Its address.
        address: usize,
        /// Its size in bytes.
        size: usize,
    },
    /// A part of a file.
    File {
        /// The file's path, if the system says.
        path: Option<PathBuf>,
        /// The descriptor that the client gave; the client may have closed it since.
        descriptor: i32,
        /// Where the part begins.
        offset: usize,
        /// Its size in bytes.
        size: usize,
    },
}

/// Room for as many bytes as a client or a file says: more than there is must not end the process.
fn room(size: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(size)
        .map_err(|_| Status::OUT_OF_RESOURCES)?;
    Ok(bytes)
}

impl Source {
    /// Memory that the client promises to keep.
    ///
    /// # Safety
    /// `size` bytes at `address` stay readable and unchanged as long as the source is used.
    unsafe fn borrowed(address: *const c_void, size: usize) -> Self {
        let address = address.expose_provenance();
        Self {
            bytes: Bytes::Borrowed { address, size },
            origin: Origin::Memory { address, size },
        }
    }

    /// A copy of the client's memory.
    ///
    /// # Errors
    /// OUT_OF_RESOURCES if there is no memory for as much.
    pub fn copied(bytes: &[u8]) -> Result<Self> {
        let mut copy = room(bytes.len())?;
        copy.extend_from_slice(bytes);
        Ok(Self {
            origin: Origin::Memory {
                address: bytes.as_ptr().addr(),
                size: bytes.len(),
            },
            bytes: Bytes::Owned(copy.into_boxed_slice()),
        })
    }

    /// Reads a part of a file, or the rest of it. The descriptor stays the client's.
    ///
    /// # Errors
    /// INVALID_FILE if it cannot be read, INVALID_CODE_OBJECT if it ends before the part does,
    /// OUT_OF_RESOURCES if there is no memory for as much.
    pub fn from_file(descriptor: i32, offset: usize, size: Option<usize>) -> Result<Self> {
        if descriptor < 0 {
            return Err(Status::INVALID_FILE);
        }
        // SAFETY: the file is never dropped, so that the client's descriptor is used and not
        // closed. A number that is no open descriptor makes the calls below fail.
        let file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
        let length = file.metadata().map_err(|_| Status::INVALID_FILE)?.len();
        let length = usize::try_from(length).map_err(|_| Status::INVALID_FILE)?;
        let rest = length
            .checked_sub(offset)
            .ok_or(Status::INVALID_CODE_OBJECT)?;
        let size = size.unwrap_or(rest);
        if size > rest || size == 0 {
            return Err(match size {
                0 => Status::INVALID_FILE,
                _ => Status::INVALID_CODE_OBJECT,
            });
        }
        let mut bytes = room(size)?;
        bytes.resize(size, 0);
        let mut bytes = bytes.into_boxed_slice();
        file.read_exact_at(&mut bytes, offset as u64)
            .map_err(|_| Status::INVALID_FILE)?;
        let path = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok();
        Ok(Self {
            bytes: Bytes::Owned(bytes),
            origin: Origin::File {
                path,
                descriptor,
                offset,
                size,
            },
        })
    }

    /// Whether the bytes are there as long as the source is, whatever the client does.
    pub fn is_owned(&self) -> bool {
        matches!(self.bytes, Bytes::Owned(_))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Owned(bytes) => bytes,
            // SAFETY: `borrowed`'s caller promised that these bytes are readable and unchanged.
            Bytes::Borrowed { address, size } => unsafe {
                core::slice::from_raw_parts(core::ptr::with_exposed_provenance(*address), *size)
            },
        }
    }
}

impl Origin {
    /// The URI that debuggers and profilers read.
    pub fn uri(&self) -> String {
        match self {
            Self::Memory { address, size } => {
                format!(
                    "memory://{}#offset=0x{address:x}&size={size}",
                    std::process::id()
                )
            }
            Self::File {
                path, offset, size, ..
            } => {
                let path = path.as_deref().unwrap_or_else(|| "".as_ref());
                let mut uri = String::from("file://");
                for byte in path.as_os_str().as_encoded_bytes() {
                    match byte {
                        b'A'..=b'Z'
                        | b'a'..=b'z'
                        | b'0'..=b'9'
                        | b'/'
                        | b'.'
                        | b'-'
                        | b'_'
                        | b'~' => uri.push(char::from(*byte)),
                        _ => uri.push_str(&format!("%{byte:02X}")),
                    }
                }
                uri + &format!("#offset={offset}&size={size}")
            }
        }
    }
}

entry! {
    /// `hsa_code_object_reader_create_from_file`: reads the whole file. The client keeps the
    /// descriptor and may close it.
    fn hsa_code_object_reader_create_from_file(state; file: i32, code_object_reader: Out<CodeObjectReader>) {
        let place = code_object_reader.required()?;
        place.put(state.add_reader(Source::from_file(file, 0, None)?)?);
        Ok(())
    }

    /// `hsa_code_object_reader_create_from_memory`: the client keeps the memory as it is until the
    /// reader is destroyed.
    fn hsa_code_object_reader_create_from_memory(state; code_object: *const c_void, size: usize,
        code_object_reader: Out<CodeObjectReader>) {
        let place = code_object_reader.required()?;
        if code_object.is_null() || size == 0 || isize::try_from(size).is_err() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the specification of this function demands just that of the client.
        let source = unsafe { Source::borrowed(code_object, size) };
        place.put(state.add_reader(source)?);
        Ok(())
    }

    /// `hsa_code_object_reader_destroy`.
    fn hsa_code_object_reader_destroy(state; code_object_reader: CodeObjectReader) {
        let invalid = Status::INVALID_CODE_OBJECT_READER;
        let parts = code_object_reader.parts().ok_or(invalid)?;
        state.readers.remove(parts).map(drop).ok_or(invalid)
    }
}

/// `hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size`.
///
/// # Safety
/// `code_object_reader` is null or valid for a write.
pub unsafe extern "C" fn create_from_file_with_offset_size(
    file: i32,
    offset: usize,
    size: usize,
    code_object_reader: Out<CodeObjectReader>,
) -> Status {
    crate::entry::run_status(
        "hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size",
        || {
            let state = crate::state::open()?;
            let place = code_object_reader.required()?;
            if size == 0 {
                return Err(Status::INVALID_ARGUMENT);
            }
            place.put(state.add_reader(Source::from_file(file, offset, Some(size))?)?);
            Ok(())
        },
    )
}

/// A reader is shared with the code objects that are loaded from it.
pub type SharedSource = Arc<Source>;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_part_of_a_file_is_read_and_a_part_beyond_its_end_is_refused() {
        let path = std::env::temp_dir().join(format!("rukh reader {}", std::process::id()));
        std::fs::write(&path, b"0123456789").unwrap();
        let file = File::open(&path).unwrap();
        let read = |offset, size| Source::from_file(file.as_raw_fd(), offset, size);
        assert_eq!(read(0, None).unwrap().bytes(), b"0123456789");
        let part = read(3, Some(4)).unwrap();
        assert_eq!(part.bytes(), b"3456");
        let uri = part.origin.uri();
        assert!(uri.starts_with("file:///") && uri.contains("/rukh%20reader%20"));
        assert!(uri.ends_with("#offset=3&size=4"));
        for (offset, size) in [(3, 8), (11, 1), (usize::MAX, 1), (1, usize::MAX)] {
            assert_eq!(
                read(offset, Some(size)).unwrap_err(),
                Status::INVALID_CODE_OBJECT
            );
        }
        assert_eq!(read(10, None).unwrap_err(), Status::INVALID_FILE);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            Source::from_file(-1, 0, None).unwrap_err(),
            Status::INVALID_FILE
        );
        assert_eq!(
            Source::from_file(999_999, 0, None).unwrap_err(),
            Status::INVALID_FILE
        );
    }
}
