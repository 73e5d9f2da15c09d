//! The writes of both ends to the chunk table, as `contracts/chunk-changes.json` prescribes them: with the retry policy's, which
//! Lambdas make, they are one state machine, and its tests are Python's.

/// Every change: the chunk has neither moved on nor ended.
pub const GUARD: &str = "#state = :pending AND attempt = :attempt";
/// The receiver has it on its disk.
pub const DELIVER: &str =
    "SET #state = :state, digest = :digest, pathId = :pathId, lane = :lane, startedAt = :startedAt, deliveredAt = :deliveredAt";
/// The sender saw the attempt fail.
pub const NOTE_FAILURE: &str = "SET failedAttempt = :failedAttempt, reason = :reason";
/// Whoever takes a range over has it to settle.
pub const LEASE: &str = "SET #owner = :owner, #epoch = :epoch, #seat = :seat, settled = :settled, expiresAt = :expiresAt";
/// The same owner again: the answer to the first write was lost. Leases of before there were seats name none.
pub const LEASE_GUARD: &str = "attribute_not_exists(#epoch) OR (attribute_not_exists(#seat) AND #epoch < :epoch) \
                               OR (#seat = :seat AND #epoch < :epoch) OR (#epoch = :epoch AND #owner = :owner)";
/// What is added where the lease may be a retired seat's.
pub const TAKEOVER: &str = " OR (#seat = :retiredSeat AND #epoch <= :retiredEpoch)";
/// All of a range that carries data is settled.
pub const SETTLE: &str = "SET settled = :settled";
pub const SETTLE_GUARD: &str = "#epoch = :epoch AND #owner = :owner";
pub const FINISH: &str = "SET #seat = :seat, #epoch = :epoch, receiver = :receiver, expiresAt = :expiresAt";
pub const FINISH_GUARD: &str = "attribute_not_exists(#epoch) OR (#seat = :seat AND #epoch <= :epoch)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expressions_are_those_of_the_contract() {
        let golden: serde_json::Value = serde_json::from_str(include_str!("../../../../contracts/chunk-changes.json")).unwrap();
        assert_eq!(golden["guard"], GUARD);
        assert_eq!(golden["changes"]["deliver"]["update"], DELIVER);
        assert_eq!(golden["changes"]["note-failure"]["update"], NOTE_FAILURE);
        assert_eq!(golden["lease"]["update"], LEASE);
        assert_eq!(golden["lease"]["guard"], LEASE_GUARD);
        assert_eq!(golden["lease"]["takeover"], TAKEOVER);
        assert_eq!(golden["settle"]["update"], SETTLE);
        assert_eq!(golden["settle"]["guard"], SETTLE_GUARD);
        assert_eq!(golden["finish"]["update"], FINISH);
        assert_eq!(golden["finish"]["guard"], FINISH_GUARD);
        assert_eq!(golden["finish"]["takeover"], TAKEOVER);
    }
}
