//! What every backend must do, as tests over core's runtime: one chapter a file.
//!
//! A test is a function over a [`Factory`] and reads as a statement. [`conformance!`](crate::conformance!) makes ordinary tests
//! of all of them for one factory; each runs with a [`Ledger`] around the backend, so that whatever it
//! does, it must give back what it took. [`run_with_faults`] repeats a test with one failing call
//! after another.
//!
//! To add a test, write it in its chapter and name it in `conformance_tests!` below: a test that is not
//! named is dead code, which the compiler reports.

mod clock;
mod dispatch;
mod dma;
mod errors;
mod events;
mod factory;
mod failure;
mod hostile;
mod ledger;
mod lifecycle;
mod loading;
mod malice;
mod memory;
mod port;
mod queues;
mod run;
mod signals;
mod topology;
mod virtual_memory;
mod work;
mod world;

pub use factory::{Factory, Faulty, KfdFactory, Malicious, SimFactory, Watched};
pub use failure::{Failure, Outcome};
pub use ledger::Ledger;
pub use malice::{Device, Malice};
pub use port::{PortFactory, run_with_port_faults};
pub use run::{Test, run, run_with_faults, run_with_malice, run_with_random_faults};
pub use work::{Prepared, VectorAdd};
pub use world::World;

/// Calls the macro in brackets with the names of all tests, chapter by chapter.
#[macro_export]
macro_rules! conformance_tests {
    ([$($then:tt)*] $($args:tt)*) => {
        $($then)*! { { $($args)* }
            topology {
                agents_are_numbered_in_order_cpus_first
                an_agent_out_of_range_is_refused
                answers_do_not_change
                every_gpu_says_what_clients_need
                every_gpu_has_an_isa_that_core_knows
                every_gpu_has_device_and_group_memory
                apertures_are_apart_and_aligned
                caches_are_listed_from_the_inside_out
                links_join_agents_that_exist
                gpus_reach_the_host_and_each_other
                pools_come_in_the_order_that_clients_rely_on
            }
            memory {
                fresh_memory_of_every_pool_reads_as_zero
                allocations_are_aligned_and_apart
                sizes_are_rounded_up_to_granules
                impossible_sizes_are_refused
                only_pools_that_allow_it_are_allocated_from
                only_the_start_of_an_allocation_frees_it_and_only_once
                a_pointer_is_known_from_its_first_to_its_last_byte
                copies_arrive_between_all_pools
                copies_that_leave_an_allocation_are_refused
                fills_store_words
                access_is_given_to_agents_that_exist
                locked_memory_is_known_until_the_last_unlock
                what_is_allocated_is_not_available
                callbacks_come_before_an_allocation_goes
                many_threads_allocate_and_free
                a_live_ring_cannot_be_freed_by_its_address
            }
            virtual_memory {
                kernels_reach_memory_where_it_is_mapped
                what_cannot_be_mapped_is_refused
                memory_is_had_again_by_its_descriptor
            }
            queues {
                sizes_must_be_powers_of_two_in_range
                only_gpus_have_queues
                a_client_sees_what_hsa_promises_of_a_queue
                index_operations_work_in_every_order
                packets_are_consumed_in_order_and_slots_given_back
                a_full_queue_refuses_and_recovers
                a_claim_that_is_dropped_does_not_stop_the_queue
                packets_published_out_of_order_run_in_order
                many_producers_wrap_a_small_ring
                batches_are_published_whole
                as_many_queues_as_the_device_has
                priorities_and_masks_can_be_set
                an_inactivated_queue_takes_no_packets
                destroying_a_queue_abandons_its_packets
            }
            signals {
                operations_give_the_old_value_in_every_order
                conditions_hold_as_they_say
                a_wait_ends_in_time
                a_store_wakes_who_sleeps
                all_who_sleep_are_woken
                waiting_for_any_gives_which
                waiting_for_all_needs_all_at_once
                handlers_are_called_until_they_say_no
                destroying_a_signal_ends_waits
                stale_and_wild_handles_are_refused
                doorbells_can_only_be_stored_to
                there_can_be_many_signals
                many_threads_create_and_destroy
                concurrent_additions_all_count
            }
            events {
                an_event_stays_raised_until_a_wait_takes_it
                a_wait_ends_when_its_time_is_over
                waiting_for_all_needs_every_event
                an_event_from_another_thread_wakes
                events_that_do_not_exist_are_refused
                only_signal_events_can_be_set
                events_run_out_with_an_error
            }
            clock {
                time_does_not_go_back
                device_and_system_clocks_keep_pace
            }
            loading {
                a_program_has_its_kernels_and_no_others
                code_for_another_processor_is_refused
                code_with_flags_of_no_processor_is_refused
                a_cut_file_is_refused
                what_is_no_elf_file_is_refused
                damaged_code_is_refused_or_loaded_and_given_back
                a_program_outlives_its_file_and_loads_twice
            }
            dispatch {
                vector_addition_is_right_for_grids_of_all_sizes
                hidden_arguments_tell_the_group_size
                two_dimensional_grids_multiply_matrices
                group_memory_and_barriers_sum
                a_completion_signal_falls_by_one
                a_packet_needs_no_completion_signal
                the_barrier_bit_orders_packets
                a_barrier_and_waits_for_all
                a_barrier_or_waits_for_one
                a_barrier_value_waits_for_its_condition
                empty_dependencies_are_met
                queues_wait_for_each_other
                gpus_wait_for_each_other
                profiling_stamps_packets_in_order
                scratch_grows_with_demand
                a_running_kernel_sees_what_the_host_stores
                a_spinning_kernel_does_not_keep_others_from_running
                a_grid_without_end_does_not_keep_others_from_running
                groups_that_wait_for_each_other_finish
                destroying_a_queue_ends_a_kernel_that_never_does
                many_threads_dispatch_on_one_queue
                every_gpu_runs_kernels
            }
            dma {
                copies_and_fills_arrive_in_order
                a_wait_holds_back_what_follows_and_an_event_tells
                a_bad_address_is_reported
            }
            errors {
                no_dimensions_stop_the_queue
                an_empty_group_stops_the_queue
                a_group_that_is_too_large_stops_the_queue
                an_empty_grid_stops_the_queue
                too_much_group_memory_stops_the_queue
                a_kernel_object_that_is_none_stops_the_queue
                an_unknown_packet_type_stops_the_queue
                an_unknown_vendor_format_stops_the_queue
                an_agent_dispatch_stops_the_queue
                an_unknown_condition_stops_the_queue
                an_unknown_instruction_stops_the_queue
                a_trap_stops_the_queue
                a_store_to_nowhere_stops_the_queue
                a_load_from_nowhere_stops_the_queue
                an_atomic_to_nowhere_stops_the_queue
                an_access_behind_an_allocation_stops_the_queue
                an_access_to_freed_memory_stops_the_queue
                an_access_to_memory_of_others_stops_the_queue
                a_call_into_data_stops_the_queue
                arguments_that_are_nowhere_stop_the_queue
                signals_that_are_nowhere_stop_the_queue
                the_helper_refuses_what_the_device_would
                a_huge_grid_can_be_abandoned
                packets_behind_a_failed_one_do_not_run
            }
            hostile {
                packets_of_random_bytes_disturb_no_other_queue
            }
            lifecycle {
                a_runtime_starts_and_ends_again_and_again
                runtimes_live_side_by_side
                what_clients_leave_behind_is_given_back
                a_queue_outlives_the_clients_runtime
                ending_in_the_middle_of_work_is_clean
                threads_may_start_runtimes_at_once
            }
        }
    };
}

/// Makes a module of tests, one for each of the suite, for a factory: `conformance! { sim => SimFactory::threads("gfx90a") }`.
#[macro_export]
macro_rules! conformance {
    ($name:ident => $factory:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $crate::conformance_tests! { [$crate::conformance_items] $factory }
        }
    };
}

/// The tests of [`conformance!`](crate::conformance!).
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_items {
    ({ $factory:expr } $($chapter:ident { $($test:ident)* })*) => {
        $crate::conformance_items! { @chapters ($factory) $($chapter { $($test)* })* }
    };
    (@chapters $factory:tt $($chapter:ident $tests:tt)*) => {
        $($crate::conformance_items! { @chapter $factory $chapter $tests })*
    };
    (@chapter $factory:tt $chapter:ident { $($test:ident)* }) => {
        mod $chapter {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[test]
                fn $test() {
                    $crate::conformance::run(stringify!($chapter), stringify!($test), &$factory);
                }
            )*
        }
    };
}

macro_rules! table {
    ({} $($chapter:ident { $($test:ident)* })*) => {
        /// All tests.
        pub fn all<F: Factory>() -> Vec<Test<F>> {
            vec![$($(Test {
                chapter: stringify!($chapter),
                name: stringify!($test),
                body: $chapter::$test::<F>,
            }),*),*]
        }
    };
}
crate::conformance_tests! { [table] }
