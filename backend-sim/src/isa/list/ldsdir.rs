//! LDSDIR, VDSDIR on gfx12: loads from LDS at addresses that no register of the lane holds (gfx11 and later).

macro_rules! ldsdir {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Ldsdir {
    // operation       gfx9 gfx90a gfx10 gfx11 gfx12 operands
    lds_param_load     -    -      -     0x00  0x00  (d:B32 attr) [gfx12("ds_param_load")];
    lds_direct_load    -    -      -     0x01  0x01  (d:B32)      [gfx12("ds_direct_load")];
} } };
}
