//! The disassembler against LLVM's: every row of the instruction list in random valid forms, and random words,
//! must read the same in both.
//!
//! By hand, LLVM's own tests: `RUKH_MC_TESTS=llvm/test/MC cargo test -p rukh-backend-sim --test decode_llvm -- --ignored
//! --nocapture` reads every encoding that its files for AMDGPU name on each processor.
//!
//! Needs `llvm-mc-22`, and `llvm-mc-19` for opcodes that nobody knows: the newer one aborts at some. What LLVM rejects is no verdict: it insists on zero in fields that the hardware ignores.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use rukh_backend_sim::isa::{
    Arch, DecodeError, Inst, Lanes, Op, Operand, Rng, decode, encode, generate, generate_dual,
};

/// Forms of each row.
const PER_ROW: usize = 40;
/// Random words per encoding prefix.
const RANDOM: usize = 400;

/// The LLVM that knows all nine processors.
const JUDGE: &str = "llvm-mc-22";
/// The one that rejects opcodes it does not know: the newer one aborts at them.
const REJECTER: &str = "llvm-mc-19";

/// How LLVM read one instruction.
struct Verdict {
    bytes: Vec<u8>,
    theirs: Option<String>,
}

/// Disassembles all `instructions`, in few processes unless some word makes LLVM itself abort: that word has no
/// verdict, and the others of its batch are read in ever smaller batches until it is alone.
fn llvm(judge: &str, arch: Arch, lanes: Lanes, instructions: Vec<Vec<u8>>) -> Vec<Verdict> {
    let mut theirs = Vec::new();
    let mut aborts = 0;
    let mut batches: Vec<&[Vec<u8>]> = instructions.chunks(1000).rev().collect();
    while let Some(batch) = batches.pop() {
        let read = llvm_once(judge, arch, lanes, batch);
        if read.len() == batch.len() {
            theirs.extend(read);
        } else if batch.len() > 1 {
            // What LLVM had written before it aborted may be lost, so where it stopped does not say which word it was.
            let (first, second) = batch.split_at(batch.len() / 2);
            batches.extend([second, first]);
        } else {
            theirs.push(None);
            aborts += 1;
            assert!(aborts < 300, "{judge} aborts all the time");
        }
    }
    instructions
        .into_iter()
        .zip(theirs)
        .map(|(bytes, theirs)| Verdict { bytes, theirs })
        .collect()
}

/// Names the processor and its modes.
fn configure(command: &mut Command, arch: Arch, lanes: Lanes) {
    command.arg(format!("--mcpu={arch}"));
    if arch >= Arch::Gfx1030 && lanes == Lanes::W64 {
        command.arg("--mattr=+wavefrontsize64");
    }
    if arch >= Arch::Gfx1100 {
        // Halves of registers by name, as the encodings have them.
        command.arg("--mattr=+real-true16");
    }
}

/// One run of LLVM. After each instruction stands a marker, so that what is rejected, or shorter than thought,
/// cannot shift the rest. The answer ends early if LLVM does.
fn llvm_once(
    judge: &str,
    arch: Arch,
    lanes: Lanes,
    instructions: &[Vec<u8>],
) -> Vec<Option<String>> {
    const MARKER: &str = "s_nop 0xa5a5";
    let mut input = String::new();
    for bytes in instructions {
        let list: Vec<String> = bytes.iter().map(|b| format!("{b:#04x}")).collect();
        writeln!(input, "[{}]\n[0xa5 0xa5 0x80 0xbf]", list.join(" "))
            .expect("writing to a string");
    }
    let mut command = Command::new(judge);
    command.args(["--disassemble", "--triple=amdgcn-amd-amdhsa"]);
    configure(&mut command, arch, lanes);
    let mut child = command
        .env("LLVM_DISABLE_SYMBOLIZATION", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{judge} is needed for this test: {error}"));
    let mut stdin = child.stdin.take().expect("piped");
    let feeder = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("llvm-mc runs to its end");
    // An early end breaks the pipe.
    let _ = feeder.join().expect("the feeder does not panic");
    let text = String::from_utf8(output.stdout).expect("llvm-mc writes text");
    let mut theirs = Vec::new();
    let mut current: Option<String> = None;
    for line in text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with('.'))
    {
        if line == MARKER {
            theirs.push(current.take());
        } else if current.is_none() {
            current = Some(normal(line));
        }
    }
    theirs
}

fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Why a difference is LLVM's own affair.
fn excuse(arch: Arch, theirs: &str, ours: &Result<Inst, DecodeError>) -> Option<&'static str> {
    let starts = |names: &[&str]| names.iter().any(|name| theirs.starts_with(name));
    let has = |what: &str| theirs.contains(what);
    let gfx9 = arch < Arch::Gfx1030;
    if has("/*") {
        return Some("LLVM marks operands that it decoded and would not have assembled");
    }
    if gfx9 && (has("null")) {
        return Some("gfx9 has no null register: LLVM reads a reserved code as one");
    }
    if gfx9 && starts(&["ds_"]) && theirs.matches(", ").count() >= 2 {
        return Some("LLVM forgets gds on instructions with two data operands");
    }
    if has("_sdwa ") && has("dst_unused:UNUSED_PAD") && ours.is_err() {
        return Some("LLVM reads the reserved fourth kind of padding as the first");
    }
    if !gfx9 && has("src_lds_direct") {
        return Some("gfx11 has no LDS operand: LLVM reads a reserved code as one");
    }
    if starts(&["buffer_", "tbuffer_"])
        && matches!(ours, Err(DecodeError::BadOperand { code: 255, .. }))
    {
        return Some("a buffer offset cannot be a literal");
    }
    if starts(&["v_cndmask_b32_dpp"]) && has("|v") && has("vcc_lo|") {
        return Some("LLVM draws the bars of an absolute value around the mask");
    }
    if starts(&["s_cmp_"]) && has("_f16 ") {
        return Some("LLVM shows the second operand as an integer");
    }
    if starts(&["flat_"]) && has("offset:") {
        return Some("LLVM shows the sign bit of an offset that has none");
    }
    if starts(&["v_ldexp_f16"]) && has("sext(") && !has("sdwa") {
        return Some("LLVM reads the negation of an integer as its sign extension");
    }
    if arch == Arch::Gfx1030 && has("16_e64 ") && !has("op_sel") {
        return Some("LLVM shows no half selection where gfx10 has a short form too");
    }
    if arch == Arch::Gfx1201 && (has(" nv") || has(" scale_offset")) {
        return Some("bits that only gfx1250 has, which LLVM reads on all of gfx12");
    }
    if arch == Arch::Gfx1201 && has("_f16_e64 ") && !has("op_sel") {
        return Some("LLVM knows no halves where bits of absent sources are set");
    }
    // Where gfx12 has its image instructions, gfx9 had these.
    let vector = |inst: &Inst| format!("{:?}", inst.op).starts_with("v_");
    if arch == Arch::Gfx1201 && starts(&["v_fma_mix"]) && !ours.as_ref().is_ok_and(vector) {
        return Some("LLVM reads gfx9's encoding on gfx12 too");
    }
    if starts(&["v_minmax_f16", "v_maxmin_f16"]) && !has("op_sel") {
        return Some("LLVM 19 takes these for whole-register operations");
    }
    if has("v_dual_fmaak_f32 ")
        && ours.as_ref().is_ok_and(|i| {
            i.operands
                .iter()
                .filter(|o| matches!(o, Operand::Literal(_)))
                .count()
                > 1
        })
    {
        return Some("LLVM shows the constant in the place of a literal of the same value");
    }
    if starts(&["v_fma_mix"]) && has(" 0x") {
        return Some("LLVM shows half of a literal, whichever half the operation reads");
    }
    if has("_e64 src_") && starts(&["v_cmp"]) {
        return Some("a reserved code for the mask written, which LLVM reads as a source");
    }
    let long =
        |error: &DecodeError| matches!(error, DecodeError::UnknownOpcode { opcode: 0x20.., .. });
    if arch == Arch::Gfx950 && has("_xf32 ") && ours.is_err() {
        return Some("gfx942's alone, which LLVM 19 is asked for in gfx950's place");
    }
    if arch >= Arch::Gfx942 && gfx9 && starts(&["buffer_store_lds_dword"]) && ours.is_err() {
        return Some("LLVM 19 reads on gfx942 what ended with gfx90a, and its assembler refuses");
    }
    if starts(&["v_interp"]) && ours.as_ref().is_err_and(long) {
        return Some("LLVM reads five of the seven bits of the opcode");
    }
    if starts(&["v_interp"]) && has("src_") {
        return Some(
            "interpolation has no other sources than registers: LLVM reads a reserved code as one",
        );
    }
    if has("src_flat_scratch_base") {
        return Some("a source of later processors, which LLVM reads on all");
    }
    if starts(&["v_s_"]) && has("_f16 ") {
        return Some("LLVM shows no half selection of scalar sources");
    }
    if starts(&["v_fma_mixlo_f16_e64_dpp", "v_fma_mixhi_f16_e64_dpp"]) && has("quad_perm") {
        return Some("LLVM takes bit 7 of the permutation for a register's half");
    }
    if has("_e64_dpp ") && has("0x") {
        return Some("LLVM shows the code of a constant that this processor does not read there");
    }
    None
}

/// Differences by mnemonic, each with its first few examples.
#[derive(Default)]
struct Report {
    same: usize,
    rejected: BTreeMap<String, Vec<String>>,
    different: BTreeMap<String, Vec<String>>,
    unread: usize,
    excused: BTreeMap<&'static str, usize>,
    broken: BTreeMap<String, Vec<String>>,
}

impl Report {
    fn judge(&mut self, arch: Arch, lanes: Lanes, verdict: &Verdict) {
        let ours = decode(arch, &verdict.bytes);
        let mut hex = String::new();
        for byte in &verdict.bytes {
            write!(hex, "{byte:02x}").expect("writing to a string");
        }
        let text = ours
            .as_ref()
            .map(|inst| normal(&inst.text(arch, lanes).to_string()));
        let name = |text: &str| text.split(' ').next().unwrap_or_default().to_string();
        match (&verdict.theirs, text) {
            (None, Err(_)) => self.unread += 1,
            (None, Ok(ours)) => self
                .rejected
                .entry(name(&ours))
                .or_default()
                .push(format!("{hex} `{ours}`")),
            (Some(theirs), Ok(ours)) if *theirs == ours => self.same += 1,
            (Some(theirs), here) => {
                if let Some(why) = excuse(arch, theirs, &ours) {
                    *self.excused.entry(why).or_default() += 1;
                    return;
                }
                let ours = match here {
                    Ok(ours) => format!("`{ours}`"),
                    Err(error) => error.to_string(),
                };
                let entry = self.different.entry(name(theirs)).or_default();
                entry.push(format!("{hex} LLVM `{theirs}`, here {ours}"));
            }
        }
    }

    fn print(what: &str, list: &BTreeMap<String, Vec<String>>) {
        for (name, examples) in list {
            println!("{what} {name}: {}", examples.len());
            for example in examples.iter().take(2) {
                println!("    {example}");
            }
        }
    }
}

fn check_generated(arch: Arch, lanes: Lanes) {
    let mut rng = Rng::new(0x5eed ^ arch as u64);
    let mut report = Report::default();
    let mut instructions = Vec::new();
    for &op in Op::ALL {
        for _ in 0..PER_ROW {
            let Some(inst) = generate(arch, op, &mut rng) else {
                continue;
            };
            let encoded = encode(arch, &inst).expect("what is generated can be encoded");
            let bytes = encoded.bytes()[..encoded.len()].to_vec();
            if decode(arch, &bytes) != Ok(inst) {
                let again = decode(arch, &bytes);
                let entry = report.broken.entry(format!("{op:?}")).or_default();
                entry.push(format!(
                    "{bytes:02x?} generated {inst:?}, decoded {again:?}"
                ));
            }
            instructions.push(bytes);
        }
    }
    if lanes == Lanes::W32 && arch >= Arch::Gfx1100 {
        for _ in 0..PER_ROW * 50 {
            let inst = generate_dual(arch, &mut rng).expect("VOPD can be generated");
            let encoded = encode(arch, &inst).expect("what is generated can be encoded");
            let bytes = encoded.bytes()[..encoded.len()].to_vec();
            assert_eq!(
                decode(arch, &bytes),
                Ok(inst),
                "VOPD survives encoding and decoding: {bytes:02x?}"
            );
            instructions.push(bytes);
        }
    }
    let total = instructions.len();
    for verdict in llvm(JUDGE, arch, lanes, instructions) {
        report.judge(arch, lanes, &verdict);
    }
    Report::print("not the same after encoding and decoding:", &report.broken);
    Report::print("rejected by LLVM", &report.rejected);
    Report::print("different", &report.different);
    println!("{arch} generated: {} of {total} the same", report.same);
    let different: usize = report.different.values().map(Vec::len).sum();
    assert_eq!(different, 0, "{arch}: disassembly differs from LLVM's");
    assert!(
        report.broken.is_empty(),
        "{arch}: encoding and decoding loses something"
    );
}

/// Six bits that begin an image instruction: most random ones are none that LLVM reads, and some make it abort. The
/// generated ones have every operation in every form.
fn is_image(arch: Arch, encoding: u32) -> bool {
    match encoding {
        0b111100 => true,
        0b111001 => arch >= Arch::Gfx1201,
        _ => false,
    }
}

fn check_random(arch: Arch, lanes: Lanes) {
    let mut rng = Rng::new(0xbad5eed ^ arch as u64);
    let mut instructions = Vec::new();
    // Every prefix of seven bits: all encodings get their share.
    for prefix in (0..128u32).filter(|prefix| !is_image(arch, prefix >> 1)) {
        for _ in 0..RANDOM {
            let first = prefix << 25 | rng.next_u32() >> 7;
            let words = [first, rng.next_u32(), rng.next_u32()];
            instructions.push(words.iter().flat_map(|w| w.to_le_bytes()).collect());
        }
    }
    let total = instructions.len();
    let mut report = Report::default();
    let unknown =
        |bytes: &Vec<u8>| matches!(decode(arch, bytes), Err(DecodeError::UnknownOpcode { .. }));
    let (unknown, known): (Vec<_>, Vec<_>) = instructions.into_iter().partition(unknown);
    // What gfx950 does not have, gfx942 has not either, with the exceptions that are excused.
    let rejecter = if arch == Arch::Gfx950 {
        Arch::Gfx942
    } else {
        arch
    };
    let verdicts = llvm(JUDGE, arch, lanes, known)
        .into_iter()
        .chain(llvm(REJECTER, rejecter, lanes, unknown));
    for verdict in verdicts {
        report.judge(arch, lanes, &verdict);
    }
    Report::print("different", &report.different);
    let different: usize = report.different.values().map(Vec::len).sum();
    let rejected: usize = report.rejected.values().map(Vec::len).sum();
    println!(
        "{arch} random: {} the same, {different} different, {rejected} that only we read, {} that nobody reads, of {total}",
        report.same, report.unread
    );
    assert_eq!(different, 0, "{arch}: disassembly differs from LLVM's");
}

#[test]
fn generated_gfx90a_instructions_read_as_llvm_reads_them() {
    check_generated(Arch::Gfx90a, Lanes::W64);
}

#[test]
fn generated_gfx1100_instructions_read_as_llvm_reads_them() {
    check_generated(Arch::Gfx1100, Lanes::W32);
    check_generated(Arch::Gfx1100, Lanes::W64);
}

#[test]
fn generated_instructions_of_the_other_processors_read_as_llvm_reads_them() {
    for arch in [
        Arch::Gfx900,
        Arch::Gfx906,
        Arch::Gfx908,
        Arch::Gfx942,
        Arch::Gfx950,
    ] {
        check_generated(arch, Lanes::W64);
    }
    check_generated(Arch::Gfx1030, Lanes::W32);
    check_generated(Arch::Gfx1201, Lanes::W32);
    check_generated(Arch::Gfx1201, Lanes::W64);
}

#[test]
fn random_words_on_gfx90a_read_as_llvm_reads_them() {
    check_random(Arch::Gfx90a, Lanes::W64);
}

#[test]
fn random_words_on_gfx1100_read_as_llvm_reads_them() {
    check_random(Arch::Gfx1100, Lanes::W32);
}

#[test]
fn random_words_on_gfx1030_and_gfx1201_read_as_llvm_reads_them() {
    check_random(Arch::Gfx1030, Lanes::W32);
    check_random(Arch::Gfx1201, Lanes::W32);
}

#[test]
fn random_words_on_the_other_gfx9_processors_read_as_llvm_reads_them() {
    for arch in [
        Arch::Gfx900,
        Arch::Gfx906,
        Arch::Gfx908,
        Arch::Gfx942,
        Arch::Gfx950,
    ] {
        check_random(arch, Lanes::W64);
    }
}

/// What LLVM's assembler writes for a text, if it takes it.
fn assembled(judge: &str, arch: Arch, lanes: Lanes, text: &str) -> Option<Vec<u8>> {
    let mut command = Command::new(judge);
    command.args(["--triple=amdgcn-amd-amdhsa", "--show-encoding"]);
    configure(&mut command, arch, lanes);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{judge} is needed for this test: {error}"));
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(text.as_bytes()).expect("llvm-mc reads");
    drop(stdin);
    let output = child.wait_with_output().expect("llvm-mc runs to its end");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(named_bytes)
}

/// The bytes after `encoding: [`.
fn named_bytes(line: &str) -> Option<Vec<u8>> {
    let (_, rest) = line.split_once("encoding: [")?;
    bytes(rest.split(']').next().unwrap_or_default())
}

fn bytes(list: &str) -> Option<Vec<u8>> {
    let byte = |text: &str| u8::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok();
    let list = list.split([',', ' ']).filter(|byte| !byte.is_empty());
    list.map(byte).collect()
}

/// The encodings that LLVM's tests name below a folder, in the output of the assembler or as lines of bytes.
fn encodings(folder: &std::path::Path, found: &mut BTreeSet<Vec<u8>>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            encodings(&path, found)?;
            continue;
        }
        let text = std::fs::read(&path)?;
        for line in String::from_utf8_lossy(&text).lines() {
            let named = named_bytes(line).or_else(|| bytes(line.trim()));
            found.extend(named.filter(|bytes| bytes.len() >= 4 && bytes.len() % 4 == 0));
        }
    }
    Ok(())
}

#[test]
#[ignore = "reads a copy of LLVM's sources"]
fn encodings_of_llvms_own_tests_read_as_llvm_reads_them() {
    let folder = std::env::var("RUKH_MC_TESTS").expect("RUKH_MC_TESTS is the folder llvm/test/MC");
    let mut found = BTreeSet::new();
    for part in ["AMDGPU", "Disassembler/AMDGPU"] {
        let folder = std::path::Path::new(&folder).join(part);
        encodings(&folder, &mut found).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    }
    assert!(found.len() > 10_000, "only {} encodings", found.len());
    let found: Vec<_> = found.into_iter().collect();
    let mut low = Vec::new();
    for arch in Arch::ALL {
        let sizes: &[Lanes] = match arch < Arch::Gfx1030 {
            true => &[Lanes::W64],
            false => &[Lanes::W32, Lanes::W64],
        };
        for &lanes in sizes {
            let mut report = Report::default();
            let mut invalid = 0;
            for verdict in llvm(JUDGE, arch, lanes, found.clone()) {
                let mut one = Report::default();
                one.judge(arch, lanes, &verdict);
                // Each encoding meets each processor: of those that differ, what LLVM would not write itself (an
                // encoding of another processor, which it happens to read) is no encoding of this one.
                let theirs = verdict.theirs.as_deref().unwrap_or_default();
                if one.different.is_empty()
                    || assembled(JUDGE, arch, lanes, theirs).is_some_and(|b| b == verdict.bytes)
                {
                    report.judge(arch, lanes, &verdict);
                } else {
                    invalid += 1;
                }
            }
            Report::print("different", &report.different);
            for (why, count) in &report.excused {
                println!("{arch} {lanes:?}: {count} excused: {why}");
            }
            let different: usize = report.different.values().map(Vec::len).sum();
            let share = 100.0 * report.same as f64 / (report.same + different) as f64;
            println!(
                "{arch} {lanes:?}: {} the same, {different} different: {share:.3} %; {} excused, {invalid} that LLVM \
                 reads and would not write, {} that nobody reads, of {}",
                report.same,
                report.excused.values().sum::<usize>(),
                report.unread,
                found.len()
            );
            if share < 99.9 {
                low.push(format!("{arch} {lanes:?}: {share:.3} %"));
            }
        }
    }
    assert!(low.is_empty(), "below 99.9 %: {}", low.join(", "));
}
