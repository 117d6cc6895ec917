//! SOPC: scalar compares into SCC.

macro_rules! sopc {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Sopc {
    // operation     gfx9  gfx90a gfx10 gfx11 gfx12 operands
    s_cmp_eq_i32     0x00  0x00   0x00  0x00  0x00  (a:I32 b:I32);
    s_cmp_lg_i32     0x01  0x01   0x01  0x01  0x01  (a:I32 b:I32);
    s_cmp_gt_i32     0x02  0x02   0x02  0x02  0x02  (a:I32 b:I32);
    s_cmp_ge_i32     0x03  0x03   0x03  0x03  0x03  (a:I32 b:I32);
    s_cmp_lt_i32     0x04  0x04   0x04  0x04  0x04  (a:I32 b:I32);
    s_cmp_le_i32     0x05  0x05   0x05  0x05  0x05  (a:I32 b:I32);
    s_cmp_eq_u32     0x06  0x06   0x06  0x06  0x06  (a:U32 b:U32);
    s_cmp_lg_u32     0x07  0x07   0x07  0x07  0x07  (a:U32 b:U32);
    s_cmp_gt_u32     0x08  0x08   0x08  0x08  0x08  (a:U32 b:U32);
    s_cmp_ge_u32     0x09  0x09   0x09  0x09  0x09  (a:U32 b:U32);
    s_cmp_lt_u32     0x0a  0x0a   0x0a  0x0a  0x0a  (a:U32 b:U32);
    s_cmp_le_u32     0x0b  0x0b   0x0b  0x0b  0x0b  (a:U32 b:U32);
    s_bitcmp0_b32    0x0c  0x0c   0x0c  0x0c  0x0c  (a:U32 b:U32);
    s_bitcmp1_b32    0x0d  0x0d   0x0d  0x0d  0x0d  (a:U32 b:U32);
    s_bitcmp0_b64    0x0e  0x0e   0x0e  0x0e  0x0e  (a:U64 b:U32);
    s_bitcmp1_b64    0x0f  0x0f   0x0f  0x0f  0x0f  (a:U64 b:U32);
    s_setvskip       0x10  0x10   -     -     -     (a:U32 b:U32);
    s_set_gpr_idx_on 0x11  0x11   -     -     -     (a:B32 gpridx);
    s_cmp_eq_u64     0x12  0x12   0x12  0x10  0x10  (a:U64 b:U64);
    s_cmp_lg_u64     0x13  0x13   0x13  0x11  0x11  (a:U64 b:U64);

    // since gfx12
    s_cmp_lt_f32     -     -      -     -     0x41  (a:F32 b:F32);
    s_cmp_eq_f32     -     -      -     -     0x42  (a:F32 b:F32);
    s_cmp_le_f32     -     -      -     -     0x43  (a:F32 b:F32);
    s_cmp_gt_f32     -     -      -     -     0x44  (a:F32 b:F32);
    s_cmp_lg_f32     -     -      -     -     0x45  (a:F32 b:F32);
    s_cmp_ge_f32     -     -      -     -     0x46  (a:F32 b:F32);
    s_cmp_o_f32      -     -      -     -     0x47  (a:F32 b:F32);
    s_cmp_u_f32      -     -      -     -     0x48  (a:F32 b:F32);
    s_cmp_nge_f32    -     -      -     -     0x49  (a:F32 b:F32);
    s_cmp_nlg_f32    -     -      -     -     0x4a  (a:F32 b:F32);
    s_cmp_ngt_f32    -     -      -     -     0x4b  (a:F32 b:F32);
    s_cmp_nle_f32    -     -      -     -     0x4c  (a:F32 b:F32);
    s_cmp_neq_f32    -     -      -     -     0x4d  (a:F32 b:F32);
    s_cmp_nlt_f32    -     -      -     -     0x4e  (a:F32 b:F32);
    s_cmp_lt_f16     -     -      -     -     0x51  (a:F16 b:F16);
    s_cmp_eq_f16     -     -      -     -     0x52  (a:F16 b:F16);
    s_cmp_le_f16     -     -      -     -     0x53  (a:F16 b:F16);
    s_cmp_gt_f16     -     -      -     -     0x54  (a:F16 b:F16);
    s_cmp_lg_f16     -     -      -     -     0x55  (a:F16 b:F16);
    s_cmp_ge_f16     -     -      -     -     0x56  (a:F16 b:F16);
    s_cmp_o_f16      -     -      -     -     0x57  (a:F16 b:F16);
    s_cmp_u_f16      -     -      -     -     0x58  (a:F16 b:F16);
    s_cmp_nge_f16    -     -      -     -     0x59  (a:F16 b:F16);
    s_cmp_nlg_f16    -     -      -     -     0x5a  (a:F16 b:F16);
    s_cmp_ngt_f16    -     -      -     -     0x5b  (a:F16 b:F16);
    s_cmp_nle_f16    -     -      -     -     0x5c  (a:F16 b:F16);
    s_cmp_neq_f16    -     -      -     -     0x5d  (a:F16 b:F16);
    s_cmp_nlt_f16    -     -      -     -     0x5e  (a:F16 b:F16);
} } };
}
