// s0 counts down, s1 counts up; a call in between; then waits, spins or traps as s2 says.
loop:
  s_add_u32 s1, s1, 3
  s_sub_u32 s0, s0, 1
  s_cmp_lg_u32 s0, 0
  s_cbranch_scc1 loop
  s_getpc_b64 s[10:11]
  s_add_u32 s10, s10, function-.
  s_addc_u32 s11, s11, 0
  s_swappc_b64 s[30:31], s[10:11]
  s_cmp_eq_u32 s2, 1
  s_cbranch_scc1 spin
  s_cmp_eq_u32 s2, 2
  s_cbranch_scc1 abort
  s_barrier
  s_endpgm
spin:
  s_branch spin
abort:
  s_trap 2
function:
  s_mul_i32 s1, s1, 10
  s_setpc_b64 s[30:31]
