//! The instruction list: one file per encoding, one row per operation.
//!
//! ```text
//! v_addc_co_u32   0x1c 0x1c 0x28 0x20 0x20  (d:U32 mask:Mask a:U32 b:U32 c:Mask)  [gfx10("v_add_co_ci_u32")];
//! ```
//! - the name: the mnemonic of the earliest generation, without `_e32` and `_e64`, and the variant of
//!   [`Op`](super::Op). A later name for the same meaning is an attribute; a later meaning is another row.
//! - five opcodes, one per [`Column`](super::Column): `-` where the instruction does not exist, `[0x30f]` where
//!   a VOP1, VOP2 or VOPC instruction exists as VOP3 only.
//! - the operands in assembly order, as `word:Type`; the words are the functions of `row::field`.
//! - attributes, each a method of [`Row`](super::Row): later names, the processors of a column that have it,
//!   properties.
//!
//! A new instruction of a known shape is one more row. Decode tables, disassembly, encoder, operand
//! descriptions and the test generator follow from it.

#[macro_use]
mod ds;
#[macro_use]
mod export;
#[macro_use]
mod flat;
#[macro_use]
mod global;
#[macro_use]
mod ldsdir;
#[macro_use]
mod mimg;
#[macro_use]
mod mtbuf;
#[macro_use]
mod mubuf;
#[macro_use]
mod sample;
#[macro_use]
mod scratch;
#[macro_use]
mod smem;
#[macro_use]
mod sop1;
#[macro_use]
mod sop2;
#[macro_use]
mod sopc;
#[macro_use]
mod sopk;
#[macro_use]
mod sopp;
#[macro_use]
mod vinterp;
#[macro_use]
mod vintrp;
#[macro_use]
mod vop1;
#[macro_use]
mod vop2;
#[macro_use]
mod vop3;
#[macro_use]
mod vop3p;
#[macro_use]
mod vopc;
pub(super) mod vopd;

/// Passes all rows of all lists, list by list, to the macro named.
macro_rules! for_each_row {
    ($then:ident) => {
        sop1! { [sop2 sopk sopc sopp smem vop1 vop2 vopc vop3 vop3p ds flat global scratch mubuf mtbuf mimg sample
            vintrp vinterp ldsdir export $then] }
    };
}
