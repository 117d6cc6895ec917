//! The seeds of the fuzz targets, inputs that once failed among them, through their oracles; one after the other, since the C
//! library is one for the process.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rukh_tests::oracle::TARGETS;

/// Bytes that the seeds of all targets may have: they are there to start from, not to keep what fuzzers find.
const MOST: u64 = 1 << 20;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let stems = entries.map(|entry| {
        let path = entry.expect("a name").path();
        let stem = path.file_stem().expect("a name");
        stem.to_string_lossy().into_owned()
    });
    stems.collect()
}

#[test]
fn every_target_has_a_file_and_seeds() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).into()).collect();
    assert_eq!(names(&fuzz().join("fuzz_targets")), targets);
    assert_eq!(names(&fuzz().join("seeds")), targets);
}

#[test]
fn all_seeds_hold() {
    let mut bytes = 0;
    for (name, check) in TARGETS {
        let folder = fuzz().join("seeds").join(name);
        let mut count = 0;
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}")) {
            let path = entry.expect("a name").path();
            let data = fs::read(&path).expect("a file");
            println!("{}", path.display());
            check(&data);
            bytes += data.len() as u64;
            count += 1;
        }
        assert!(count >= 5, "{name} has {count} seeds");
    }
    assert!(bytes <= MOST, "{bytes} bytes of seeds");
}
