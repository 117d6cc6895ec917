//! The table "Where `unsafe` lives" of CONTRIBUTING.md, held against the source.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const CRATES: [&str; 4] = ["core", "backend-sim", "backend-linux-kfd", "capi"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The rooms of the table: crate and path in its `src/`.
fn rooms() -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    let table = text
        .split("## Where `unsafe` lives")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("the table");
    let rows = table.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let name = cells.next()?;
        let rooms = cells.next()?;
        CRATES.contains(&name).then_some((name, rooms))
    });
    rows.flat_map(|(name, rooms)| {
        rooms
            .split('`')
            .skip(1)
            .step_by(2)
            .map(move |room| (name.to_owned(), room.to_owned()))
    })
    .collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Uses of the keyword: in code, not in comments or texts. Attributes (`unsafe(no_mangle)`) count.
fn uses(source: &str) -> usize {
    const BEFORE_CODE: [&str; 6] = ["{", "fn ", "impl", "trait ", "extern ", "("];
    let code = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    code.map(|line| {
        line.match_indices("unsafe")
            .filter(|(at, word)| {
                let before = line[..*at].chars().next_back();
                let after = line[at + word.len()..].trim_start();
                // A quote before it on the line: a text.
                !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '"')
                    && BEFORE_CODE.iter().any(|start| after.starts_with(start))
            })
            .count()
    })
    .sum()
}

#[test]
fn unsafe_is_used_in_the_rooms_of_the_table_and_in_each_of_them() {
    let rooms = rooms();
    assert!(rooms.len() > 20, "the table was not read: {rooms:?}");
    let mut counts: BTreeMap<(String, String), usize> =
        rooms.iter().map(|room| (room.clone(), 0)).collect();
    let mut outside = Vec::new();
    for name in CRATES {
        let src = root().join(name).join("src");
        let mut files = Vec::new();
        sources(&src, &mut files);
        for file in files {
            let count = uses(&fs::read_to_string(&file).expect("a source file"));
            let path = file
                .strip_prefix(&src)
                .expect("below src")
                .display()
                .to_string();
            let room = rooms.iter().find(|(of, room)| {
                of == name
                    && (path == format!("{room}.rs")
                        || room.ends_with('/') && path.starts_with(room))
            });
            match room {
                Some(room) => *counts.entry(room.clone()).or_default() += count,
                None if count != 0 => outside.push(format!("{name}/src/{path}: {count}")),
                None => {}
            }
        }
    }
    for ((name, room), count) in &counts {
        println!("{name:18} {room:18} {count}");
    }
    assert!(outside.is_empty(), "outside of the rooms: {outside:#?}");
    let empty: Vec<_> = counts.iter().filter(|(_, count)| **count == 0).collect();
    assert!(empty.is_empty(), "rooms without any: {empty:?}");
}

#[test]
fn only_the_keyword_counts() {
    assert_eq!(uses("let x = unsafe { y };\nunsafe impl A for B {}"), 2);
    assert_eq!(
        uses("#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn f() {}"),
        2
    );
    assert_eq!(uses("// unsafe { y }\n#![deny(unsafe_op_in_unsafe_fn)]"), 0);
}
