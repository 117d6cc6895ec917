//! Argument blocks, filled for kernels that clang compiled and for one with every hidden argument.

mod support;

use rukh_core::loader::CodeObject;
use rukh_core::loader::kernarg::{self, Absent, Explicit, Filled, Grid, Hidden, KernargError};
use rukh_core::loader::metadata::{KernelMetadata, Metadata, ValueKind};
use support::bytes;

const HIDDEN: Hidden = Hidden {
    global_offset: [0x11, 0x12, 0x13],
    dynamic_lds: 0x100,
    queue_ptr: Some(0x7fff_0000_1000),
    private_base: Some(0x0002_0000_0000_0000),
    shared_base: Some(0x0001_0000_0000_0000),
    heap_v1: Some(0x7fff_0000_2000),
    hostcall_buffer: Some(0x7fff_0000_3000),
    multigrid_sync_arg: Some(0x7fff_0000_4000),
    printf_buffer: Some(0x7fff_0000_5000),
    default_queue: Some(0x7fff_0000_6000),
    completion_action: Some(0x7fff_0000_7000),
};

/// Fills twice, from the metadata and from a layout that has read them before: the same outcome.
fn fill(
    kernel: &KernelMetadata<'_>,
    grid: &Grid,
    explicit: &[Explicit<'_>],
    hidden: &Hidden,
    out: &mut [u8],
) -> Result<Filled, KernargError> {
    #[cfg(feature = "alloc")]
    let mut again = out.to_vec();
    let filled = kernarg::fill(kernel, grid, explicit, hidden, out);
    #[cfg(feature = "alloc")]
    match kernarg::Layout::new(kernel) {
        Ok(layout) => {
            assert_eq!(layout.fill(grid, explicit, hidden, &mut again), filled);
            assert!(filled.is_err() || again == out);
        }
        Err(error) => assert_eq!(filled, Err(error)),
    }
    filled
}

fn u16_at(block: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([block[at], block[at + 1]])
}
fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from(u16_at(block, at)) | u32::from(u16_at(block, at + 2)) << 16
}
fn u64_at(block: &[u8], at: usize) -> u64 {
    u64::from(u32_at(block, at)) | u64::from(u32_at(block, at + 4)) << 32
}

fn with_kernel<R>(name: &str, kernel: &str, f: impl FnOnce(&KernelMetadata<'_>) -> R) -> R {
    let bytes = bytes(name);
    let code = CodeObject::parse(&bytes).expect(name);
    let metadata = code.metadata().expect(name).expect("clang writes metadata");
    f(&metadata.kernel(kernel).expect(name).expect("in the source"))
}

const LISTS_ALL: [Explicit<'static>; 2] = [
    Explicit::Bytes(&[1, 2, 3, 4, 5, 6, 7, 8]),
    Explicit::Bytes(&[9, 10, 11, 12, 13, 14, 0, 0]),
];

#[test]
fn version_5_hidden_arguments_stand_where_clang_put_them() {
    with_kernel("hidden-gfx803-v5", "lists_all", |kernel| {
        let grid = Grid::new([1000, 7, 3], [64, 2, 3]);
        let mut out = [0xcc; 300];
        let filled = fill(kernel, &grid, &LISTS_ALL, &HIDDEN, &mut out).expect("it fits");
        assert_eq!((filled.size, filled.align), (272, 16));
        assert_eq!(filled.absent, Absent::empty());
        assert_eq!(filled.group_segment_size, 0x100);
        assert_eq!(out[272..], [0xcc; 28]);
        assert_eq!(
            out[..16],
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 0]
        );
        // Offsets from readelf's notes: the implicit arguments begin at 16.
        assert_eq!([16, 20, 24].map(|at| u32_at(&out, at)), [15, 3, 1]);
        assert_eq!([28, 30, 32].map(|at| u16_at(&out, at)), [64, 2, 3]);
        assert_eq!([34, 36, 38].map(|at| u16_at(&out, at)), [40, 1, 0]);
        assert_eq!(
            [56, 64, 72].map(|at| u64_at(&out, at)),
            HIDDEN.global_offset
        );
        assert_eq!(u16_at(&out, 80), 3);
        assert_eq!(Some(u64_at(&out, 96)), HIDDEN.hostcall_buffer);
        assert_eq!(Some(u64_at(&out, 104)), HIDDEN.multigrid_sync_arg);
        assert_eq!(Some(u64_at(&out, 112)), HIDDEN.heap_v1);
        assert_eq!(Some(u64_at(&out, 120)), HIDDEN.default_queue);
        assert_eq!(Some(u64_at(&out, 128)), HIDDEN.completion_action);
        assert_eq!((u32_at(&out, 208), u32_at(&out, 212)), (0x2_0000, 0x1_0000));
        assert_eq!(Some(u64_at(&out, 216)), HIDDEN.queue_ptr);
        // What belongs to no argument is zero.
        assert!(out[40..56].iter().chain(&out[136..208]).all(|b| *b == 0));
    });
}

#[test]
fn version_4_hidden_arguments_stand_where_clang_put_them() {
    with_kernel("hidden-gfx900-v4", "lists_all", |kernel| {
        let mut out = [0xcc; 72];
        let grid = Grid::new([1, 1, 1], [1, 1, 1]);
        fill(kernel, &grid, &LISTS_ALL, &HIDDEN, &mut out).expect("it fits");
        assert_eq!(
            [16, 24, 32].map(|at| u64_at(&out, at)),
            HIDDEN.global_offset
        );
        assert_eq!(Some(u64_at(&out, 40)), HIDDEN.hostcall_buffer);
        assert_eq!(Some(u64_at(&out, 48)), HIDDEN.default_queue);
        assert_eq!(Some(u64_at(&out, 56)), HIDDEN.completion_action);
        assert_eq!(Some(u64_at(&out, 64)), HIDDEN.multigrid_sync_arg);
    });
}

#[test]
fn addresses_that_nobody_gives_are_zero_and_reported() {
    with_kernel("hidden-gfx900-v4", "lists_all", |kernel| {
        let mut out = [0xcc; 72];
        let grid = Grid::new([64, 1, 1], [64, 1, 1]);
        let filled = fill(kernel, &grid, &LISTS_ALL, &Hidden::default(), &mut out);
        let absent = Absent::HOSTCALL_BUFFER
            | Absent::DEFAULT_QUEUE
            | Absent::COMPLETION_ACTION
            | Absent::MULTIGRID_SYNC_ARG;
        assert_eq!(filled.expect("it fits").absent, absent);
        assert_eq!(out[16..], [0; 56]);
    });
}

#[test]
fn dynamic_lds_is_laid_out_after_the_kernels_own() {
    with_kernel("linked-gfx1100-v5", "touch", |kernel| {
        let mut out = [0xcc; 288];
        let int4 = [7; 16];
        let explicit = [
            Explicit::Bytes(&[0; 8]),
            Explicit::DynamicLds(260),
            Explicit::Bytes(&[3]),
            Explicit::Bytes(&int4),
        ];
        let hidden = Hidden {
            dynamic_lds: 4,
            ..Hidden::default()
        };
        let grid = Grid::new([64, 1, 1], [64, 1, 1]);
        let filled = fill(kernel, &grid, &explicit, &hidden, &mut out).expect("it fits");
        assert_eq!(
            filled.group_segment_size,
            kernel.group_segment_fixed_size + 264
        );
        assert_eq!(u32_at(&out, 8), kernel.group_segment_fixed_size);
        assert_eq!(out[12..16], [3, 0, 0, 0]);
        assert_eq!(out[16..32], int4);
        assert_eq!(u16_at(&out, 96), 1, "hidden_grid_dims");
        assert_eq!(u32_at(&out, 152), 264, "hidden_dynamic_lds_size");
    });
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    with_kernel("linked-gfx1100-v5", "touch", |kernel| {
        let grid = Grid::new([64, 1, 1], [64, 1, 1]);
        let mut out = [0; 288];
        let mut try_fill = |explicit: &[Explicit<'_>], len: usize| {
            fill(kernel, &grid, explicit, &Hidden::default(), &mut out[..len])
                .expect_err("it does not fit")
        };
        let int4 = [7; 16];
        let good = [
            Explicit::Bytes(&[0; 8]),
            Explicit::DynamicLds(4),
            Explicit::Bytes(&[3]),
            Explicit::Bytes(&int4),
        ];
        let count = |given| KernargError::Count {
            kernel: "touch".into(),
            expected: 4,
            given,
        };
        assert_eq!(try_fill(&good[..3], 288), count(3));
        assert_eq!(
            try_fill(&[good[0], good[1], good[2], good[3], good[3]], 288),
            count(5)
        );
        assert_eq!(
            try_fill(&[good[0], good[1], good[0], good[3]], 288),
            KernargError::Size {
                argument: "#2".into(),
                expected: 1,
                given: 8
            }
        );
        assert_eq!(
            try_fill(&[good[1], good[1], good[2], good[3]], 288),
            KernargError::NotDynamicLds {
                argument: "#0".into()
            }
        );
        assert_eq!(
            try_fill(&good, 287),
            KernargError::Buffer {
                needed: 288,
                given: 287
            }
        );
        let too_much = [good[0], Explicit::DynamicLds(u32::MAX), good[2], good[3]];
        assert!(matches!(
            fill(kernel, &grid, &too_much, &HIDDEN, &mut out),
            Err(KernargError::LdsOverflow)
        ));
    });
}

#[test]
fn grids_that_cannot_be_dispatched_are_refused() {
    with_kernel("linked-gfx1100-v5", "empty", |kernel| {
        let refused = |dims, grid, group| {
            let grid = Grid { dims, grid, group };
            fill(kernel, &grid, &[], &Hidden::default(), &mut []).is_err()
        };
        assert!(!refused(1, [5, 1, 1], [64, 1, 1]));
        assert!(refused(0, [5, 1, 1], [64, 1, 1]));
        assert!(refused(4, [5, 1, 1], [64, 1, 1]));
        assert!(refused(1, [5, 2, 1], [64, 1, 1]));
        assert!(refused(3, [5, 0, 1], [64, 1, 1]));
        assert!(refused(3, [5, 1, 1], [64, 0, 1]));
        assert_eq!(Grid::new([5, 1, 1], [1, 1, 1]).dims, 1);
        assert_eq!(Grid::new([5, 1, 1], [1, 2, 1]).dims, 2);
        assert_eq!(Grid::new([5, 1, 2], [1, 1, 1]).dims, 3);
    });
}

/// Writes MessagePack: just what a kernel's metadata needs.
#[derive(Default)]
struct Pack(Vec<u8>);

impl Pack {
    fn str(&mut self, s: &str) {
        self.0.extend([0xd9, s.len() as u8]);
        self.0.extend(s.as_bytes());
    }
    fn number(&mut self, n: u32) {
        self.0.push(0xce);
        self.0.extend(n.to_be_bytes());
    }
    fn argument(&mut self, kind: &str, offset: u32, size: u32) {
        self.0.push(0x83);
        for (key, n) in [(".offset", offset), (".size", size)] {
            self.str(key);
            self.number(n);
        }
        self.str(".value_kind");
        self.str(kind);
    }
}

fn metadata(arguments: &[(&str, u32, u32)], block: u32) -> Vec<u8> {
    let mut p = Pack(vec![0x82]);
    p.str("amdhsa.version");
    p.0.extend([0x92, 1, 2]);
    p.str("amdhsa.kernels");
    p.0.extend([0x91, 0x8b]);
    for key in [".name", ".symbol"] {
        p.str(key);
        p.str("k");
    }
    for (key, n) in [
        (".kernarg_segment_size", block),
        (".kernarg_segment_align", 8),
        (".group_segment_fixed_size", 20),
        (".private_segment_fixed_size", 0),
        (".wavefront_size", 64),
        (".sgpr_count", 1),
        (".vgpr_count", 1),
        (".max_flat_workgroup_size", 256),
    ] {
        p.str(key);
        p.number(n);
    }
    p.str(".args");
    p.0.extend([0xdc, 0, arguments.len() as u8]);
    for (kind, offset, size) in arguments {
        p.argument(kind, *offset, *size);
    }
    p.0
}

fn fill_metadata(arguments: &[(&str, u32, u32)], block: u32) -> Result<Vec<u8>, KernargError> {
    let data = metadata(arguments, block);
    let metadata = Metadata::parse(&data).expect("well-formed");
    let kernel = metadata
        .kernel("k")
        .expect("well-formed")
        .expect("the only one");
    let grid = Grid::new([100, 50, 1], [64, 8, 1]);
    let mut out = vec![0xcc; block as usize];
    fill(&kernel, &grid, &[], &HIDDEN, &mut out).map(|_| out)
}

#[test]
fn every_hidden_kind_of_the_specification_is_filled() {
    let kinds: [(&str, u32, u64); 25] = [
        ("hidden_global_offset_x", 8, 0x11),
        ("hidden_global_offset_y", 8, 0x12),
        ("hidden_global_offset_z", 8, 0x13),
        ("hidden_none", 8, 0),
        ("hidden_printf_buffer", 8, 0x7fff_0000_5000),
        ("hidden_hostcall_buffer", 8, 0x7fff_0000_3000),
        ("hidden_default_queue", 8, 0x7fff_0000_6000),
        ("hidden_completion_action", 8, 0x7fff_0000_7000),
        ("hidden_multigrid_sync_arg", 8, 0x7fff_0000_4000),
        ("hidden_heap_v1", 8, 0x7fff_0000_2000),
        ("hidden_queue_ptr", 8, 0x7fff_0000_1000),
        ("hidden_block_count_x", 4, 1),
        ("hidden_block_count_y", 4, 6),
        ("hidden_block_count_z", 4, 1),
        ("hidden_dynamic_lds_size", 4, 0x100),
        ("hidden_private_base", 4, 0x2_0000),
        ("hidden_shared_base", 4, 0x1_0000),
        ("hidden_group_size_x", 2, 64),
        ("hidden_group_size_y", 2, 8),
        ("hidden_group_size_z", 2, 1),
        ("hidden_remainder_x", 2, 36),
        ("hidden_remainder_y", 2, 2),
        ("hidden_remainder_z", 2, 0),
        ("hidden_grid_dims", 2, 2),
        ("hidden_none", 1, 0),
    ];
    let mut at = 0;
    let mut arguments = Vec::new();
    for (kind, size, _) in kinds {
        arguments.push((kind, at, size));
        at += size;
    }
    let out = fill_metadata(&arguments, at).expect("every kind is known");
    for ((kind, at, size), (_, _, expected)) in arguments.iter().zip(kinds) {
        let mut value = [0; 8];
        value[..*size as usize].copy_from_slice(&out[*at as usize..][..*size as usize]);
        assert_eq!(u64::from_le_bytes(value), expected, "{kind}");
    }
    // The list above is complete but for kinds that are not hidden.
    let known = |k: &str| !matches!(ValueKind::from(k), ValueKind::Other(_));
    assert!(
        kinds
            .iter()
            .all(|(kind, ..)| known(kind) && ValueKind::from(*kind).is_hidden())
    );
}

#[test]
fn hidden_arguments_that_cannot_be_filled_are_named() {
    assert_eq!(
        fill_metadata(&[("hidden_of_the_future", 0, 8)], 8),
        Err(KernargError::UnknownHidden {
            kind: "hidden_of_the_future".into()
        })
    );
    assert_eq!(
        fill_metadata(&[("hidden_grid_dims", 0, 4)], 8),
        Err(KernargError::HiddenSize {
            kind: "hidden_grid_dims".into(),
            found: 4,
            expected: 2
        })
    );
    assert_eq!(
        fill_metadata(&[("hidden_queue_ptr", 4, 8)], 16),
        Err(KernargError::Misaligned {
            argument: "hidden_queue_ptr".into(),
            offset: 4,
            size: 8
        })
    );
    for offset in [8, 0xffff_fff8] {
        assert!(matches!(
            fill_metadata(&[("hidden_queue_ptr", offset, 8)], 8),
            Err(KernargError::Outside { .. })
        ));
    }
}
