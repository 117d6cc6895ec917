//! SCRATCH: private memory.

macro_rules! scratch {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Scratch {
    // operation               gfx9  gfx90a gfx10 gfx11 gfx12 operands
    scratch_load_ubyte         0x10  0x10   0x08  0x10  0x10  (d:U32 addr:U32 saddr:U32)   [gfx11("scratch_load_u8")];
    scratch_load_sbyte         0x11  0x11   0x09  0x11  0x11  (d:I32 addr:U32 saddr:U32)   [gfx11("scratch_load_i8")];
    scratch_load_ushort        0x12  0x12   0x0a  0x12  0x12  (d:U16 addr:U32 saddr:U32)   [gfx11("scratch_load_u16")];
    scratch_load_sshort        0x13  0x13   0x0b  0x13  0x13  (d:I16 addr:U32 saddr:U32)   [gfx11("scratch_load_i16")];
    scratch_load_dword         0x14  0x14   0x0c  0x14  0x14  (d:B32 addr:U32 saddr:U32)   [gfx11("scratch_load_b32")];
    scratch_load_dwordx2       0x15  0x15   0x0d  0x15  0x15  (d:B64 addr:U32 saddr:U32)   [gfx11("scratch_load_b64")];
    scratch_load_dwordx3       0x16  0x16   0x0f  0x16  0x16  (d:B96 addr:U32 saddr:U32)   [gfx11("scratch_load_b96")];
    scratch_load_dwordx4       0x17  0x17   0x0e  0x17  0x17  (d:B128 addr:U32 saddr:U32)  [gfx11("scratch_load_b128")];
    scratch_store_byte         0x18  0x18   0x18  0x18  0x18  (addr:U32 v:B32 saddr:U32)   [gfx11("scratch_store_b8")];
    scratch_store_byte_d16_hi  0x19  0x19   0x19  0x24  0x24  (addr:U32 v:B32 saddr:U32)   [gfx11("scratch_store_d16_hi_b8")];
    scratch_store_short        0x1a  0x1a   0x1a  0x19  0x19  (addr:U32 v:B16 saddr:U32)   [gfx11("scratch_store_b16")];
    scratch_store_short_d16_hi 0x1b  0x1b   0x1b  0x25  0x25  (addr:U32 v:B16 saddr:U32)   [gfx11("scratch_store_d16_hi_b16")];
    scratch_store_dword        0x1c  0x1c   0x1c  0x1a  0x1a  (addr:U32 v:B32 saddr:U32)   [gfx11("scratch_store_b32")];
    scratch_store_dwordx2      0x1d  0x1d   0x1d  0x1b  0x1b  (addr:U32 v:B64 saddr:U32)   [gfx11("scratch_store_b64")];
    scratch_store_dwordx3      0x1e  0x1e   0x1f  0x1c  0x1c  (addr:U32 v:B96 saddr:U32)   [gfx11("scratch_store_b96")];
    scratch_store_dwordx4      0x1f  0x1f   0x1e  0x1d  0x1d  (addr:U32 v:B128 saddr:U32)  [gfx11("scratch_store_b128")];
    scratch_load_ubyte_d16     0x20  0x20   0x20  0x1e  0x1e  (d:U32 addr:U32 saddr:U32)   [gfx11("scratch_load_d16_u8")];
    scratch_load_ubyte_d16_hi  0x21  0x21   0x21  0x21  0x21  (d:U32 addr:U32 saddr:U32)   [gfx11("scratch_load_d16_hi_u8")];
    scratch_load_sbyte_d16     0x22  0x22   0x22  0x1f  0x1f  (d:I32 addr:U32 saddr:U32)   [gfx11("scratch_load_d16_i8")];
    scratch_load_sbyte_d16_hi  0x23  0x23   0x23  0x22  0x22  (d:I32 addr:U32 saddr:U32)   [gfx11("scratch_load_d16_hi_i8")];
    scratch_load_short_d16     0x24  0x24   0x24  0x20  0x20  (d:B16 addr:U32 saddr:U32)   [gfx11("scratch_load_d16_b16")];
    scratch_load_short_d16_hi  0x25  0x25   0x25  0x23  0x23  (d:B16 addr:U32 saddr:U32)   [gfx11("scratch_load_d16_hi_b16")];
    scratch_load_lds_ubyte     -     0x26   -     -     -     (addr:U32 saddr:U32)         [on(ArchSet::GFX942_UP)];
    scratch_load_lds_sbyte     -     0x27   -     -     -     (addr:U32 saddr:U32)         [on(ArchSet::GFX942_UP)];
    scratch_load_lds_ushort    -     0x28   -     -     -     (addr:U32 saddr:U32)         [on(ArchSet::GFX942_UP)];
    scratch_load_lds_sshort    -     0x29   -     -     -     (addr:U32 saddr:U32)         [on(ArchSet::GFX942_UP)];
    scratch_load_lds_dword     -     0x2a   -     -     -     (addr:U32 saddr:U32)         [on(ArchSet::GFX942_UP)];

    // since gfx12
    scratch_load_block         -     -      -     -     0x53  (d:B1024 addr:U32 saddr:U32);
    scratch_store_block        -     -      -     -     0x54  (addr:U32 v:B1024 saddr:U32);
} } };
}
