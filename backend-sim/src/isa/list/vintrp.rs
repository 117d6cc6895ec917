//! VINTRP: interpolation of attributes from LDS (gfx9 and gfx10); the numbers in brackets exist as VOP3 only, the others
//! as VOP3 too.

macro_rules! vintrp {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Vintrp {
    // operation            gfx9    gfx90a gfx10   gfx11 gfx12 operands
    v_interp_p1_f32         0x00    -      0x00    -     -     (d:F32 b:F32 attr);
    v_interp_p2_f32         0x01    -      0x01    -     -     (m:F32 b:F32 attr);
    v_interp_mov_f32        0x02    -      0x02    -     -     (d:F32 param attr);
    v_interp_p1ll_f16       [0x274] -      [0x342] -     -     (d:F32 b:F32 attr);
    v_interp_p1lv_f16       [0x275] -      [0x343] -     -     (d:F32 b:F32 attr c:F16);
    v_interp_p2_legacy_f16  [0x276] -      -       -     -     (d:F16 b:F32 attr c:F32);
    v_interp_p2_f16         [0x277] -      [0x35a] -     -     (d:F16 b:F32 attr c:F32);
} } };
}
