//! Typed elements: every format of every generation, loaded and stored, against exact rational arithmetic.

use super::bed::{Bed, Random, assemble};
use rukh_backend_sim::isa::{Arch, DataFormat, NumberFormat, buffer_format};

/// The bits of a component, from an element in memory.
fn component(element: &[u8; 16], bits: &[u8], at: usize) -> u32 {
    let low: u32 = bits[..at].iter().map(|&b| u32::from(b)).sum();
    (u128::from_le_bytes(*element) >> low) as u32 & (u64::MAX >> (64 - bits[at])) as u32
}

/// The value that a code of `bits` stands for, as numerator and denominator.
fn fraction(raw: u32, bits: u8, number: NumberFormat) -> (i64, i64) {
    let raw = i64::from(raw);
    let signed = if raw >> (bits - 1) != 0 {
        raw - (1 << bits)
    } else {
        raw
    };
    match number {
        NumberFormat::Unorm => (raw, (1 << bits) - 1),
        NumberFormat::Snorm | NumberFormat::Reserved6 => {
            let one = (1i64 << (bits - 1)) - 1;
            (signed.max(-one), one)
        }
        NumberFormat::Uscaled => (raw, 1),
        _ => (signed, 1),
    }
}

/// Whether `got` is a nearest single-precision number to n / d: no neighbour is nearer.
fn is_nearest(got: f32, (n, d): (i64, i64)) -> bool {
    // The distance times d * 2^60: exact in integers, as every operand is below 2^33 and a multiple of 2^-60.
    let distance = |x: f32| {
        let scaled = f64::from(x) * 2f64.powi(60);
        ((scaled as i128) * i128::from(d) - (i128::from(n) << 60)).unsigned_abs()
    };
    let here = distance(got);
    let neighbours = [
        f32::from_bits(got.to_bits() + 1),
        f32::from_bits(got.to_bits().wrapping_sub(1)),
    ];
    neighbours
        .into_iter()
        .filter(|x| x.is_finite())
        .all(|x| here <= distance(x))
}

/// The value of a float of five bits of exponent and `fraction` of fraction.
fn small_float(magnitude: u32, fraction: u32) -> f64 {
    let (exponent, rest) = (magnitude >> fraction, magnitude & ((1 << fraction) - 1));
    let rest = f64::from(rest) / f64::from(1u32 << fraction);
    match exponent {
        0 => rest * 2f64.powi(-14),
        31 if rest == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + rest) * 2f64.powi(e as i32 - 15),
    }
}

fn check_loaded(got: u32, raw: u32, bits: u8, number: NumberFormat) {
    let what = format!("{number:?} of {bits} bits, {raw:#x}, loads as {got:#x}");
    match number {
        NumberFormat::Uint => assert_eq!(got, raw, "{what}"),
        NumberFormat::Sint => {
            let up = 32 - u32::from(bits);
            assert_eq!(got, ((raw << up) as i32 >> up) as u32, "{what}");
        }
        NumberFormat::Float => {
            let expected = match bits {
                32 => return assert_eq!(got, raw, "{what}"),
                16 => {
                    let value = small_float(raw & 0x7fff, 10);
                    if raw >> 15 != 0 { -value } else { value }
                }
                11 => small_float(raw, 6),
                10 => small_float(raw, 5),
                // No format has it.
                _ => return,
            };
            let got = f64::from(f32::from_bits(got));
            assert!(
                got == expected || got.is_nan() && expected.is_nan(),
                "{what}"
            );
        }
        _ => assert!(
            is_nearest(f32::from_bits(got), fraction(raw, bits, number)),
            "{what}"
        ),
    }
}

/// Every format that `arch` assigns, with its code.
fn formats(arch: Arch) -> Vec<(u8, DataFormat, NumberFormat)> {
    let of = |code| buffer_format(arch, code).map(|(data, number)| (code, data, number));
    let all = (0..128).filter_map(of);
    let sized = all.filter(|(_, data, number)| {
        // gfx9 can write down fields that name nothing: wide normalised numbers, floats of eight bits.
        let bits = data.components().iter().copied().max().unwrap_or(0);
        let wide = bits == 32;
        let integer_or_float = number.is_integer() || *number == NumberFormat::Float;
        let float = *number != NumberFormat::Float || bits >= 16 || bits == 11;
        bits > 0 && (!wide || integer_or_float) && float
    });
    sized.collect()
}

/// One of each table: the codes of gfx9, gfx10 and gfx11.
const ARCHS: [Arch; 4] = [Arch::Gfx90a, Arch::Gfx1030, Arch::Gfx1100, Arch::Gfx1201];

fn descriptor(bed: &mut Bed, data: u64, stride: u32, records: u32) {
    // Structured by index; X, Y, Z and W as they are.
    let words = [
        data as u32,
        (data >> 32) as u32 | stride << 16,
        records,
        0x1000_0fac,
    ];
    bed.set_scalars(8, &words);
}

#[test]
fn typed_loads_convert_every_format() {
    for arch in ARCHS {
        let formats = formats(arch);
        assert!(formats.len() > 50);
        for (code, data, number) in formats {
            let mut bed = Bed::of(arch);
            let at = bed.allocate(1);
            let mut random = Random(u64::from(code));
            let mut elements = [[0u8; 16]; 32];
            for (lane, element) in elements.iter_mut().enumerate() {
                let words: [u32; 4] = std::array::from_fn(|_| random.next());
                // Edges first: zero, all ones, the lowest and the highest signed codes.
                let bits = data.components().iter().rev();
                let pick = |bits: u8| match lane {
                    0 => 0,
                    1 => u128::from(u32::MAX >> (32 - bits)),
                    2 => 1 << (bits - 1),
                    3 => (1 << (bits - 1)) - 1,
                    4 => (1 << (bits - 1)) + 1,
                    _ => 1,
                };
                let edges = bits.fold(0u128, |all, &b| (all << b) | pick(b));
                *element = edges.to_le_bytes();
                if lane > 5 {
                    for (to, from) in element.chunks_mut(4).zip(words) {
                        to.copy_from_slice(&from.to_le_bytes());
                    }
                }
                bed.write(at + lane as u64 * 16, element);
            }
            descriptor(&mut bed, at, 16, 32);
            bed.set(0, |lane| lane as u32);
            let zero = if arch >= Arch::Gfx1201 { "null" } else { "0" };
            let source =
                format!("tbuffer_load_format_xyzw v[4:7], v0, s[8:11], {zero} format:1 idxen");
            bed.run_code(&with_format(arch, &source, code));
            let one = if number.is_integer() {
                1
            } else {
                1f32.to_bits()
            };
            for (lane, element) in elements.iter().enumerate() {
                let bits = data.components();
                for c in 0..4 {
                    let got = bed.get(4 + c as u16, lane);
                    match bits.get(c) {
                        Some(&width) => {
                            check_loaded(got, component(element, bits, c), width, number)
                        }
                        None => assert_eq!(got, if c == 3 { one } else { 0 }),
                    }
                }
            }
        }
    }
}

/// A program whose first instruction has another format: seven bits from bit 19 on, or bit 55 on gfx12.
fn with_format(arch: Arch, source: &str, format: u8) -> Vec<u8> {
    let mut code = assemble(arch, if arch < Arch::Gfx1030 { 64 } else { 32 }, source);
    let low = if arch >= Arch::Gfx1201 { 55 } else { 19 };
    let first: [u8; 8] = code[..8].try_into().expect("two dwords");
    let first = u64::from_le_bytes(first);
    assert_eq!(first >> low & 127, 1);
    let patched = first & !(127 << low) | u64::from(format) << low;
    code[..8].copy_from_slice(&patched.to_le_bytes());
    code
}

/// Single-precision inputs with what a store of a format makes of them.
#[test]
fn typed_stores_round_to_nearest_even_and_saturate() {
    let f = f32::to_bits;
    #[rustfmt::skip]
    let cases: &[(&str, &str, u32, [u32; 4], u128)] = &[
        ("8_8_8_8", "UNORM", 4, [f(0.0), f(1.0), f(0.5), f(2.0)], 0xff_80_ff_00),
        ("8_8_8_8", "UNORM", 4, [f(-1.0), f(f32::NAN), f(0.499 / 255.0), f(1.5 / 255.0)], 0x02_00_00_00),
        ("8_8_8_8", "SNORM", 4, [f(-1.0), f(1.0), f(-2.0), f(0.5)], 0x40_81_7f_81),
        ("8_8_8_8", "USCALED", 4, [f(2.5), f(3.5), f(300.0), f(-1.0)], 0x00_ff_04_02),
        ("8_8_8_8", "SSCALED", 4, [f(-2.5), f(127.6), f(-200.0), f(1.0)], 0x01_80_7f_fe),
        ("8_8_8_8", "UINT", 4, [1, 255, 256, u32::MAX], 0xff_ff_ff_01),
        ("8_8_8_8", "SINT", 4, [1, 127, 128, i32::MIN as u32], 0x80_7f_7f_01),
        ("16_16", "FLOAT", 2, [f(1.0), f(65520.0), 0, 0], 0x7c00_3c00),
        // Half way between two of the smallest subnormals' multiples: to even.
        ("16_16", "FLOAT", 2, [f(f32::from_bits(0x33c0_0000)), f(-2.0), 0, 0], 0xc000_0002),
        ("16_16", "SINT", 2, [40000, -40000i32 as u32, 0, 0], 0x8000_7fff),
        ("2_10_10_10", "UNORM", 4, [f(1.0), f(0.0), f(1.0), f(0.4)], 0x7ff0_03ff),
        ("10_11_11", "FLOAT", 3, [f(1.0), f(-1.0), f(f32::INFINITY), 0], 0xf800_0000 | 15 << 6),
        // Towards zero: 1 + 1/64 + 1/128 has one bit too many.
        ("10_11_11", "FLOAT", 3, [f(1.0 + 3.0 / 128.0), f(1e9), f(2f32.powi(-19)), 0], 1 << 22 | 0x7bf << 11 | 0x3c1),
        ("32_32", "UINT", 2, [7, u32::MAX, 0, 0], 0xffff_ffff_0000_0007),
        ("32_32_32_32", "FLOAT", 4, [1, 2, 3, 0x7fa0_0000], 0x7fa0_0000_0000_0003_0000_0002_0000_0001),
    ];
    for arch in ARCHS {
        for &(data, number, components, values, expected) in cases {
            let found = formats(arch)
                .into_iter()
                .find(|(_, d, n)| d.name() == data && n.name() == number);
            let Some((code, format, _)) = found else {
                assert!(
                    data == "10_11_11" || data == "2_10_10_10",
                    "{data} {number}"
                );
                continue;
            };
            let mut bed = Bed::of(arch);
            let at = bed.allocate(1);
            bed.write(at, &[0xcc; 64]);
            descriptor(&mut bed, at, 16, 32);
            for (register, value) in (4..).zip(values) {
                bed.set(register, |_| value);
            }
            bed.wave.set_exec(1);
            let zero = if arch >= Arch::Gfx1201 { "null" } else { "0" };
            let (suffix, last) =
                [("x", 4), ("xy", 5), ("xyz", 6), ("xyzw", 7)][components as usize - 1];
            let source = format!(
                "tbuffer_store_format_{suffix} v[4:{last}], v0, s[8:11], {zero} format:1 idxen"
            );
            bed.run_code(&with_format(arch, &source, code));
            let bytes = format.bytes();
            let got = bed.read(at, 16);
            assert_eq!(
                got[..bytes],
                expected.to_le_bytes()[..bytes],
                "{arch} {data} {number} {values:x?}"
            );
            assert!(
                got[bytes..].iter().all(|&b| b == 0xcc),
                "{arch} {data}: beyond the element"
            );
        }
    }
}
