//! GLOBAL: memory by 64-bit address, or SGPR base and VGPR offset.

macro_rules! global {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Global {
    // operation                  gfx9  gfx90a gfx10 gfx11 gfx12 operands
    global_load_ubyte             0x10  0x10   0x08  0x10  0x10  (d:U32 addr:U64 saddr:U64)               [gfx11("global_load_u8")];
    global_load_sbyte             0x11  0x11   0x09  0x11  0x11  (d:I32 addr:U64 saddr:U64)               [gfx11("global_load_i8")];
    global_load_ushort            0x12  0x12   0x0a  0x12  0x12  (d:U16 addr:U64 saddr:U64)               [gfx11("global_load_u16")];
    global_load_sshort            0x13  0x13   0x0b  0x13  0x13  (d:I16 addr:U64 saddr:U64)               [gfx11("global_load_i16")];
    global_load_dword             0x14  0x14   0x0c  0x14  0x14  (d:B32 addr:U64 saddr:U64)               [gfx11("global_load_b32")];
    global_load_dwordx2           0x15  0x15   0x0d  0x15  0x15  (d:B64 addr:U64 saddr:U64)               [gfx11("global_load_b64")];
    global_load_dwordx3           0x16  0x16   0x0f  0x16  0x16  (d:B96 addr:U64 saddr:U64)               [gfx11("global_load_b96")];
    global_load_dwordx4           0x17  0x17   0x0e  0x17  0x17  (d:B128 addr:U64 saddr:U64)              [gfx11("global_load_b128")];
    global_store_byte             0x18  0x18   0x18  0x18  0x18  (addr:U64 v:B32 saddr:U64)               [gfx11("global_store_b8")];
    global_store_byte_d16_hi      0x19  0x19   0x19  0x24  0x24  (addr:U64 v:B32 saddr:U64)               [gfx11("global_store_d16_hi_b8")];
    global_store_short            0x1a  0x1a   0x1a  0x19  0x19  (addr:U64 v:B16 saddr:U64)               [gfx11("global_store_b16")];
    global_store_short_d16_hi     0x1b  0x1b   0x1b  0x25  0x25  (addr:U64 v:B16 saddr:U64)               [gfx11("global_store_d16_hi_b16")];
    global_store_dword            0x1c  0x1c   0x1c  0x1a  0x1a  (addr:U64 v:B32 saddr:U64)               [gfx11("global_store_b32")];
    global_store_dwordx2          0x1d  0x1d   0x1d  0x1b  0x1b  (addr:U64 v:B64 saddr:U64)               [gfx11("global_store_b64")];
    global_store_dwordx3          0x1e  0x1e   0x1f  0x1c  0x1c  (addr:U64 v:B96 saddr:U64)               [gfx11("global_store_b96")];
    global_store_dwordx4          0x1f  0x1f   0x1e  0x1d  0x1d  (addr:U64 v:B128 saddr:U64)              [gfx11("global_store_b128")];
    global_load_ubyte_d16         0x20  0x20   0x20  0x1e  0x1e  (d:U32 addr:U64 saddr:U64)               [gfx11("global_load_d16_u8")];
    global_load_ubyte_d16_hi      0x21  0x21   0x21  0x21  0x21  (d:U32 addr:U64 saddr:U64)               [gfx11("global_load_d16_hi_u8")];
    global_load_sbyte_d16         0x22  0x22   0x22  0x1f  0x1f  (d:I32 addr:U64 saddr:U64)               [gfx11("global_load_d16_i8")];
    global_load_sbyte_d16_hi      0x23  0x23   0x23  0x22  0x22  (d:I32 addr:U64 saddr:U64)               [gfx11("global_load_d16_hi_i8")];
    global_load_short_d16         0x24  0x24   0x24  0x20  0x20  (d:B16 addr:U64 saddr:U64)               [gfx11("global_load_d16_b16")];
    global_load_short_d16_hi      0x25  0x25   0x25  0x23  0x23  (d:B16 addr:U64 saddr:U64)               [gfx11("global_load_d16_hi_b16")];
    global_load_lds_ubyte         -     0x26   -     -     -     (addr:U64 saddr:U64)                     [on(ArchSet::GFX942_UP)];
    global_load_lds_sbyte         -     0x27   -     -     -     (addr:U64 saddr:U64)                     [on(ArchSet::GFX942_UP)];
    global_load_lds_ushort        -     0x28   -     -     -     (addr:U64 saddr:U64)                     [on(ArchSet::GFX942_UP)];
    global_load_lds_sshort        -     0x29   -     -     -     (addr:U64 saddr:U64)                     [on(ArchSet::GFX942_UP)];
    global_load_lds_dword         -     0x2a   -     -     -     (addr:U64 saddr:U64)                     [on(ArchSet::GFX942_UP)];
    global_load_lds_dwordx4       -     0x7d   -     -     -     (addr:U64 saddr:U64)                     [on(ArchSet::GFX950_UP)];
    global_load_lds_dwordx3       -     0x7e   -     -     -     (addr:U64 saddr:U64)                     [on(ArchSet::GFX950_UP)];
    global_atomic_swap            0x40  0x40   0x30  0x33  0x33  (ret:B32 addr:U64 v:B32 saddr:U64)       [gfx11("global_atomic_swap_b32")];
    global_atomic_cmpswap         0x41  0x41   0x31  0x34  0x34  (ret:B32 addr:U64 v:B64 saddr:U64)       [gfx11("global_atomic_cmpswap_b32")];
    global_atomic_add             0x42  0x42   0x32  0x35  0x35  (ret:U32 addr:U64 v:U32 saddr:U64)       [gfx11("global_atomic_add_u32")];
    global_atomic_sub             0x43  0x43   0x33  0x36  0x36  (ret:U32 addr:U64 v:U32 saddr:U64)       [gfx11("global_atomic_sub_u32")];
    global_atomic_smin            0x44  0x44   0x35  0x38  0x38  (ret:I32 addr:U64 v:I32 saddr:U64)       [gfx11("global_atomic_min_i32")];
    global_atomic_umin            0x45  0x45   0x36  0x39  0x39  (ret:U32 addr:U64 v:U32 saddr:U64)       [gfx11("global_atomic_min_u32")];
    global_atomic_smax            0x46  0x46   0x37  0x3a  0x3a  (ret:I32 addr:U64 v:I32 saddr:U64)       [gfx11("global_atomic_max_i32")];
    global_atomic_umax            0x47  0x47   0x38  0x3b  0x3b  (ret:U32 addr:U64 v:U32 saddr:U64)       [gfx11("global_atomic_max_u32")];
    global_atomic_and             0x48  0x48   0x39  0x3c  0x3c  (ret:B32 addr:U64 v:B32 saddr:U64)       [gfx11("global_atomic_and_b32")];
    global_atomic_or              0x49  0x49   0x3a  0x3d  0x3d  (ret:B32 addr:U64 v:B32 saddr:U64)       [gfx11("global_atomic_or_b32")];
    global_atomic_xor             0x4a  0x4a   0x3b  0x3e  0x3e  (ret:B32 addr:U64 v:B32 saddr:U64)       [gfx11("global_atomic_xor_b32")];
    global_atomic_inc             0x4b  0x4b   0x3c  0x3f  0x3f  (ret:U32 addr:U64 v:U32 saddr:U64)       [gfx11("global_atomic_inc_u32")];
    global_atomic_dec             0x4c  0x4c   0x3d  0x40  0x40  (ret:U32 addr:U64 v:U32 saddr:U64)       [gfx11("global_atomic_dec_u32")];
    global_atomic_add_f32         0x4d  0x4d   -     0x56  0x56  (ret:F32 addr:U64 v:F32 saddr:U64)       [on(ArchSet::GFX908_UP)];
    global_atomic_pk_add_f16      0x4e  0x4e   -     -     0x59  (ret:PkF16 addr:U64 v:PkF16 saddr:U64)   [on(ArchSet::GFX908_UP)];
    global_atomic_add_f64         -     0x4f   -     -     -     (ret:F64 addr:U64 v:F64 saddr:U64);
    global_atomic_min_f64         -     0x50   -     -     -     (ret:F64 addr:U64 v:F64 saddr:U64);
    global_atomic_max_f64         -     0x51   -     -     -     (ret:F64 addr:U64 v:F64 saddr:U64);
    global_atomic_pk_add_bf16     -     0x52   -     -     0x5a  (ret:PkBf16 addr:U64 v:PkBf16 saddr:U64) [on(ArchSet::GFX942_UP)];
    global_atomic_swap_x2         0x60  0x60   0x50  0x41  0x41  (ret:B64 addr:U64 v:B64 saddr:U64)       [gfx11("global_atomic_swap_b64")];
    global_atomic_cmpswap_x2      0x61  0x61   0x51  0x42  0x42  (ret:B64 addr:U64 v:B128 saddr:U64)      [gfx11("global_atomic_cmpswap_b64")];
    global_atomic_add_x2          0x62  0x62   0x52  0x43  0x43  (ret:U64 addr:U64 v:U64 saddr:U64)       [gfx11("global_atomic_add_u64")];
    global_atomic_sub_x2          0x63  0x63   0x53  0x44  0x44  (ret:U64 addr:U64 v:U64 saddr:U64)       [gfx11("global_atomic_sub_u64")];
    global_atomic_smin_x2         0x64  0x64   0x55  0x45  0x45  (ret:I64 addr:U64 v:I64 saddr:U64)       [gfx11("global_atomic_min_i64")];
    global_atomic_umin_x2         0x65  0x65   0x56  0x46  0x46  (ret:U64 addr:U64 v:U64 saddr:U64)       [gfx11("global_atomic_min_u64")];
    global_atomic_smax_x2         0x66  0x66   0x57  0x47  0x47  (ret:I64 addr:U64 v:I64 saddr:U64)       [gfx11("global_atomic_max_i64")];
    global_atomic_umax_x2         0x67  0x67   0x58  0x48  0x48  (ret:U64 addr:U64 v:U64 saddr:U64)       [gfx11("global_atomic_max_u64")];
    global_atomic_and_x2          0x68  0x68   0x59  0x49  0x49  (ret:B64 addr:U64 v:B64 saddr:U64)       [gfx11("global_atomic_and_b64")];
    global_atomic_or_x2           0x69  0x69   0x5a  0x4a  0x4a  (ret:B64 addr:U64 v:B64 saddr:U64)       [gfx11("global_atomic_or_b64")];
    global_atomic_xor_x2          0x6a  0x6a   0x5b  0x4b  0x4b  (ret:B64 addr:U64 v:B64 saddr:U64)       [gfx11("global_atomic_xor_b64")];
    global_atomic_inc_x2          0x6b  0x6b   0x5c  0x4c  0x4c  (ret:U64 addr:U64 v:U64 saddr:U64)       [gfx11("global_atomic_inc_u64")];
    global_atomic_dec_x2          0x6c  0x6c   0x5d  0x4d  0x4d  (ret:U64 addr:U64 v:U64 saddr:U64)       [gfx11("global_atomic_dec_u64")];

    // since gfx10
    global_load_dword_addtid      -     -      0x16  0x28  0x28  (d:B32 saddr:U64)                        [gfx11("global_load_addtid_b32")];
    global_store_dword_addtid     -     -      0x17  0x29  0x29  (v:B32 saddr:U64)                        [gfx11("global_store_addtid_b32")];
    global_atomic_csub            -     -      0x34  0x37  -     (ret:U32 addr:U64 v:U32 saddr:U64)       [gfx11("global_atomic_csub_u32")];
    global_atomic_fcmpswap        -     -      0x3e  0x50  -     (ret:F32 addr:U64 v:B64 saddr:U64)       [gfx11("global_atomic_cmpswap_f32")];
    global_atomic_fmin            -     -      0x3f  0x51  0x51  (ret:F32 addr:U64 v:F32 saddr:U64)       [gfx11("global_atomic_min_f32")] [gfx12("global_atomic_min_num_f32")];
    global_atomic_fmax            -     -      0x40  0x52  0x52  (ret:F32 addr:U64 v:F32 saddr:U64)       [gfx11("global_atomic_max_f32")] [gfx12("global_atomic_max_num_f32")];
    global_atomic_fcmpswap_x2     -     -      0x5e  -     -     (ret:B64 addr:U64 v:B128 saddr:U64);
    global_atomic_fmin_x2         -     -      0x5f  -     -     (ret:B64 addr:U64 v:B64 saddr:U64);
    global_atomic_fmax_x2         -     -      0x60  -     -     (ret:B64 addr:U64 v:B64 saddr:U64);

    // since gfx12
    global_inv                    -     -      -     -     0x2b  ();
    global_wb                     -     -      -     -     0x2c  ();
    global_atomic_sub_clamp_u32   -     -      -     -     0x37  (ret:U32 addr:U64 v:U32 saddr:U64);
    global_wbinv                  -     -      -     -     0x4f  ();
    global_load_tr_b128           -     -      -     -     0x57  (d:W128 addr:U64 saddr:U64);
    global_load_tr_b64            -     -      -     -     0x58  (d:W64 addr:U64 saddr:U64);
    global_atomic_cond_sub_u32    -     -      -     -     0x50  (ret:U32 addr:U64 v:U32 saddr:U64);
    global_load_block             -     -      -     -     0x53  (d:B1024 addr:U64 saddr:U64);
    global_store_block            -     -      -     -     0x54  (addr:U64 v:B1024 saddr:U64);
    global_atomic_ordered_add_b64 -     -      -     -     0x73  (ret:B64 addr:U64 v:B64 saddr:U64);
} } };
}
