//! Scalar arithmetic against wide integers and strings of bits.

use super::*;
use alloc::format;
use alloc::string::String;

const PROGRAM: &[u8] = include_bytes!("programs/scalar.gfx90a.bin");

fn bits(value: u64, width: usize) -> String {
    format!("{value:0width$b}")
}

/// What the registers must hold: pairs of number and value.
fn model(a: u32, b: u32, x: u64, y: u64, carry: bool) -> Vec<(usize, u32)> {
    let mut expected: Vec<(usize, u32)> = Vec::new();
    let mut put = |at: usize, value: i128| expected.push((at, value as u32));
    let (ua, ub, c) = (i128::from(a), i128::from(b), i128::from(carry));
    let (sa, sb) = (i128::from(a as i32), i128::from(b as i32));
    let overflows = |v: i128| i128::from(v != i128::from(v as i32));
    let unsigned = |v: i128| i128::from(v != i128::from(v as u32));
    put(10, ua + ub);
    put(11, unsigned(ua + ub));
    put(12, ua + ub + c);
    put(13, unsigned(ua + ub + c));
    put(14, ua - ub - c);
    put(15, unsigned(ua - ub - c));
    put(16, sa + sb);
    put(17, overflows(sa + sb));
    put(18, sa - sb);
    put(19, overflows(sa - sb));
    put(20, sa.min(sb));
    put(21, i128::from(sa < sb));
    put(22, ua.max(ub));
    put(23, i128::from(ua >= ub));
    let distance = i128::from(((sa - sb) as i32).wrapping_abs());
    put(24, distance);
    put(25, i128::from(distance as u32 != 0));
    let (offset, width) = ((b & 31) as usize, (b >> 16 & 127) as usize);
    let field: String = bits(u64::from(a), 32)
        .chars()
        .rev()
        .skip(offset)
        .take(width)
        .collect();
    let field: String = field.chars().rev().collect();
    let value = i128::from_str_radix(if field.is_empty() { "0" } else { &field }, 2).unwrap_or(0);
    put(26, value);
    put(27, i128::from(value != 0));
    // A field that the register's end cuts short has zeros above.
    let cut = width.min(32) > field.len();
    let negative = !cut && field.starts_with('1');
    let extended = if negative {
        value - (1 << field.len())
    } else {
        value
    };
    put(28, extended);
    put(29, i128::from(extended as u32 != 0));
    put(30, ((1i128 << (a & 31)) - 1) << (b & 31));
    put(31, (ua * ub) >> 32);
    put(32, (sa * sb) >> 32);
    put(33, ua * 8 + ub);
    put(34, unsigned(ua * 8 + ub));
    let text = bits(u64::from(a), 32);
    let backwards: String = text.chars().rev().collect();
    let position = |text: &str, of: char| text.find(of).map_or(-1, |at| at as i128);
    put(35, position(&backwards, '1'));
    put(36, position(&text, '1'));
    let other = if text.starts_with('0') { '1' } else { '0' };
    put(37, position(&text, other));
    put(38, i128::from_str_radix(&backwards, 2).unwrap_or(0));
    put(39, text.matches('1').count() as i128);
    put(40, i128::from(a != 0));
    put(41, i128::from(a as u8 as i8));
    put(42, (ua & 0xffff) + (ub >> 16 << 16));
    put(43, sa >> (b & 31));
    put(44, i128::from((sa >> (b & 31)) as u32 != 0));
    put(45, i128::from(a & !b));
    put(46, i128::from(a & !b != 0));
    let quads: Vec<bool> = (0..8).map(|quad| a >> (4 * quad) & 15 != 0).collect();
    put(
        47,
        quads
            .iter()
            .rev()
            .fold(0, |mask, &any| mask << 4 | if any { 15 } else { 0 }),
    );
    put(
        48,
        quads
            .iter()
            .rev()
            .fold(0, |mask, &any| mask << 1 | i128::from(any)),
    );
    let twice: String = text.chars().flat_map(|bit| [bit, bit]).collect();
    let mut put64 = |at: usize, value: i128| {
        put(at, value);
        put(at + 1, value >> 32);
    };
    put64(50, i128::from_str_radix(&twice, 2).unwrap_or(0));
    put64(52, i128::from(x) << (b & 63));
    put64(54, i128::from(x as i64) >> (b & 63));
    let (offset, width) = (b & 63, b >> 16 & 127);
    let shifted = x >> offset;
    let field = match width {
        0 => 0,
        width if width >= 64 => i128::from(shifted as i64),
        width => {
            let value = i128::from(shifted) & ((1 << width) - 1);
            if value >> (width - 1) != 0 {
                value - (1 << width)
            } else {
                value
            }
        }
    };
    put64(56, field);
    put64(58, i128::from(!(x ^ y)));
    let wide = bits(x, 64);
    let other = if wide.starts_with('0') { '1' } else { '0' };
    put(60, position(&wide, other));
    put(61, i128::from(sa > sb));
    put(62, i128::from(a >> (b & 31) & 1 == 1));
    put(63, sa * -16);
    put(64, i128::from(a < 0x8000));
    put(65, sa + 0x7fff);
    let mut put64 = |at: usize, value: u64| {
        put(at, i128::from(value));
        put(at + 1, i128::from(value >> 32));
    };
    put64(66, x);
    put64(70, x & y);
    put64(72, x & !y);
    put(68, i128::from(x & y != 0));
    expected
}

#[test]
fn scalar_arithmetic_agrees_with_wide_integers() {
    let mut bed = Bed::new(Arch::Gfx90a, PROGRAM);
    let mut random = Random(1);
    let edges = [
        0,
        1,
        2,
        31,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x0010_0004,
        0x0020_001f,
    ];
    for round in 0..400usize {
        let pick = |value: u64, at: usize| {
            if at.is_multiple_of(3) {
                edges[value as usize % edges.len()]
            } else {
                value as u32
            }
        };
        let (a, b) = (
            pick(random.next() >> 7, round),
            pick(random.next() >> 9, round / 3),
        );
        let (x, y) = (random.next(), random.next());
        let carry = round % 2 == 1;
        let mut wave = bed.wave(64);
        let inputs = [
            a,
            b,
            x as u32,
            (x >> 32) as u32,
            y as u32,
            (y >> 32) as u32,
            u32::from(carry),
        ];
        for (number, value) in inputs.into_iter().enumerate() {
            wave.set_sgpr(number, value);
        }
        assert!(matches!(bed.run(&mut wave, 1000), Exit::Ended));
        for (register, value) in model(a, b, x, y, carry) {
            assert_eq!(
                wave.sgpr(register),
                value,
                "s{register} of {a:#x}, {b:#x}, {x:#x}, {y:#x}, {carry}"
            );
        }
    }
}
