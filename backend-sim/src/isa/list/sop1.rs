//! SOP1: scalar, one source.

macro_rules! sop1 {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Sop1 {
    // operation             gfx9  gfx90a gfx10 gfx11 gfx12 operands
    s_mov_b32                0x00  0x00   0x03  0x00  0x00  (d:B32 a:B32);
    s_mov_b64                0x01  0x01   0x04  0x01  0x01  (d:B64 a:B64);
    s_cmov_b32               0x02  0x02   0x05  0x02  0x02  (m:B32 a:B32);
    s_cmov_b64               0x03  0x03   0x06  0x03  0x03  (m:B64 a:B64);
    s_not_b32                0x04  0x04   0x07  0x1e  0x1e  (d:U32 a:U32);
    s_not_b64                0x05  0x05   0x08  0x1f  0x1f  (d:U64 a:U64);
    s_wqm_b32                0x06  0x06   0x09  0x1c  0x1c  (d:U32 a:U32);
    s_wqm_b64                0x07  0x07   0x0a  0x1d  0x1d  (d:U64 a:U64);
    s_brev_b32               0x08  0x08   0x0b  0x04  0x04  (d:U32 a:U32);
    s_brev_b64               0x09  0x09   0x0c  0x05  0x05  (d:U64 a:U64);
    s_bcnt0_i32_b32          0x0a  0x0a   0x0d  0x16  0x16  (d:I32 a:U32);
    s_bcnt0_i32_b64          0x0b  0x0b   0x0e  0x17  0x17  (d:I32 a:U64);
    s_bcnt1_i32_b32          0x0c  0x0c   0x0f  0x18  0x18  (d:I32 a:U32);
    s_bcnt1_i32_b64          0x0d  0x0d   0x10  0x19  0x19  (d:I32 a:U64);
    s_ff0_i32_b32            0x0e  0x0e   0x11  -     -     (d:I32 a:U32);
    s_ff0_i32_b64            0x0f  0x0f   0x12  -     -     (d:I32 a:U64);
    s_ff1_i32_b32            0x10  0x10   0x13  0x08  0x08  (d:I32 a:U32)   [gfx11("s_ctz_i32_b32")];
    s_ff1_i32_b64            0x11  0x11   0x14  0x09  0x09  (d:I32 a:U64)   [gfx11("s_ctz_i32_b64")];
    s_flbit_i32_b32          0x12  0x12   0x15  0x0a  0x0a  (d:I32 a:U32)   [gfx11("s_clz_i32_u32")];
    s_flbit_i32_b64          0x13  0x13   0x16  0x0b  0x0b  (d:I32 a:U64)   [gfx11("s_clz_i32_u64")];
    s_flbit_i32              0x14  0x14   0x17  0x0c  0x0c  (d:I32 a:I32)   [gfx11("s_cls_i32")];
    s_flbit_i32_i64          0x15  0x15   0x18  0x0d  0x0d  (d:I32 a:I64)   [gfx11("s_cls_i32_i64")];
    s_sext_i32_i8            0x16  0x16   0x19  0x0e  0x0e  (d:I32 a:I32);
    s_sext_i32_i16           0x17  0x17   0x1a  0x0f  0x0f  (d:I32 a:I32);
    s_bitset0_b32            0x18  0x18   0x1b  0x10  0x10  (m:B32 a:U32);
    s_bitset0_b64            0x19  0x19   0x1c  0x11  0x11  (m:B64 a:U32);
    s_bitset1_b32            0x1a  0x1a   0x1d  0x12  0x12  (m:B32 a:U32);
    s_bitset1_b64            0x1b  0x1b   0x1e  0x13  0x13  (m:B64 a:U32);
    s_getpc_b64              0x1c  0x1c   0x1f  0x47  0x47  (d:B64);
    s_setpc_b64              0x1d  0x1d   0x20  0x48  0x48  (a:B64);
    s_swappc_b64             0x1e  0x1e   0x21  0x49  0x49  (d:B64 a:B64);
    s_rfe_b64                0x1f  0x1f   0x22  0x4a  0x4a  (a:B64);
    s_and_saveexec_b64       0x20  0x20   0x24  0x21  0x21  (d:U64 a:U64);
    s_or_saveexec_b64        0x21  0x21   0x25  0x23  0x23  (d:U64 a:U64);
    s_xor_saveexec_b64       0x22  0x22   0x26  0x25  0x25  (d:U64 a:U64);
    s_andn2_saveexec_b64     0x23  0x23   0x27  0x31  0x31  (d:U64 a:U64)   [gfx11("s_and_not1_saveexec_b64")];
    s_orn2_saveexec_b64      0x24  0x24   0x28  0x33  0x33  (d:U64 a:U64)   [gfx11("s_or_not1_saveexec_b64")];
    s_nand_saveexec_b64      0x25  0x25   0x29  0x27  0x27  (d:U64 a:U64);
    s_nor_saveexec_b64       0x26  0x26   0x2a  0x29  0x29  (d:U64 a:U64);
    s_xnor_saveexec_b64      0x27  0x27   0x2b  0x2b  0x2b  (d:U64 a:U64);
    s_quadmask_b32           0x28  0x28   0x2c  0x1a  0x1a  (d:U32 a:U32);
    s_quadmask_b64           0x29  0x29   0x2d  0x1b  0x1b  (d:U64 a:U64);
    s_movrels_b32            0x2a  0x2a   0x2e  0x40  0x40  (d:B32 a:B32);
    s_movrels_b64            0x2b  0x2b   0x2f  0x41  0x41  (d:B64 a:B64);
    s_movreld_b32            0x2c  0x2c   0x30  0x42  0x42  (d:B32 a:B32);
    s_movreld_b64            0x2d  0x2d   0x31  0x43  0x43  (d:B64 a:B64);
    s_cbranch_join           0x2e  0x2e   -     -     -     (a:B32);
    s_abs_i32                0x30  0x30   0x34  0x15  0x15  (d:I32 a:I32);
    s_set_gpr_idx_idx        0x32  0x32   -     -     -     (a:B32);
    s_andn1_saveexec_b64     0x33  0x33   0x37  0x2d  0x2d  (d:U64 a:U64)   [gfx11("s_and_not0_saveexec_b64")];
    s_orn1_saveexec_b64      0x34  0x34   0x38  0x2f  0x2f  (d:U64 a:U64)   [gfx11("s_or_not0_saveexec_b64")];
    s_andn1_wrexec_b64       0x35  0x35   0x39  0x35  0x35  (d:U64 a:U64)   [gfx11("s_and_not0_wrexec_b64")];
    s_andn2_wrexec_b64       0x36  0x36   0x3a  0x37  0x37  (d:U64 a:U64)   [gfx11("s_and_not1_wrexec_b64")];
    s_bitreplicate_b64_b32   0x37  0x37   0x3b  0x14  0x14  (d:U64 a:U32);

    // since gfx10
    s_and_saveexec_b32       -     -      0x3c  0x20  0x20  (d:U32 a:U32);
    s_or_saveexec_b32        -     -      0x3d  0x22  0x22  (d:U32 a:U32);
    s_xor_saveexec_b32       -     -      0x3e  0x24  0x24  (d:U32 a:U32);
    s_nand_saveexec_b32      -     -      0x41  0x26  0x26  (d:U32 a:U32);
    s_nor_saveexec_b32       -     -      0x42  0x28  0x28  (d:U32 a:U32);
    s_xnor_saveexec_b32      -     -      0x43  0x2a  0x2a  (d:U32 a:U32);
    s_andn1_saveexec_b32     -     -      0x44  0x2c  0x2c  (d:U32 a:U32)   [gfx11("s_and_not0_saveexec_b32")];
    s_orn1_saveexec_b32      -     -      0x45  0x2e  0x2e  (d:U32 a:U32)   [gfx11("s_or_not0_saveexec_b32")];
    s_andn2_saveexec_b32     -     -      0x3f  0x30  0x30  (d:U32 a:U32)   [gfx11("s_and_not1_saveexec_b32")];
    s_orn2_saveexec_b32      -     -      0x40  0x32  0x32  (d:U32 a:U32)   [gfx11("s_or_not1_saveexec_b32")];
    s_andn1_wrexec_b32       -     -      0x46  0x34  0x34  (d:U32 a:U32)   [gfx11("s_and_not0_wrexec_b32")];
    s_andn2_wrexec_b32       -     -      0x47  0x36  0x36  (d:U32 a:U32)   [gfx11("s_and_not1_wrexec_b32")];
    s_movrelsd_2_b32         -     -      0x49  0x44  0x44  (d:B32 a:B32);

    // since gfx11
    s_sendmsg_rtn_b32        -     -      -     0x4c  0x4c  (d:B32 message);
    s_sendmsg_rtn_b64        -     -      -     0x4d  0x4d  (d:B64 message);

    // since gfx12
    s_barrier_signal         -     -      -     -     0x4e  (a:B32);
    s_barrier_signal_isfirst -     -      -     -     0x4f  (a:B32);
    s_get_barrier_state      -     -      -     -     0x50  (d:B32 a:B32);
    s_barrier_init           -     -      -     -     0x51  (a:B32);
    s_barrier_join           -     -      -     -     0x52  (a:B32);
    s_alloc_vgpr             -     -      -     -     0x53  (a:B32);
    s_wakeup_barrier         -     -      -     -     0x57  (a:B32);
    s_sleep_var              -     -      -     -     0x58  (a:B32);
    s_ceil_f32               -     -      -     -     0x60  (d:F32 a:F32);
    s_floor_f32              -     -      -     -     0x61  (d:F32 a:F32);
    s_trunc_f32              -     -      -     -     0x62  (d:F32 a:F32);
    s_rndne_f32              -     -      -     -     0x63  (d:F32 a:F32);
    s_cvt_f32_i32            -     -      -     -     0x64  (d:F32 a:I32);
    s_cvt_f32_u32            -     -      -     -     0x65  (d:F32 a:U32);
    s_cvt_i32_f32            -     -      -     -     0x66  (d:I32 a:F32);
    s_cvt_u32_f32            -     -      -     -     0x67  (d:U32 a:F32);
    s_cvt_f16_f32            -     -      -     -     0x68  (d:F16 a:F32);
    s_cvt_f32_f16            -     -      -     -     0x69  (d:F32 a:F16);
    s_cvt_hi_f32_f16         -     -      -     -     0x6a  (d:F32 a:F16);
    s_ceil_f16               -     -      -     -     0x6b  (d:F16 a:F16);
    s_floor_f16              -     -      -     -     0x6c  (d:F16 a:F16);
    s_trunc_f16              -     -      -     -     0x6d  (d:F16 a:F16);
    s_rndne_f16              -     -      -     -     0x6e  (d:F16 a:F16);
} } };
}
