//! `rukh-sim info`.

use rukh_backend_sim::exec::valu::Level;
use rukh_backend_sim::profile::Profile;

/// Prints the profiles and what this host can do.
pub fn info() -> Result<(), String> {
    println!(
        "{:<8} {:<34} {:>4} {:>9} {:>8} {:>9} {:>6}",
        "GPU", "product", "CUs", "wavefront", "LDS KiB", "VRAM GiB", "XCCs"
    );
    for profile in Profile::all() {
        println!(
            "{:<8} {:<34} {:>4} {:>9} {:>8} {:>9} {:>6}",
            profile.name,
            profile.product,
            profile.compute_units,
            profile.wavefront_size,
            profile.lds_bytes >> 10,
            profile.vram_bytes >> 30,
            profile.xcc_count
        );
    }
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "\nhost: {workers} processors, vector instructions executed at level {:?}",
        Level::detect()
    );
    Ok(())
}
