//! Leases of ranges and of the finish in the chunk table.

use cpt_relay::control::leases::{Finish, Leased};
use cpt_relay::control::{Control, ControlError, Seat};
use cpt_relay::documents::membership::Retired;
use cpt_relay::stop::Stop;

use super::{Account, owner, some_files};

fn seat(text: &str) -> Seat {
    Seat::new(text).unwrap()
}

#[test]
fn a_range_is_one_seats_until_that_is_retired_and_a_later_process_of_the_seat_may_have_it() {
    let account = Account::plan(some_files);
    let control = account.control(&Stop::new().unwrap());
    let (first, other) = (owner(seat("s0"), 5), owner(seat("s1"), 9));
    assert_eq!(control.leases(&[0]).unwrap(), [None]);
    assert!(control.lease(0, &first, None).unwrap());
    assert!(control.lease(0, &first, None).unwrap(), "the answer was lost");
    assert!(!control.lease(0, &other, None).unwrap());
    let retired = |epoch| Retired { seat_id: seat("s0"), epoch, is_gone: true };
    assert!(!control.lease(0, &other, Some(&retired(4))).unwrap(), "a process that came after the retired ones");
    assert!(control.settle(0, &first).unwrap());
    assert!(!control.settle(0, &other).unwrap());
    assert_eq!(control.leases(&[1, 0]).unwrap(), [None, Some(Leased { seat: seat("s0"), epoch: 5, is_settled: true })]);
    assert!(control.lease(0, &owner(seat("s0"), 6), None).unwrap());
    let lost = control.lease(0, &first, None);
    assert!(matches!(lost, Err(ControlError::LeaseLost { range: 0, .. })), "{lost:?}");
    assert!(control.lease(0, &other, Some(&retired(6))).unwrap());
    assert_eq!(control.leases(&[0]).unwrap(), [Some(Leased { seat: seat("s1"), epoch: 9, is_settled: false })], "to be settled anew");
    assert!(!control.lease(0, &owner(seat("s0"), 7), None).unwrap(), "a retired seat does not come back");
}

#[test]
fn one_sender_finishes_and_another_does_once_it_is_retired() {
    let account = Account::plan(some_files);
    let control = account.control(&Stop::new().unwrap());
    let finish = |text: &str, epoch, receiver: &str| Finish { seat: seat(text), epoch, receiver: seat(receiver) };
    assert_eq!(control.finish().unwrap(), None);
    assert!(control.take_finish(&finish("s0", 5, "r0"), None).unwrap());
    assert!(!control.take_finish(&finish("s1", 9, "r0"), None).unwrap());
    assert!(control.take_finish(&finish("s0", 5, "r1"), None).unwrap(), "with another receiver");
    assert!(!control.take_finish(&finish("s0", 4, "r0"), None).unwrap(), "of an earlier process");
    let retired = Retired { seat_id: seat("s0"), epoch: 5, is_gone: false };
    assert!(control.take_finish(&finish("s1", 9, "r1"), Some(&retired)).unwrap());
    assert_eq!(control.finish().unwrap(), Some(finish("s1", 9, "r1")));
}
