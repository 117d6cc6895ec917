//! The golden engine tests itself: the host reference stands in for a device, honest or not.

use std::sync::OnceLock;

use rukh_tests::golden::{
    Arg, Case, Cause, Failure, HostLauncher, Launch, Launcher, Objects, Options, Reference,
    Selection, Strictness, Target, run_case,
};

/// The host library, and every object that this file needs.
fn built() -> &'static (Objects, Reference) {
    static BUILT: OnceLock<(Objects, Reference)> = OnceLock::new();
    BUILT.get_or_init(|| {
        let objects = Objects::standard().expect("the golden sources are readable");
        objects
            .prepare(&Selection::Pairwise(0).cases())
            .expect("clang-19 and lld-19 build the golden kernels");
        let reference = objects
            .reference()
            .expect("clang-19 builds the host library");
        (objects, reference)
    })
}

fn run(case: Case, launcher: &mut dyn Launcher, options: Options) -> Result<(), Failure> {
    let (objects, reference) = built();
    run_case(case, objects, reference, launcher, options)
}

fn case(text: &str) -> Case {
    Selection::Matching(text.into()).cases()[0]
}

#[test]
fn the_host_agrees_with_itself_on_every_kernel() {
    let (_, reference) = built();
    for case in Selection::Pairwise(0).cases() {
        let options = Options {
            seed: 7,
            strictness: Strictness::CorrectlyRounded,
        };
        run(case, &mut HostLauncher(reference), options)
            .unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// What the host leaves in the last buffer.
fn last_buffer(case_text: &str) -> Vec<u8> {
    let (objects, reference) = built();
    let mut bytes = Vec::new();
    let case = case(case_text);
    let mut keeping = Keeping(reference, &mut bytes);
    run_case(case, objects, reference, &mut keeping, Options::default())
        .unwrap_or_else(|failure| panic!("{failure}"));
    bytes
}

struct Keeping<'a>(&'a Reference, &'a mut Vec<u8>);

impl Launcher for Keeping<'_> {
    fn launch(&mut self, launch: &mut Launch<'_>) -> Result<(), String> {
        HostLauncher(self.0).launch(launch)?;
        let buffers = launch.args.iter().rev().find_map(|arg| match arg {
            Arg::Buffer(bytes) => Some(bytes),
            Arg::Scalar(_) => None,
        });
        self.1.clone_from(buffers.ok_or("no buffer")?);
        Ok(())
    }
}

#[test]
fn the_reference_of_sha256_is_the_digest_that_fips_180_4_gives() {
    let digest: Vec<u32> = last_buffer("sha256/abc gfx90a O2 v5")[..32]
        .chunks(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect();
    assert_eq!(
        digest,
        [
            0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3, 0x96177a9c, 0xb410ff61,
            0xf20015ad
        ]
    );
}

#[test]
fn the_reference_of_aes_is_the_block_that_nist_gives_for_zeros() {
    let block = 0x66e94bd4_ef8a2c3b_884cfa59_ca342b2e_u128.to_be_bytes();
    assert_eq!(last_buffer("aes128/zeros gfx90a O2 v5")[..16], block);
}

/// Runs on the host, then spoils what came out.
struct Spoiling<F>(F);

impl<F: Fn(&mut Launch<'_>)> Launcher for Spoiling<F> {
    fn launch(&mut self, launch: &mut Launch<'_>) -> Result<(), String> {
        HostLauncher(&built().1).launch(launch)?;
        (self.0)(launch);
        Ok(())
    }
}

fn spoil(case_text: &str, spoil: impl Fn(&mut Launch<'_>)) -> Failure {
    run(case(case_text), &mut Spoiling(spoil), Options::default())
        .expect_err("a spoiled result must be found")
}

fn buffer<'a>(launch: &'a mut Launch<'_>, index: usize) -> &'a mut Vec<u8> {
    match &mut launch.args[index] {
        Arg::Buffer(bytes) => bytes,
        Arg::Scalar(_) => panic!("argument {index} is a scalar"),
    }
}

#[test]
fn one_wrong_bit_is_found_and_reported_with_its_place() {
    let failure = spoil("vector_add gfx90a O2 v5", |launch| {
        buffer(launch, 2)[4 * 321] ^= 1
    });
    let Cause::Differs { place, difference } = &failure.cause else {
        panic!("{failure}")
    };
    assert_eq!(
        (
            place.as_str(),
            difference.index,
            difference.count,
            difference.of
        ),
        ("argument 2", 321, 1, 1000)
    );
    assert_eq!(difference.expected ^ difference.got, 1);
    let report = failure.to_string();
    assert!(
        report.contains("vector_add gfx90a O2 v5") && report.contains("vector_add-gfx90a-O2-v5.co"),
        "{report}"
    );
}

#[test]
fn a_changed_input_is_found() {
    let failure = spoil("matmul", |launch| buffer(launch, 0)[0] ^= 0x80);
    assert!(
        matches!(&failure.cause, Cause::Differs { place, .. } if place == "argument 0"),
        "{failure}"
    );
}

#[test]
fn a_write_behind_a_buffer_is_found() {
    let failure = spoil("saxpy", |launch| buffer(launch, 2)[4 * 777 + 3] = 0);
    assert!(
        matches!(
            failure.cause,
            Cause::Guard {
                offset: 3,
                got: 0,
                ..
            }
        ),
        "{failure}"
    );
}

#[test]
fn a_wrong_variable_is_found() {
    let failure = spoil("global_variable", |launch| launch.globals[0].bytes[0] ^= 1);
    assert!(
        matches!(&failure.cause, Cause::Differs { place, .. } if place == "variable golden_counter"),
        "{failure}"
    );
}

#[test]
fn a_launch_error_is_passed_on() {
    struct Refusing;
    impl Launcher for Refusing {
        fn launch(&mut self, _: &mut Launch<'_>) -> Result<(), String> {
            Err("no such device".into())
        }
    }
    let failure =
        run(case("vector_add"), &mut Refusing, Options::default()).expect_err("it refuses");
    assert!(failure.to_string().contains("no such device"), "{failure}");
}

#[test]
fn lanes_of_a_wave_exchange_by_the_size_of_the_wave() {
    /// The first row of lane_ops is the number of the lane.
    struct Lanes(Vec<u32>);
    impl Launcher for Lanes {
        fn launch(&mut self, launch: &mut Launch<'_>) -> Result<(), String> {
            HostLauncher(&built().1).launch(launch)?;
            self.0 = buffer(launch, 1)[..4 * 256]
                .chunks(4)
                .map(|word| word[0].into())
                .collect();
            Ok(())
        }
    }
    for target in Target::ALL {
        let mut lanes = Lanes(Vec::new());
        let outcome = run(
            case(&format!("lane_ops {} O2", target.name())),
            &mut lanes,
            Options::default(),
        );
        outcome.unwrap_or_else(|failure| panic!("{failure}"));
        let expected: Vec<u32> = (0..256).map(|item| item % target.wave_size()).collect();
        assert_eq!(lanes.0, expected);
    }
}
