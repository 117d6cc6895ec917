//! SOPK: scalar with a 16-bit immediate.

macro_rules! sopk {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Sopk {
    // operation           gfx9  gfx90a gfx10 gfx11 gfx12 operands
    s_movk_i32             0x00  0x00   0x00  0x00  0x00  (d:I32 hex);
    s_cmovk_i32            0x01  0x01   0x02  0x02  0x02  (m:I32 hex);
    s_cmpk_eq_i32          0x02  0x02   0x03  0x03  -     (r:I32 hex);
    s_cmpk_lg_i32          0x03  0x03   0x04  0x04  -     (r:I32 hex);
    s_cmpk_gt_i32          0x04  0x04   0x05  0x05  -     (r:I32 hex);
    s_cmpk_ge_i32          0x05  0x05   0x06  0x06  -     (r:I32 hex);
    s_cmpk_lt_i32          0x06  0x06   0x07  0x07  -     (r:I32 hex);
    s_cmpk_le_i32          0x07  0x07   0x08  0x08  -     (r:I32 hex);
    s_cmpk_eq_u32          0x08  0x08   0x09  0x09  -     (r:U32 hex);
    s_cmpk_lg_u32          0x09  0x09   0x0a  0x0a  -     (r:U32 hex);
    s_cmpk_gt_u32          0x0a  0x0a   0x0b  0x0b  -     (r:U32 hex);
    s_cmpk_ge_u32          0x0b  0x0b   0x0c  0x0c  -     (r:U32 hex);
    s_cmpk_lt_u32          0x0c  0x0c   0x0d  0x0d  -     (r:U32 hex);
    s_cmpk_le_u32          0x0d  0x0d   0x0e  0x0e  -     (r:U32 hex);
    s_addk_i32             0x0e  0x0e   0x0f  0x0f  0x0f  (m:I32 hex)     [gfx12("s_addk_co_i32")];
    s_mulk_i32             0x0f  0x0f   0x10  0x10  0x10  (m:I32 hex);
    s_cbranch_i_fork       0x10  0x10   -     -     -     (r:B64 label);
    s_getreg_b32           0x11  0x11   0x12  0x11  0x11  (d:B32 hwreg);
    s_setreg_b32           0x12  0x12   0x13  0x12  0x12  (hwreg r:B32);
    s_setreg_imm32_b32     0x14  0x14   0x15  0x13  0x13  (hwreg lit:B32);
    s_call_b64             0x15  0x15   0x16  0x14  0x14  (d:B64 label);

    // since gfx10
    s_version              -     -      0x01  0x01  0x01  (version);
    s_subvector_loop_begin -     -      0x1b  0x16  -     (m:B32 label);
    s_subvector_loop_end   -     -      0x1c  0x17  -     (m:B32 label);
    s_waitcnt_vscnt        -     -      0x17  0x18  -     (r:B32 hex);
    s_waitcnt_vmcnt        -     -      0x18  0x19  -     (r:B32 hex);
    s_waitcnt_expcnt       -     -      0x19  0x1a  -     (r:B32 hex);
    s_waitcnt_lgkmcnt      -     -      0x1a  0x1b  -     (r:B32 hex);
} } };
}
