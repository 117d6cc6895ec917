//! MIMG, VSAMPLE on gfx12: images through a sampler.
//!
//! Behind `image_sample` and `image_gather4` stand the address's parts: `c` a reference to compare with, `d` (`cd`)
//! gradients, `l` a level, `b` a bias, `lz` level zero, `cl` a clamp of the level, `o` offsets.

macro_rules! sample {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Mimg {
    // operation               gfx9 gfx90a gfx10 gfx11 gfx12 operands
    image_sample               0x20 0x20   0x20 0x1b 0x1b  (d:B128 addr:U32 rsrc:B256 samp:B128) [on(ArchSet::BEFORE_GFX942)];
    image_sample_cl            0x21 -      0x21 0x40 0x40  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_d             0x22 -      0x22 0x1c 0x1c  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_d_cl          0x23 -      0x23 0x41 0x41  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_l             0x24 -      0x24 0x1d 0x1d  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_b             0x25 -      0x25 0x1e 0x1e  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_b_cl          0x26 -      0x26 0x42 0x42  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_lz            0x27 -      0x27 0x1f 0x1f  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c             0x28 -      0x28 0x20 0x20  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_cl          0x29 -      0x29 0x43 0x43  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_d           0x2a -      0x2a 0x21 0x21  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_d_cl        0x2b -      0x2b 0x44 0x44  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_l           0x2c -      0x2c 0x22 0x22  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_b           0x2d -      0x2d 0x23 0x23  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_b_cl        0x2e -      0x2e 0x45 0x45  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_lz          0x2f -      0x2f 0x24 0x24  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_o             0x30 -      0x30 0x25 0x25  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_cl_o          0x31 -      0x31 0x46 0x46  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_d_o           0x32 -      0x32 0x26 0x26  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_d_cl_o        0x33 -      0x33 0x47 0x47  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_l_o           0x34 -      0x34 0x27 0x27  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_b_o           0x35 -      0x35 0x28 0x28  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_b_cl_o        0x36 -      0x36 0x48 0x48  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_lz_o          0x37 -      0x37 0x29 0x29  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_o           0x38 -      0x38 0x2a 0x2a  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_cl_o        0x39 -      0x39 0x49 0x49  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_d_o         0x3a -      0x3a 0x2b 0x2b  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_d_cl_o      0x3b -      0x3b 0x4a 0x4a  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_l_o         0x3c -      0x3c 0x2c 0x2c  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_b_o         0x3d -      0x3d 0x2d 0x2d  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_b_cl_o      0x3e -      0x3e 0x4b 0x4b  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_lz_o        0x3f -      0x3f 0x2e 0x2e  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4              0x40 -      0x40 0x2f 0x2f  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_cl           0x41 -      0x41 0x60 0x60  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4h             0x42 -      0x61 0x90 0x90  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_l            0x44 -      0x44 0x30 0x30  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_b            0x45 -      0x45 0x31 0x31  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_b_cl         0x46 -      0x46 0x61 0x61  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_lz           0x47 -      0x47 0x32 0x32  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_c            0x48 -      0x48 0x33 0x33  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_c_cl         0x49 -      0x49 0x62 0x62  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_c_l          0x4c -      0x4c 0x63 0x63  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_c_b          0x4d -      0x4d 0x64 0x64  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_c_b_cl       0x4e -      0x4e 0x65 0x65  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_c_lz         0x4f -      0x4f 0x34 0x34  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_o            0x50 -      0x50 0x35 0x35  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_cl_o         0x51 -      0x51 -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_l_o          0x54 -      0x54 -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_b_o          0x55 -      0x55 -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_b_cl_o       0x56 -      0x56 -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_lz_o         0x57 -      0x57 0x36 0x36  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_c_o          0x58 -      0x58 -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_c_cl_o       0x59 -      0x59 -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_c_l_o        0x5c -      0x5c -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_c_b_o        0x5d -      0x5d -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_c_b_cl_o     0x5e -      0x5e -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_gather4_c_lz_o       0x5f -      0x5f 0x37 0x37  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_get_lod              0x60 -      0x60 0x38 0x38  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_cd            0x68 -      0x68 -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_cd_cl         0x69 -      0x69 -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_cd          0x6a -      0x6a -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_cd_cl       0x6b -      0x6b -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_cd_o          0x6c -      0x6c -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_cd_cl_o       0x6d -      0x6d -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_cd_o        0x6e -      0x6e -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_cd_cl_o     0x6f -      0x6f -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);

    // since gfx10: gradients of 16 bits
    image_sample_d_g16         -    -      0xa2 0x39 0x39  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_d_cl_g16      -    -      0xa3 0x5f 0x5f  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_d_g16       -    -      0xaa 0x3a 0x3a  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_d_cl_g16    -    -      0xab 0x54 0x54  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_d_o_g16       -    -      0xb2 0x3b 0x3b  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_d_cl_o_g16    -    -      0xb3 0x55 0x55  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_d_o_g16     -    -      0xba 0x3c 0x3c  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_d_cl_o_g16  -    -      0xbb 0x56 0x56  (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_cd_g16        -    -      0xe8 -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_cd_cl_g16     -    -      0xe9 -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_cd_g16      -    -      0xea -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_cd_cl_g16   -    -      0xeb -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_cd_o_g16      -    -      0xec -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_cd_cl_o_g16   -    -      0xed -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_cd_o_g16    -    -      0xee -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
    image_sample_c_cd_cl_o_g16 -    -      0xef -    -     (d:B128 addr:U32 rsrc:B256 samp:B128);
} } };
}
