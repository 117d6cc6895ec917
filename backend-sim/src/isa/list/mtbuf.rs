//! MTBUF: memory by buffer descriptor, with the format in the instruction.

macro_rules! mtbuf {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Mtbuf {
    // operation                  gfx9  gfx90a gfx10 gfx11 gfx12 operands
    tbuffer_load_format_x         0x00  0x00   0x00  0x00  0x80  (d:B32 addr:U32 rsrc:B128 soff:U32);
    tbuffer_load_format_xy        0x01  0x01   0x01  0x01  0x81  (d:B64 addr:U32 rsrc:B128 soff:U32);
    tbuffer_load_format_xyz       0x02  0x02   0x02  0x02  0x82  (d:B96 addr:U32 rsrc:B128 soff:U32);
    tbuffer_load_format_xyzw      0x03  0x03   0x03  0x03  0x83  (d:B128 addr:U32 rsrc:B128 soff:U32);
    tbuffer_store_format_x        0x04  0x04   0x04  0x04  0x84  (v:B32 addr:U32 rsrc:B128 soff:U32);
    tbuffer_store_format_xy       0x05  0x05   0x05  0x05  0x85  (v:B64 addr:U32 rsrc:B128 soff:U32);
    tbuffer_store_format_xyz      0x06  0x06   0x06  0x06  0x86  (v:B96 addr:U32 rsrc:B128 soff:U32);
    tbuffer_store_format_xyzw     0x07  0x07   0x07  0x07  0x87  (v:B128 addr:U32 rsrc:B128 soff:U32);
    tbuffer_load_format_d16_x     0x08  0x08   0x08  0x08  0x88  (d:B32 addr:U32 rsrc:B128 soff:U32)  [gfx11("tbuffer_load_d16_format_x")];
    tbuffer_load_format_d16_xy    0x09  0x09   0x09  0x09  0x89  (d:B32 addr:U32 rsrc:B128 soff:U32)  [gfx11("tbuffer_load_d16_format_xy")];
    tbuffer_load_format_d16_xyz   0x0a  0x0a   0x0a  0x0a  0x8a  (d:B64 addr:U32 rsrc:B128 soff:U32)  [gfx11("tbuffer_load_d16_format_xyz")];
    tbuffer_load_format_d16_xyzw  0x0b  0x0b   0x0b  0x0b  0x8b  (d:B64 addr:U32 rsrc:B128 soff:U32)  [gfx11("tbuffer_load_d16_format_xyzw")];
    tbuffer_store_format_d16_x    0x0c  0x0c   0x0c  0x0c  0x8c  (v:B32 addr:U32 rsrc:B128 soff:U32)  [gfx11("tbuffer_store_d16_format_x")];
    tbuffer_store_format_d16_xy   0x0d  0x0d   0x0d  0x0d  0x8d  (v:B32 addr:U32 rsrc:B128 soff:U32)  [gfx11("tbuffer_store_d16_format_xy")];
    tbuffer_store_format_d16_xyz  0x0e  0x0e   0x0e  0x0e  0x8e  (v:B64 addr:U32 rsrc:B128 soff:U32)  [gfx11("tbuffer_store_d16_format_xyz")];
    tbuffer_store_format_d16_xyzw 0x0f  0x0f   0x0f  0x0f  0x8f  (v:B64 addr:U32 rsrc:B128 soff:U32)  [gfx11("tbuffer_store_d16_format_xyzw")];
} } };
}
