import pytest

from lambdas.core.fleet.launch_decision import LaunchDecision, decide_launch, missing_permission, remedy


@pytest.mark.parametrize(
    ("code", "decision"),
    [
        ("InsufficientInstanceCapacity", LaunchDecision.ELSEWHERE),
        ("SpotMaxPriceTooLow", LaunchDecision.ELSEWHERE),
        ("Unsupported", LaunchDecision.OTHER_TYPE),
        ("InsufficientFreeAddressesInSubnet", LaunchDecision.OTHER_SUBNET),
        ("AuthFailure.ServiceLinkedRoleCreationNotPermitted", LaunchDecision.OTHER_MARKET),
        ("VcpuLimitExceeded", LaunchDecision.FEWER),
        ("MaxSpotInstanceCountExceeded", LaunchDecision.FEWER),
        ("UnauthorizedOperation", LaunchDecision.MISSING_PERMISSION),
        ("RequestLimitExceeded", LaunchDecision.RETRY_LATER),
        ("InternalError", LaunchDecision.RETRY_LATER),
        ("InvalidAMIID.NotFound", LaunchDecision.REFUSE),
        ("InvalidParameterValue", LaunchDecision.REFUSE),
        ("SomethingNew", LaunchDecision.REFUSE),
    ],
)
def test_each_class_of_launch_error_has_its_decision(code: str, decision: LaunchDecision) -> None:
    assert decide_launch(code) is decision


@pytest.mark.parametrize(
    ("code", "message", "action"),
    [
        ("UnauthorizedOperation", "You are not authorized to perform this operation.", "ec2:RunInstances"),
        (
            "UnauthorizedOperation",
            "User: arn:aws:sts::1:x is not authorized to perform: iam:PassRole on resource: arn:aws:iam::1:role/r",
            "iam:PassRole",
        ),
    ],
)
def test_the_permission_that_is_missing_is_named(code: str, message: str, action: str) -> None:
    assert missing_permission(code, message) == action


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("InvalidAMIID.NotFound", "image is gone; deploy the stack"),
        ("InvalidLaunchTemplateName.NotFoundException", "launch template is gone; deploy the stack"),
        ("PendingVerification", "verifying the account"),
        ("SomethingNew", "see EC2's message"),
    ],
)
def test_a_refusal_says_what_to_do(code: str, words: str) -> None:
    assert words in remedy(code)
