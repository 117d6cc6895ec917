//! VOPD: the vector operations that two can share an instruction, as wave32 code since gfx11 does.
//!
//! The operations are rows of the VOP1 and VOP2 lists; here are their numbers in either half.

use super::super::Op;

/// One operation that VOPD can hold.
pub(crate) struct Dual {
    /// The operation.
    pub(crate) op: Op,
    /// Opcode in the X half, if it may stand there.
    pub(crate) x: Option<u8>,
    /// Opcode in the Y half.
    pub(crate) y: u8,
    /// Mnemonic on gfx11.
    pub(crate) mnemonic: &'static str,
    /// Mnemonic on gfx12.
    pub(crate) mnemonic_gfx12: &'static str,
}

const fn both(op: Op, code: u8, mnemonic: &'static str) -> Dual {
    Dual {
        op,
        x: Some(code),
        y: code,
        mnemonic,
        mnemonic_gfx12: mnemonic,
    }
}

const fn only_y(op: Op, code: u8, mnemonic: &'static str) -> Dual {
    Dual {
        op,
        x: None,
        y: code,
        mnemonic,
        mnemonic_gfx12: mnemonic,
    }
}

impl Dual {
    const fn gfx12(mut self, mnemonic: &'static str) -> Dual {
        self.mnemonic_gfx12 = mnemonic;
        self
    }
}

/// The list, in the order of the opcodes.
pub(crate) static DUALS: [Dual; 16] = [
    both(Op::v_fmac_f32, 0x00, "v_dual_fmac_f32"),
    both(Op::v_fmaak_f32, 0x01, "v_dual_fmaak_f32"),
    both(Op::v_fmamk_f32, 0x02, "v_dual_fmamk_f32"),
    both(Op::v_mul_f32, 0x03, "v_dual_mul_f32"),
    both(Op::v_add_f32, 0x04, "v_dual_add_f32"),
    both(Op::v_sub_f32, 0x05, "v_dual_sub_f32"),
    both(Op::v_subrev_f32, 0x06, "v_dual_subrev_f32"),
    both(Op::v_mul_legacy_f32, 0x07, "v_dual_mul_dx9_zero_f32"),
    both(Op::v_mov_b32, 0x08, "v_dual_mov_b32"),
    both(Op::v_cndmask_b32, 0x09, "v_dual_cndmask_b32"),
    both(Op::v_max_f32, 0x0a, "v_dual_max_f32").gfx12("v_dual_max_num_f32"),
    both(Op::v_min_f32, 0x0b, "v_dual_min_f32").gfx12("v_dual_min_num_f32"),
    both(Op::v_dot2c_f32_f16, 0x0c, "v_dual_dot2acc_f32_f16"),
    only_y(Op::v_add_u32, 0x10, "v_dual_add_nc_u32"),
    only_y(Op::v_lshlrev_b32, 0x11, "v_dual_lshlrev_b32"),
    only_y(Op::v_and_b32, 0x12, "v_dual_and_b32"),
];
