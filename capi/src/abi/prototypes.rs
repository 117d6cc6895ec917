//! Compiles a C++ program against the HSA headers of the system that takes every function's type apart, and compares
//! the parts with what this crate exports: how many parameters, which are pointers, numbers or structures, and
//! their sizes. The same program prints the order of AMD's API tables.

use crate::table;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A parameter as a calling convention sees it: `p` pointer, `i` number, `s` structure, `v` nothing; and its size.
fn class(name: &str, size: usize) -> String {
    let last = name.split('<').next().unwrap_or(name);
    let last = last.rsplit("::").next().unwrap_or(last);
    let kind = match last {
        "()" => return "v".into(),
        "Out" | "In" | "Text" | "Value" | "QueuePtr" | "Option" => 'p',
        "u8" | "u16" | "u32" | "u64" | "i32" | "i64" | "usize" | "bool" | "Status" => 'i',
        _ if name.starts_with('*') => 'p',
        _ => 's',
    };
    format!("{kind}{size}")
}

const PROBE: &str = r#"
#include <cstdio>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ext_finalize.h>
#include <type_traits>
template <typename T> static void part() {
  if constexpr (std::is_void_v<T>) std::printf(" v");
  else std::printf(" %c%zu", std::is_pointer_v<T> ? 'p' : std::is_class_v<T> ? 's' : 'i', sizeof(T));
}
template <typename R, typename... A> static void show(const char *name, R (*)(A...)) {
  std::printf("%s", name);
  part<R>();
  (part<A>(), ...);
  std::printf("\n");
}
int main() {
"#;

/// What the headers declare: names that are followed by a parenthesis.
fn declared() -> String {
    let mut text = String::new();
    for header in [
        "hsa.h",
        "hsa_ext_amd.h",
        "hsa_ext_image.h",
        "hsa_ext_finalize.h",
    ] {
        text += &std::fs::read_to_string(Path::new("/usr/include/hsa").join(header))
            .expect("the HSA headers are installed (Debian: libhsa-runtime-dev)");
    }
    text
}

fn is_declared(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].trim_start().chars().next();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_') && after == Some('(')
    })
}

#[test]
fn every_export_has_the_prototype_of_the_c_headers() {
    let text = declared();
    let ours: BTreeMap<&str, String> = table::signatures()
        .into_iter()
        .filter(|(name, parts)| !parts.is_empty() && is_declared(&text, name))
        .map(|(name, parts)| {
            let classes: Vec<String> = parts
                .iter()
                .map(|(name, size)| class(name, *size))
                .collect();
            (name, classes.join(" "))
        })
        .collect();
    let mut source = String::from(PROBE);
    for name in ours.keys() {
        let _ = writeln!(source, "  show(\"{name}\", {name});");
    }
    source.push_str("}\n");
    let dir = std::env::temp_dir().join(format!("rukh-prototypes-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (file, program) = (dir.join("probe.cpp"), dir.join("probe"));
    std::fs::write(&file, source).unwrap();
    // Nothing is called: the names need not be defined.
    let compiled = Command::new("c++")
        .args(["-std=c++17", "-Wl,--unresolved-symbols=ignore-all", "-o"])
        .args([&program, &file])
        .status()
        .unwrap();
    assert!(compiled.success(), "the probe does not compile");
    let output = Command::new(&program).output().unwrap().stdout;
    std::fs::remove_dir_all(&dir).unwrap();
    let output = String::from_utf8(output).unwrap();
    let theirs: BTreeMap<&str, &str> = output
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    assert!(
        theirs.len() >= 180,
        "only {} prototypes to compare",
        theirs.len()
    );
    let wrong: Vec<String> = ours
        .iter()
        .filter(|(name, ours)| theirs.get(*name) != Some(&ours.as_str()))
        .map(|(name, ours)| format!("{name}: {:?} in C, {ours:?} here", theirs.get(name)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The names of a table's slots in AMD's header.
fn slots(header: &str, table: &str) -> Vec<String> {
    let start = format!("struct {table} {{");
    let body = header
        .split_once(&start)
        .and_then(|(_, rest)| rest.split_once("};"));
    let body = body.map_or("", |(body, _)| body);
    let slots = body
        .split(';')
        .filter_map(|line| line.trim().strip_suffix("_fn"));
    slots
        .filter_map(|line| line.rsplit([' ', '*', '\n']).next().map(String::from))
        .collect()
}

#[test]
fn the_tables_have_the_slots_of_amds_header_in_its_order() {
    // Debian's header is of the major version before, which had no slots for newer functions: those that it has
    // stand in its order.
    let header = std::fs::read_to_string("/usr/include/hsa/hsa_api_trace.h").unwrap();
    for (table, ours) in table::NAMES {
        let theirs = slots(&header, table);
        if *table == "PcSamplingExtTable" {
            continue;
        }
        assert!(!theirs.is_empty(), "{table} is not in the header");
        let common: Vec<&&str> = ours
            .iter()
            .filter(|name| theirs.iter().any(|t| t == **name))
            .collect();
        assert_eq!(common.len(), theirs.len(), "{table} lacks slots");
        let ordered = common.iter().zip(&theirs).all(|(a, b)| **a == b);
        assert!(ordered, "{table} has another order than the header");
    }
    let core = table::NAMES
        .iter()
        .find(|(table, _)| *table == "CoreApiTable");
    assert_eq!(core.map(|(_, names)| names.len()), Some(125));
}
