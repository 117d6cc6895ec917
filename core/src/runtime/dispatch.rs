//! Running a kernel in one call: arguments, packet, completion.

use super::Runtime;
use super::error::{DispatchError, QueueError};
use super::program::{Kernel, Program};
use super::queue::{Queue, QueueInner};
use super::reactor::waiters::WaitHint;
use super::signals::{Signal, WaitCondition};
use crate::backend::{Backend, MemoryFlags, MemoryRequest, Timeout};
use crate::config::{DYNAMIC_STACK_BYTES, MAX_WORKGROUP_ITEMS};
use crate::loader::kernarg::{self, Explicit, Grid, Hidden};
use crate::mem::{Block, KernargArena, KernargError, KernargPiece};
use crate::signal::{Condition, MemoryOrder, SignalHandle};
use crate::wire::aql::{FenceScope, Header, KernelDispatchPacket, PacketType};
use alloc::sync::Arc;
use alloc::vec;

/// How to run a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch {
    /// The grid and its work-groups, in work-items.
    pub grid: Grid,
    /// Hidden arguments that the caller provides. The queue's address and the apertures are
    /// filled in if they are None.
    pub hidden: Hidden,
    /// Whether to start only when all earlier packets of the queue are complete.
    pub barrier: bool,
    /// How long to wait for a free slot of the ring.
    pub timeout: Timeout,
}

impl Dispatch {
    /// This grid, no hidden arguments of the caller's, after all earlier packets, waiting for a slot
    /// as long as it takes.
    pub fn new(grid: Grid) -> Self {
        Self {
            grid,
            hidden: Hidden::default(),
            barrier: true,
            timeout: Timeout::Never,
        }
    }
}

/// What a dispatch that is not complete needs.
pub(crate) struct InFlight<B: Backend + ?Sized> {
    signal: Signal<B>,
    _kernarg: Option<KernargPiece<B>>,
    _program: Arc<Program<B>>,
}

impl<B: Backend + ?Sized> InFlight<B> {
    pub fn is_done(&self) -> bool {
        self.signal.load(MemoryOrder::Acquire) < 1
    }
}

/// A dispatch that was sent. Holds the kernel's code and arguments; dropped before the
/// kernel is complete, it leaves them to the queue, which frees them later.
pub struct Completion<B: Backend + ?Sized> {
    /// None once dropped.
    flight: Option<InFlight<B>>,
    queue: Arc<QueueInner<B>>,
    runtime: Arc<Runtime<B>>,
    signal: SignalHandle,
}

impl<B: Backend + ?Sized> Completion<B> {
    /// The signal that becomes 0 on completion.
    pub const fn signal(&self) -> SignalHandle {
        self.signal
    }

    /// Whether the kernel is complete. What it wrote is visible then.
    pub fn is_done(&self) -> bool {
        self.flight.as_ref().is_none_or(InFlight::is_done)
    }

    /// Waits until the kernel is complete.
    ///
    /// # Errors
    /// [`QueueError::Stopped`] if the queue stopped first: the kernel will not complete.
    /// [`QueueError::TimedOut`].
    pub fn wait(&self, timeout: Timeout) -> Result<(), QueueError> {
        let conditions = [
            WaitCondition {
                signal: self.signal,
                condition: Condition::Lt,
                value: 1,
            },
            WaitCondition {
                signal: self.queue.failure_signal(),
                condition: Condition::Ne,
                value: 0,
            },
        ];
        match self
            .runtime
            .wait_any(&conditions, timeout, WaitHint::Blocked)?
        {
            Some((0, _)) => Ok(()),
            // Complete is complete, whatever the queue did next.
            Some(_) if self.is_done() => Ok(()),
            Some(_) => Err(QueueError::Stopped(
                self.queue
                    .status()
                    .unwrap_or(crate::queue::QueueStatus::Destroyed),
            )),
            None => Err(QueueError::TimedOut),
        }
    }
}

impl<B: Backend + ?Sized> Drop for Completion<B> {
    fn drop(&mut self) {
        if let Some(flight) = self.flight.take()
            && !flight.is_done()
        {
            self.queue.keep(flight);
        }
    }
}

impl<B: Backend + ?Sized> core::fmt::Debug for Completion<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Completion")
            .field("signal", &self.signal)
            .field("done", &self.is_done())
            .finish()
    }
}

impl<B: Backend + ?Sized> Runtime<B> {
    /// Runs a kernel with arguments that the code object's metadata describes, in the order of its signature.
    /// Hidden arguments are filled in.
    ///
    /// # Errors
    /// See [`DispatchError`]; nothing was sent then.
    pub fn dispatch(
        self: &Arc<Self>,
        queue: &Queue<B>,
        kernel: &Kernel<B>,
        dispatch: &Dispatch,
        arguments: &[Explicit<'_>],
    ) -> Result<Completion<B>, DispatchError> {
        let layout = kernel
            .layout()
            .ok_or_else(|| DispatchError::NoMetadata {
                kernel: kernel.name().into(),
            })?
            .as_ref()
            .map_err(Clone::clone)?;
        let amd = queue.amd_queue();
        let mut hidden = dispatch.hidden;
        let aperture = |hi: u32| (hi != 0).then_some(u64::from(hi) << 32);
        hidden.queue_ptr = hidden.queue_ptr.or(Some(queue.address()));
        hidden.private_base = hidden
            .private_base
            .or(aperture(amd.private_segment_aperture_base_hi));
        hidden.shared_base = hidden
            .shared_base
            .or(aperture(amd.group_segment_aperture_base_hi));
        let mut block = vec![0; layout.size()];
        let filled = layout.fill(&dispatch.grid, arguments, &hidden, &mut block)?;
        self.send(
            queue,
            kernel,
            dispatch,
            &block,
            filled.align,
            filled.group_segment_size,
        )
    }

    /// Runs a kernel with an argument block that the caller filled, hidden arguments included.
    ///
    /// # Errors
    /// See [`DispatchError`]; nothing was sent then.
    pub fn dispatch_raw(
        self: &Arc<Self>,
        queue: &Queue<B>,
        kernel: &Kernel<B>,
        dispatch: &Dispatch,
        arguments: &[u8],
    ) -> Result<Completion<B>, DispatchError> {
        let expected = kernel.info().kernarg_segment_size;
        if arguments.len() != expected as usize {
            return Err(DispatchError::ArgumentBytes {
                expected,
                given: arguments.len(),
            });
        }
        let group = kernel
            .info()
            .group_segment_size
            .saturating_add(dispatch.hidden.dynamic_lds);
        self.send(queue, kernel, dispatch, arguments, 16, group)
    }

    fn send(
        self: &Arc<Self>,
        queue: &Queue<B>,
        kernel: &Kernel<B>,
        dispatch: &Dispatch,
        arguments: &[u8],
        align: usize,
        group_segment_size: u32,
    ) -> Result<Completion<B>, DispatchError> {
        self.check(queue, kernel, dispatch, group_segment_size)?;
        let inner = queue.inner();
        inner.forget_done();
        let kernarg = if arguments.is_empty() {
            None
        } else {
            let mut piece = self.kernarg_piece(arguments.len(), align)?;
            piece.write(arguments);
            Some(piece)
        };
        let signal = self.create_signal(1)?;
        let handle = signal.handle();
        let info = kernel.info();
        let private = if info.dynamic_call_stack {
            info.private_segment_size.max(DYNAMIC_STACK_BYTES)
        } else {
            info.private_segment_size
        };
        let packet = KernelDispatchPacket {
            header: Header::new(PacketType::KernelDispatch)
                .barrier(dispatch.barrier)
                .acquire(FenceScope::System)
                .release(FenceScope::System),
            setup: u16::from(dispatch.grid.dims),
            workgroup_size: dispatch.grid.group,
            grid_size: dispatch.grid.grid,
            private_segment_size: private,
            group_segment_size,
            kernel_object: info.kernel_object,
            kernarg_address: kernarg.as_ref().map_or(0, KernargPiece::gpu_va),
            completion_signal: handle.0,
            ..KernelDispatchPacket::default()
        };
        queue.claim(dispatch.timeout)?.publish_packet(&packet);
        Ok(Completion {
            flight: Some(InFlight {
                signal,
                _kernarg: kernarg,
                _program: kernel.program().clone(),
            }),
            queue: inner.clone(),
            runtime: self.clone(),
            signal: handle,
        })
    }

    /// What the packet processor would refuse, with a reason instead of a queue that stops.
    fn check(
        &self,
        queue: &Queue<B>,
        kernel: &Kernel<B>,
        dispatch: &Dispatch,
        group_segment_size: u32,
    ) -> Result<(), DispatchError> {
        let agent = kernel.program().agent();
        if agent != queue.agent() {
            return Err(DispatchError::WrongAgent {
                kernel: agent,
                queue: queue.agent(),
            });
        }
        kernarg::check_grid(&dispatch.grid)?;
        let items = dispatch.grid.group.iter().map(|&n| u64::from(n)).product();
        if items > u64::from(MAX_WORKGROUP_ITEMS) {
            return Err(DispatchError::GroupTooLarge {
                items,
                max: MAX_WORKGROUP_ITEMS,
            });
        }
        let max = self
            .agent(agent)
            .and_then(|agent| Some(agent.gpu()?.lds_bytes))
            .unwrap_or(0);
        if group_segment_size > max {
            return Err(DispatchError::GroupMemory {
                bytes: group_segment_size,
                max,
            });
        }
        Ok(())
    }

    fn kernarg_piece(&self, size: usize, align: usize) -> Result<KernargPiece<B>, DispatchError> {
        let park = self.park();
        let arena = {
            let mut kernarg = self.kernarg.lock(park);
            match &*kernarg {
                Some(arena) => arena.clone(),
                None => kernarg.insert(Arc::new(self.kernarg_arena()?)).clone(),
            }
        };
        Ok(arena.allocate(size, align, park)?)
    }

    fn kernarg_arena(&self) -> Result<KernargArena<B>, DispatchError> {
        let reactor = self.reactor();
        let page = reactor.backend.page_size();
        let block = Block::new(
            &reactor.backend,
            &MemoryRequest {
                bank: reactor.host_bank,
                size: reactor.config.kernarg_bytes.max(1).next_multiple_of(page),
                align: page,
                flags: MemoryFlags::HOST_ACCESS
                    | MemoryFlags::WRITABLE
                    | MemoryFlags::COHERENT
                    | MemoryFlags::UNCACHED,
            },
            &reactor.gpus,
        )
        .map_err(QueueError::Memory)?;
        Ok(KernargArena::new(block).map_err(|error: KernargError| error)?)
    }
}
