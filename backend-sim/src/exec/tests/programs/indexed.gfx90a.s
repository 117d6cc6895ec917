// v[4 + s0] = v[8 + s1], and back again without the index.
  s_set_gpr_idx_on s1, gpr_idx(SRC0)
  v_mov_b32_e32 v1, v8
  s_set_gpr_idx_off
  s_set_gpr_idx_on s0, gpr_idx(DST)
  v_mov_b32_e32 v4, v1
  s_set_gpr_idx_off
  v_mov_b32_e32 v2, v8
  s_endpgm
