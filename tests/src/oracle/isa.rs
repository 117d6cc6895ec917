//! Instructions: decoding is total, and what is decoded can be written as text and encoded again.

use std::fmt::Write;

use rukh_backend_sim::isa::{Arch, DecodeError, Inst, Lanes, decode, encode};

/// Longest instruction, in bytes.
const LONGEST: usize = 20;

/// Decodes the instructions that `data` holds after its first byte, which chooses the processor.
pub fn check(data: &[u8]) {
    if let Some((&choice, code)) = data.split_first() {
        check_code(Arch::ALL[usize::from(choice) % Arch::ALL.len()], code);
    }
}

/// Decodes instruction after instruction, going on by a dword after bytes that are none.
pub fn check_code(arch: Arch, mut code: &[u8]) {
    while !code.is_empty() {
        let length = check_one(arch, code);
        code = code.get(length..).unwrap_or(&[]);
    }
}

/// Decodes the instruction that `code` begins with; gives how many bytes to go on by.
fn check_one(arch: Arch, code: &[u8]) -> usize {
    let inst = match decode(arch, code) {
        Ok(inst) => inst,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            if let DecodeError::Truncated { need, have } = error {
                assert!(
                    have == code.len() && need > have && need <= LONGEST,
                    "{error}"
                );
            }
            return 4;
        }
    };
    let length = usize::from(inst.len);
    assert!(length != 0 && length.is_multiple_of(4) && length <= code.len().min(LONGEST));
    // Bytes beyond the end are not looked at, and all bytes before it are.
    assert_eq!(decode(arch, &code[..length]).as_ref(), Ok(&inst));
    let cut = decode(arch, &code[..length - 4]);
    assert!(
        matches!(cut, Err(DecodeError::Truncated { .. })),
        "{cut:?} of a part of {inst:?}"
    );
    check_encoding(arch, &inst);
    for lanes in [Lanes::W32, Lanes::W64] {
        let mut text = String::new();
        write!(text, "{}", inst.text(arch, lanes)).expect("a String takes everything");
        assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
    }
    length
}

/// What encodes decodes to the same operation and operands, and encodes to the same bytes again. Bits that an
/// instruction ignores are decoded and not encoded; forms that no assembler writes (loads to LDS on GFX9) are
/// decoded only.
fn check_encoding(arch: Arch, inst: &Inst) {
    let Ok(encoded) = encode(arch, inst) else {
        return;
    };
    let again = decode(arch, &encoded.bytes()[..encoded.len()]);
    let words = encoded.words();
    let same = |i: &Inst| {
        (i.op, i.op_y, i.format, i.operands) == (inst.op, inst.op_y, inst.format, inst.operands)
    };
    assert!(
        again.as_ref().is_ok_and(same),
        "{arch}: {inst:?} encodes as {words:08x?}, which is {again:?}"
    );
    let twice = again.map(|again| encode(arch, &again));
    assert_eq!(twice, Ok(Ok(encoded)), "{arch}: {inst:?}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::committed;
    use crate::oracle::{mutate::mutate, rng::Rng};
    use rukh_backend_sim::isa::Operand;
    use rukh_core::loader::CodeObject;

    /// The executable bytes of every committed object.
    fn code() -> Vec<(Arch, Vec<u8>)> {
        let mut all = Vec::new();
        for object in committed::ALL {
            let file = CodeObject::parse(object.code_object).expect("it is ours");
            let arch = Arch::ALL
                .into_iter()
                .find(|arch| arch.name() == object.target.processor())
                .expect("a processor of ours");
            for segment in file.segments().as_slice().iter().filter(|s| s.executable) {
                all.push((arch, segment.data.to_vec()));
            }
        }
        assert!(!all.is_empty());
        all
    }

    #[test]
    fn compiled_code_holds_also_when_damaged_or_taken_for_another_processors() {
        let mut rng = Rng::new(4);
        for (arch, bytes) in code() {
            check_code(arch, &bytes);
            for _ in 0..20 {
                check_code(arch, &mutate(&bytes, &mut rng));
            }
            for other in Arch::ALL {
                check_code(other, &bytes);
            }
        }
    }

    #[test]
    fn random_code_holds_for_every_processor() {
        let mut rng = Rng::new(5);
        let mut bytes = [0; 4096];
        for _ in 0..20 {
            for arch in Arch::ALL {
                rng.fill(&mut bytes);
                check_code(arch, &bytes);
            }
        }
    }

    #[test]
    fn a_comparison_whose_sdwa_form_names_exec_keeps_it() {
        // v_cmpx_eq_u16_sdwa exec, v70, s34 and v_cmp_eq_u16_sdwa exec, v70, s34: on GFX9 the e32 forms imply VCC.
        for low in [0x7d74_44f9_u32, 0x7d54_44f9] {
            let bytes = [low.to_le_bytes(), 0x8201_fe46_u32.to_le_bytes()].concat();
            check_one(Arch::Gfx900, &bytes);
            let inst = decode(Arch::Gfx900, &bytes).expect("both exist");
            assert_eq!(inst.operands[0], Operand::ExecLo);
            let encoded = encode(Arch::Gfx900, &inst).expect("they can be written");
            assert_eq!(encoded.bytes()[..encoded.len()], bytes[..]);
        }
    }

    #[test]
    fn scratch_without_any_address_register_keeps_neither() {
        // scratch_store_dwordx3 off, v[214:216], off offset:375: GFX10.3 has a code for it beside that of no scalar.
        let bytes = [0xdc7c_4177_u32.to_le_bytes(), 0x007f_d600_u32.to_le_bytes()].concat();
        let inst = decode(Arch::Gfx1030, &bytes).expect("it exists");
        assert_eq!(inst.operands[0], Operand::None);
        let encoded = encode(Arch::Gfx1030, &inst).expect("it can be written");
        assert_eq!(encoded.bytes()[..encoded.len()], bytes[..]);
    }

    #[test]
    fn every_first_dword_holds_in_steps() {
        for arch in Arch::ALL {
            for high in 0..=u16::MAX {
                let mut bytes = [0x5a; 20];
                bytes[2..4].copy_from_slice(&high.to_le_bytes());
                check_one(arch, &bytes);
            }
        }
    }
}
