//! Linux as a system with processes, through libc.

use crate::calls::replay::name;
use crate::calls::system::System;
use rukh_core::kfd::{KfdFile, KfdPort, Mapping, PortError, Protection};
use std::ffi::CString;
use std::io::Error;
use std::ptr::{NonNull, null_mut};

/// The kernel that this runs on.
pub struct Linux;

const DEVICE: &std::ffi::CStr = c"/dev/kfd";
/// Pipes get numbers from here, so that files have those that they would have without.
const PIPES: i32 = 100;

fn errno() -> i32 {
    Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn answer(value: i64) -> Result<i64, i32> {
    if value < 0 { Err(errno()) } else { Ok(value) }
}

/// `ret=-1 errno=…` or what was returned.
fn text(value: i64) -> String {
    match answer(value) {
        Ok(value) => format!("ret={value} errno=0"),
        Err(errno) => format!("ret=-1 errno={}", name(errno)),
    }
}

/// Opens the device by the entry of 32-bit programs. The name must lie below 4 GiB.
#[cfg(target_arch = "x86_64")]
fn open_32bit() -> String {
    // SAFETY: a new mapping, below 4 GiB.
    let low = unsafe {
        libc::mmap(
            null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT,
            -1,
            0,
        )
    };
    if low == libc::MAP_FAILED {
        return "open via int80 (compat): no memory below 4 GiB".into();
    }
    let bytes = DEVICE.to_bytes_with_nul();
    // SAFETY: the page has room for the name.
    unsafe {
        low.cast::<u8>()
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
    };
    let mut result: i64 = 5; // open
    // SAFETY: a system call that reads the name. rbx is LLVM's own, so it is put back.
    unsafe {
        std::arch::asm!(
            "xchg rbx, {name}",
            "int 0x80",
            "xchg rbx, {name}",
            name = inout(reg) low as u64 => _,
            inout("rax") result,
            in("rcx") libc::O_RDWR,
            in("rdx") 0,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    let result = result as i32;
    if result >= 0 {
        return format!("open via int80 (compat) ret={result}");
    }
    format!("open via int80 (compat) ret=-1 ({})", name(-result))
}

#[cfg(not(target_arch = "x86_64"))]
fn open_32bit() -> String {
    "open via int80 (compat): x86 alone has it".into()
}

// SAFETY: mappings come from mmap and live until munmap; the kernel writes an ioctl's argument within the size that the request
// states, which is held against the buffer's length.
unsafe impl KfdPort for Linux {
    fn open(&self, path: &str) -> Result<KfdFile, PortError> {
        let name = CString::new(path).unwrap_or_default();
        // SAFETY: a C string.
        let file = unsafe { libc::open(name.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        answer(i64::from(file))
            .map(|_| KfdFile(file))
            .map_err(|errno| PortError::file(path, errno))
    }

    fn close(&self, file: KfdFile) {
        System::close(self, file.0);
    }

    unsafe fn ioctl_raw(
        &self,
        file: KfdFile,
        request: u32,
        argument: &mut [u8],
    ) -> Result<(), i32> {
        if (request >> 16 & 0x3fff) as usize > argument.len() {
            return Err(libc::EFAULT);
        }
        let request = libc::c_ulong::from(request);
        // SAFETY: the argument is as long as the request says; the caller vouches for pointers inside.
        let value = unsafe { libc::ioctl(file.0, request, argument.as_mut_ptr()) };
        answer(i64::from(value)).map(drop)
    }

    unsafe fn map(&self, mapping: &Mapping) -> Result<NonNull<u8>, PortError> {
        let protection = match mapping.protection {
            Protection::None => libc::PROT_NONE,
            Protection::Read => libc::PROT_READ,
            Protection::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        };
        let (file, mut flags) = match mapping.file {
            Some(file) => (file.0, libc::MAP_SHARED),
            None => (-1, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS),
        };
        let mut at = null_mut();
        if let Some(fixed) = mapping.fixed {
            flags |= libc::MAP_FIXED;
            at = fixed.as_ptr().cast();
        }
        let offset = mapping.offset as i64;
        // SAFETY: without `fixed` the kernel picks free addresses; with it the caller owns them.
        let address = unsafe { libc::mmap(at, mapping.size, protection, flags, file, offset) };
        let failed = |errno| PortError::Map {
            size: mapping.size,
            offset: mapping.offset,
            errno,
        };
        if address == libc::MAP_FAILED {
            return Err(failed(errno()));
        }
        NonNull::new(address.cast()).ok_or_else(|| failed(libc::ENOMEM))
    }

    unsafe fn unmap(&self, address: NonNull<u8>, size: usize) {
        // SAFETY: the caller mapped the range and uses it no more.
        unsafe { libc::munmap(address.as_ptr().cast(), size) };
    }

    fn read_file(&self, path: &str, buffer: &mut [u8]) -> Result<usize, PortError> {
        let bytes = std::fs::read(path)
            .map_err(|error| PortError::file(path, error.raw_os_error().unwrap_or(0)))?;
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        if length < bytes.len() {
            return Err(PortError::file(path, libc::EFBIG));
        }
        Ok(length)
    }

    fn list_directory(&self, path: &str, visit: &mut dyn FnMut(&str)) -> Result<(), PortError> {
        self.list(path).iter().for_each(|name| visit(name));
        Ok(())
    }
}

impl System for Linux {
    fn open(&self, read_only: bool) -> Result<i32, i32> {
        let flags = if read_only {
            libc::O_RDONLY
        } else {
            libc::O_RDWR
        };
        // SAFETY: a C string.
        answer(i64::from(unsafe { libc::open(DEVICE.as_ptr(), flags) })).map(|file| file as i32)
    }

    fn close(&self, file: i32) {
        // SAFETY: nothing here owns files by their number.
        unsafe { libc::close(file) };
    }

    fn duplicate(&self, file: i32) -> i32 {
        // SAFETY: as above.
        unsafe { libc::dup(file) }
    }

    fn ioctl_null(&self, file: i32, request: u32) -> Result<(), i32> {
        let request = libc::c_ulong::from(request);
        // SAFETY: the kernel checks the address.
        let value = unsafe { libc::ioctl(file, request, null_mut::<u8>()) };
        answer(i64::from(value)).map(drop)
    }

    fn map_private(&self, file: i32, offset: u64, size: usize) -> Result<(), i32> {
        let both = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a mapping where there is none.
        let at = unsafe {
            libc::mmap(
                null_mut(),
                size,
                both,
                libc::MAP_PRIVATE,
                file,
                offset as i64,
            )
        };
        if at == libc::MAP_FAILED {
            Err(errno())
        } else {
            Ok(())
        }
    }

    fn ask(&self, label: &str, file: i32) -> String {
        let mut bytes = [0u8; 8];
        let buffer = bytes.as_mut_ptr().cast();
        // SAFETY: plain system calls, whose buffers are as long as they are told.
        unsafe {
            match label {
                "stat" => {
                    let mut stat: libc::stat = std::mem::zeroed();
                    if libc::stat(DEVICE.as_ptr(), &mut stat) != 0 {
                        return format!("stat errno={}", name(errno()));
                    }
                    let (major, minor) = (libc::major(stat.st_rdev), libc::minor(stat.st_rdev));
                    format!("stat mode={:o} rdev={major}:{minor}", stat.st_mode)
                }
                "open via int80 (compat)" => open_32bit(),
                "read" => format!("read {}", text(libc::read(file, buffer, 8) as i64)),
                "write" => format!("write {}", text(libc::write(file, buffer, 8) as i64)),
                "poll" => {
                    let events = libc::POLLIN | libc::POLLOUT;
                    let mut poll = libc::pollfd {
                        fd: file,
                        events,
                        revents: 0,
                    };
                    let value = libc::poll(&mut poll, 1, 0);
                    format!("poll ret={value} revents={:#x}", poll.revents)
                }
                "lseek" => format!("lseek {}", text(libc::lseek(file, 0, libc::SEEK_SET))),
                "F_GETFL" => format!("F_GETFL {:#x}", libc::fcntl(file, libc::F_GETFL)),
                _ => format!("{label}: not asked"),
            }
        }
    }

    fn child(&self, run: &mut dyn FnMut(i32)) -> (Vec<String>, i32) {
        let mut ends = [0; 2];
        // SAFETY: the parent has one thread now, so that the child may do anything; it ends without leaving `run`'s frames.
        unsafe {
            libc::pipe(ends.as_mut_ptr());
            let [from, to] = ends.map(|end| {
                let moved = libc::fcntl(end, libc::F_DUPFD, PIPES);
                libc::close(end);
                moved
            });
            let child = libc::fork();
            if child == 0 {
                libc::close(from);
                run(to);
                libc::_exit(0);
            }
            libc::close(to);
            let mut text = Vec::new();
            let mut buffer = [0u8; 4096];
            loop {
                let read = libc::read(from, buffer.as_mut_ptr().cast(), buffer.len());
                match usize::try_from(read) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => text.extend_from_slice(&buffer[..read]),
                }
            }
            libc::close(from);
            let mut status = 0;
            libc::waitpid(child, &mut status, 0);
            let text = String::from_utf8_lossy(&text);
            (text.lines().map(String::from).collect(), status)
        }
    }

    fn exec(&self, file: i32, pipe: i32) {
        let words = [
            "kfd_record",
            "after-exec",
            &file.to_string(),
            &pipe.to_string(),
        ]
        .map(|word| CString::new(word).unwrap_or_default());
        let mut pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
        pointers.push(std::ptr::null());
        // SAFETY: a list of C strings with a null at its end.
        unsafe { libc::execv(c"/proc/self/exe".as_ptr(), pointers.as_ptr()) };
    }

    fn write_line(&self, pipe: i32, line: &str) {
        let line = format!("{line}\n");
        // SAFETY: the bytes of a string.
        unsafe { libc::write(pipe, line.as_ptr().cast(), line.len()) };
    }

    fn list(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}
