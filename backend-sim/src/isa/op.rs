//! Operations: the enumeration and its table, made from the instruction list.

use super::row::{Code, Flags, OperandDesc, Row, Type, field};
use super::{ArchSet, Format};

macro_rules! code {
    (-) => {
        Code::Absent
    };
    ([$code:literal]) => {
        Code::Vop3($code)
    };
    ($code:literal) => {
        Code::Own($code)
    };
}

macro_rules! operand {
    ($field:ident : $ty:ident) => {
        field::$field(Type::$ty)
    };
    ($field:ident) => {
        field::$field(Type::Imm)
    };
}

macro_rules! operations {
    ([] $( $format:ident { $(
        $op:ident $c9:tt $c90a:tt $c10:tt $c11:tt $c12:tt ( $($field:ident $(: $ty:ident)?)* ) $([$attr:ident($($arg:tt)*)])* ;
    )* } )*) => {
        /// What an instruction does, by the mnemonic of the earliest generation that has it.
        ///
        /// One variant per row of the instruction list; [`Op::row`] leads back to the row.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
        #[allow(non_camel_case_types, missing_docs)]
        #[repr(u16)]
        pub enum Op { $($( $op, )*)* }

        impl Op {
            /// Every operation, in the order of the instruction list.
            pub const ALL: &[Op] = &[ $($( Op::$op, )*)* ];
        }

        static ROWS: [Row; Op::ALL.len()] = [ $($(
            Row::new(
                Op::$op,
                stringify!($op),
                Format::$format,
                [code!($c9), code!($c90a), code!($c10), code!($c11), code!($c12)],
                const { &[ $( operand!($field $(: $ty)?) ),* ] as &[OperandDesc] },
            ) $( .$attr($($arg)*) )*,
        )*)* ];
    };
}

for_each_row!(operations);

impl Op {
    /// The operation's row of the instruction list.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Whether it is one of gfx950's matrix operations on formats that the instruction names.
    pub const fn is_f8f6f4(self) -> bool {
        matches!(
            self,
            Op::v_mfma_f32_16x16x128_f8f6f4
                | Op::v_mfma_f32_32x32x64_f8f6f4
                | Op::v_mfma_scale_f32_16x16x128_f8f6f4
                | Op::v_mfma_scale_f32_32x32x64_f8f6f4
        )
    }

    /// Whether it is `v_bitop3`, which keeps its truth table where others keep modifiers.
    pub(super) const fn is_bitop3(self) -> bool {
        matches!(self, Op::v_bitop3_b16 | Op::v_bitop3_b32)
    }
}

/// All rows, for building tables at compile time.
pub(super) const fn rows() -> &'static [Row] {
    &ROWS
}
