//! Shared virtual memory: ranges of the process's own addresses that GPUs reach as they are.
//!
//! Pages stay where they are, in the host's memory: locations are kept and told, and nothing moves. Faults are not retried
//! (xnack is off), so that GPUs with access have a range mapped from the moment that they are given it, with the rights that
//! the process has at that moment.
//!
//! [`Devices`] and [`Ranges`] serve the software GPU's own backend as well, whose clients name GPUs by their agents.
//!
//! A kernel takes a range away when the process unmaps it. The face does when it is told: by [`KfdFace::unmap_range`] and
//! [`KfdFace::mapped_over`], which the preloaded library calls for what goes through the C library's functions.

use super::KfdFace;
use super::errno::{EADDRINUSE, EFAULT, EINVAL, EPERM};
use super::process::Process;
use crate::device::System;
use crate::mem::{PAGE_SIZE, RegionId, Rights};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use rukh_core::backend::AgentId;
use rukh_core::kfd::uapi::svm_location::{SYSTEM_MEMORY, UNDEFINED};
use rukh_core::kfd::uapi::{Svm, SvmAttribute, svm_attribute as kind, svm_operation};
use zerocopy::{FromBytes, IntoBytes};

/// `KFD_IOCTL_SVM_FLAG_…`.
mod flag {
    pub const HOST_ACCESS: u32 = 1 << 0;
    pub const COHERENT: u32 = 1 << 1;
    pub const GPU_READ_ONLY: u32 = 1 << 3;
    pub const GPU_EXECUTABLE: u32 = 1 << 4;
    pub const ALWAYS_MAPPED: u32 = 1 << 6;
}

const MOST_GRANULARITY: u32 = 0x3f;

/// What is known of a range.
#[derive(Clone, Copy, Debug)]
struct Attributes {
    preferred: u32,
    prefetch: u32,
    /// Bits of GPUs that have access, wherever pages are.
    access: u32,
    /// Bits of GPUs that have access where the pages are.
    in_place: u32,
    flags: u32,
    granularity: u32,
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            preferred: UNDEFINED,
            prefetch: UNDEFINED,
            access: 0,
            in_place: 0,
            flags: flag::HOST_ACCESS | flag::COHERENT,
            granularity: 9,
        }
    }
}

/// A range with attributes.
#[derive(Debug)]
struct Range {
    end: u64,
    attributes: Attributes,
    /// In the devices' address map.
    regions: Vec<RegionId>,
}

/// The ranges of a process, by start.
#[derive(Debug, Default)]
pub(crate) struct Ranges(BTreeMap<u64, Range>);

impl Ranges {
    /// Whether a range overlaps `start..end`.
    pub(super) fn overlap(&self, start: u64, end: u64) -> bool {
        self.starts(start, end).next().is_some()
    }

    /// Where ranges that overlap `start..end` begin, last first.
    fn starts(&self, start: u64, end: u64) -> impl Iterator<Item = u64> {
        self.0
            .range(..end)
            .rev()
            .take_while(move |(_, range)| range.end > start)
            .map(|(from, _)| *from)
    }

    /// Whether a GPU has all of a range for good, as what waves are saved to must be.
    pub(super) fn always_mapped(&self, gpu: u32, start: u64, size: u64) -> bool {
        let Some(end) = start.checked_add(size) else {
            return false;
        };
        let mut at = start;
        while at < end {
            let Some((_, range)) = self.0.range(..=at).next_back() else {
                return false;
            };
            let on = (range.attributes.access | range.attributes.in_place) & gpu != 0;
            if range.end <= at || !on || range.attributes.flags & flag::ALWAYS_MAPPED == 0 {
                return false;
            }
            at = range.end;
        }
        size != 0
    }

    /// Makes `at` a border between two ranges if it is inside of one. Their regions have been taken out.
    fn split(&mut self, at: u64) {
        if let Some((_, range)) = self.0.range_mut(..at).next_back()
            && range.end > at
        {
            let tail = Range {
                end: range.end,
                attributes: range.attributes,
                regions: Vec::new(),
            };
            range.end = at;
            self.0.insert(at, tail);
        }
    }

    /// Takes the regions out of all ranges that overlap `start..end`. Gives them, and how far those ranges reach.
    fn take_regions(&mut self, start: u64, end: u64) -> (Vec<RegionId>, u64, u64) {
        let starts: Vec<u64> = self.starts(start, end).collect();
        let (mut regions, mut from, mut to) = (Vec::new(), start, end);
        for at in starts {
            if let Some(range) = self.0.get_mut(&at) {
                regions.append(&mut range.regions);
                (from, to) = (from.min(at), to.max(range.end));
            }
        }
        (regions, from, to)
    }

    /// Fills what is not in any range of `start..end` with a new one.
    fn fill(&mut self, start: u64, end: u64) {
        let mut at = start;
        let mut holes = Vec::new();
        for (&from, range) in self.0.range(start..end) {
            if from > at {
                holes.push((at, from));
            }
            at = range.end;
        }
        if at < end {
            holes.push((at, end));
        }
        for (from, to) in holes {
            let range = Range {
                end: to,
                attributes: Attributes::default(),
                regions: Vec::new(),
            };
            self.0.insert(from, range);
        }
    }
}

/// A part of the process's memory with the same rights throughout.
#[derive(Clone, Copy, Debug)]
struct Area {
    start: u64,
    end: u64,
    readable: bool,
    writable: bool,
    /// A device's memory: one of the face's files.
    device: bool,
}

/// A line of `/proc/self/maps`.
fn area(line: &str) -> Option<Area> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let rights = words.next()?.as_bytes();
    Some(Area {
        start: number(start)?,
        end: number(end)?,
        readable: rights.first() == Some(&b'r'),
        writable: rights.get(1) == Some(&b'w'),
        device: words
            .nth(3)
            .is_some_and(|name| name.starts_with("/memfd:rukh-")),
    })
}

/// What the process has in `start..end`, cut to it.
fn areas(start: u64, end: u64) -> Vec<Area> {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    maps.split(|byte| *byte == b'\n')
        // Names of files may be any bytes; the rest is text.
        .filter_map(|line| area(&alloc::string::String::from_utf8_lossy(line)))
        .filter(|area| area.start < end && area.end > start)
        .map(|area| Area {
            start: area.start.max(start),
            end: area.end.min(end),
            ..area
        })
        .collect()
}

impl KfdFace {
    /// `argument` is the structure with the attributes behind it.
    pub(super) fn svm(&self, argument: &mut [u8]) -> Result<(), i32> {
        let mut head = [0; size_of::<Svm>()];
        let common = argument.len().min(head.len());
        head[..common].copy_from_slice(&argument[..common]);
        let head = Svm::read_from_bytes(&head).map_err(|_| EINVAL)?;
        // The attributes count for the argument's size.
        let bytes = head.nattr as usize * size_of::<SvmAttribute>();
        let rest = argument
            .get_mut(size_of::<Svm>()..)
            .and_then(|rest| rest.get_mut(..bytes))
            .or(if bytes == 0 { Some(&mut []) } else { None })
            .ok_or(EINVAL)?;
        if self.gpus.is_empty() {
            // As a kernel without shared virtual memory.
            return Err(EPERM);
        }
        if !(head.start_addr | head.size).is_multiple_of(PAGE_SIZE)
            || head.start_addr == 0
            || head.size == 0
        {
            return Err(EINVAL);
        }
        let mut attributes: Vec<SvmAttribute> = rest
            .chunks_exact(size_of::<SvmAttribute>())
            .filter_map(|bytes| SvmAttribute::read_from_bytes(bytes).ok())
            .collect();
        let end = head.start_addr.checked_add(head.size).ok_or(EFAULT)?;
        let process = &mut *self.process.lock();
        match head.op {
            svm_operation::SET => {
                Self::check_objects(process, head.start_addr, end)?;
                let gpus = self.svm_gpus();
                self.svm_devices(&gpus)
                    .set(&mut process.svm, head.start_addr, end, &attributes)
            }
            svm_operation::GET => {
                Self::check_objects(process, head.start_addr, end)?;
                let gpus = self.svm_gpus();
                self.svm_devices(&gpus)
                    .get(&process.svm, head.start_addr, end, &mut attributes)?;
                rest.copy_from_slice(attributes.as_bytes());
                Ok(())
            }
            // Kernels return the number as if it were a success.
            _ => Err(EINVAL),
        }
    }

    fn svm_gpus(&self) -> Vec<SvmGpu> {
        let gpus = self.gpus.iter().map(|gpu| SvmGpu {
            id: gpu.id,
            agent: gpu.agent,
        });
        gpus.collect()
    }

    fn svm_devices<'a>(&'a self, gpus: &'a [SvmGpu]) -> Devices<'a> {
        let system = self.sim.system();
        Devices { system, gpus }
    }

    /// Whether no buffer object is mapped at a range's addresses.
    fn check_objects(process: &Process, start: u64, end: u64) -> Result<(), i32> {
        let mapped = |object: &super::memory::Object| {
            object.mapped != 0 && object.va < end && object.va.saturating_add(object.size) > start
        };
        if process.objects.values().any(mapped) {
            return Err(EADDRINUSE);
        }
        Ok(())
    }

    /// The process has other memory, or none, in a range: what was said of it is forgotten.
    pub(super) fn forget_svm(&self, process: &mut Process, start: u64, end: u64) {
        if process.svm.overlap(start, end) {
            let gpus = self.svm_gpus();
            let ranges = &mut process.svm;
            self.svm_devices(&gpus).forget(ranges, start, end);
        }
    }
}

/// A GPU, as those who set attributes call it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SvmGpu {
    pub id: u32,
    pub agent: AgentId,
}

impl SvmGpu {
    fn bit(&self) -> u32 {
        1 << (self.agent.0 - 1)
    }
}

/// The devices that reach ranges.
pub(crate) struct Devices<'a> {
    pub system: &'a System,
    pub gpus: &'a [SvmGpu],
}

impl Devices<'_> {
    fn bit(&self, id: u32) -> Result<u32, i32> {
        let found = self.gpus.iter().find(|gpu| gpu.id == id);
        found.map(SvmGpu::bit).ok_or(EINVAL)
    }

    fn check(&self, attributes: &[SvmAttribute]) -> Result<(), i32> {
        for attribute in attributes {
            match (attribute.kind, attribute.value) {
                (kind::PREFERRED, SYSTEM_MEMORY | UNDEFINED) | (kind::PREFETCH, SYSTEM_MEMORY) => {}
                (kind::PREFERRED..=kind::NO_ACCESS, gpu) => drop(self.bit(gpu)?),
                (kind::SET_FLAGS..=kind::GRANULARITY, _) => {}
                _ => return Err(EINVAL),
            }
        }
        Ok(())
    }

    /// Whether a range is memory of the process's.
    fn check_range(start: u64, end: u64) -> Result<(), i32> {
        let mut at = start;
        for area in areas(start, end) {
            if area.start > at || area.device {
                return Err(EFAULT);
            }
            at = area.end;
        }
        if at < end {
            return Err(EFAULT);
        }
        Ok(())
    }

    /// Sets attributes of whole pages. Gives the errno.
    pub(crate) fn set(
        &self,
        ranges: &mut Ranges,
        start: u64,
        end: u64,
        attributes: &[SvmAttribute],
    ) -> Result<(), i32> {
        self.check(attributes)?;
        Self::check_range(start, end)?;
        let (old, from, to) = ranges.take_regions(start, end);
        ranges.split(start);
        ranges.split(end);
        ranges.fill(start, end);
        for (_, range) in ranges.0.range_mut(start..end) {
            for attribute in attributes {
                self.apply(&mut range.attributes, attribute)?;
            }
        }
        self.map(ranges, from, to, old)
    }

    fn apply(&self, to: &mut Attributes, attribute: &SvmAttribute) -> Result<(), i32> {
        let value = attribute.value;
        match attribute.kind {
            kind::PREFERRED => to.preferred = value,
            kind::PREFETCH => to.prefetch = value,
            kind::ACCESS | kind::ACCESS_IN_PLACE | kind::NO_ACCESS => {
                let bit = self.bit(value)?;
                to.access &= !bit;
                to.in_place &= !bit;
                match attribute.kind {
                    kind::ACCESS => to.access |= bit,
                    kind::ACCESS_IN_PLACE => to.in_place |= bit,
                    _ => {}
                }
            }
            kind::SET_FLAGS => to.flags |= value,
            kind::CLEAR_FLAGS => to.flags &= !value,
            kind::GRANULARITY => to.granularity = value.min(MOST_GRANULARITY),
            _ => return Err(EINVAL),
        }
        Ok(())
    }

    /// Maps the ranges of `start..end` to the GPUs that have access, then takes the regions away that were there before: what
    /// stays mapped is so all the time.
    fn map(
        &self,
        ranges: &mut Ranges,
        start: u64,
        end: u64,
        old: Vec<RegionId>,
    ) -> Result<(), i32> {
        let system = self.system;
        let mut answer = Ok(());
        for (&from, range) in ranges.0.range_mut(start..end) {
            let with = range.attributes.access | range.attributes.in_place;
            if with == 0 {
                continue;
            }
            for area in areas(from, range.end) {
                if !area.readable || area.device {
                    answer = Err(EFAULT);
                    continue;
                }
                let host = core::ptr::with_exposed_provenance_mut(area.start as usize);
                // SAFETY: the process has this memory. It says so before it unmaps it, as the face's contract has it for user
                // pointers, and then the region is removed and no access is left.
                let region = unsafe {
                    system
                        .map
                        .insert_host(host, area.end - area.start, area.start)
                };
                let Ok(region) = region else {
                    answer = Err(EINVAL);
                    continue;
                };
                let flags = range.attributes.flags;
                let writable = area.writable && flags & flag::GPU_READ_ONLY == 0;
                let mut rights = Rights::READ;
                rights.set(Rights::WRITE, writable);
                rights.set(Rights::EXECUTE, flags & flag::GPU_EXECUTABLE != 0);
                for gpu in self.gpus.iter().filter(|gpu| gpu.bit() & with != 0) {
                    let _ = system.map.set_rights(region, gpu.agent.0, rights);
                }
                range.regions.push(region);
            }
        }
        let any = !old.is_empty();
        for region in old {
            let _ = system.map.remove(region, system.clock.now());
        }
        if any {
            system.quiesce.wait(system.quiesce.advance());
        }
        answer
    }

    /// Replaces each attribute by the range's. Gives the errno.
    pub(crate) fn get(
        &self,
        known: &Ranges,
        start: u64,
        end: u64,
        attributes: &mut [SvmAttribute],
    ) -> Result<(), i32> {
        Self::check_range(start, end)?;
        let askable = |kind| {
            !matches!(kind, kind::ACCESS_IN_PLACE | kind::NO_ACCESS) && kind <= kind::GRANULARITY
        };
        if !attributes.iter().all(|asked| askable(asked.kind)) {
            return Err(EINVAL);
        }
        let ranges: Vec<&Attributes> = known
            .starts(start, end)
            .filter_map(|at| known.0.get(&at))
            .map(|range| &range.attributes)
            .collect();
        let default = Attributes::default();
        let ranges = if ranges.is_empty() {
            alloc::vec![&default]
        } else {
            ranges
        };
        // A location is told if all ranges have it.
        let common = |place: fn(&Attributes) -> u32| {
            let first = ranges.first().map_or(UNDEFINED, |range| place(range));
            let all = ranges.iter().all(|range| place(range) == first);
            if all { first } else { UNDEFINED }
        };
        let all = |bits: fn(&Attributes) -> u32| {
            ranges
                .iter()
                .fold(u32::MAX, |common, range| common & bits(range))
        };
        for asked in attributes {
            match asked.kind {
                kind::PREFERRED => asked.value = common(|range| range.preferred),
                kind::PREFETCH => asked.value = common(|range| range.prefetch),
                kind::ACCESS => {
                    let bit = self.bit(asked.value)?;
                    asked.kind = if all(|range| range.access) & bit != 0 {
                        kind::ACCESS
                    } else if all(|range| range.in_place) & bit != 0 {
                        kind::ACCESS_IN_PLACE
                    } else {
                        kind::NO_ACCESS
                    };
                }
                kind::SET_FLAGS => asked.value = all(|range| range.flags),
                kind::CLEAR_FLAGS => asked.value = all(|range| !range.flags),
                _ => {
                    let least = ranges.iter().map(|range| range.granularity).min();
                    asked.value = least.unwrap_or(default.granularity);
                }
            }
        }
        Ok(())
    }

    /// The process has other memory, or none, in a range: what was said of it is forgotten.
    fn forget(&self, ranges: &mut Ranges, start: u64, end: u64) {
        let (old, from, to) = ranges.take_regions(start, end);
        ranges.split(start);
        ranges.split(end);
        let gone: Vec<u64> = ranges.starts(start, end).collect();
        for at in gone {
            ranges.0.remove(&at);
        }
        // What is left beside it is mapped as before, if the process still has it.
        let _ = self.map(ranges, from, to, old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_read() {
        let line = "7f00aa000-7f00ab000 rw-s 00001000 00:01 1037 /memfd:rukh-sim (deleted)";
        let read = area(line).unwrap();
        assert_eq!((read.start, read.end), (0x7_f00a_a000, 0x7_f00a_b000));
        assert!(read.readable && read.writable && read.device);
        let read = area("55d0-55e0 r--p 00000000 08:01 12 /usr/bin/x").unwrap();
        assert!(read.readable && !read.writable && !read.device);
        assert!(area("").is_none() && area("x-y rw").is_none());
    }

    #[test]
    fn ranges_are_split_and_filled() {
        let mut ranges = Ranges::default();
        ranges.fill(0x2000, 0x6000);
        ranges.split(0x3000);
        ranges.split(0x3000);
        ranges.0.remove(&0x3000);
        assert!(!ranges.overlap(0x3000, 0x6000) && ranges.overlap(0x2fff, 0x3000));
        ranges.fill(0x1000, 0x8000);
        let all: Vec<_> = ranges.0.iter().map(|(at, r)| (*at, r.end)).collect();
        // What overlaps the beginning is not cut: callers split there first.
        assert_eq!(all, [(0x1000, 0x2000), (0x2000, 0x3000), (0x3000, 0x8000)]);
    }
}
