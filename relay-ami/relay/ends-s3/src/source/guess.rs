//! Where in a range of keys others may lie: keys as numbers, whose digits are the characters that keys have been seen to have.

use std::collections::BTreeSet;

/// Characters of a key that count, after its prefix. Names differ earlier, or lie so close together that no guess is needed.
const DIGITS: usize = 48;

/// The characters of keys.
#[derive(Debug, Default)]
pub struct Alphabet(BTreeSet<char>, Vec<char>);

impl Alphabet {
    pub fn learn(&mut self, key: &str) {
        let before = self.0.len();
        self.0.extend(key.chars());
        if self.0.len() > before {
            self.1 = self.0.iter().copied().collect();
        }
    }

    /// A place after all characters, and one for the end of a key.
    fn base(&self) -> u64 {
        self.1.len() as u64 + 2
    }

    /// `key` without the prefix that all have.
    pub fn number(&self, key: &str) -> Number {
        let digit = |character: char| self.1.partition_point(|known| *known < character) as u64 + 1;
        Number(key.chars().map(digit).chain(std::iter::repeat(0)).take(DIGITS).collect())
    }

    /// What lies so many times `step` after `from`, as a key; none where that is beyond all keys.
    pub fn ahead(&self, from: &Number, step: &Number, times: u64) -> Option<String> {
        let (base, mut carry) = (self.base(), 0);
        let mut digits = vec![0; DIGITS];
        for at in (0..DIGITS).rev() {
            let sum = from.0[at] + step.0[at] * times + carry;
            digits[at] = sum % base;
            carry = sum / base;
        }
        if carry > 0 {
            return None;
        }
        let end = digits.iter().rposition(|digit| *digit > 0).map_or(0, |at| at + 1);
        // In the middle of a key, what stands for its end is the least character.
        let least = self.1.first().copied().unwrap_or_default();
        let character = |digit: &u64| match *digit {
            0 => Some(least),
            digit => usize::try_from(digit - 1).ok().and_then(|at| self.1.get(at).copied()).or(Some(char::MAX)),
        };
        digits[..end].iter().map(character).collect()
    }

    /// How often `step` fits between two; nothing where the step is none. Their difference is exact: most of their digits are the same.
    pub fn steps(&self, from: &Number, to: &Number, step: &Number) -> Option<f64> {
        let base = self.base() as f64;
        let value = |number: &Number| number.0.iter().fold(0.0, |value, digit| value * base + *digit as f64);
        let step = value(step);
        (step > 0.0).then(|| value(&self.between(from, to)) / step)
    }

    /// From one to a later one.
    pub fn between(&self, from: &Number, to: &Number) -> Number {
        let (base, mut borrowed) = (self.base(), 0);
        let mut digits = vec![0; DIGITS];
        for at in (0..DIGITS).rev() {
            let needed = from.0[at] + borrowed;
            borrowed = u64::from(to.0[at] < needed);
            digits[at] = to.0[at] + borrowed * base - needed;
        }
        Number(if borrowed > 0 { vec![0; DIGITS] } else { digits })
    }
}

/// Digits, the most significant first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(Vec<u64>);

/// What both begin with, to its last slash.
pub fn common_directory<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let end = one.as_bytes()[..same].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    &one[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alphabet() -> Alphabet {
        let mut alphabet = Alphabet::default();
        alphabet.learn("0123456789/ab");
        alphabet
    }

    #[test]
    fn what_lies_ahead_is_as_far_away_as_was_said() {
        let alphabet = alphabet();
        let [from, to] = ["a/000100", "a/000200"].map(|key| alphabet.number(key));
        let step = alphabet.between(&from, &to);
        assert_eq!(alphabet.steps(&from, &to, &step), Some(1.0));
        let ahead = alphabet.ahead(&to, &step, 3).unwrap();
        assert_eq!(ahead, "a/000500");
        let steps = alphabet.steps(&from, &alphabet.number(&ahead), &step).unwrap();
        assert!((steps - 4.0).abs() < 1e-6, "{steps}");
        assert!("a/000200" < &*alphabet.ahead(&to, &step, 50).unwrap());
    }

    #[test]
    fn what_two_keys_have_in_common_is_a_directory() {
        for (one, other, expected) in [("a/b/c", "a/b/d", "a/b/"), ("a/b", "a/b", "a/"), ("ab", "ac", ""), ("a/b", "b/b", "")] {
            assert_eq!(common_directory(one, other), expected);
        }
    }

    #[test]
    fn nothing_lies_beyond_all_keys() {
        let alphabet = alphabet();
        let last = alphabet.number(&"b".repeat(DIGITS));
        let step = alphabet.between(&alphabet.number("0"), &alphabet.number("b"));
        assert_eq!(alphabet.ahead(&last, &step, 10), None);
        assert_eq!(alphabet.steps(&last, &last, &alphabet.between(&last, &last)), None);
    }
}
