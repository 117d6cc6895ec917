//! Decodes a defmt log: `rukh-decode KERNEL < SERIAL`. A line a message, `LEVEL text`.
//!
//! Fails if bytes do not decode, or if a frame is cut off at the end.

use defmt_decoder::{DecodeError, StreamDecoder, Table};
use std::error::Error;
use std::io::{Read, Write};

fn main() -> Result<(), Box<dyn Error>> {
    let kernel = std::env::args_os()
        .nth(1)
        .ok_or("usage: rukh-decode KERNEL < SERIAL")?;
    let table = Table::parse(&std::fs::read(kernel)?)?.ok_or("the kernel has no defmt section")?;
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    if bytes.last().is_some_and(|&last| last != 0) {
        return Err("the log ends within a frame".into());
    }
    let mut decoder = table.new_stream_decoder();
    decoder.received(&bytes);
    print(&mut *decoder)
}

fn print(decoder: &mut dyn StreamDecoder) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    loop {
        match decoder.decode() {
            Ok(frame) => {
                let level = frame.level().map_or("?", |level| level.as_str());
                writeln!(out, "{level} {}", frame.display_message())?;
            }
            Err(DecodeError::UnexpectedEof) => return Ok(()),
            Err(DecodeError::Malformed) => return Err("a frame is malformed".into()),
        }
    }
}
