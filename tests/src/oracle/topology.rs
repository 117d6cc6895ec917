//! KFD topology trees: whatever the files say, nodes that make no sense are skipped with a reason, and what is left is
//! consistent; a backend over them opens or says why not.

use std::ptr::NonNull;
use std::sync::OnceLock;

use rukh_backend_linux_kfd::KfdBackend;
use rukh_backend_linux_kfd::topology::TreePort;
use rukh_backend_linux_kfd::topology::oracle::{self, TREES};
use rukh_backend_sim::kfd::KfdFace;
use rukh_core::backend::{AgentKind, Topology};
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError};

/// A tree out of `data`, and the interface's minor version: the first byte chooses a machine to start from or none, the
/// second the version. On a machine follow edits, each a place (3 bytes), a number of bytes that go (1), a number of
/// bytes that come (1) and those; on none the tree's text.
fn tree(data: &[u8]) -> (Vec<u8>, u32) {
    let Some((&[base, minor], mut rest)) = data.split_first_chunk::<2>() else {
        return (Vec::new(), 17);
    };
    let minor = u32::from(minor % 20);
    let Some(start) = TREES.get(usize::from(base) % (TREES.len() + 1)) else {
        return (rest.to_vec(), minor);
    };
    let mut text = start.as_bytes().to_vec();
    while let Some((&[a, b, c, gone, new], bytes)) = rest.split_first_chunk::<5>() {
        let at = u32::from_le_bytes([a, b, c, 0]) as usize % (text.len() + 1);
        let end = (at + usize::from(gone)).min(text.len());
        let (bytes, left) = bytes.split_at(usize::from(new).min(bytes.len()));
        text.splice(at..end, bytes.iter().copied());
        rest = left;
    }
    (text, minor)
}

/// Topology files of a tree, everything else a simulated machine's.
struct Overlay<'a> {
    tree: TreePort,
    face: &'a KfdFace,
}

// SAFETY: mappings and ioctls are the face's.
unsafe impl KfdPort for Overlay<'_> {
    fn open(&self, path: &str) -> Result<KfdFile, PortError> {
        self.face.open(path)
    }
    fn close(&self, file: KfdFile) {
        self.face.close(file);
    }
    unsafe fn ioctl_raw(&self, file: KfdFile, nr: u32, argument: &mut [u8]) -> Result<(), i32> {
        // SAFETY: by the caller's promise.
        unsafe { self.face.ioctl_raw(file, nr, argument) }
    }
    unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError> {
        // SAFETY: by the caller's promise.
        unsafe { self.face.map(mapping) }
    }
    unsafe fn unmap(&self, address: NonNull<u8>, size: usize) {
        // SAFETY: by the caller's promise.
        unsafe { self.face.unmap(address, size) }
    }
    fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError> {
        self.tree.read_file(path, buffer)
    }
    fn list_directory(&self, path: &str, visit: &mut dyn FnMut(&str)) -> Result<(), PortError> {
        self.tree.list_directory(path, visit)
    }
}

/// Reads a tree, checks what comes out, and opens a backend over it.
pub fn check(data: &[u8]) {
    let (text, minor) = tree(data);
    let outcome = oracle::topology(&text, minor);
    static FACE: OnceLock<KfdFace> = OnceLock::new();
    let face = FACE.get_or_init(|| KfdFace::parse("gfx90a,gfx1100").expect("profiles that exist"));
    let tree = TreePort::parse(&text);
    let before = face.handles();
    match KfdBackend::open(Overlay { tree, face }) {
        Ok(backend) => {
            let outcome = outcome.expect("a tree that is refused opens no backend");
            let agents = (0..backend.agent_count()).map(rukh_core::backend::AgentId);
            let kinds = agents.map(|id| backend.agent(id).expect("an agent that is counted").kind);
            let gpus = kinds.filter(|kind| matches!(kind, AgentKind::Gpu(_)));
            // The machine behind the files may lack what they promise.
            assert!(gpus.count() <= outcome.gpus);
            backend.skipped(&mut |skipped| assert!(!format!("{:?}", skipped.reason).is_empty()));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    assert_eq!(face.handles(), before, "what a backend leaves");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::rng::Rng;

    #[test]
    fn trees_as_they_are_hold() {
        for machine in 0..=TREES.len() as u8 {
            check(&[machine, 17]);
            check(&[machine]);
        }
    }

    #[test]
    fn edited_trees_hold() {
        let mut random = Rng::new(5);
        for _ in 0..300 {
            let mut data = vec![0; 2 + random.below(60) as usize];
            random.fill(&mut data);
            check(&data);
        }
    }
}
