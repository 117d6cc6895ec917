//! VINTERP: interpolation of attributes from registers (gfx11 and later).

macro_rules! vinterp {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Vinterp {
    // operation                gfx9 gfx90a gfx10 gfx11 gfx12 operands
    v_interp_p10_f32            -    -      -     0x00  0x00  (d:F32 a:F32 b:F32 c:F32);
    v_interp_p2_registers_f32   -    -      -     0x01  0x01  (d:F32 a:F32 b:F32 c:F32) [gfx11("v_interp_p2_f32")];
    v_interp_p10_f16_f32        -    -      -     0x02  0x02  (d:F32 a:F16 b:F32 c:F16);
    v_interp_p2_f16_f32         -    -      -     0x03  0x03  (d:F16 a:F16 b:F32 c:F32);
    v_interp_p10_rtz_f16_f32    -    -      -     0x04  0x04  (d:F32 a:F16 b:F32 c:F16);
    v_interp_p2_rtz_f16_f32     -    -      -     0x05  0x05  (d:F16 a:F16 b:F32 c:F32);
} } };
}
