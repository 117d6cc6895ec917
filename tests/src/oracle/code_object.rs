//! Code objects: any bytes are refused with a reason, or loaded consistently and given back whole.

/// Parses, reads, loads and freezes `data`; what it must hold stands in core's own oracle.
pub fn check(data: &[u8]) {
    // Whether it is accepted or refused, the error must be one that can be told.
    if let Err(error) = rukh_core::loader::oracle::check(data) {
        assert!(!error.to_string().is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::committed;
    use crate::oracle::{mutate::mutate, rng::Rng};

    #[test]
    fn every_committed_object_is_accepted() {
        for object in committed::ALL {
            rukh_core::loader::oracle::check(object.code_object)
                .unwrap_or_else(|error| panic!("{} {:?}: {error}", object.file, object.target));
        }
    }

    #[test]
    fn damaged_objects_hold() {
        let mut rng = Rng::new(2);
        for round in 0..200 {
            for object in committed::ALL {
                let mut bytes = mutate(object.code_object, &mut rng);
                if round % 4 == 0 {
                    bytes = mutate(&bytes, &mut rng);
                }
                check(&bytes);
            }
        }
    }

    #[test]
    fn every_cut_of_an_object_holds() {
        let object = committed::ALL[0].code_object;
        for end in (0..object.len()).step_by(3) {
            check(&object[..end]);
        }
    }

    #[test]
    fn random_bytes_hold() {
        let mut rng = Rng::new(3);
        let mut bytes = vec![0; 4096];
        for _ in 0..500 {
            rng.fill(&mut bytes);
            // Past the first check, so that the next ones are asked.
            bytes[..16].copy_from_slice(&committed::ALL[0].code_object[..16]);
            check(&bytes);
        }
    }
}
