//! What this kernel asks of a flattened device tree (specification 0.4, chapter 5): where RAM is, where the serial port
//! is, and what the command line says. Every offset is checked: the tree comes from outside.

use crate::arch::Order;

/// A tree's bytes.
pub(super) struct DeviceTree {
    structure: &'static [u8],
    strings: &'static [u8],
}

const MAGIC: u32 = 0xd00d_feed;
const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOP: u32 = 4;
/// QEMU's trees have 1 MiB.
const LARGEST: usize = 2 << 20;

/// The `index`-th big-endian word.
fn word(bytes: &[u8], index: usize) -> Option<u32> {
    let at = index.checked_mul(4)?;
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// Bytes up to the next zero.
fn text(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|&b| b == 0)?;
    bytes.get(..end)
}

impl DeviceTree {
    /// The tree at an address, if there is one.
    ///
    /// # Safety
    /// 2 MiB from there are readable, and nothing ever writes what the tree's header says is the tree.
    pub(super) unsafe fn at(address: usize) -> Option<Self> {
        let start = core::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: the caller's word.
        let header = unsafe { core::slice::from_raw_parts(start, 40) };
        let size = word(header, 1)? as usize;
        if word(header, 0)? != MAGIC || size > LARGEST {
            return None;
        }
        // SAFETY: the caller's word; no longer than it says.
        let bytes = unsafe { core::slice::from_raw_parts(start, size) };
        let part = |offset: usize, length: usize| {
            let from = word(bytes, offset)? as usize;
            bytes.get(from..from.checked_add(word(bytes, length)? as usize)?)
        };
        Some(Self {
            structure: part(2, 9)?,
            strings: part(3, 8)?,
        })
    }

    /// Calls `found` with each property: its node's name, its own name, its value. Stops where the tree is broken.
    fn properties(&self, mut found: impl FnMut(usize, &[u8], &[u8], &[u8])) -> Option<()> {
        let mut node: &[u8] = b"";
        let mut number = 0;
        let mut rest = self.structure;
        loop {
            let token = word(rest, 0)?;
            rest = rest.get(4..)?;
            let used = match token {
                BEGIN_NODE => {
                    node = text(rest)?;
                    number += 1;
                    node.len() + 1
                }
                PROPERTY => {
                    let length = word(rest, 0)? as usize;
                    let name = text(self.strings.get(word(rest, 1)? as usize..)?)?;
                    found(number, node, name, rest.get(8..length.checked_add(8)?)?);
                    length + 8
                }
                END_NODE | NOP => 0,
                _ => return Some(()),
            };
            rest = rest.get(used.next_multiple_of(4)..)?;
        }
    }

    /// Start and size of the first range of `memory`. Addresses and sizes of the root's children have two cells
    /// each in QEMU's trees.
    pub(super) fn memory(&self) -> Option<(u64, u64)> {
        let mut range = None;
        self.properties(|_, node, name, value| {
            if node.starts_with(b"memory") && name == b"reg" && range.is_none() {
                range = two_cells(value, 0).zip(two_cells(value, 1));
            }
        })?;
        range
    }

    /// What the command line (3.6, `bootargs`) asks for, if there is one.
    pub(super) fn order(&self) -> Option<Order> {
        let mut order = None;
        self.properties(|_, node, name, value| {
            if node == b"chosen" && name == b"bootargs" {
                order = text(value).map(Order::read);
            }
        })?;
        order
    }

    /// Registers of the first PL011.
    pub(super) fn pl011(&self) -> Option<u64> {
        let mut registers = None;
        // The node that is being read: its number, whether it is a PL011, its registers. Either property may
        // come first.
        let mut current = (0, false, None);
        self.properties(|number, _, name, value| {
            if number != current.0 {
                current = (number, false, None);
            }
            match name {
                b"reg" => current.2 = two_cells(value, 0),
                b"compatible" => current.1 = value.starts_with(b"arm,pl011\0"),
                _ => {}
            }
            if current.1 && registers.is_none() {
                registers = current.2;
            }
        })?;
        registers
    }
}

fn two_cells(value: &[u8], index: usize) -> Option<u64> {
    let high = word(value, index * 2)?;
    let low = word(value, index * 2 + 1)?;
    Some(u64::from(high) << 32 | u64::from(low))
}
