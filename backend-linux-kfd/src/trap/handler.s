// The second-level trap handler: what a wave runs when it traps, after the kernel's own first level.
//
// It tells the driver which queue failed and why, then stops the wave where it is. The driver knows the queue by the
// doorbell's number, sets the reason's bit in the word that the queue's context save area names, and raises the queue's
// event (KFD 1.13 and later, with RUNTIME_ENABLE). A wave that is stopped goes with its queue.
//
// build.sh makes gfx9.bin, gfx94.bin, gfx10.bin, gfx11.bin and gfx12.bin of it; GEN and MINOR say which.
//
// What the first level leaves (Linux, cwsr_trap_handler_gfx9.asm, _gfx10.asm and _gfx12.asm):
//   ttmp0, ttmp1     the wave's program counter in bits 0-47, the trap's number in bits 48-55 (GFX12: 60-63, and in bits 58-59
//                    the mode of scheduling, if the first level changed it)
//   ttmp12           STATUS as the wave had it (GFX12: STATE_PRIV)
//   ttmp2-5, 14, 15  free; the others are the debugger's
//   ttmp11 (GFX9.4: ttmp13) bits 26-31   what of IB_STS was cleared on GFX9

.if GEN >= 12
  // STATE_PRIV and EXCP_FLAG_PRIV.
  .set STATUS_HALT, 14
  .set TRAPSTS_MEM_VIOL, 4
  .set TRAPSTS_ILLEGAL_INST, 6
  .set TRAPSTS_XNACK_ERROR, 12
  // What the handler changes of STATE_PRIV: from SCC to the bit of poison. Barriers may have completed meanwhile.
  .set STATE_SCC, 9
  .set STATE_CHANGED, 7
  .set TRAP_NUMBER, 28 | 4 << 16
  .set SCHEDULING, 26 | 2 << 16
  .set SCHED_MODE, 26
.else
  .set STATUS_HALT, 13
  .set TRAPSTS_MEM_VIOL, 8
  .set TRAPSTS_ILLEGAL_INST, 11
  .set TRAPSTS_XNACK_ERROR, 28
  .set TRAP_NUMBER, 16 | 8 << 16
.endif
.set MATH_BITS, 0x7f
.set MODE_EXCP_EN, 12

// Reasons, as MSG_INTERRUPT carries them in bits 10 and up of M0; the doorbell's number is below.
.set REASON_ABORT, 1 << 0
.set REASON_TRAP, 1 << 1
.set REASON_MATH, 1 << 2
.set REASON_ILLEGAL, 1 << 3
.set REASON_MEMORY, 1 << 4
.set REASON_APERTURE, 1 << 5
.set REASON_SHIFT, 10
.set DOORBELL_MASK, 0x3ff

.macro wait_message
.if GEN >= 12
  s_wait_kmcnt 0
.else
  s_waitcnt lgkmcnt(0)
.endif
.endm

// What s_trap's operands mean to compilers: llvm.trap, llvm.debugtrap.
.set TRAP_ABORT, 2
.set TRAP_DEBUG, 3

.text
entry:
  s_mov_b32 ttmp3, 0
  s_bfe_u32 ttmp2, ttmp1, TRAP_NUMBER
  s_cbranch_scc0 exception
  // A trap. Nobody debugs: a breakpoint is stepped over.
  s_cmp_eq_u32 ttmp2, TRAP_DEBUG
  s_cbranch_scc1 step
  s_mov_b32 ttmp3, REASON_TRAP
  s_cmp_eq_u32 ttmp2, TRAP_ABORT
  s_cbranch_scc0 report
  s_mov_b32 ttmp3, REASON_ABORT
  s_branch report

exception:
.if GEN >= 12
  s_getreg_b32 ttmp2, hwreg(HW_REG_EXCP_FLAG_PRIV)
.else
  s_getreg_b32 ttmp2, hwreg(HW_REG_TRAPSTS)
.endif
  s_bitcmp1_b32 ttmp2, TRAPSTS_ILLEGAL_INST
  s_cbranch_scc0 no_illegal
  s_or_b32 ttmp3, ttmp3, REASON_ILLEGAL
no_illegal:
  // A translation that failed is a memory violation; a violation without one left its aperture, or was not aligned.
  s_bitcmp1_b32 ttmp2, TRAPSTS_XNACK_ERROR
  s_cbranch_scc0 no_translation
  s_or_b32 ttmp3, ttmp3, REASON_MEMORY
  s_branch math
no_translation:
  s_bitcmp1_b32 ttmp2, TRAPSTS_MEM_VIOL
  s_cbranch_scc0 math
  s_or_b32 ttmp3, ttmp3, REASON_APERTURE
math:
  // Of arithmetic exceptions those that the wave has asked for.
.if GEN >= 12
  s_getreg_b32 ttmp2, hwreg(HW_REG_EXCP_FLAG_USER)
  s_getreg_b32 ttmp4, hwreg(HW_REG_TRAP_CTRL, 0, 7)
.else
  s_getreg_b32 ttmp4, hwreg(HW_REG_MODE, MODE_EXCP_EN, 7)
.endif
  s_and_b32 ttmp2, ttmp2, MATH_BITS
  s_and_b32 ttmp2, ttmp2, ttmp4
  s_cbranch_scc0 no_math
  s_or_b32 ttmp3, ttmp3, REASON_MATH
no_math:
  s_cmp_eq_u32 ttmp3, 0
  s_cbranch_scc1 leave
  // A context cannot be saved of a wave that is stopped at its end: to before it, unless the first level did so.
  s_bitcmp1_b32 ttmp12, STATUS_HALT
  s_cbranch_scc1 report
  s_sub_u32 ttmp0, ttmp0, 8
  s_subb_u32 ttmp1, ttmp1, 0

report:
  s_lshl_b32 ttmp3, ttmp3, REASON_SHIFT
.if GEN >= 11
  s_sendmsg_rtn_b32 ttmp2, sendmsg(MSG_RTN_GET_DOORBELL)
  wait_message
  s_and_b32 ttmp2, ttmp2, DOORBELL_MASK
.else
  // The answer comes in EXEC, whose sign goes when it is there.
  s_mov_b32 ttmp4, exec_lo
  s_mov_b32 ttmp5, exec_hi
  s_mov_b32 exec_lo, 0x80000000
  s_sendmsg sendmsg(MSG_GET_DOORBELL)
answer:
  s_nop 7
  s_bitcmp0_b32 exec_lo, 31
  s_cbranch_scc0 answer
  s_and_b32 ttmp2, exec_lo, DOORBELL_MASK
  s_mov_b32 exec_lo, ttmp4
  s_mov_b32 exec_hi, ttmp5
.endif
  s_or_b32 ttmp2, ttmp2, ttmp3
  s_mov_b32 ttmp4, m0
  s_mov_b32 m0, ttmp2
  s_nop 0
  s_sendmsg sendmsg(MSG_INTERRUPT)
  wait_message
  s_mov_b32 m0, ttmp4
  s_bitset1_b32 ttmp12, STATUS_HALT
  s_branch leave

step:
  s_add_u32 ttmp0, ttmp0, 4
  s_addc_u32 ttmp1, ttmp1, 0

leave:
.if GEN >= 12
  s_bfe_u32 ttmp2, ttmp1, SCHEDULING
  s_setreg_b32 hwreg(SCHED_MODE, 0, 2), ttmp2
.endif
  s_and_b32 ttmp1, ttmp1, 0xffff
.if GEN == 9
  // IB_STS: FIRST_REPLAY and RCNT, bits 15 to 20, from bits 26 and up.
  .if MINOR == 4
    s_lshr_b32 ttmp2, ttmp13, 11
  .else
    s_lshr_b32 ttmp2, ttmp11, 11
  .endif
  s_and_b32 ttmp2, ttmp2, 0x1f8000
  s_setreg_b32 hwreg(HW_REG_IB_STS), ttmp2
.endif
  // STATUS, but for the two bits of the priority; EXECZ and VCCZ follow from what they are of alone.
  s_and_b64 exec, exec, exec
  s_and_b64 vcc, vcc, vcc
.if GEN >= 12
  s_lshr_b32 ttmp2, ttmp12, STATE_SCC
  s_setreg_b32 hwreg(HW_REG_STATE_PRIV, STATE_SCC, STATE_CHANGED), ttmp2
.else
  s_lshr_b32 ttmp2, ttmp12, 3
  s_setreg_b32 hwreg(HW_REG_STATUS, 3, 29), ttmp2
  s_nop 2
  s_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), ttmp12
.endif
  s_rfe_b64 [ttmp0, ttmp1]

// What instruction fetch reads ahead of the end.
.rept 16
  s_nop 0
.endr
