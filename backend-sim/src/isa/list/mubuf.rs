//! MUBUF: memory by buffer descriptor.

macro_rules! mubuf {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Mubuf {
    // operation                 gfx9  gfx90a gfx10 gfx11 gfx12 operands
    buffer_load_format_x         0x00  0x00   0x00  0x00  0x00  (d:B32 addr:U32 rsrc:B128 soff:U32);
    buffer_load_format_xy        0x01  0x01   0x01  0x01  0x01  (d:B64 addr:U32 rsrc:B128 soff:U32);
    buffer_load_format_xyz       0x02  0x02   0x02  0x02  0x02  (d:B96 addr:U32 rsrc:B128 soff:U32);
    buffer_load_format_xyzw      0x03  0x03   0x03  0x03  0x03  (d:B128 addr:U32 rsrc:B128 soff:U32);
    buffer_store_format_x        0x04  0x04   0x04  0x04  0x04  (v:B32 addr:U32 rsrc:B128 soff:U32);
    buffer_store_format_xy       0x05  0x05   0x05  0x05  0x05  (v:B64 addr:U32 rsrc:B128 soff:U32);
    buffer_store_format_xyz      0x06  0x06   0x06  0x06  0x06  (v:B96 addr:U32 rsrc:B128 soff:U32);
    buffer_store_format_xyzw     0x07  0x07   0x07  0x07  0x07  (v:B128 addr:U32 rsrc:B128 soff:U32);
    buffer_load_format_d16_x     0x08  0x08   0x80  0x08  0x08  (d:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_d16_format_x")];
    buffer_load_format_d16_xy    0x09  0x09   0x81  0x09  0x09  (d:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_d16_format_xy")];
    buffer_load_format_d16_xyz   0x0a  0x0a   0x82  0x0a  0x0a  (d:B64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_d16_format_xyz")];
    buffer_load_format_d16_xyzw  0x0b  0x0b   0x83  0x0b  0x0b  (d:B64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_d16_format_xyzw")];
    buffer_store_format_d16_x    0x0c  0x0c   0x84  0x0c  0x0c  (v:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_store_d16_format_x")];
    buffer_store_format_d16_xy   0x0d  0x0d   0x85  0x0d  0x0d  (v:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_store_d16_format_xy")];
    buffer_store_format_d16_xyz  0x0e  0x0e   0x86  0x0e  0x0e  (v:B64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_store_d16_format_xyz")];
    buffer_store_format_d16_xyzw 0x0f  0x0f   0x87  0x0f  0x0f  (v:B64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_store_d16_format_xyzw")];
    buffer_load_ubyte            0x10  0x10   0x08  0x10  0x10  (d:U32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_u8")];
    buffer_load_sbyte            0x11  0x11   0x09  0x11  0x11  (d:I32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_i8")];
    buffer_load_ushort           0x12  0x12   0x0a  0x12  0x12  (d:U16 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_u16")];
    buffer_load_sshort           0x13  0x13   0x0b  0x13  0x13  (d:I16 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_i16")];
    buffer_load_dword            0x14  0x14   0x0c  0x14  0x14  (d:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_b32")];
    buffer_load_dwordx2          0x15  0x15   0x0d  0x15  0x15  (d:B64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_b64")];
    buffer_load_dwordx3          0x16  0x16   0x0f  0x16  0x16  (d:B96 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_b96")];
    buffer_load_dwordx4          0x17  0x17   0x0e  0x17  0x17  (d:B128 addr:U32 rsrc:B128 soff:U32)   [gfx11("buffer_load_b128")];
    buffer_store_byte            0x18  0x18   0x18  0x18  0x18  (v:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_store_b8")];
    buffer_store_byte_d16_hi     0x19  0x19   0x19  0x24  0x24  (v:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_store_d16_hi_b8")];
    buffer_store_short           0x1a  0x1a   0x1a  0x19  0x19  (v:B16 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_store_b16")];
    buffer_store_short_d16_hi    0x1b  0x1b   0x1b  0x25  0x25  (v:B16 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_store_d16_hi_b16")];
    buffer_store_dword           0x1c  0x1c   0x1c  0x1a  0x1a  (v:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_store_b32")];
    buffer_store_dwordx2         0x1d  0x1d   0x1d  0x1b  0x1b  (v:B64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_store_b64")];
    buffer_store_dwordx3         0x1e  0x1e   0x1f  0x1c  0x1c  (v:B96 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_store_b96")];
    buffer_store_dwordx4         0x1f  0x1f   0x1e  0x1d  0x1d  (v:B128 addr:U32 rsrc:B128 soff:U32)   [gfx11("buffer_store_b128")];
    buffer_load_ubyte_d16        0x20  0x20   0x20  0x1e  0x1e  (d:U32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_d16_u8")];
    buffer_load_ubyte_d16_hi     0x21  0x21   0x21  0x21  0x21  (d:U32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_d16_hi_u8")];
    buffer_load_sbyte_d16        0x22  0x22   0x22  0x1f  0x1f  (d:I32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_d16_i8")];
    buffer_load_sbyte_d16_hi     0x23  0x23   0x23  0x22  0x22  (d:I32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_d16_hi_i8")];
    buffer_load_short_d16        0x24  0x24   0x24  0x20  0x20  (d:B16 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_d16_b16")];
    buffer_load_short_d16_hi     0x25  0x25   0x25  0x23  0x23  (d:B16 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_d16_hi_b16")];
    buffer_load_format_d16_hi_x  0x26  0x26   0x26  0x26  0x26  (d:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_load_d16_hi_format_x")];
    buffer_store_format_d16_hi_x 0x27  0x27   0x27  0x27  0x27  (v:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_store_d16_hi_format_x")];
    buffer_wbl2                  -     0x28   -     -     -     ();
    buffer_invl2                 -     0x29   -     -     -     ()                                     [on(ArchSet::GFX90A)];
    buffer_inv                   -     0x29   -     -     -     ()                                     [on(ArchSet::GFX942_UP)];
    buffer_store_lds_dword       0x3d  0x3d   -     -     -     (rsrc:B128 soff:U32)                   [on(ArchSet::BEFORE_GFX942)];
    buffer_wbinvl1               0x3e  0x3e   -     -     -     ();
    buffer_wbinvl1_vol           0x3f  0x3f   -     -     -     ();
    buffer_atomic_swap           0x40  0x40   0x30  0x33  0x33  (m:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_swap_b32")];
    buffer_atomic_cmpswap        0x41  0x41   0x31  0x34  0x34  (m:B64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_cmpswap_b32")];
    buffer_atomic_add            0x42  0x42   0x32  0x35  0x35  (m:U32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_add_u32")];
    buffer_atomic_sub            0x43  0x43   0x33  0x36  0x36  (m:U32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_sub_u32")];
    buffer_atomic_smin           0x44  0x44   0x35  0x38  0x38  (m:I32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_min_i32")];
    buffer_atomic_umin           0x45  0x45   0x36  0x39  0x39  (m:U32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_min_u32")];
    buffer_atomic_smax           0x46  0x46   0x37  0x3a  0x3a  (m:I32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_max_i32")];
    buffer_atomic_umax           0x47  0x47   0x38  0x3b  0x3b  (m:U32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_max_u32")];
    buffer_atomic_and            0x48  0x48   0x39  0x3c  0x3c  (m:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_and_b32")];
    buffer_atomic_or             0x49  0x49   0x3a  0x3d  0x3d  (m:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_or_b32")];
    buffer_atomic_xor            0x4a  0x4a   0x3b  0x3e  0x3e  (m:B32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_xor_b32")];
    buffer_atomic_inc            0x4b  0x4b   0x3c  0x3f  0x3f  (m:U32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_inc_u32")];
    buffer_atomic_dec            0x4c  0x4c   0x3d  0x40  0x40  (m:U32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_dec_u32")];
    buffer_atomic_add_f32        0x4d  0x4d   -     0x56  0x56  (m:F32 addr:U32 rsrc:B128 soff:U32)    [on(ArchSet::GFX908_UP)];
    buffer_atomic_pk_add_f16     0x4e  0x4e   -     -     0x59  (m:PkF16 addr:U32 rsrc:B128 soff:U32)  [on(ArchSet::GFX908_UP)];
    buffer_atomic_add_f64        -     0x4f   -     -     -     (m:F64 addr:U32 rsrc:B128 soff:U32);
    buffer_atomic_min_f64        -     0x50   -     -     -     (m:F64 addr:U32 rsrc:B128 soff:U32);
    buffer_atomic_max_f64        -     0x51   -     -     -     (m:F64 addr:U32 rsrc:B128 soff:U32);
    buffer_atomic_swap_x2        0x60  0x60   0x50  0x41  0x41  (m:B64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_swap_b64")];
    buffer_atomic_cmpswap_x2     0x61  0x61   0x51  0x42  0x42  (m:B128 addr:U32 rsrc:B128 soff:U32)   [gfx11("buffer_atomic_cmpswap_b64")];
    buffer_atomic_add_x2         0x62  0x62   0x52  0x43  0x43  (m:U64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_add_u64")];
    buffer_atomic_sub_x2         0x63  0x63   0x53  0x44  0x44  (m:U64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_sub_u64")];
    buffer_atomic_smin_x2        0x64  0x64   0x55  0x45  0x45  (m:I64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_min_i64")];
    buffer_atomic_umin_x2        0x65  0x65   0x56  0x46  0x46  (m:U64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_min_u64")];
    buffer_atomic_smax_x2        0x66  0x66   0x57  0x47  0x47  (m:I64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_max_i64")];
    buffer_atomic_umax_x2        0x67  0x67   0x58  0x48  0x48  (m:U64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_max_u64")];
    buffer_atomic_and_x2         0x68  0x68   0x59  0x49  0x49  (m:B64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_and_b64")];
    buffer_atomic_or_x2          0x69  0x69   0x5a  0x4a  0x4a  (m:B64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_or_b64")];
    buffer_atomic_xor_x2         0x6a  0x6a   0x5b  0x4b  0x4b  (m:B64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_xor_b64")];
    buffer_atomic_inc_x2         0x6b  0x6b   0x5c  0x4c  0x4c  (m:U64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_inc_u64")];
    buffer_atomic_dec_x2         0x6c  0x6c   0x5d  0x4d  0x4d  (m:U64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_dec_u64")];

    // since gfx10
    buffer_gl0_inv               -     -      0x71  0x2b  -     ();
    buffer_gl1_inv               -     -      0x72  0x2c  -     ();

    // since gfx11
    buffer_load_lds_ubyte        -     -      -     0x2d  -     (addr:U32 rsrc:B128 soff:U32)          [gfx11("buffer_load_lds_u8")];
    buffer_load_lds_sbyte        -     -      -     0x2e  -     (addr:U32 rsrc:B128 soff:U32)          [gfx11("buffer_load_lds_i8")];
    buffer_load_lds_ushort       -     -      -     0x2f  -     (addr:U32 rsrc:B128 soff:U32)          [gfx11("buffer_load_lds_u16")];
    buffer_load_lds_sshort       -     -      -     0x30  -     (addr:U32 rsrc:B128 soff:U32)          [gfx11("buffer_load_lds_i16")];
    buffer_load_lds_dword        -     -      -     0x31  -     (addr:U32 rsrc:B128 soff:U32)          [gfx11("buffer_load_lds_b32")];
    buffer_load_lds_format_x     -     -      -     0x32  -     (addr:U32 rsrc:B128 soff:U32);

    // since gfx10
    buffer_atomic_csub           -     -      0x34  0x37  -     (m:U32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_csub_u32")];
    buffer_atomic_fcmpswap       -     -      0x3e  0x50  -     (m:B64 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_cmpswap_f32")];
    buffer_atomic_fmin           -     -      0x3f  0x51  0x51  (m:F32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_min_f32")] [gfx12("buffer_atomic_min_num_f32")];
    buffer_atomic_fmax           -     -      0x40  0x52  0x52  (m:F32 addr:U32 rsrc:B128 soff:U32)    [gfx11("buffer_atomic_max_f32")] [gfx12("buffer_atomic_max_num_f32")];
    buffer_atomic_fcmpswap_x2    -     -      0x5e  -     -     (m:B128 addr:U32 rsrc:B128 soff:U32);
    buffer_atomic_fmin_x2        -     -      0x5f  -     -     (m:B64 addr:U32 rsrc:B128 soff:U32);
    buffer_atomic_fmax_x2        -     -      0x60  -     -     (m:B64 addr:U32 rsrc:B128 soff:U32);

    // since gfx12
    buffer_atomic_sub_clamp_u32  -     -      -     -     0x37  (m:U32 addr:U32 rsrc:B128 soff:U32);
    buffer_atomic_cond_sub_u32   -     -      -     -     0x50  (m:U32 addr:U32 rsrc:B128 soff:U32);
    buffer_atomic_pk_add_bf16    -     0x52   -     -     0x5a  (m:PkBf16 addr:U32 rsrc:B128 soff:U32) [on(ArchSet::GFX950_UP)];
} } };
}
