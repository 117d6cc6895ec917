//! Every opcode of memory and scalar encodings that LLVM names must be in the instruction list under that name.
//!
//! Needs `llvm-mc-22` (package llvm-22): each opcode number of each encoding is disassembled with fields that suit
//! it. What LLVM does not read is no verdict.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use rukh_backend_sim::isa::{Arch, Lanes, decode};

/// What LLVM reads, one line an instruction; behind each stands a marker.
fn llvm(arch: Arch, instructions: &[Vec<u32>]) -> Vec<Option<String>> {
    const MARKER: &str = "s_nop 0xa5a5";
    let mut input = String::new();
    for words in instructions {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let list: Vec<String> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
        writeln!(input, "[{}]\n[0xa5 0xa5 0x80 0xbf]", list.join(" ")).expect("a string");
    }
    let mut child = Command::new("llvm-mc-22")
        .args(["--disassemble", "--triple=amdgcn-amd-amdhsa"])
        .arg(format!("--mcpu={arch}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("llvm-mc-22 is needed for this test (package llvm-22)");
    let mut stdin = child.stdin.take().expect("piped");
    let feeder = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("it runs to its end");
    feeder.join().expect("no panic").expect("a reader");
    let text = String::from_utf8(output.stdout).expect("text");
    let (mut read, mut current) = (Vec::new(), None);
    for line in text.lines().map(str::trim) {
        match line {
            "" => {}
            _ if line.starts_with('.') => {}
            MARKER => read.push(current.take()),
            _ => {
                current.get_or_insert_with(|| line.to_string());
            }
        }
    }
    assert_eq!(read.len(), instructions.len(), "{arch}");
    read
}

/// Each opcode of each encoding, with registers and modifiers that most instructions take.
fn words(arch: Arch) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    let gfx9 = arch < Arch::Gfx1030;
    let gfx11 = arch >= Arch::Gfx1100;
    for op in 0..128u32 {
        all.push(vec![0xbf80_0000 | op << 16]);
        all.push(vec![0xbf00_0000 | op << 16 | 2]);
        all.push(vec![0x8000_0000 | op << 23 | 2]);
        for op in [op, op + 128] {
            all.push(vec![0xbe80_0000 | op << 8 | 2 | 8 << 16]);
        }
        if op < 32 {
            all.push(vec![0xb000_0000 | op << 23, 0]);
        }
    }
    for op in 0..256u32 {
        if arch >= Arch::Gfx1201 {
            all.push(vec![0b110110 << 26 | op << 18, 0x0802_0406]);
            for segment in 0..3 {
                all.push(vec![
                    0b1110_1100 << 24 | segment << 24 | op << 14 | 124,
                    8 << 23 | 4,
                    2,
                ]);
            }
            all.push(vec![
                0b110001 << 26 | op << 14 | 124,
                8 << 9 | 4 | 1 << 30,
                2,
            ]);
            all.push(vec![0b110001 << 26 | op << 14 | 124, 8 << 9 | 4, 2]);
            for image in [0b110100, 0b111001] {
                // With and without a sampler, and the fixed fields of rays.
                let low = image << 26 | op << 14;
                all.push(vec![low | 1 << 22, 8 << 9, 0]);
                all.push(vec![low | 1 << 22, 8 << 9 | 2 << 23, 0x0403_0201]);
                all.push(vec![
                    low | 15 << 22 | 1 << 4,
                    8 << 9 | 10 << 24,
                    0x0806_0402,
                ]);
            }
            if op < 64 {
                all.push(vec![0b111101 << 26 | op << 13 | 2 << 6 | 4, 0x0e00_0000]);
            }
            continue;
        }
        let (ds, gds) = if gfx9 { (17, 16) } else { (18, 17) };
        for high in [0x0802_0406, 0x0800_0006] {
            all.push(vec![0b110110 << 26 | op << ds, high]);
            all.push(vec![0b110110 << 26 | op << ds | 1 << gds, high]);
        }
        let segment_at = if gfx11 { 16 } else { 14 };
        for segment in 0..3 {
            // Without a scalar base, then with the address in scalars alone.
            let low = 0b110111 << 26 | (op & 127) << 18 | segment << segment_at;
            all.push(vec![low, 0x047f_0402]);
            all.push(vec![low, 0x0402_0402]);
        }
        let image = match arch {
            Arch::Gfx1100 => 0b111100 << 26 | op << 18,
            Arch::Gfx1030 => 0b111100 << 26 | (op & 127) << 18 | op >> 7,
            _ => 0b111100 << 26 | (op & 127) << 18,
        };
        let sampler = if gfx11 { 2 << 26 } else { 2 << 21 };
        all.push(vec![image | 1 << 8, 0x0002_0402]);
        all.push(vec![image | 1 << 8, 0x0002_0402 | sampler]);
        let unorm = if gfx11 { 1 << 7 } else { 1 << 12 };
        all.push(vec![image | 15 << 8 | 1 << 15 | unorm, 0x0002_0402]);
        let mubuf = 0b111000 << 26 | (op & if gfx9 { 127 } else { 255 }) << 18;
        all.push(vec![mubuf, 0x0802_0400]);
        all.push(vec![mubuf | 1 << 16, 0x0802_0000]);
        all.push(if gfx9 {
            vec![0b110000 << 26 | op << 18 | 8 << 6 | 2 | 1 << 17, 0]
        } else {
            vec![0b111101 << 26 | op << 18 | 8 << 6 | 2, 0xf800_0000]
        });
    }
    all
}

#[test]
fn every_opcode_that_llvm_names_is_in_the_list() {
    let mut differences = Vec::new();
    for arch in Arch::ALL {
        let words = words(arch);
        let theirs = llvm(arch, &words);
        let name = |text: &str| text.split(' ').next().unwrap_or_default().to_string();
        let mut names = std::collections::BTreeSet::new();
        for (words, theirs) in words.iter().zip(theirs) {
            let Some(theirs) = theirs.map(|text| name(&text)) else {
                continue;
            };
            // Vector encodings that share the first bits, and reserved operands, have tests of their own.
            if theirs.starts_with("v_") || theirs.contains("/*") {
                continue;
            }
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let ours = decode(arch, &bytes);
            let ours = match &ours {
                Ok(inst) => name(&inst.text(arch, Lanes::W64).to_string()),
                Err(error) => error.to_string(),
            };
            if ours != theirs {
                differences.push(format!(
                    "{arch}: {words:08x?} is {theirs} to LLVM, here {ours}"
                ));
            }
            names.insert(theirs);
        }
        assert!(names.len() > 300, "{arch}: {}", names.len());
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
