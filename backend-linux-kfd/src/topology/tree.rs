//! A topology that lies in memory: recorded from a machine, written by hand, or hostile.

use super::ROOT;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ptr::NonNull;
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError};

const ENOENT: i32 = 2;
const EFBIG: i32 = 27;
const ENOSYS: i32 = 38;

/// Files by path, and nothing else of a system: ioctls and mappings are refused with ENOSYS.
///
/// The text form is what `tail -n +1 nodes/*/properties …` comes to: a line `## path`, then the file. Paths
/// that are not absolute are below the topology's root. Lines before the first path are comments.
#[derive(Clone, Debug, Default)]
pub struct TreePort {
    files: BTreeMap<String, Vec<u8>>,
}

impl TreePort {
    /// Files from their text form. Takes any bytes.
    pub fn parse(text: &[u8]) -> Self {
        let mut tree = Self::default();
        let mut current: Option<String> = None;
        for line in text.split_inclusive(|&b| b == b'\n') {
            if let Some(path) = line.strip_prefix(b"## ") {
                let path = String::from_utf8_lossy(path);
                // What dumps add behind the path (mode, size) is separated by a space.
                let path = path.split_whitespace().next().unwrap_or("");
                let path = if path.starts_with('/') {
                    String::from(path)
                } else {
                    format!("{ROOT}/{path}")
                };
                tree.files.insert(path.clone(), Vec::new());
                current = Some(path);
            } else if let Some(file) = current.as_ref().and_then(|path| tree.files.get_mut(path)) {
                file.extend_from_slice(line);
            }
        }
        tree
    }

    /// Replaces a file.
    pub fn set(&mut self, path: &str, bytes: &[u8]) {
        self.files.insert(String::from(path), Vec::from(bytes));
    }

    /// Removes a file; gives whether it was there.
    pub fn remove(&mut self, path: &str) -> bool {
        self.files.remove(path).is_some()
    }

    /// The paths, ascending.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// A file's bytes.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }
}

// SAFETY: hands out no memory and runs no ioctl.
unsafe impl KfdPort for TreePort {
    fn open(&self, path: &str) -> Result<KfdFile, PortError> {
        Err(PortError::file(path, ENOENT))
    }

    fn close(&self, _: KfdFile) {}

    unsafe fn ioctl_raw(&self, _: KfdFile, _: u32, _: &mut [u8]) -> Result<(), i32> {
        Err(ENOSYS)
    }

    unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError> {
        Err(PortError::Map {
            size: mapping.size,
            offset: mapping.offset,
            errno: ENOSYS,
        })
    }

    unsafe fn unmap(&self, _: NonNull<u8>, _: usize) {}

    fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError> {
        let file = self
            .files
            .get(path)
            .ok_or_else(|| PortError::file(path, ENOENT))?;
        let length = file.len().min(buffer.len());
        buffer[..length].copy_from_slice(&file[..length]);
        if file.len() > length {
            return Err(PortError::file(path, EFBIG));
        }
        Ok(length)
    }

    fn list_directory(&self, path: &str, visit: &mut dyn FnMut(&str)) -> Result<(), PortError> {
        let prefix = format!("{path}/");
        let mut last = None;
        for file in self.files.range(prefix.clone()..) {
            let Some(rest) = file.0.strip_prefix(&prefix) else {
                break;
            };
            let entry = rest.split('/').next();
            if entry != last
                && let Some(entry) = entry
            {
                visit(entry);
            }
            last = entry;
        }
        if last.is_none() {
            return Err(PortError::file(path, ENOENT));
        }
        Ok(())
    }
}
