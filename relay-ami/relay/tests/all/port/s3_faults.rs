//! What a service does wrong in place of an answer: counted, each time that it is called so.

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not done, and the answer is this.
    Refused(u16, &'static str),
    /// It is not done, and the connection ends.
    Cut,
    /// It is done, and the connection ends without a word.
    Lost,
    /// It is done, and the connection ends amid the answer.
    Halved,
}

/// By operation: so many calls to come.
#[derive(Default)]
pub struct Faults {
    to_come: Vec<(&'static str, u64, Fault)>,
    have_come: bool,
}

impl Faults {
    pub fn meet(&mut self, operation: &'static str, times: u64, fault: Fault) {
        self.to_come.push((operation, times, fault));
    }

    /// Whether any of them has come.
    pub fn clear(&mut self) -> bool {
        self.to_come.clear();
        std::mem::take(&mut self.have_come)
    }

    pub fn next(&mut self, operation: &str) -> Option<Fault> {
        let (_, left, fault) = self.to_come.iter_mut().find(|(of, left, _)| *of == operation && *left > 0)?;
        *left -= 1;
        self.have_come = true;
        Some(*fault)
    }
}
