//! Copies and fills: work that is done in pieces.

use crate::mem::{Access, MemoryFault, MemoryView, Span, raw};
use rukh_core::wire::sdma::Rect;

/// Most bytes that are moved without a look at the address map.
const PIECE: u64 = 64 << 10;

/// An access that is not possible, and what it was for.
pub(crate) type Bad = (&'static str, MemoryFault);

/// Work that may take more than one turn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
    /// Bytes in a row, to one or two places.
    Copy {
        source: u64,
        destinations: [u64; 2],
        /// How many of the two count.
        count: usize,
        bytes: u64,
        /// From the last byte to the first.
        backwards: bool,
        done: u64,
    },
    /// A box, row by row.
    Rect { rect: Rect, row: u64, done: u64 },
    /// A pattern of 1, 2 or 4 bytes.
    Fill {
        destination: u64,
        pattern: u32,
        pattern_bytes: u64,
        bytes: u64,
        done: u64,
    },
}

impl Move {
    /// Bytes in a row.
    pub(crate) const fn copy(destination: u64, source: u64, bytes: u64) -> Self {
        Self::Copy {
            source,
            destinations: [destination, 0],
            count: 1,
            bytes,
            backwards: false,
            done: 0,
        }
    }

    /// Whole dwords of one value, at an address of a dword.
    pub(crate) const fn fill(destination: u64, value: u32, bytes: u64) -> Self {
        Self::Fill {
            destination,
            pattern: value,
            pattern_bytes: 4,
            bytes,
            done: 0,
        }
    }

    /// Goes on, for about `budget` bytes, which it takes off. True if all is done.
    pub(crate) fn advance(&mut self, view: &MemoryView, budget: &mut u64) -> Result<bool, Bad> {
        match self {
            Self::Copy {
                source,
                destinations,
                count,
                bytes,
                backwards,
                done,
            } => {
                while *done < *bytes && *budget > 0 {
                    let left = *bytes - *done;
                    let most = left.min(PIECE).min(*budget);
                    let moved = if *backwards {
                        let to: [u64; 2] = destinations.map(|to| to.wrapping_add(left));
                        copy_down(view, &to[..*count], source.wrapping_add(left), most)?
                    } else {
                        let to: [u64; 2] = destinations.map(|to| to.wrapping_add(*done));
                        copy_up(view, &to[..*count], source.wrapping_add(*done), most)?
                    };
                    *done += moved;
                    *budget = budget.saturating_sub(moved);
                }
                Ok(*done >= *bytes)
            }
            Self::Rect { rect, row, done } => {
                let rows = u64::from(rect.size[1]) * u64::from(rect.size[2]);
                let bytes = u64::from(rect.size[0]) << rect.element_log2;
                while *row < rows && *budget > 0 {
                    let (source, destination) = row_of(rect, *row);
                    let most = (bytes - *done).min(PIECE).min(*budget);
                    let moved = copy_up(
                        view,
                        &[destination.wrapping_add(*done)],
                        source.wrapping_add(*done),
                        most,
                    )?;
                    *done += moved;
                    // A row costs something, however short it is.
                    *budget = budget.saturating_sub(moved.max(16));
                    if *done >= bytes {
                        (*row, *done) = (*row + 1, 0);
                    }
                }
                Ok(*row >= rows)
            }
            Self::Fill {
                destination,
                pattern,
                pattern_bytes,
                bytes,
                done,
            } => {
                while *done < *bytes && *budget > 0 {
                    let most = (*bytes - *done).min(PIECE).min((*budget).max(4));
                    let at = destination.wrapping_add(*done);
                    let span = find(view, at, Access::Write, "SDMA fill")?;
                    let moved = most.min(span.end - at) / *pattern_bytes * *pattern_bytes;
                    if moved == 0 {
                        // Patterns are aligned, and so are pages: none lies across a border.
                        return Err(("SDMA fill", view.fault(at, *pattern_bytes, Access::Write)));
                    }
                    fill(span.host_address(at), *pattern, *pattern_bytes, moved);
                    *done += moved;
                    *budget = budget.saturating_sub(moved);
                }
                Ok(*done >= *bytes)
            }
        }
    }
}

/// Addresses of the first bytes of a box's row.
fn row_of(rect: &Rect, row: u64) -> (u64, u64) {
    let rows = u64::from(rect.size[1]).max(1);
    let (y, z) = (row % rows, row / rows);
    let address = |side: &rukh_core::wire::sdma::RectSide| {
        let [first_x, first_y, first_z] = side.at.map(u64::from);
        let element = (z + first_z)
            .wrapping_mul(side.slice)
            .wrapping_add((y + first_y).wrapping_mul(side.pitch))
            .wrapping_add(first_x);
        side.base.wrapping_add(element << rect.element_log2)
    };
    (address(&rect.source), address(&rect.destination))
}

/// The span around an address that allows the access.
fn find(view: &MemoryView, at: u64, access: Access, what: &'static str) -> Result<Span, Bad> {
    view.lookup(at)
        .filter(|span| span.contains(at, 1) && span.rights.contains(access.needs()))
        .ok_or_else(|| (what, view.fault(at, 1, access)))
}

/// Copies up to `most` bytes that begin at the addresses; gives how many: as many as are one piece everywhere.
fn copy_up(view: &MemoryView, to: &[u64], from: u64, most: u64) -> Result<u64, Bad> {
    let source = find(view, from, Access::Read, "SDMA copy's source")?;
    let mut bytes = most.min(source.end - from);
    for &to in to {
        let span = find(view, to, Access::Write, "SDMA copy's destination")?;
        bytes = bytes.min(span.end - to);
    }
    for &to in to {
        let span = find(view, to, Access::Write, "SDMA copy's destination")?;
        copy(
            source.host_address(from),
            span.host_address(to),
            bytes as usize,
            false,
        );
    }
    Ok(bytes)
}

/// As [`copy_up`], of bytes that end before the addresses, the last one first.
fn copy_down(view: &MemoryView, to: &[u64], from: u64, most: u64) -> Result<u64, Bad> {
    let last = from.wrapping_sub(1);
    let source = find(view, last, Access::Read, "SDMA copy's source")?;
    let mut bytes = most.min(last - source.base + 1);
    for &to in to {
        let last = to.wrapping_sub(1);
        let span = find(view, last, Access::Write, "SDMA copy's destination")?;
        bytes = bytes.min(last - span.base + 1);
    }
    for &to in to {
        let last = to.wrapping_sub(1);
        let span = find(view, last, Access::Write, "SDMA copy's destination")?;
        copy(
            source.host_address(from.wrapping_sub(bytes)),
            span.host_address(to.wrapping_sub(bytes)),
            bytes as usize,
            true,
        );
    }
    Ok(bytes)
}

/// Copies between host addresses that were checked for all of the bytes.
///
/// Ranges that overlap go through a small buffer in the packet's direction, so that the outcome is the same on every
/// host; hardware promises none.
fn copy(from: *mut u8, to: *mut u8, bytes: usize, backwards: bool) {
    const BURST: usize = 64;
    let apart = from.addr().abs_diff(to.addr()) >= bytes;
    if apart {
        // SAFETY: checked by the callers, in the turn in which this runs; the ranges do not overlap.
        unsafe { raw::copy_across(from, to, bytes) };
        return;
    }
    let mut buffer = [0u8; BURST];
    let mut done = 0;
    while done < bytes {
        let piece = BURST.min(bytes - done);
        let at = if backwards {
            bytes - done - piece
        } else {
            done
        };
        // SAFETY: as above, piece by piece; the buffer holds a piece and is nobody else's.
        unsafe {
            raw::copy_in(from.wrapping_add(at), buffer.as_mut_ptr(), piece);
            raw::copy_out(buffer.as_ptr(), to.wrapping_add(at), piece);
        }
        done += piece;
    }
}

/// Fills `bytes` bytes, a multiple of the pattern's, at a host address that was checked for them.
fn fill(host: *mut u8, pattern: u32, pattern_bytes: u64, bytes: u64) {
    let uniform = match pattern_bytes {
        1 => true,
        _ => pattern == (pattern & 0xff) * 0x0101_0101,
    };
    if uniform {
        // SAFETY: checked by the caller, in the turn in which this runs.
        unsafe { raw::fill(host, pattern as u8, bytes as usize) };
        return;
    }
    let mut at = 0;
    while at < bytes as usize {
        let to = host.wrapping_add(at);
        // SAFETY: as above; the pattern's bytes are within.
        unsafe {
            if pattern_bytes == 2 {
                raw::store_u16(to, pattern as u16);
            } else {
                raw::store_u32(to, pattern);
            }
        }
        at += pattern_bytes as usize;
    }
}
