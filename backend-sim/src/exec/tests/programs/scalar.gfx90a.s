// s0, s1 and s[2:3], s[4:5] are inputs, SCC is s6 != 0; each result goes to the next register from s10 on, with SCC
// after the 32-bit ones.
.macro scc n
  s_cselect_b32 s\n, 1, 0
.endm
.macro carry
  s_cmp_lg_u32 s6, 0
.endm
  carry
  s_add_u32 s10, s0, s1
  scc 11
  carry
  s_addc_u32 s12, s0, s1
  scc 13
  carry
  s_subb_u32 s14, s0, s1
  scc 15
  s_add_i32 s16, s0, s1
  scc 17
  s_sub_i32 s18, s0, s1
  scc 19
  s_min_i32 s20, s0, s1
  scc 21
  s_max_u32 s22, s0, s1
  scc 23
  s_absdiff_i32 s24, s0, s1
  scc 25
  s_bfe_u32 s26, s0, s1
  scc 27
  s_bfe_i32 s28, s0, s1
  scc 29
  s_bfm_b32 s30, s0, s1
  s_mul_hi_u32 s31, s0, s1
  s_mul_hi_i32 s32, s0, s1
  s_lshl3_add_u32 s33, s0, s1
  scc 34
  s_ff1_i32_b32 s35, s0
  s_flbit_i32_b32 s36, s0
  s_flbit_i32 s37, s0
  s_brev_b32 s38, s0
  s_bcnt1_i32_b32 s39, s0
  scc 40
  s_sext_i32_i8 s41, s0
  s_pack_lh_b32_b16 s42, s0, s1
  s_ashr_i32 s43, s0, s1
  scc 44
  s_andn2_b32 s45, s0, s1
  scc 46
  s_wqm_b32 s47, s0
  s_quadmask_b32 s48, s0
  s_bitreplicate_b64_b32 s[50:51], s0
  s_lshl_b64 s[52:53], s[2:3], s1
  s_ashr_i64 s[54:55], s[2:3], s1
  s_bfe_i64 s[56:57], s[2:3], s1
  s_xnor_b64 s[58:59], s[2:3], s[4:5]
  s_flbit_i32_i64 s60, s[2:3]
  s_cmp_gt_i32 s0, s1
  scc 61
  s_bitcmp1_b32 s0, s1
  scc 62
  s_mov_b32 s63, s0
  s_cmpk_lt_u32 s0, 0x8000
  scc 64
  s_mov_b32 s65, s0
  s_addk_i32 s65, 0x7fff
  s_mulk_i32 s63, 0xfff0
  s_mov_b64 exec, s[2:3]
  s_and_saveexec_b64 s[66:67], s[4:5]
  scc 68
  s_mov_b64 s[70:71], exec
  s_mov_b64 exec, s[2:3]
  s_andn1_wrexec_b64 s[72:73], s[4:5]
  s_endpgm
