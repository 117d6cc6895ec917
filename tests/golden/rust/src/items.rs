//! What one item does, in plain Rust without a word about where it runs.

/// Words of a row.
pub const ROW: usize = 24;

/// Orders a row by the words' reversed bits, and folds it with arithmetic of all widths.
///
/// Not by core's sort: LLVM 22's pass `slsr` (`llc -opt-bisect-limit`) has its merge move both ends where one of them
/// must stay, which ends in the panic of a comparison without an order. The same IR at `-O0` and `-O1` sorts.
pub fn digest(row: &mut [u32; ROW]) -> u64 {
    for sorted in 1..ROW {
        let mut at = sorted;
        while at > 0 && row[at - 1].reverse_bits() > row[at].reverse_bits() {
            row.swap(at - 1, at);
            at -= 1;
        }
    }
    let folded = row.iter().enumerate().fold(1u128, |folded, (at, &word)| {
        let turned = word.rotate_left(at as u32) ^ word.leading_zeros();
        folded
            .wrapping_mul(u128::from(turned) | 1)
            .rotate_right(29)
            .wrapping_add(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    });
    let [low, high] = [folded as u64, (folded >> 64) as u64];
    match low.checked_rem(u64::from(row[0])) {
        Some(rest) => high ^ rest,
        None => !high,
    }
}

/// Bytes of a program.
pub const LENGTH: usize = 40;

#[derive(Clone, Copy)]
enum Instruction {
    Push(f32),
    Add,
    Subtract,
    Multiply,
    Divide,
    Swap,
    Duplicate,
    Branch(usize),
}

impl Instruction {
    fn decode(byte: u8) -> Self {
        let low = byte & 0x1f;
        match byte >> 5 {
            0 | 1 => Self::Push(f32::from(low) - 15.5),
            2 => Self::Add,
            3 => Self::Subtract,
            4 if low & 1 == 0 => Self::Multiply,
            4 => Self::Divide,
            5 => Self::Swap,
            6 => Self::Duplicate,
            _ => Self::Branch(usize::from(low)),
        }
    }
}

/// A stack machine: every lane takes its own way through the same code. Single operations of f32, which are the same
/// everywhere.
pub fn interpret(program: &[u8; LENGTH]) -> f32 {
    let mut stack = [0.0f32; 8];
    let (mut depth, mut at) = (0, 0);
    for _ in 0..4 * LENGTH {
        let Some(&byte) = program.get(at) else {
            break;
        };
        at += 1;
        let mut pop = || {
            depth = usize::saturating_sub(depth, 1);
            stack[depth]
        };
        let result = match Instruction::decode(byte) {
            Instruction::Push(value) => [Some(value), None],
            Instruction::Add => [Some(pop() + pop()), None],
            Instruction::Subtract => [Some(pop() - pop()), None],
            Instruction::Multiply => [Some(pop() * pop()), None],
            Instruction::Divide => {
                let quotient = pop() / pop();
                [
                    Some(if quotient.is_finite() { quotient } else { 0.25 }),
                    None,
                ]
            }
            Instruction::Swap => [Some(pop()), Some(pop())],
            Instruction::Duplicate => {
                let value = pop();
                [Some(value), Some(value)]
            }
            Instruction::Branch(target) => {
                if pop() > 0.0 {
                    at = target;
                }
                [None, None]
            }
        };
        for value in result.into_iter().flatten() {
            if let Some(place) = stack.get_mut(depth) {
                *place = value.clamp(-1e6, 1e6);
                depth += 1;
            }
        }
    }
    stack.iter().fold(0.0, |sum, value| sum * 0.5 + value)
}
