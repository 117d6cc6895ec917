//! VOP1: vector, one source; exists as VOP3 too unless `SHORT_ONLY`.

macro_rules! vop1 {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Vop1 {
    // operation               gfx9  gfx90a gfx10 gfx11 gfx12 operands
    v_nop                      0x00  0x00   0x00  0x00  0x00  ();
    v_mov_b32                  0x01  0x01   0x01  0x01  0x01  (d:B32 a:B32);
    v_readfirstlane_b32        0x02  0x02   0x02  0x02  0x02  (sdst:B32 a:B32)   [is(Flags::SHORT_ONLY)];
    v_cvt_i32_f64              0x03  0x03   0x03  0x03  0x03  (d:I32 a:F64);
    v_cvt_f64_i32              0x04  0x04   0x04  0x04  0x04  (d:F64 a:I32);
    v_cvt_f32_i32              0x05  0x05   0x05  0x05  0x05  (d:F32 a:I32);
    v_cvt_f32_u32              0x06  0x06   0x06  0x06  0x06  (d:F32 a:U32);
    v_cvt_u32_f32              0x07  0x07   0x07  0x07  0x07  (d:U32 a:F32);
    v_cvt_i32_f32              0x08  0x08   0x08  0x08  0x08  (d:I32 a:F32);
    v_cvt_f16_f32              0x0a  0x0a   0x0a  0x0a  0x0a  (d:F16 a:F32);
    v_cvt_f32_f16              0x0b  0x0b   0x0b  0x0b  0x0b  (d:F32 a:F16);
    v_cvt_rpi_i32_f32          0x0c  0x0c   0x0c  0x0c  0x0c  (d:I32 a:F32)      [gfx11("v_cvt_nearest_i32_f32")];
    v_cvt_flr_i32_f32          0x0d  0x0d   0x0d  0x0d  0x0d  (d:I32 a:F32)      [gfx11("v_cvt_floor_i32_f32")];
    v_cvt_off_f32_i4           0x0e  0x0e   0x0e  0x0e  0x0e  (d:F32 a:I32);
    v_cvt_f32_f64              0x0f  0x0f   0x0f  0x0f  0x0f  (d:F32 a:F64);
    v_cvt_f64_f32              0x10  0x10   0x10  0x10  0x10  (d:F64 a:F32);
    v_cvt_f32_ubyte0           0x11  0x11   0x11  0x11  0x11  (d:F32 a:U32);
    v_cvt_f32_ubyte1           0x12  0x12   0x12  0x12  0x12  (d:F32 a:U32);
    v_cvt_f32_ubyte2           0x13  0x13   0x13  0x13  0x13  (d:F32 a:U32);
    v_cvt_f32_ubyte3           0x14  0x14   0x14  0x14  0x14  (d:F32 a:U32);
    v_cvt_u32_f64              0x15  0x15   0x15  0x15  0x15  (d:U32 a:F64);
    v_cvt_f64_u32              0x16  0x16   0x16  0x16  0x16  (d:F64 a:U32);
    v_trunc_f64                0x17  0x17   0x17  0x17  0x17  (d:F64 a:F64);
    v_ceil_f64                 0x18  0x18   0x18  0x18  0x18  (d:F64 a:F64);
    v_rndne_f64                0x19  0x19   0x19  0x19  0x19  (d:F64 a:F64);
    v_floor_f64                0x1a  0x1a   0x1a  0x1a  0x1a  (d:F64 a:F64);
    v_fract_f32                0x1b  0x1b   0x20  0x20  0x20  (d:F32 a:F32);
    v_trunc_f32                0x1c  0x1c   0x21  0x21  0x21  (d:F32 a:F32);
    v_ceil_f32                 0x1d  0x1d   0x22  0x22  0x22  (d:F32 a:F32);
    v_rndne_f32                0x1e  0x1e   0x23  0x23  0x23  (d:F32 a:F32);
    v_floor_f32                0x1f  0x1f   0x24  0x24  0x24  (d:F32 a:F32);
    v_exp_f32                  0x20  0x20   0x25  0x25  0x25  (d:F32 a:F32);
    v_log_f32                  0x21  0x21   0x27  0x27  0x27  (d:F32 a:F32);
    v_rcp_f32                  0x22  0x22   0x2a  0x2a  0x2a  (d:F32 a:F32);
    v_rcp_iflag_f32            0x23  0x23   0x2b  0x2b  0x2b  (d:F32 a:F32);
    v_rsq_f32                  0x24  0x24   0x2e  0x2e  0x2e  (d:F32 a:F32);
    v_rcp_f64                  0x25  0x25   0x2f  0x2f  0x2f  (d:F64 a:F64);
    v_rsq_f64                  0x26  0x26   0x31  0x31  0x31  (d:F64 a:F64);
    v_sqrt_f32                 0x27  0x27   0x33  0x33  0x33  (d:F32 a:F32);
    v_sqrt_f64                 0x28  0x28   0x34  0x34  0x34  (d:F64 a:F64);
    v_sin_f32                  0x29  0x29   0x35  0x35  0x35  (d:F32 a:F32);
    v_cos_f32                  0x2a  0x2a   0x36  0x36  0x36  (d:F32 a:F32);
    v_not_b32                  0x2b  0x2b   0x37  0x37  0x37  (d:U32 a:U32);
    v_bfrev_b32                0x2c  0x2c   0x38  0x38  0x38  (d:B32 a:B32);
    v_ffbh_u32                 0x2d  0x2d   0x39  0x39  0x39  (d:I32 a:U32)      [gfx11("v_clz_i32_u32")];
    v_ffbl_b32                 0x2e  0x2e   0x3a  0x3a  0x3a  (d:I32 a:U32)      [gfx11("v_ctz_i32_b32")];
    v_ffbh_i32                 0x2f  0x2f   0x3b  0x3b  0x3b  (d:I32 a:I32)      [gfx11("v_cls_i32")];
    v_frexp_exp_i32_f64        0x30  0x30   0x3c  0x3c  0x3c  (d:I32 a:F64);
    v_frexp_mant_f64           0x31  0x31   0x3d  0x3d  0x3d  (d:F64 a:F64);
    v_fract_f64                0x32  0x32   0x3e  0x3e  0x3e  (d:F64 a:F64);
    v_frexp_exp_i32_f32        0x33  0x33   0x3f  0x3f  0x3f  (d:I32 a:F32);
    v_frexp_mant_f32           0x34  0x34   0x40  0x40  0x40  (d:F32 a:F32);
    v_clrexcp                  0x35  0x35   0x41  -     -     ();
    v_screen_partition_4se_b32 0x37  0x37   -     -     -     (d:B32 a:B32);
    v_mov_b64                  -     0x38   -     -     -     (d:U64 a:U64)      [on(ArchSet::GFX942_UP)];
    v_cvt_f16_u16              0x39  0x39   0x50  0x50  0x50  (d:F16 a:U16);
    v_cvt_f16_i16              0x3a  0x3a   0x51  0x51  0x51  (d:F16 a:I16);
    v_cvt_u16_f16              0x3b  0x3b   0x52  0x52  0x52  (d:U16 a:F16);
    v_cvt_i16_f16              0x3c  0x3c   0x53  0x53  0x53  (d:I16 a:F16);
    v_rcp_f16                  0x3d  0x3d   0x54  0x54  0x54  (d:F16 a:F16);
    v_sqrt_f16                 0x3e  0x3e   0x55  0x55  0x55  (d:F16 a:F16);
    v_rsq_f16                  0x3f  0x3f   0x56  0x56  0x56  (d:F16 a:F16);
    v_log_f16                  0x40  0x40   0x57  0x57  0x57  (d:F16 a:F16);
    v_exp_f16                  0x41  0x41   0x58  0x58  0x58  (d:F16 a:F16);
    v_frexp_mant_f16           0x42  0x42   0x59  0x59  0x59  (d:F16 a:F16);
    v_frexp_exp_i16_f16        0x43  0x43   0x5a  0x5a  0x5a  (d:I16 a:F16);
    v_floor_f16                0x44  0x44   0x5b  0x5b  0x5b  (d:F16 a:F16);
    v_ceil_f16                 0x45  0x45   0x5c  0x5c  0x5c  (d:F16 a:F16);
    v_trunc_f16                0x46  0x46   0x5d  0x5d  0x5d  (d:F16 a:F16);
    v_rndne_f16                0x47  0x47   0x5e  0x5e  0x5e  (d:F16 a:F16);
    v_fract_f16                0x48  0x48   0x5f  0x5f  0x5f  (d:F16 a:F16);
    v_sin_f16                  0x49  0x49   0x60  0x60  0x60  (d:F16 a:F16);
    v_cos_f16                  0x4a  0x4a   0x61  0x61  0x61  (d:F16 a:F16);
    v_exp_legacy_f32           0x4b  0x4b   -     -     -     (d:F32 a:F32);
    v_log_legacy_f32           0x4c  0x4c   -     -     -     (d:F32 a:F32);
    v_cvt_norm_i16_f16         0x4d  0x4d   0x63  0x63  0x63  (d:I16 a:F16);
    v_cvt_norm_u16_f16         0x4e  0x4e   0x64  0x64  0x64  (d:U16 a:F16);
    v_sat_pk_u8_i16            0x4f  0x4f   0x62  0x62  0x62  (d:B16 a:PkI16);
    v_swap_b32                 0x51  0x51   0x65  0x65  0x65  (m:B32 am:B32)     [is(Flags::SHORT_ONLY)] [is(Flags::NO_DPP)];
    v_accvgpr_mov_b32          -     0x52   -     -     -     (acc:B32 aacc:B32) [is(Flags::SHORT_ONLY)];
    v_cvt_f32_fp8              -     0x54   -     -     0x6c  (d:F32 a:U32)      [on(ArchSet::GFX942_UP)];
    v_cvt_f32_bf8              -     0x55   -     -     0x6d  (d:F32 a:U32)      [on(ArchSet::GFX942_UP)];
    v_cvt_pk_f32_fp8           -     0x56   -     -     -     (d:PkF32 a:U32)    [on(ArchSet::GFX942_UP)];
    v_cvt_pk_f32_fp8_b16       -     -      -     -     0x6e  (d:PkF32 a:B16)    [gfx12("v_cvt_pk_f32_fp8")];
    v_cvt_pk_f32_bf8           -     0x57   -     -     -     (d:PkF32 a:U32)    [on(ArchSet::GFX942_UP)];
    v_cvt_pk_f32_bf8_b16       -     -      -     -     0x6f  (d:PkF32 a:B16)    [gfx12("v_cvt_pk_f32_bf8")];

    // since gfx950
    v_prng_b32                 -     0x58   -     -     -     (d:B32 a:B32)      [on(ArchSet::GFX950_UP)];
    v_permlane16_swap_b32      -     0x59   -     -     -     (m:B32 am:B32)     [on(ArchSet::GFX950_UP)] [is(Flags::NO_DPP)];
    v_permlane32_swap_b32      -     0x5a   -     -     -     (m:B32 am:B32)     [on(ArchSet::GFX950_UP)] [is(Flags::NO_DPP)];
    v_cvt_f32_bf16             -     0x5b   -     -     -     (d:F32 a:Bf16)     [on(ArchSet::GFX950_UP)];

    // since gfx10
    v_pipeflush                -     -      0x1b  0x1b  0x1b  ();

    // since gfx11
    v_mov_b16                  -     -      -     0x1c  0x1c  (d:B16 a:B16);

    // since gfx10
    v_movreld_b32              -     -      0x42  0x42  0x42  (m:B32 a:B32);
    v_movrels_b32              -     -      0x43  0x43  0x43  (d:B32 a:B32);
    v_movrelsd_b32             -     -      0x44  0x44  0x44  (d:B32 a:B32);
    v_movrelsd_2_b32           -     -      0x48  0x48  0x48  (d:B32 a:B32);

    // since gfx11
    v_swap_b16                 -     -      -     0x66  0x66  (m:B16 am:B16)     [is(Flags::SHORT_ONLY)] [is(Flags::NO_DPP)];
    v_permlane64_b32           -     -      -     0x67  0x67  (d:B32 a:B32)      [is(Flags::SHORT_ONLY)] [is(Flags::NO_DPP)];

    // since gfx10
    v_swaprel_b32              -     -      0x68  0x68  0x68  (m:B32 am:B32)     [is(Flags::SHORT_ONLY)] [is(Flags::NO_DPP)];

    // since gfx11
    v_not_b16                  -     -      -     0x69  0x69  (d:U16 a:U16);
    v_cvt_i32_i16              -     -      -     0x6a  0x6a  (d:I32 a:I16);
    v_cvt_u32_u16              -     -      -     0x6b  0x6b  (d:U32 a:U16);
} } };
}
