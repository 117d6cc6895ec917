//! VOP2: vector, two sources; exists as VOP3 too unless `SHORT_ONLY`.

macro_rules! vop2 {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Vop2 {
    // operation        gfx9    gfx90a  gfx10   gfx11   gfx12   operands
    v_cndmask_b32       0x00    0x00    0x01    0x01    0x01    (d:B32 a:B32 b:B32 c:Mask);
    v_add_f32           0x01    0x01    0x03    0x03    0x03    (d:F32 a:F32 b:F32);
    v_sub_f32           0x02    0x02    0x04    0x04    0x04    (d:F32 a:F32 b:F32);
    v_subrev_f32        0x03    0x03    0x05    0x05    0x05    (d:F32 a:F32 b:F32);
    v_fmac_f64          -       0x04    -       -       -       (m:F64 a:F64 b:F64);
    v_mul_f32           0x05    0x05    0x08    0x08    0x08    (d:F32 a:F32 b:F32);
    v_mul_i32_i24       0x06    0x06    0x09    0x09    0x09    (d:I32 a:I32 b:I32);
    v_mul_hi_i32_i24    0x07    0x07    0x0a    0x0a    0x0a    (d:I32 a:I32 b:I32);
    v_mul_u32_u24       0x08    0x08    0x0b    0x0b    0x0b    (d:U32 a:U32 b:U32);
    v_mul_hi_u32_u24    0x09    0x09    0x0c    0x0c    0x0c    (d:U32 a:U32 b:U32);
    v_min_f32           0x0a    0x0a    0x0f    0x0f    0x15    (d:F32 a:F32 b:F32)                  [gfx12("v_min_num_f32")];
    v_max_f32           0x0b    0x0b    0x10    0x10    0x16    (d:F32 a:F32 b:F32)                  [gfx12("v_max_num_f32")];
    v_min_i32           0x0c    0x0c    0x11    0x11    0x11    (d:I32 a:I32 b:I32);
    v_max_i32           0x0d    0x0d    0x12    0x12    0x12    (d:I32 a:I32 b:I32);
    v_min_u32           0x0e    0x0e    0x13    0x13    0x13    (d:U32 a:U32 b:U32);
    v_max_u32           0x0f    0x0f    0x14    0x14    0x14    (d:U32 a:U32 b:U32);
    v_lshrrev_b32       0x10    0x10    0x16    0x19    0x19    (d:U32 a:U32 b:U32);
    v_ashrrev_i32       0x11    0x11    0x18    0x1a    0x1a    (d:I32 a:U32 b:I32);
    v_lshlrev_b32       0x12    0x12    0x1a    0x18    0x18    (d:U32 a:U32 b:U32);
    v_and_b32           0x13    0x13    0x1b    0x1b    0x1b    (d:U32 a:U32 b:U32);
    v_or_b32            0x14    0x14    0x1c    0x1c    0x1c    (d:U32 a:U32 b:U32);
    v_xor_b32           0x15    0x15    0x1d    0x1d    0x1d    (d:U32 a:U32 b:U32);
    v_mac_f32           0x16    0x16    -       -       -       (m:F32 a:F32 b:F32)                  [on(ArchSet::BEFORE_GFX942)];
    v_dot2c_f32_bf16    -       0x16    -       -       -       (m:F32 a:PkBf16 b:PkBf16)            [on(ArchSet::GFX950_UP)];
    v_madmk_f32         0x17    0x17    -       -       -       (d:F32 a:F32 lit:F32 b:F32)          [on(ArchSet::BEFORE_GFX942)] [is(Flags::SHORT_ONLY)];
    v_fmamk_f32         -       0x17    0x2c    0x2c    0x2c    (d:F32 a:F32 lit:F32 b:F32)          [on(ArchSet::GFX942_UP)] [is(Flags::SHORT_ONLY)];
    v_madak_f32         0x18    0x18    -       -       -       (d:F32 a:F32 b:F32 lit:F32)          [on(ArchSet::BEFORE_GFX942)] [is(Flags::SHORT_ONLY)];
    v_fmaak_f32         -       0x18    0x2d    0x2d    0x2d    (d:F32 a:F32 b:F32 lit:F32)          [on(ArchSet::GFX942_UP)] [is(Flags::SHORT_ONLY)];
    v_add_co_u32        0x19    0x19    [0x30f] [0x300] [0x300] (d:U32 mask:Mask a:U32 b:U32);
    v_sub_co_u32        0x1a    0x1a    [0x310] [0x301] [0x301] (d:U32 mask:Mask a:U32 b:U32);
    v_subrev_co_u32     0x1b    0x1b    [0x319] [0x302] [0x302] (d:U32 mask:Mask a:U32 b:U32);
    v_addc_co_u32       0x1c    0x1c    0x28    0x20    0x20    (d:U32 mask:Mask a:U32 b:U32 c:Mask) [gfx10("v_add_co_ci_u32")];
    v_subb_co_u32       0x1d    0x1d    0x29    0x21    0x21    (d:U32 mask:Mask a:U32 b:U32 c:Mask) [gfx10("v_sub_co_ci_u32")];
    v_subbrev_co_u32    0x1e    0x1e    0x2a    0x22    0x22    (d:U32 mask:Mask a:U32 b:U32 c:Mask) [gfx10("v_subrev_co_ci_u32")];
    v_add_f16           0x1f    0x1f    0x32    0x32    0x32    (d:F16 a:F16 b:F16);
    v_sub_f16           0x20    0x20    0x33    0x33    0x33    (d:F16 a:F16 b:F16);
    v_subrev_f16        0x21    0x21    0x34    0x34    0x34    (d:F16 a:F16 b:F16);
    v_mul_f16           0x22    0x22    0x35    0x35    0x35    (d:F16 a:F16 b:F16);
    v_mac_f16           0x23    0x23    -       -       -       (m:F16 a:F16 b:F16);
    v_madmk_f16         0x24    0x24    -       -       -       (d:F16 a:F16 lit:F16 b:F16)          [is(Flags::SHORT_ONLY)];
    v_madak_f16         0x25    0x25    -       -       -       (d:F16 a:F16 b:F16 lit:F16)          [is(Flags::SHORT_ONLY)];
    v_add_u16           0x26    0x26    [0x303] [0x303] [0x303] (d:U16 a:U16 b:U16)                  [gfx10("v_add_nc_u16")];
    v_sub_u16           0x27    0x27    [0x304] [0x304] [0x304] (d:U16 a:U16 b:U16)                  [gfx10("v_sub_nc_u16")];
    v_subrev_u16        0x28    0x28    -       -       -       (d:U16 a:U16 b:U16);
    v_mul_lo_u16        0x29    0x29    [0x305] [0x305] [0x305] (d:U16 a:U16 b:U16);
    v_lshlrev_b16       0x2a    0x2a    [0x314] [0x338] [0x338] (d:U16 a:U16 b:U16);
    v_lshrrev_b16       0x2b    0x2b    [0x307] [0x339] [0x339] (d:U16 a:U16 b:U16);
    v_ashrrev_i16       0x2c    0x2c    [0x308] [0x33a] [0x33a] (d:I16 a:U16 b:I16);
    v_max_f16           0x2d    0x2d    0x39    0x39    0x31    (d:F16 a:F16 b:F16)                  [gfx12("v_max_num_f16")];
    v_min_f16           0x2e    0x2e    0x3a    0x3a    0x30    (d:F16 a:F16 b:F16)                  [gfx12("v_min_num_f16")];
    v_max_u16           0x2f    0x2f    [0x309] [0x309] [0x309] (d:U16 a:U16 b:U16);
    v_max_i16           0x30    0x30    [0x30a] [0x30a] [0x30a] (d:I16 a:I16 b:I16);
    v_min_u16           0x31    0x31    [0x30b] [0x30b] [0x30b] (d:U16 a:U16 b:U16);
    v_min_i16           0x32    0x32    [0x30c] [0x30c] [0x30c] (d:I16 a:I16 b:I16);
    v_ldexp_f16         0x33    0x33    0x3b    0x3b    0x3b    (d:F16 a:F16 b:I16);
    v_add_u32           0x34    0x34    0x25    0x25    0x25    (d:U32 a:U32 b:U32)                  [gfx10("v_add_nc_u32")];
    v_sub_u32           0x35    0x35    0x26    0x26    0x26    (d:U32 a:U32 b:U32)                  [gfx10("v_sub_nc_u32")];
    v_subrev_u32        0x36    0x36    0x27    0x27    0x27    (d:U32 a:U32 b:U32)                  [gfx10("v_subrev_nc_u32")];
    v_dot2c_f32_f16     0x37    0x37    0x02    0x02    -       (m:F32 a:PkF16 b:PkF16)              [on(ArchSet::GFX908_UP)] [gfx11("v_dot2acc_f32_f16")] [is(Flags::SHORT_SINCE_GFX10)];
    v_dot2c_i32_i16     0x38    0x38    -       -       -       (m:I32 a:PkI16 b:PkI16)              [on(ArchSet::GFX908_UP)];
    v_dot4c_i32_i8      0x39    0x39    0x0d    -       -       (m:I32 a:B32 b:B32)                  [on(ArchSet::GFX908_UP)] [is(Flags::SHORT_SINCE_GFX10)];
    v_dot8c_i32_i4      0x3a    0x3a    -       -       -       (m:I32 a:B32 b:B32)                  [on(ArchSet::GFX908_UP)];
    v_fmac_f32          0x3b    0x3b    0x2b    0x2b    0x2b    (m:F32 a:F32 b:F32)                  [on(ArchSet::GFX906_UP)];
    v_pk_fmac_f16       0x3c    0x3c    0x3c    0x3c    0x3c    (m:PkF16 a:PkF16 b:PkF16)            [on(ArchSet::GFX908_UP)] [is(Flags::SHORT_ONLY)];
    v_xnor_b32          0x3d    0x3d    0x1e    0x1e    0x1e    (d:U32 a:U32 b:U32)                  [on(ArchSet::GFX906_UP)];
    v_add_f64           [0x280] [0x280] [0x164] [0x327] 0x02    (d:F64 a:F64 b:F64);
    v_mul_f64           [0x281] [0x281] [0x165] [0x328] 0x06    (d:F64 a:F64 b:F64);
    v_min_f64           [0x282] [0x282] [0x166] [0x329] 0x0d    (d:F64 a:F64 b:F64)                  [gfx12("v_min_num_f64")];
    v_max_f64           [0x283] [0x283] [0x167] [0x32a] 0x0e    (d:F64 a:F64 b:F64)                  [gfx12("v_max_num_f64")];
    v_lshlrev_b64       [0x28f] [0x28f] [0x2ff] [0x33c] 0x1f    (d:U64 a:U32 b:U64);
    v_cvt_pkrtz_f16_f32 [0x296] [0x296] 0x2f    0x2f    0x2f    (d:PkF16 a:F32 b:F32)                [gfx11("v_cvt_pk_rtz_f16_f32")];
    v_mul_legacy_f32    0x04    [0x2a1] 0x07    0x07    0x07    (d:F32 a:F32 b:F32)                  [gfx11("v_mul_dx9_zero_f32")];

    // since gfx10
    v_fmac_legacy_f32   -       -       0x06    0x06    -       (m:F32 a:F32 b:F32)                  [gfx11("v_fmac_dx9_zero_f32")] [is(Flags::NO_DPP)];
    v_fmac_f16          -       -       0x36    0x36    0x36    (m:F16 a:F16 b:F16);
    v_fmamk_f16         -       -       0x37    0x37    0x37    (d:F16 a:F16 lit:F16 b:F16)          [is(Flags::SHORT_ONLY)];
    v_fmaak_f16         -       -       0x38    0x38    0x38    (d:F16 a:F16 b:F16 lit:F16)          [is(Flags::SHORT_ONLY)];
} } };
}
