//! Elements of typed memory: from their bits in memory to registers, and back.
//!
//! Normalised numbers are the nearest to the quotient; what is stored is rounded to nearest, ties to even, and
//! saturates. Small floats of 10 and 11 bits have no sign; what is stored in them is rounded towards zero.

use super::atomic::narrow;
use super::modifiers::widen;
use crate::isa::{BufferFormat, NumberFormat};

/// What registers hold of a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Width {
    /// 32 bits.
    Full,
    /// 16 bits (D16).
    Half,
}

/// The constant one, as registers hold it.
pub(crate) fn one(number: NumberFormat, width: Width) -> u32 {
    match (number.is_integer(), width) {
        (true, _) => 1,
        (false, Width::Full) => 1f32.to_bits(),
        (false, Width::Half) => 0x3c00,
    }
}

/// The components of an element as registers hold them. Those that the format lacks are zero, but for W, which is one.
pub(crate) fn load((data, number): BufferFormat, bytes: &[u8; 16], width: Width) -> [u32; 4] {
    let element = u128::from_le_bytes(*bytes);
    let mut values = [0, 0, 0, one(number, width)];
    let mut at = 0;
    for (value, &bits) in values.iter_mut().zip(data.components()) {
        let raw = (element >> at) as u32 & mask(bits);
        *value = from_bits(raw, bits, number, width);
        at += u32::from(bits);
    }
    values
}

/// The element that register values make.
pub(crate) fn store((data, number): BufferFormat, values: &[u32; 4], width: Width) -> [u8; 16] {
    let mut element = 0u128;
    let mut at = 0;
    for (&value, &bits) in values.iter().zip(data.components()) {
        element |= u128::from(to_bits(value, bits, number, width)) << at;
        at += u32::from(bits);
    }
    element.to_le_bytes()
}

fn mask(bits: u8) -> u32 {
    u32::MAX >> (32 - u32::from(bits.clamp(1, 32)))
}

fn sign_extend(raw: u32, bits: u8) -> i32 {
    let up = 32 - u32::from(bits.clamp(1, 32));
    ((raw << up) as i32) >> up
}

fn from_bits(raw: u32, bits: u8, number: NumberFormat, width: Width) -> u32 {
    let signed = sign_extend(raw, bits);
    let value = match number {
        NumberFormat::Uint => {
            return match width {
                Width::Full => raw,
                Width::Half => raw & 0xffff,
            };
        }
        NumberFormat::Sint => {
            return match width {
                Width::Full => signed as u32,
                Width::Half => signed as u32 & 0xffff,
            };
        }
        NumberFormat::Float => {
            return match (bits, width) {
                (32, Width::Full) => raw,
                (32, Width::Half) => u32::from(narrow(raw)),
                (16, Width::Full) => widen(raw as u16),
                (16, Width::Half) => raw,
                // Small floats have half precision's exponent: their bits are its upper ones.
                (11, Width::Full) => widen((raw << 4) as u16),
                (11, Width::Half) => raw << 4,
                (10, Width::Full) => widen((raw << 5) as u16),
                (10, Width::Half) => raw << 5,
                _ => 0,
            };
        }
        NumberFormat::Unorm => f64::from(raw) / f64::from(mask(bits)),
        // Both lowest codes mean minus one.
        NumberFormat::Snorm | NumberFormat::Reserved6 => {
            (f64::from(signed) / f64::from(mask(bits) >> 1)).max(-1.0)
        }
        NumberFormat::Uscaled => f64::from(raw),
        NumberFormat::Sscaled => f64::from(signed),
    };
    match width {
        Width::Full => (value as f32).to_bits(),
        Width::Half => u32::from(half(value)),
    }
}

/// Double to half precision, to nearest, ties to even.
fn half(value: f64) -> u16 {
    // Rounding to odd on the way keeps what the second rounding needs to know.
    let single = value as f32;
    let mut bits = single.to_bits();
    if f64::from(single) != value && bits & 1 == 0 {
        bits = if f64::from(single).abs() < value.abs() {
            bits + 1
        } else {
            bits - 1
        };
    }
    narrow(bits)
}

fn to_bits(value: u32, bits: u8, number: NumberFormat, width: Width) -> u32 {
    let most = mask(bits);
    if number.is_integer() {
        let signed = match width {
            Width::Full => value as i32,
            Width::Half => i32::from(value as i16),
        };
        let unsigned = match width {
            Width::Full => value,
            Width::Half => value & 0xffff,
        };
        return if number == NumberFormat::Uint {
            unsigned.min(most)
        } else {
            let highest = (most >> 1) as i32;
            signed.clamp(-highest - 1, highest) as u32 & most
        };
    }
    let single = match width {
        Width::Full => value,
        Width::Half => widen(value as u16),
    };
    let real = f64::from(f32::from_bits(single));
    let scaled = |scale: f64, low: f64, high: f64| {
        // A NaN becomes zero.
        let rounded = libm::rint((real * scale).clamp(low, high));
        if rounded.is_nan() { 0.0 } else { rounded }
    };
    let (top, half_top) = (f64::from(most), f64::from(most >> 1));
    match number {
        NumberFormat::Float => match (bits, width) {
            (32, _) => single,
            (16, Width::Full) => u32::from(narrow(single)),
            (16, Width::Half) => value & 0xffff,
            (11, _) => small_float(single, 6),
            (10, _) => small_float(single, 5),
            _ => 0,
        },
        NumberFormat::Unorm => scaled(top, 0.0, top) as u32,
        NumberFormat::Snorm | NumberFormat::Reserved6 => {
            scaled(half_top, -half_top, half_top) as i32 as u32 & most
        }
        NumberFormat::Uscaled => scaled(1.0, 0.0, top) as u32,
        _ => scaled(1.0, -half_top - 1.0, half_top) as i32 as u32 & most,
    }
}

/// A float without sign, five bits of exponent and so many of fraction: rounded towards zero, negative numbers zero.
fn small_float(single: u32, fraction: u32) -> u32 {
    let magnitude = single & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return 31 << fraction | 1 << (fraction - 1);
    }
    if single >> 31 != 0 {
        return 0;
    }
    if magnitude == 0x7f80_0000 {
        return 31 << fraction;
    }
    let largest = (31 << fraction) - 1;
    let exponent = magnitude >> 23;
    if exponent >= 113 {
        return ((magnitude - (112 << 23)) >> (23 - fraction)).min(largest);
    }
    // Subnormal: units of 2^-(14 + fraction).
    let significand = magnitude & 0x7f_ffff | 0x80_0000;
    let shift = 113 - exponent + 23 - fraction;
    if exponent == 0 || shift > 31 {
        0
    } else {
        significand >> shift
    }
}
