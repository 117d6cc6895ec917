//! Opens what a program would open, and asks it.

use crate::diagnose;
use crate::finding::Finding;
use crate::report::Report;
use crate::system::System;
use rukh_backend_linux_kfd::KfdBackend;
use rukh_capi::backend::{Choice, ChoiceError, VARIABLE, open_kfd};
use rukh_capi::driver::{Driver, KFD_VARIABLE, Source, replay_report};
use rukh_core::backend::{Backend, SkipReason, Topology};
use rukh_core::kfd::KfdPort;
use rukh_core::runtime::{Runtime, RuntimeConfig};
use std::sync::Arc;

/// What programs find, by this process's environment.
///
/// # Errors
/// A variable that cannot be, named.
pub fn look(system: &System) -> Result<Report, ChoiceError> {
    let value = std::env::var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned());
    let choice = Choice::parse(value.as_deref())?;
    if let Choice::Sim(profiles) = &choice {
        let mut report = Report {
            backend: format!("sim:{profiles}"),
            source: "the software GPU".into(),
            ..Report::default()
        };
        agents(&mut report, choice.open()?);
        return Ok(report);
    }
    let driver = Driver::from_environment().map_err(ChoiceError::Driver)?;
    let mut report = Report {
        backend: "kfd".into(),
        source: match &driver.source {
            Source::Kernel => "the kernel's driver".into(),
            Source::Face { profiles, .. } if profiles.is_empty() => {
                "the software GPU's driver, without a GPU".into()
            }
            Source::Face { profiles, .. } => {
                format!("the software GPU's driver with {profiles} ({KFD_VARIABLE})")
            }
            Source::Replay(file) => format!("the recording {file} ({KFD_VARIABLE})"),
        },
        ..Report::default()
    };
    match open_kfd() {
        Ok(kfd) => driver_report(&mut report, &kfd, system, driver.is_real()),
        Err(ChoiceError::Kfd(error)) => report.findings.push(diagnose::open_error(&error, system)),
        Err(error) => return Err(error),
    }
    if let Some(replay) = replay_report()
        && !replay.differences.is_empty()
    {
        let what = "the recording is of another version of this library, or of another program";
        let finding = Finding::new("replay-differs", what);
        let calls = replay.differences.iter();
        report
            .findings
            .push(calls.fold(finding, |f, call| f.advise(format!("not in it: {call}"))));
    }
    Ok(report)
}

/// What an open driver has, and what it has not. `on_bus`: whether its GPUs are on this machine's bus.
pub fn driver_report<P: KfdPort + 'static>(
    report: &mut Report,
    kfd: &Arc<KfdBackend<P>>,
    system: &System,
    on_bus: bool,
) {
    report.interface = Some(kfd.kfd().version());
    agents(report, kfd.clone());
    let mut hidden = false;
    kfd.skipped(&mut |skip| {
        report.findings.push(diagnose::skipped(skip, system));
        hidden |= matches!(&skip.reason, SkipReason::CannotOpen { path, .. } if path.contains("/topology/"));
    });
    if on_bus {
        report
            .findings
            .extend(diagnose::missing_nodes(system, hidden));
        if report.gpus() == 0 && report.findings.is_empty() {
            report.findings.push(
                Finding::new(
                    "no-gpu",
                    "the driver is there, and no AMD GPU on the PCI bus",
                )
                .advise("a virtual machine must be given the GPU (PCI passthrough)"),
            );
        }
    }
}

/// Agents as the runtime has them.
fn agents(report: &mut Report, backend: Arc<dyn Backend>) {
    match Runtime::new(backend, RuntimeConfig::threaded()) {
        Ok(runtime) => report.agents = runtime.agents().to_vec(),
        Err(error) => report.findings.push(
            Finding::new(
                "runtime-failed",
                format!("the runtime cannot start: {error}"),
            )
            .advise("the kernel's log may say more: dmesg | grep -iE 'kfd|amdgpu'"),
        ),
    }
}
