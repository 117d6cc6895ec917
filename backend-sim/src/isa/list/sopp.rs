//! SOPP: program control.

macro_rules! sopp {
    ([$next:ident $($rest:ident)*] $($done:tt)*) => { $next! { [$($rest)*] $($done)*
Sopp {
    // operation               gfx9  gfx90a gfx10 gfx11 gfx12 operands
    s_nop                      0x00  0x00   0x00  0x00  0x00  (dec);
    s_endpgm                   0x01  0x01   0x01  0x30  0x30  (opt);
    s_branch                   0x02  0x02   0x02  0x20  0x20  (label);
    s_wakeup                   0x03  0x03   0x03  0x34  0x34  ();
    s_cbranch_scc0             0x04  0x04   0x04  0x21  0x21  (label);
    s_cbranch_scc1             0x05  0x05   0x05  0x22  0x22  (label);
    s_cbranch_vccz             0x06  0x06   0x06  0x23  0x23  (label);
    s_cbranch_vccnz            0x07  0x07   0x07  0x24  0x24  (label);
    s_cbranch_execz            0x08  0x08   0x08  0x25  0x25  (label);
    s_cbranch_execnz           0x09  0x09   0x09  0x26  0x26  (label);
    s_barrier                  0x0a  0x0a   0x0a  0x3d  -     ();
    s_setkill                  0x0b  0x0b   0x0b  0x01  0x01  (dec);
    s_waitcnt                  0x0c  0x0c   0x0c  0x09  0x09  (waitcnt);
    s_sethalt                  0x0d  0x0d   0x0d  0x02  0x02  (dec);
    s_sleep                    0x0e  0x0e   0x0e  0x03  0x03  (dec);
    s_setprio                  0x0f  0x0f   0x0f  0x35  0x35  (dec);
    s_sendmsg                  0x10  0x10   0x10  0x36  0x36  (message);
    s_sendmsghalt              0x11  0x11   0x11  0x37  0x37  (message);
    s_trap                     0x12  0x12   0x12  0x10  0x10  (dec);
    s_icache_inv               0x13  0x13   0x13  0x3c  0x3c  ();
    s_incperflevel             0x14  0x14   0x14  0x38  0x38  (dec);
    s_decperflevel             0x15  0x15   0x15  0x39  0x39  (dec);
    s_ttracedata               0x16  0x16   0x16  0x3a  0x3a  ();
    s_cbranch_cdbgsys          0x17  0x17   0x17  0x27  -     (label);
    s_cbranch_cdbguser         0x18  0x18   0x18  0x28  -     (label);
    s_cbranch_cdbgsys_or_user  0x19  0x19   0x19  0x29  -     (label);
    s_cbranch_cdbgsys_and_user 0x1a  0x1a   0x1a  0x2a  -     (label);
    s_endpgm_saved             0x1b  0x1b   0x1b  0x31  0x31  ();
    s_set_gpr_idx_off          0x1c  0x1c   -     -     -     ();
    s_set_gpr_idx_mode         0x1d  0x1d   -     -     -     (gpridx);
    s_endpgm_ordered_ps_done   0x1e  0x1e   0x1e  0x32  -     ();

    // since gfx10
    s_inst_prefetch            -     -      0x20  0x04  -     (hex)     [gfx11("s_set_inst_prefetch_distance")];
    s_clause                   -     -      0x21  0x05  0x05  (hex);

    // since gfx11
    s_delay_alu                -     -      -     0x07  0x07  (delay);

    // since gfx10
    s_waitcnt_depctr           -     -      0x23  0x08  -     (depctr);
    s_wait_idle                -     -      0x22  0x0a  0x0a  ();

    // since gfx11
    s_wait_event               -     -      -     0x0b  0x0b  (hex);

    // since gfx10
    s_round_mode               -     -      0x24  0x11  0x11  (hex);
    s_denorm_mode              -     -      0x25  0x12  0x12  (dec);
    s_code_end                 -     -      0x1f  0x1f  0x1f  ();
    s_ttracedata_imm           -     -      0x28  0x3b  0x3b  (hex);

    // since gfx12
    s_wait_alu                 -     -      -     -     0x08  (depctr);
    s_singleuse_vdst           -     -      -     -     0x13  (hex);
    s_barrier_wait             -     -      -     -     0x14  (dec);
    s_barrier_leave            -     -      -     -     0x15  ();
    s_wait_loadcnt             -     -      -     -     0x40  (hex);
    s_wait_storecnt            -     -      -     -     0x41  (hex);
    s_wait_samplecnt           -     -      -     -     0x42  (hex);
    s_wait_bvhcnt              -     -      -     -     0x43  (hex);
    s_wait_expcnt              -     -      -     -     0x44  (hex);
    s_wait_dscnt               -     -      -     -     0x46  (hex);
    s_wait_kmcnt               -     -      -     -     0x47  (hex);
    s_wait_loadcnt_dscnt       -     -      -     -     0x48  (hex);
    s_wait_storecnt_dscnt      -     -      -     -     0x49  (hex);
} } };
}
