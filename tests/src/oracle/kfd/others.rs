//! Questions, render nodes, files, and calls that are none.

use rukh_core::kfd::KfdPort;
use rukh_core::kfd::uapi::*;
use zerocopy::IntoBytes;

use super::{Client, MOST, known};
use crate::oracle::input::Input;

impl Client {
    pub(super) fn query(&mut self, input: &mut Input<'_>) {
        let gpu_id = self.gpu(input);
        let _ = match input.below(8) {
            0 => self.call(&mut GetVersion::default()),
            1 => self.call(&mut GetClockCounters {
                gpu_id,
                ..GetClockCounters::default()
            }),
            2 => self.call(&mut GetProcessAperturesNew {
                kfd_process_device_apertures_ptr: self.pointer(input),
                num_of_nodes: input.pick(&[0, 1, 2, 3, 8, u32::MAX]),
                pad: 0,
            }),
            3 => self.call(&mut SetMemoryPolicy {
                gpu_id,
                default_policy: input.pick(&[0, 1, 2]),
                alternate_policy: input.pick(&[0, 1, 2]),
                ..SetMemoryPolicy::default()
            }),
            4 => self.call(&mut SetTrapHandler {
                tba_addr: self.va(input),
                tma_addr: self.va(input),
                gpu_id,
                pad: 0,
            }),
            5 => self.call(&mut SetXnackMode {
                xnack_enabled: input.pick(&[-1, 0, 1, i32::MIN]),
            }),
            6 => self.call(&mut RuntimeEnable {
                r_debug: self.pointer(input),
                mode_mask: input.pick(&[1, 0, 3, u32::MAX]),
                capabilities_mask: 0,
            }),
            _ => self.call(&mut SetScratchBackingVa {
                va_addr: input.number(),
                gpu_id,
                pad: 0,
            }),
        };
    }

    /// The render node's calls, with as much room as there is.
    pub(super) fn drm(&mut self, input: &mut Input<'_>) {
        let mut argument = [0u64; 16];
        let pointer = self.pointer(input);
        let room = input.pick(&[0u64, 1, 4, 64, 4096]);
        let nr = match input.below(4) {
            0 => {
                for at in 0..3 {
                    argument[2 + 2 * at] = room;
                    argument[3 + 2 * at] = pointer;
                }
                0
            }
            1 | 2 => {
                argument[0] = pointer;
                argument[1] = room | u64::from(input.byte() % 0x20) << 32;
                argument[2] = input.pick(&[0x263e, 0, u64::MAX]) | 1 << 32;
                0x45
            }
            _ => {
                // Those that hold no pointer.
                argument[0] = input.number();
                input.pick(&[0x0c, 0x09, 0x2d, 0x40, 0x56, 0x57, 0xff, 0x01])
            }
        };
        let length = input.pick(&[128, 64, 0, 8, 31]);
        let file = self.files[input.below(self.files.len())];
        if file != self.kfd {
            let _ = self.raw(
                file,
                u32::from(nr as u8),
                &mut argument.as_mut_bytes()[..length],
            );
        }
    }

    /// Arguments of other sizes than the table's.
    pub(super) fn cut(&mut self, input: &mut Input<'_>) {
        let row = IOCTLS[input.below(IOCTLS.len())];
        let mut argument = [0u8; 256];
        let size = u32::from(input.u16() % 300);
        let request = row.request & !(0x3fff << 16) | size << 16;
        let length = if input.flag() {
            size as usize
        } else {
            input.below(256)
        };
        let length = length.min(argument.len());
        // All fields are zero: no pointer, and no object has handle 0. A queue has id 0, and an event may be made.
        if matches!(row.name, "DESTROY_QUEUE" | "CREATE_EVENT") {
            return;
        }
        let _ = self.raw(self.kfd, request, &mut argument[..length]);
    }

    pub(super) fn files(&mut self, input: &mut Input<'_>) {
        match input.below(4) {
            0 => {
                let minor = 126 + u32::from(input.byte() % 6);
                let path = format!("/dev/dri/renderD{minor}");
                match self.face.open(&path) {
                    Ok(file) if self.files.len() < MOST => self.files.push(file),
                    Ok(file) => self.face.close(file),
                    Err(error) => drop(known(Err(error.errno()))),
                }
            }
            1 if self.files.len() > 1 => {
                let at = 1 + input.below(self.files.len() - 1);
                let file = self.files.swap_remove(at);
                self.face.close(file);
                assert_eq!(
                    self.raw(file, GetVersion::INFO.request, &mut [0; 8]),
                    Err(9)
                );
            }
            2 => {
                let file = self.files[input.below(self.files.len())];
                let _ = self.call(&mut AcquireVm {
                    drm_fd: file.0.cast_unsigned(),
                    gpu_id: self.gpu(input),
                });
            }
            _ => {
                let text = String::from_utf8_lossy(input.take(12)).into_owned();
                for path in [text.clone(), format!("/dev/dri/renderD{text}")] {
                    if let Ok(file) = self.face.open(&path) {
                        self.face.close(file);
                    }
                }
            }
        }
    }

    /// Calls without pointers, of any contents; and numbers that are no calls.
    pub(super) fn noise(&mut self, input: &mut Input<'_>) {
        let numbers = [
            0x04u8, 0x05, 0x11, 0x12, 0x13, 0x1f, 0x21, 0x23, 0x00, 0x0d, 0x27, 0xff,
        ];
        let nr = input.pick(&numbers);
        let mut argument = [0u8; 64];
        let bytes = input.take(48);
        argument[..bytes.len()].copy_from_slice(bytes);
        let request = 0xc000_4b00 | (bytes.len() as u32) << 16 | u32::from(nr);
        let _ = self.raw(self.kfd, request, &mut argument);
    }
}
