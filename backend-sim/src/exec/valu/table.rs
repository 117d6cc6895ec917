//! The macro that turns a list of operations into handlers.

/// Makes one [`Kernel`](super::levels::Kernel) per row and a function that finds an operation's handler.
///
/// `handlers! { (args, H) ops => body; … }`: a row gives one or more operations of the same meaning and the
/// expression that computes them, in terms of the arguments and the host type. The body is evaluated under the
/// contract of [`VHandler`](super::VHandler) and returns the lane mask.
macro_rules! handlers {
    (($args:ident, $host:ident) $( $op:ident $(| $alias:ident)* => $body:expr; )*) => {
        pub(in crate::exec::valu) mod kernels {
            $(
                #[allow(non_camel_case_types)]
                pub(in crate::exec::valu) struct $op;
            )*
        }

        $(
            impl $crate::exec::valu::levels::Kernel for kernels::$op {
                #[inline(always)]
                #[allow(unused_unsafe)]
                unsafe fn run<$host: $crate::exec::valu::levels::Host>($args: &$crate::exec::valu::VArgs) -> u64 {
                    // SAFETY: the row's operations have the operands that the body reads and writes, and the caller
                    // keeps the contract of `VArgs` for them.
                    unsafe { $body }
                }
            }
        )*

        /// The handler of an operation in this list.
        pub(super) fn handler(
            op: $crate::isa::Op,
            level: $crate::exec::valu::Level,
        ) -> Option<$crate::exec::valu::VHandler> {
            use $crate::exec::valu::levels::handler_of;
            Some(match op {
                $( $crate::isa::Op::$op $(| $crate::isa::Op::$alias)* => handler_of::<kernels::$op>(level), )*
                _ => return None,
            })
        }
    };
}
