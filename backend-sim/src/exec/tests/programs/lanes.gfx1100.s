// As lanes.gfx90a.s; here with 32 lanes.
.macro dpp n, ctrl:vararg
  v_mov_b32_e32 v\n, v1
  v_mov_b32_dpp v\n, v0 \ctrl
.endm
  dpp 2, quad_perm:[3,0,2,1] row_mask:0xf bank_mask:0xf
  dpp 3, row_shl:3 row_mask:0xf bank_mask:0xf
  dpp 4, row_shr:5 row_mask:0xf bank_mask:0xf bound_ctrl:1
  dpp 5, row_share:6 row_mask:0xf bank_mask:0xf
  dpp 6, row_xmask:5 row_mask:0xf bank_mask:0xf fi:1
  v_mov_b32_e32 v7, v1
  v_mov_b32_dpp v7, v0 dpp8:[7,6,5,4,3,2,1,0]
  s_mov_b32 s0, 0x76543210
  s_mov_b32 s1, 0xfedcba98
  v_permlanex16_b32 v8, v0, s0, s1
  v_permlane16_b32 v9, v0, s1, s0 op_sel:[1,0]
  s_endpgm
