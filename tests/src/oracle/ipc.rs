//! What processes send each other to share memory: handles, questions and answers are read as they were written, or refused.

use rukh_capi::amd::ipc::message::{ANSWER, Answer, Handle, QUESTION, Question};

/// Reads `data` as each of them, and each as what it was made of.
pub fn check(data: &[u8]) {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(data.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    if let Some(handle) = Handle::parse(&words) {
        assert!(handle.process > 0);
        assert_eq!(
            handle.emit(),
            words,
            "a handle has bits that nobody looks at"
        );
    }
    // A question or an answer is all of a message, whatever comes after it.
    for length in [data.len(), QUESTION, ANSWER] {
        let Some(bytes) = data.get(..length) else {
            continue;
        };
        if let Some(question) = Question::parse(bytes) {
            assert_eq!(question.emit(), bytes);
        }
        if let Some(answer) = Answer::parse(bytes) {
            assert_eq!(answer.emit(), bytes);
            assert!(!matches!(answer, Answer::Memory { size } if size == 0 || size >> 47 != 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::rng::Rng;
    use rukh_capi::amd::ipc::message::Kind;

    #[test]
    fn random_messages_and_messages_with_a_wrong_bit_hold() {
        let mut rng = Rng::new(1);
        let handle = Handle {
            kind: Kind::Memory,
            process: 1234,
            server: 0x1111_2222_3333_4444,
            token: 0x5555_6666_7777_8888,
        };
        let handle: Vec<u8> = handle.emit().iter().flat_map(|w| w.to_le_bytes()).collect();
        let question = Question {
            kind: Kind::Signal,
            server: 3,
            token: 4,
        };
        let messages = [
            handle,
            question.emit().to_vec(),
            Answer::Memory { size: 4096 }.emit().to_vec(),
            Answer::Unknown.emit().to_vec(),
        ];
        let mut bytes = [0; 40];
        for _ in 0..10_000 {
            rng.fill(&mut bytes);
            check(&bytes);
        }
        for message in messages {
            check(&message);
            for bit in 0..message.len() * 8 {
                let mut wrong = message.clone();
                wrong[bit / 8] ^= 1 << (bit % 8);
                check(&wrong);
            }
        }
    }
}
