//! SMEM: scalar memory.

macro_rules! smem {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Smem {
    // operation               gfx9  gfx90a gfx10 gfx11 gfx12 operands
    s_load_dword               0x00  0x00   0x00  0x00  0x00  (d:B32 base:B64 soff:U32)   [gfx11("s_load_b32")];
    s_load_dwordx2             0x01  0x01   0x01  0x01  0x01  (d:B64 base:B64 soff:U32)   [gfx11("s_load_b64")];
    s_load_dwordx4             0x02  0x02   0x02  0x02  0x02  (d:B128 base:B64 soff:U32)  [gfx11("s_load_b128")];
    s_load_dwordx8             0x03  0x03   0x03  0x03  0x03  (d:B256 base:B64 soff:U32)  [gfx11("s_load_b256")];
    s_load_dwordx16            0x04  0x04   0x04  0x04  0x04  (d:B512 base:B64 soff:U32)  [gfx11("s_load_b512")];
    s_scratch_load_dword       0x05  0x05   -     -     -     (d:B32 base:B64 soff:U32);
    s_scratch_load_dwordx2     0x06  0x06   -     -     -     (d:B64 base:B64 soff:U32);
    s_scratch_load_dwordx4     0x07  0x07   -     -     -     (d:B128 base:B64 soff:U32);
    s_buffer_load_dword        0x08  0x08   0x08  0x08  0x10  (d:B32 base:B128 soff:U32)  [gfx11("s_buffer_load_b32")];
    s_buffer_load_dwordx2      0x09  0x09   0x09  0x09  0x11  (d:B64 base:B128 soff:U32)  [gfx11("s_buffer_load_b64")];
    s_buffer_load_dwordx4      0x0a  0x0a   0x0a  0x0a  0x12  (d:B128 base:B128 soff:U32) [gfx11("s_buffer_load_b128")];
    s_buffer_load_dwordx8      0x0b  0x0b   0x0b  0x0b  0x13  (d:B256 base:B128 soff:U32) [gfx11("s_buffer_load_b256")];
    s_buffer_load_dwordx16     0x0c  0x0c   0x0c  0x0c  0x14  (d:B512 base:B128 soff:U32) [gfx11("s_buffer_load_b512")];
    s_store_dword              0x10  0x10   -     -     -     (v:B32 base:B64 soff:U32);
    s_store_dwordx2            0x11  0x11   -     -     -     (v:B64 base:B64 soff:U32);
    s_store_dwordx4            0x12  0x12   -     -     -     (v:B128 base:B64 soff:U32);
    s_scratch_store_dword      0x15  0x15   -     -     -     (v:B32 base:B64 soff:U32);
    s_scratch_store_dwordx2    0x16  0x16   -     -     -     (v:B64 base:B64 soff:U32);
    s_scratch_store_dwordx4    0x17  0x17   -     -     -     (v:B128 base:B64 soff:U32);
    s_buffer_store_dword       0x18  0x18   -     -     -     (v:B32 base:B128 soff:U32);
    s_buffer_store_dwordx2     0x19  0x19   -     -     -     (v:B64 base:B128 soff:U32);
    s_buffer_store_dwordx4     0x1a  0x1a   -     -     -     (v:B128 base:B128 soff:U32);
    s_dcache_inv               0x20  0x20   0x20  0x21  0x21  ();
    s_dcache_wb                0x21  0x21   -     -     -     ();
    s_dcache_inv_vol           0x22  0x22   -     -     -     ();
    s_dcache_wb_vol            0x23  0x23   -     -     -     ();
    s_memtime                  0x24  0x24   0x24  -     -     (d:U64);
    s_memrealtime              0x25  0x25   0x25  -     -     (d:U64);
    s_atc_probe                0x26  0x26   0x26  0x22  0x22  (dec base:B64 soff:U32);
    s_atc_probe_buffer         0x27  0x27   0x27  0x23  0x23  (dec base:B128 soff:U32);
    s_dcache_discard           0x28  0x28   -     -     -     (base:B64 soff:U32);
    s_dcache_discard_x2        0x29  0x29   -     -     -     (base:B64 soff:U32);
    s_buffer_atomic_swap       0x40  0x40   -     -     -     (m:B32 base:B128 soff:U32);
    s_buffer_atomic_cmpswap    0x41  0x41   -     -     -     (m:B64 base:B128 soff:U32);
    s_buffer_atomic_add        0x42  0x42   -     -     -     (m:B32 base:B128 soff:U32);
    s_buffer_atomic_sub        0x43  0x43   -     -     -     (m:B32 base:B128 soff:U32);
    s_buffer_atomic_smin       0x44  0x44   -     -     -     (m:B32 base:B128 soff:U32);
    s_buffer_atomic_umin       0x45  0x45   -     -     -     (m:B32 base:B128 soff:U32);
    s_buffer_atomic_smax       0x46  0x46   -     -     -     (m:B32 base:B128 soff:U32);
    s_buffer_atomic_umax       0x47  0x47   -     -     -     (m:B32 base:B128 soff:U32);
    s_buffer_atomic_and        0x48  0x48   -     -     -     (m:B32 base:B128 soff:U32);
    s_buffer_atomic_or         0x49  0x49   -     -     -     (m:B32 base:B128 soff:U32);
    s_buffer_atomic_xor        0x4a  0x4a   -     -     -     (m:B32 base:B128 soff:U32);
    s_buffer_atomic_inc        0x4b  0x4b   -     -     -     (m:B32 base:B128 soff:U32);
    s_buffer_atomic_dec        0x4c  0x4c   -     -     -     (m:B32 base:B128 soff:U32);
    s_buffer_atomic_swap_x2    0x60  0x60   -     -     -     (m:B64 base:B128 soff:U32);
    s_buffer_atomic_cmpswap_x2 0x61  0x61   -     -     -     (m:B128 base:B128 soff:U32);
    s_buffer_atomic_add_x2     0x62  0x62   -     -     -     (m:B64 base:B128 soff:U32);
    s_buffer_atomic_sub_x2     0x63  0x63   -     -     -     (m:B64 base:B128 soff:U32);
    s_buffer_atomic_smin_x2    0x64  0x64   -     -     -     (m:B64 base:B128 soff:U32);
    s_buffer_atomic_umin_x2    0x65  0x65   -     -     -     (m:B64 base:B128 soff:U32);
    s_buffer_atomic_smax_x2    0x66  0x66   -     -     -     (m:B64 base:B128 soff:U32);
    s_buffer_atomic_umax_x2    0x67  0x67   -     -     -     (m:B64 base:B128 soff:U32);
    s_buffer_atomic_and_x2     0x68  0x68   -     -     -     (m:B64 base:B128 soff:U32);
    s_buffer_atomic_or_x2      0x69  0x69   -     -     -     (m:B64 base:B128 soff:U32);
    s_buffer_atomic_xor_x2     0x6a  0x6a   -     -     -     (m:B64 base:B128 soff:U32);
    s_buffer_atomic_inc_x2     0x6b  0x6b   -     -     -     (m:B64 base:B128 soff:U32);
    s_buffer_atomic_dec_x2     0x6c  0x6c   -     -     -     (m:B64 base:B128 soff:U32);
    s_atomic_swap              0x80  0x80   -     -     -     (m:B32 base:B64 soff:U32);
    s_atomic_cmpswap           0x81  0x81   -     -     -     (m:B64 base:B64 soff:U32);
    s_atomic_add               0x82  0x82   -     -     -     (m:B32 base:B64 soff:U32);
    s_atomic_sub               0x83  0x83   -     -     -     (m:B32 base:B64 soff:U32);
    s_atomic_smin              0x84  0x84   -     -     -     (m:B32 base:B64 soff:U32);
    s_atomic_umin              0x85  0x85   -     -     -     (m:B32 base:B64 soff:U32);
    s_atomic_smax              0x86  0x86   -     -     -     (m:B32 base:B64 soff:U32);
    s_atomic_umax              0x87  0x87   -     -     -     (m:B32 base:B64 soff:U32);
    s_atomic_and               0x88  0x88   -     -     -     (m:B32 base:B64 soff:U32);
    s_atomic_or                0x89  0x89   -     -     -     (m:B32 base:B64 soff:U32);
    s_atomic_xor               0x8a  0x8a   -     -     -     (m:B32 base:B64 soff:U32);
    s_atomic_inc               0x8b  0x8b   -     -     -     (m:B32 base:B64 soff:U32);
    s_atomic_dec               0x8c  0x8c   -     -     -     (m:B32 base:B64 soff:U32);
    s_atomic_swap_x2           0xa0  0xa0   -     -     -     (m:B64 base:B64 soff:U32);
    s_atomic_cmpswap_x2        0xa1  0xa1   -     -     -     (m:B128 base:B64 soff:U32);
    s_atomic_add_x2            0xa2  0xa2   -     -     -     (m:B64 base:B64 soff:U32);
    s_atomic_sub_x2            0xa3  0xa3   -     -     -     (m:B64 base:B64 soff:U32);
    s_atomic_smin_x2           0xa4  0xa4   -     -     -     (m:B64 base:B64 soff:U32);
    s_atomic_umin_x2           0xa5  0xa5   -     -     -     (m:B64 base:B64 soff:U32);
    s_atomic_smax_x2           0xa6  0xa6   -     -     -     (m:B64 base:B64 soff:U32);
    s_atomic_umax_x2           0xa7  0xa7   -     -     -     (m:B64 base:B64 soff:U32);
    s_atomic_and_x2            0xa8  0xa8   -     -     -     (m:B64 base:B64 soff:U32);
    s_atomic_or_x2             0xa9  0xa9   -     -     -     (m:B64 base:B64 soff:U32);
    s_atomic_xor_x2            0xaa  0xaa   -     -     -     (m:B64 base:B64 soff:U32);
    s_atomic_inc_x2            0xab  0xab   -     -     -     (m:B64 base:B64 soff:U32);
    s_atomic_dec_x2            0xac  0xac   -     -     -     (m:B64 base:B64 soff:U32);

    // since gfx10
    s_gl1_inv                  -     -      0x1f  0x20  -     ();

    // since gfx12
    s_load_dwordx3             -     -      -     -     0x05  (d:B96 base:B64 soff:U32)   [gfx12("s_load_b96")];
    s_load_i8                  -     -      -     -     0x08  (d:B32 base:B64 soff:U32);
    s_load_u8                  -     -      -     -     0x09  (d:B32 base:B64 soff:U32);
    s_load_i16                 -     -      -     -     0x0a  (d:B32 base:B64 soff:U32);
    s_load_u16                 -     -      -     -     0x0b  (d:B32 base:B64 soff:U32);
    s_buffer_load_dwordx3      -     -      -     -     0x15  (d:B96 base:B128 soff:U32)  [gfx12("s_buffer_load_b96")];
    s_buffer_load_i8           -     -      -     -     0x18  (d:B32 base:B128 soff:U32);
    s_buffer_load_u8           -     -      -     -     0x19  (d:B32 base:B128 soff:U32);
    s_buffer_load_i16          -     -      -     -     0x1a  (d:B32 base:B128 soff:U32);
    s_buffer_load_u16          -     -      -     -     0x1b  (d:B32 base:B128 soff:U32);
    s_prefetch_inst            -     -      -     -     0x24  (base:B64 ioff soff:U32 dec);
    s_prefetch_inst_pc_rel     -     -      -     -     0x25  (ioff soff:U32 dec);
    s_prefetch_data            -     -      -     -     0x26  (base:B64 ioff soff:U32 dec);
    s_buffer_prefetch_data     -     -      -     -     0x27  (base:B128 ioff soff:U32 dec);
    s_prefetch_data_pc_rel     -     -      -     -     0x28  (ioff soff:U32 dec);
} } };
}
