// v[0:1] are addresses of sixteen bytes a lane; v2 LDS addresses; s[0:3] a scratch descriptor, flat_scratch set.
  global_load_dwordx4 v[4:7], v[0:1], off
  global_load_sbyte v8, v[0:1], off offset:3
  v_mov_b32_e32 v9, -1
  global_load_short_d16_hi v9, v[0:1], off offset:5
  ds_write_b128 v2, v[4:7]
  ds_read2_b32 v[10:11], v2 offset0:1 offset1:3
  ds_read_u16 v12, v2 offset:7
  ds_add_rtn_u32 v13, v2, v4 offset:8
  ds_read_b32 v14, v2 offset:8
  s_mov_b32 s8, 16
  v_mov_b32_e32 v20, 8
  buffer_store_dwordx2 v[4:5], v20, s[0:3], s8 offen offset:4
  buffer_store_byte v6, v20, s[0:3], s8 offen offset:15
  v_mov_b32_e32 v20, 12
  s_mov_b64 s[10:11], src_private_base
  v_mov_b32_e32 v21, s11
  flat_load_dwordx2 v[16:17], v[20:21]
  v_mov_b32_e32 v20, 14
  flat_load_dword v18, v[20:21]
  global_atomic_add v19, v[0:1], v7, off offset:12 glc
  global_store_dwordx3 v[0:1], v[4:6], off
  s_endpgm
