"""The two regions are really separate."""

from tests.e2e.account import HOME, OTHER, Account


def test_tables_bus_and_state_machine_are_in_the_home_region_only(account: Account) -> None:
    assert "cpt-transfers" in account.cloud.client("dynamodb", HOME).list_tables()["TableNames"]
    assert account.cloud.client("dynamodb", OTHER).list_tables()["TableNames"] == []
    buses = [bus["Name"] for bus in account.cloud.client("events", OTHER).list_event_buses()["EventBuses"]]
    assert "cpt" not in buses
    assert account.cloud.client("stepfunctions", OTHER).list_state_machines()["stateMachines"] == []


def test_each_region_has_its_own_template_and_documents(account: Account) -> None:
    found = {}
    for region in (HOME, OTHER):
        templates = account.cloud.client("ec2", region).describe_launch_templates(LaunchTemplateNames=["cpt-relay"])
        found[region] = templates["LaunchTemplates"][0]["LaunchTemplateId"]
        for name in ("scan", "delete", "send", "receive", "relay", "probe", "log", "stop"):
            document = f"cpt-{name}"
            account.cloud.client("ssm", region).describe_document(Name=document)
    assert found[HOME] != found[OTHER]


def test_a_machine_is_found_in_its_own_region_only(account: Account) -> None:
    for region, there in ((HOME, True), (OTHER, False)):
        answer = account.cloud.client("ec2", region).describe_instances(
            Filters=[{"Name": "instance-id", "Values": [account.source]}]
        )
        assert bool(answer["Reservations"]) == there
