//! SOP2: scalar, two sources.

macro_rules! sop2 {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Sop2 {
    // operation         gfx9  gfx90a gfx10 gfx11 gfx12 operands
    s_add_u32            0x00  0x00   0x00  0x00  0x00  (d:U32 a:U32 b:U32)         [gfx12("s_add_co_u32")];
    s_sub_u32            0x01  0x01   0x01  0x01  0x01  (d:U32 a:U32 b:U32)         [gfx12("s_sub_co_u32")];
    s_add_i32            0x02  0x02   0x02  0x02  0x02  (d:I32 a:I32 b:I32)         [gfx12("s_add_co_i32")];
    s_sub_i32            0x03  0x03   0x03  0x03  0x03  (d:I32 a:I32 b:I32)         [gfx12("s_sub_co_i32")];
    s_addc_u32           0x04  0x04   0x04  0x04  0x04  (d:U32 a:U32 b:U32)         [gfx12("s_add_co_ci_u32")];
    s_subb_u32           0x05  0x05   0x05  0x05  0x05  (d:U32 a:U32 b:U32)         [gfx12("s_sub_co_ci_u32")];
    s_min_i32            0x06  0x06   0x06  0x12  0x12  (d:I32 a:I32 b:I32);
    s_min_u32            0x07  0x07   0x07  0x13  0x13  (d:U32 a:U32 b:U32);
    s_max_i32            0x08  0x08   0x08  0x14  0x14  (d:I32 a:I32 b:I32);
    s_max_u32            0x09  0x09   0x09  0x15  0x15  (d:U32 a:U32 b:U32);
    s_cselect_b32        0x0a  0x0a   0x0a  0x30  0x30  (d:B32 a:B32 b:B32);
    s_cselect_b64        0x0b  0x0b   0x0b  0x31  0x31  (d:B64 a:B64 b:B64);
    s_and_b32            0x0c  0x0c   0x0e  0x16  0x16  (d:U32 a:U32 b:U32);
    s_and_b64            0x0d  0x0d   0x0f  0x17  0x17  (d:U64 a:U64 b:U64);
    s_or_b32             0x0e  0x0e   0x10  0x18  0x18  (d:U32 a:U32 b:U32);
    s_or_b64             0x0f  0x0f   0x11  0x19  0x19  (d:U64 a:U64 b:U64);
    s_xor_b32            0x10  0x10   0x12  0x1a  0x1a  (d:U32 a:U32 b:U32);
    s_xor_b64            0x11  0x11   0x13  0x1b  0x1b  (d:U64 a:U64 b:U64);
    s_andn2_b32          0x12  0x12   0x14  0x22  0x22  (d:U32 a:U32 b:U32)         [gfx11("s_and_not1_b32")];
    s_andn2_b64          0x13  0x13   0x15  0x23  0x23  (d:U64 a:U64 b:U64)         [gfx11("s_and_not1_b64")];
    s_orn2_b32           0x14  0x14   0x16  0x24  0x24  (d:U32 a:U32 b:U32)         [gfx11("s_or_not1_b32")];
    s_orn2_b64           0x15  0x15   0x17  0x25  0x25  (d:U64 a:U64 b:U64)         [gfx11("s_or_not1_b64")];
    s_nand_b32           0x16  0x16   0x18  0x1c  0x1c  (d:U32 a:U32 b:U32);
    s_nand_b64           0x17  0x17   0x19  0x1d  0x1d  (d:U64 a:U64 b:U64);
    s_nor_b32            0x18  0x18   0x1a  0x1e  0x1e  (d:U32 a:U32 b:U32);
    s_nor_b64            0x19  0x19   0x1b  0x1f  0x1f  (d:U64 a:U64 b:U64);
    s_xnor_b32           0x1a  0x1a   0x1c  0x20  0x20  (d:U32 a:U32 b:U32);
    s_xnor_b64           0x1b  0x1b   0x1d  0x21  0x21  (d:U64 a:U64 b:U64);
    s_lshl_b32           0x1c  0x1c   0x1e  0x08  0x08  (d:U32 a:U32 b:U32);
    s_lshl_b64           0x1d  0x1d   0x1f  0x09  0x09  (d:U64 a:U64 b:U32);
    s_lshr_b32           0x1e  0x1e   0x20  0x0a  0x0a  (d:U32 a:U32 b:U32);
    s_lshr_b64           0x1f  0x1f   0x21  0x0b  0x0b  (d:U64 a:U64 b:U32);
    s_ashr_i32           0x20  0x20   0x22  0x0c  0x0c  (d:I32 a:I32 b:U32);
    s_ashr_i64           0x21  0x21   0x23  0x0d  0x0d  (d:I64 a:I64 b:U32);
    s_bfm_b32            0x22  0x22   0x24  0x2a  0x2a  (d:U32 a:U32 b:U32);
    s_bfm_b64            0x23  0x23   0x25  0x2b  0x2b  (d:U64 a:U32 b:U32);
    s_mul_i32            0x24  0x24   0x26  0x2c  0x2c  (d:I32 a:I32 b:I32);
    s_bfe_u32            0x25  0x25   0x27  0x26  0x26  (d:U32 a:U32 b:U32);
    s_bfe_i32            0x26  0x26   0x28  0x27  0x27  (d:I32 a:I32 b:U32);
    s_bfe_u64            0x27  0x27   0x29  0x28  0x28  (d:U64 a:U64 b:U32);
    s_bfe_i64            0x28  0x28   0x2a  0x29  0x29  (d:I64 a:I64 b:U32);
    s_cbranch_g_fork     0x29  0x29   -     -     -     (a:B64 b:B64);
    s_absdiff_i32        0x2a  0x2a   0x2c  0x06  0x06  (d:I32 a:I32 b:I32);
    s_rfe_restore_b64    0x2b  0x2b   -     -     -     (a:B64 b:B32);
    s_mul_hi_u32         0x2c  0x2c   0x35  0x2d  0x2d  (d:U32 a:U32 b:U32);
    s_mul_hi_i32         0x2d  0x2d   0x36  0x2e  0x2e  (d:I32 a:I32 b:I32);
    s_lshl1_add_u32      0x2e  0x2e   0x2e  0x0e  0x0e  (d:U32 a:U32 b:U32);
    s_lshl2_add_u32      0x2f  0x2f   0x2f  0x0f  0x0f  (d:U32 a:U32 b:U32);
    s_lshl3_add_u32      0x30  0x30   0x30  0x10  0x10  (d:U32 a:U32 b:U32);
    s_lshl4_add_u32      0x31  0x31   0x31  0x11  0x11  (d:U32 a:U32 b:U32);
    s_pack_ll_b32_b16    0x32  0x32   0x32  0x32  0x32  (d:B32 a:U32 b:U32);
    s_pack_lh_b32_b16    0x33  0x33   0x33  0x33  0x33  (d:B32 a:U32 b:U32);
    s_pack_hh_b32_b16    0x34  0x34   0x34  0x34  0x34  (d:B32 a:U32 b:U32);

    // since gfx11
    s_pack_hl_b32_b16    -     -      -     0x35  0x35  (d:B32 a:U32 b:U32);

    // since gfx12
    s_add_f32            -     -      -     -     0x40  (d:F32 a:F32 b:F32);
    s_sub_f32            -     -      -     -     0x41  (d:F32 a:F32 b:F32);
    s_min_num_f32        -     -      -     -     0x42  (d:F32 a:F32 b:F32);
    s_max_num_f32        -     -      -     -     0x43  (d:F32 a:F32 b:F32);
    s_mul_f32            -     -      -     -     0x44  (d:F32 a:F32 b:F32);
    s_fmaak_f32          -     -      -     -     0x45  (d:F32 a:F32 b:F32 lit:F32);
    s_fmamk_f32          -     -      -     -     0x46  (d:F32 a:F32 lit:F32 b:F32);
    s_fmac_f32           -     -      -     -     0x47  (m:F32 a:F32 b:F32);
    s_cvt_pk_rtz_f16_f32 -     -      -     -     0x48  (d:F16 a:F32 b:F32);
    s_add_f16            -     -      -     -     0x49  (d:F16 a:F16 b:F16);
    s_sub_f16            -     -      -     -     0x4a  (d:F16 a:F16 b:F16);
    s_min_num_f16        -     -      -     -     0x4b  (d:F16 a:F16 b:F16);
    s_max_num_f16        -     -      -     -     0x4c  (d:F16 a:F16 b:F16);
    s_mul_f16            -     -      -     -     0x4d  (d:F16 a:F16 b:F16);
    s_fmac_f16           -     -      -     -     0x4e  (m:F16 a:F16 b:F16);
    s_minimum_f32        -     -      -     -     0x4f  (d:F32 a:F32 b:F32);
    s_maximum_f32        -     -      -     -     0x50  (d:F32 a:F32 b:F32);
    s_minimum_f16        -     -      -     -     0x51  (d:F16 a:F16 b:F16);
    s_maximum_f16        -     -      -     -     0x52  (d:F16 a:F16 b:F16);
    s_add_nc_u64         -     -      -     -     0x53  (d:U64 a:U64 b:U64);
    s_sub_nc_u64         -     -      -     -     0x54  (d:U64 a:U64 b:U64);
    s_mul_u64            -     -      -     -     0x55  (d:U64 a:U64 b:U64);
} } };
}
