"""The account's own attachments to policies and roles of the deployment."""

from collections.abc import Iterable
from functools import partial

from cli.aws import Aws
from cli.leave.stacks import Stack, of_kind
from cli.leave.tie import Tie, Ties, unless_gone

# A list of entities, what AWS calls one, and the call that takes the policy from it.
_ENTITIES = (
    ("PolicyRoles", "RoleName", "role", "detach_role_policy"),
    ("PolicyUsers", "UserName", "user", "detach_user_policy"),
    ("PolicyGroups", "GroupName", "group", "detach_group_policy"),
)

# The policy of a function's role, in infra/lib/access/access.ts.
_INSIDE = "access"


def permission_ties(aws: Aws, stacks: Iterable[Stack]) -> Ties:
    """IAM deletes neither a policy that is attached, nor a role that has policies or a profile of somebody else's."""
    stacks = list(stacks)
    roles = [role.physical_id for role in of_kind(stacks, "AWS::IAM::Role")]
    policies = [policy.physical_id for policy in of_kind(stacks, "AWS::IAM::ManagedPolicy")]
    profiles = {profile.physical_id.rsplit("/", 1)[-1] for profile in of_kind(stacks, "AWS::IAM::InstanceProfile")}
    # The CDK names an inline policy after its resource; those inside of a role have a name of ours.
    inline = {policy.logical_id for policy in of_kind(stacks, "AWS::IAM::Policy")} | {_INSIDE}
    for arn in policies:
        yield from unless_gone(_attached, aws, arn, roles)
    for role in roles:
        yield from unless_gone(_added, aws, role, policies, inline)
        yield from unless_gone(_profiles, aws, role, profiles)


def _attached(aws: Aws, arn: str, ours: list[str]) -> Ties:
    iam, policy = aws.client("iam"), arn.rsplit("/", 1)[-1]
    for page in iam.get_paginator("list_entities_for_policy").paginate(PolicyArn=arn):
        for entities, key, word, detach in _ENTITIES:
            for entity in page[entities]:
                if entity[key] not in ours:
                    undo = partial(getattr(iam, detach), PolicyArn=arn, **{key: entity[key]})
                    message = f"the policy is attached to the {word} {entity[key]}"
                    yield Tie("holds", "global", policy, message, f"it is detached from the {word}, which stays", undo)


def _added(aws: Aws, role: str, ours: list[str], inline: set[str]) -> Ties:
    iam = aws.client("iam")
    for page in iam.get_paginator("list_attached_role_policies").paginate(RoleName=role):
        for policy in page["AttachedPolicies"]:
            if policy["PolicyArn"] not in ours:
                undo = partial(iam.detach_role_policy, RoleName=role, PolicyArn=policy["PolicyArn"])
                message = f"the policy {policy['PolicyName']} was attached to the role"
                yield Tie("holds", "global", role, message, "it is detached from the role; the policy stays", undo)
    for page in iam.get_paginator("list_role_policies").paginate(RoleName=role):
        for name in set(page["PolicyNames"]) - inline:
            undo = partial(iam.delete_role_policy, RoleName=role, PolicyName=name)
            message = f"the inline policy {name} was added to the role"
            yield Tie("holds", "global", role, message, "the inline policy is deleted, which is nowhere else", undo)


def _profiles(aws: Aws, role: str, ours: set[str]) -> Ties:
    iam = aws.client("iam")
    for page in iam.get_paginator("list_instance_profiles_for_role").paginate(RoleName=role):
        for profile in page["InstanceProfiles"]:
            name = profile["InstanceProfileName"]
            if name not in ours:
                undo = partial(iam.remove_role_from_instance_profile, InstanceProfileName=name, RoleName=role)
                message = f"the role is in the instance profile {name}"
                yield Tie("holds", "global", role, message, "it is taken out of the profile, which stays", undo)
