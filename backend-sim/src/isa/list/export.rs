//! EXP, VEXPORT on gfx12: results of graphics shaders.

macro_rules! export {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Exp {
    // operation gfx9 gfx90a gfx10 gfx11 gfx12 operands
    exp          0x00 -      0x00  0x00  0x00  (target export0:B32 export1:B32 export2:B32 export3:B32) [gfx12("export")];
} } };
}
