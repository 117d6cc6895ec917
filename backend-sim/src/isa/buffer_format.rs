//! Formats of buffer elements: what the codes in instructions and descriptors mean.

use super::Arch;

/// How the components of an element lie in memory. The names list the components from the high bits down, as the
/// manuals do: X is the last number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // the names are the manuals' own
pub enum DataFormat {
    Invalid,
    D8,
    D16,
    D8_8,
    D32,
    D16_16,
    D10_11_11,
    D11_11_10,
    D10_10_10_2,
    D2_10_10_10,
    D8_8_8_8,
    D32_32,
    D16_16_16_16,
    D32_32_32,
    D32_32_32_32,
    Reserved15,
}

use DataFormat as D;

impl DataFormat {
    const ALL: [DataFormat; 16] = [
        D::Invalid,
        D::D8,
        D::D16,
        D::D8_8,
        D::D32,
        D::D16_16,
        D::D10_11_11,
        D::D11_11_10,
        D::D10_10_10_2,
        D::D2_10_10_10,
        D::D8_8_8_8,
        D::D32_32,
        D::D16_16_16_16,
        D::D32_32_32,
        D::D32_32_32_32,
        D::Reserved15,
    ];

    /// As assembly writes it.
    pub const fn name(self) -> &'static str {
        match self {
            D::Invalid => "INVALID",
            D::D8 => "8",
            D::D16 => "16",
            D::D8_8 => "8_8",
            D::D32 => "32",
            D::D16_16 => "16_16",
            D::D10_11_11 => "10_11_11",
            D::D11_11_10 => "11_11_10",
            D::D10_10_10_2 => "10_10_10_2",
            D::D2_10_10_10 => "2_10_10_10",
            D::D8_8_8_8 => "8_8_8_8",
            D::D32_32 => "32_32",
            D::D16_16_16_16 => "16_16_16_16",
            D::D32_32_32 => "32_32_32",
            D::D32_32_32_32 => "32_32_32_32",
            D::Reserved15 => "RESERVED_15",
        }
    }

    /// Bits of the components, X first, from the low bits up; none for what is no format.
    pub const fn components(self) -> &'static [u8] {
        match self {
            D::Invalid | D::Reserved15 => &[],
            D::D8 => &[8],
            D::D16 => &[16],
            D::D8_8 => &[8, 8],
            D::D32 => &[32],
            D::D16_16 => &[16, 16],
            D::D10_11_11 => &[11, 11, 10],
            D::D11_11_10 => &[10, 11, 11],
            D::D10_10_10_2 => &[2, 10, 10, 10],
            D::D2_10_10_10 => &[10, 10, 10, 2],
            D::D8_8_8_8 => &[8, 8, 8, 8],
            D::D32_32 => &[32, 32],
            D::D16_16_16_16 => &[16, 16, 16, 16],
            D::D32_32_32 => &[32, 32, 32],
            D::D32_32_32_32 => &[32, 32, 32, 32],
        }
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        let bits = self.components().iter().map(|&bits| usize::from(bits));
        bits.sum::<usize>() / 8
    }
}

/// What a component's bits stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // the names are the manuals' own
pub enum NumberFormat {
    Unorm,
    Snorm,
    Uscaled,
    Sscaled,
    Uint,
    Sint,
    Reserved6,
    Float,
}

use NumberFormat as N;

impl NumberFormat {
    const ALL: [NumberFormat; 8] = [
        N::Unorm,
        N::Snorm,
        N::Uscaled,
        N::Sscaled,
        N::Uint,
        N::Sint,
        N::Reserved6,
        N::Float,
    ];

    /// As assembly writes it.
    pub const fn name(self) -> &'static str {
        match self {
            N::Unorm => "UNORM",
            N::Snorm => "SNORM",
            N::Uscaled => "USCALED",
            N::Sscaled => "SSCALED",
            N::Uint => "UINT",
            N::Sint => "SINT",
            N::Reserved6 => "RESERVED_6",
            N::Float => "FLOAT",
        }
    }

    /// Whether registers hold the component as an integer.
    pub const fn is_integer(self) -> bool {
        matches!(self, N::Uint | N::Sint)
    }
}

/// An element's format.
pub type BufferFormat = (DataFormat, NumberFormat);

const NORMAL: &[N] = &[N::Unorm, N::Snorm, N::Uscaled, N::Sscaled, N::Uint, N::Sint];
const WITH_FLOAT: &[N] = &[
    N::Unorm,
    N::Snorm,
    N::Uscaled,
    N::Sscaled,
    N::Uint,
    N::Sint,
    N::Float,
];
const WIDE: &[N] = &[N::Uint, N::Sint, N::Float];

/// Unified formats from 1 on run through the data formats, each with the number formats that it has.
const GFX10_FORMATS: [(D, &[N]); 14] = [
    (D::D8, NORMAL),
    (D::D16, WITH_FLOAT),
    (D::D8_8, NORMAL),
    (D::D32, WIDE),
    (D::D16_16, WITH_FLOAT),
    (D::D10_11_11, WITH_FLOAT),
    (D::D11_11_10, WITH_FLOAT),
    (D::D10_10_10_2, NORMAL),
    (D::D2_10_10_10, NORMAL),
    (D::D8_8_8_8, NORMAL),
    (D::D32_32, WIDE),
    (D::D16_16_16_16, WITH_FLOAT),
    (D::D32_32_32, WIDE),
    (D::D32_32_32_32, WIDE),
];
const GFX11_FORMATS: [(D, &[N]); 14] = [
    (D::D8, NORMAL),
    (D::D16, WITH_FLOAT),
    (D::D8_8, NORMAL),
    (D::D32, WIDE),
    (D::D16_16, WITH_FLOAT),
    (D::D10_11_11, &[N::Float]),
    (D::D11_11_10, &[N::Float]),
    (D::D10_10_10_2, &[N::Unorm, N::Snorm, N::Uint, N::Sint]),
    (D::D2_10_10_10, NORMAL),
    (D::D8_8_8_8, NORMAL),
    (D::D32_32, WIDE),
    (D::D16_16_16_16, WITH_FLOAT),
    (D::D32_32_32, WIDE),
    (D::D32_32_32_32, WIDE),
];

/// What a format code means: on gfx9 the data format in bits 0 to 3 and the number format in bits 4 to 6, later the
/// unified format. `None` if the code is not assigned; 0 is [`DataFormat::Invalid`].
pub fn buffer_format(arch: Arch, code: u8) -> Option<BufferFormat> {
    if arch.is_gfx9() {
        let data = D::ALL[usize::from(code & 15)];
        let number = N::ALL[usize::from(code >> 4 & 7)];
        return Some((data, number));
    }
    let Some(mut at) = usize::from(code).checked_sub(1) else {
        return Some((D::Invalid, N::Unorm));
    };
    let groups = if arch.is_gfx11_plus() {
        &GFX11_FORMATS
    } else {
        &GFX10_FORMATS
    };
    for &(data, numbers) in groups {
        if let Some(&number) = numbers.get(at) {
            return Some((data, number));
        }
        at -= numbers.len();
    }
    None
}
