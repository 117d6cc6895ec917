//! MIMG, VIMAGE on gfx12: images by descriptor, and the tests of rays against boxes and triangles. What takes a sampler
//! has a list of its own.

macro_rules! mimg {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Mimg {
    // operation              gfx9  gfx90a gfx10 gfx11 gfx12 operands
    image_load                0x00  0x00   0x00  0x00  0x00  (d:B128 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_load_mip            0x01  0x01   0x01  0x01  0x01  (d:B128 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_load_pck            0x02  0x02   0x02  0x02  0x02  (d:B128 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_load_pck_sgn        0x03  0x03   0x03  0x03  0x03  (d:B128 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_load_mip_pck        0x04  0x04   0x04  0x04  0x04  (d:B128 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_load_mip_pck_sgn    0x05  0x05   0x05  0x05  0x05  (d:B128 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_store               0x08  0x08   0x08  0x06  0x06  (v:B128 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_store_mip           0x09  0x09   0x09  0x07  0x07  (v:B128 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_store_pck           0x0a  0x0a   0x0a  0x08  0x08  (v:B128 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_store_mip_pck       0x0b  0x0b   0x0b  0x09  0x09  (v:B128 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_get_resinfo         0x0e  0x0e   0x0e  0x17  0x17  (d:B128 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_atomic_swap         0x10  0x10   0x0f  0x0a  0x0a  (m:B32 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_atomic_cmpswap      0x11  0x11   0x10  0x0b  0x0b  (m:B64 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_atomic_add          0x12  0x12   0x11  0x0c  0x0c  (m:U32 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)] [gfx12("image_atomic_add_uint")];
    image_atomic_sub          0x13  0x13   0x12  0x0d  0x0d  (m:U32 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)] [gfx12("image_atomic_sub_uint")];
    image_atomic_smin         0x14  0x14   0x14  0x0e  0x0e  (m:I32 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)] [gfx12("image_atomic_min_int")];
    image_atomic_umin         0x15  0x15   0x15  0x0f  0x0f  (m:U32 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)] [gfx12("image_atomic_min_uint")];
    image_atomic_smax         0x16  0x16   0x16  0x10  0x10  (m:I32 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)] [gfx12("image_atomic_max_int")];
    image_atomic_umax         0x17  0x17   0x17  0x11  0x11  (m:U32 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)] [gfx12("image_atomic_max_uint")];
    image_atomic_and          0x18  0x18   0x18  0x12  0x12  (m:B32 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_atomic_or           0x19  0x19   0x19  0x13  0x13  (m:B32 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_atomic_xor          0x1a  0x1a   0x1a  0x14  0x14  (m:B32 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)];
    image_atomic_inc          0x1b  0x1b   0x1b  0x15  0x15  (m:U32 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)] [gfx12("image_atomic_inc_uint")];
    image_atomic_dec          0x1c  0x1c   0x1c  0x16  0x16  (m:U32 addr:U32 rsrc:B256) [on(ArchSet::BEFORE_GFX942)] [gfx12("image_atomic_dec_uint")];
    image_atomic_fcmpswap     -     -      0x1d  -     -     (m:B64 addr:U32 rsrc:B256);
    image_atomic_fmin         -     -      0x1e  -     -     (m:B32 addr:U32 rsrc:B256);
    image_atomic_fmax         -     -      0x1f  -     -     (m:B32 addr:U32 rsrc:B256);

    // since gfx12
    image_atomic_add_flt      -     -      -     -     0x83  (m:F32 addr:U32 rsrc:B256);
    image_atomic_min_flt      -     -      -     -     0x84  (m:F32 addr:U32 rsrc:B256);
    image_atomic_max_flt      -     -      -     -     0x85  (m:F32 addr:U32 rsrc:B256);
    image_atomic_pk_add_f16   -     -      -     -     0x86  (m:PkF16 addr:U32 rsrc:B256);
    image_atomic_pk_add_bf16  -     -      -     -     0x87  (m:PkBf16 addr:U32 rsrc:B256);

    // multisampled
    image_msaa_load_x         -     -      0x80  -     -     (d:B128 addr:U32 rsrc:B256) [gfx10("image_msaa_load")];
    image_msaa_load           -     -      -     0x18  0x18  (d:B128 addr:U32 rsrc:B256);

    // rays
    image_bvh_intersect_ray   -     -      0xe6  0x19  0x19  (d:B128 addr:U32 rsrc:B128);
    image_bvh64_intersect_ray -     -      0xe7  0x1a  0x1a  (d:B128 addr:U32 rsrc:B128);
    image_bvh_dual_intersect_ray - -       -     -     0x80  (d:B320 addr:U32 rsrc:B128);
    image_bvh8_intersect_ray  -     -      -     -     0x81  (d:B320 addr:U32 rsrc:B128);
} } };
}
