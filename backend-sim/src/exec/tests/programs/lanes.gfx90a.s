// v0 is the data, v1 the old destinations; results in v2 and up.
.macro dpp n, ctrl:vararg
  v_mov_b32_e32 v\n, v1
  s_nop 1
  v_mov_b32_dpp v\n, v0 \ctrl
.endm
  dpp 2, quad_perm:[3,0,2,1] row_mask:0xf bank_mask:0xf
  dpp 3, row_shl:3 row_mask:0xf bank_mask:0xf
  dpp 4, row_shr:5 row_mask:0xf bank_mask:0xf bound_ctrl:0
  dpp 5, row_ror:4 row_mask:0xf bank_mask:0xf
  dpp 6, wave_shl:1 row_mask:0xf bank_mask:0xf
  dpp 7, wave_ror:1 row_mask:0xf bank_mask:0xf
  dpp 8, row_mirror row_mask:0xf bank_mask:0xf
  dpp 9, row_half_mirror row_mask:0x5 bank_mask:0xf
  dpp 10, row_bcast:15 row_mask:0xa bank_mask:0xf
  dpp 11, row_bcast:31 row_mask:0xc bank_mask:0xf
  dpp 12, row_newbcast:9 row_mask:0xf bank_mask:0x3
  v_lshlrev_b32_e32 v20, 2, v1
  ds_bpermute_b32 v13, v20, v0
  ds_permute_b32 v14, v20, v0
  ds_swizzle_b32 v15, v0 offset:swizzle(BITMASK_PERM, "01pip")
  ds_swizzle_b32 v16, v0 offset:swizzle(QUAD_PERM, 2, 3, 0, 1)
  s_waitcnt lgkmcnt(0)
  v_readlane_b32 s10, v0, 37
  v_readfirstlane_b32 s11, v0
  v_mov_b32_e32 v17, v1
  v_writelane_b32 v17, s10, 5
  s_endpgm
