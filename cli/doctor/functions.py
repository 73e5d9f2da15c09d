"""The number of functions that the account may run at once, and of transfers that it bears."""

from collections.abc import Iterator

from cli.aws import Aws
from cli.doctor.finding import Finding, Findings, looked, ok, warning

# Of one transfer, for minutes: Await Relays, Extend Plan or Finish Survey, and a relay that is replaced on each side.
OF_A_TRANSFER = 4
# Beside them, for seconds: reactions to events, and the watches, which speak for every transfer.
OF_ALL = 3
FEW = 5
# AWS keeps so many for functions without a reserve, and two functions take what the setting says.
UNRESERVED, RESERVE = 100, 5


def functions(aws: Aws) -> Findings:
    """The account's limit in the home region."""
    yield from looked("functions", aws.region, lambda: _found(aws))


def _found(aws: Aws) -> Iterator[Finding]:
    limit = aws.client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    yield judge(aws.region, limit)


def judge(region: str, limit: int) -> Finding:
    """`limit`: functions at once."""
    transfers = max(1, (limit - OF_ALL) // OF_A_TRANSFER)
    what = f"{limit} functions may run at once, of which a transfer keeps up to {OF_A_TRANSFER} for minutes"
    if transfers >= FEW:
        return ok("functions", region, f"{what}; {_reserve(limit)}")
    remedy = (
        f"aws service-quotas request-service-quota-increase --region {region} --service-code lambda "
        "--quota-code L-B99A9384 --desired-value 1000; until then transfers wait for one another"
    )
    return warning("functions", region, f"{what}: enough for {transfers} at a time", remedy)


def _reserve(limit: int) -> str:
    """What the limit means for the setting `reservedConcurrency`."""
    if limit >= UNRESERVED + 2 * RESERVE:
        return f"reservedConcurrency: {RESERVE} would keep some for heartbeats, whatever else runs in the account"
    return "reservedConcurrency must stay 0, since AWS would refuse the deployment"
