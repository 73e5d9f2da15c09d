"""Permissions per resource, where one call touches several.

AWS authorises RunInstances on the instance, volume, interface, image, subnet, groups and template, each with its own
condition keys, CreateTags for the tags it sets, PassRole for the role it hands over, and GetParameters for the
parameter that names the image; the ARN of a shared subnet has its owner's account; rules on the group, and new ones
with tags on the rule; SendCommand on document and instances with their tags; PutEvents for each entry with its source
and detail type; DescribeFileSystems of EFS on the file system that it names; an invocation on the function's ARN with
the alias or version that it names, which no grant on the function alone covers; a call that names an alias or a version
of a state machine on the machine's own ARN, with that as a condition key of several values; calls with an instance's
credentials carry its ARN; and a bucket policy sees calls as made over TLS.
A refusal names the resource that was refused.
Emulator: checks one resource per call, with request tags only, and takes its plain endpoint for an insecure channel.
"""

from __future__ import annotations

import contextvars
import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from local.patches.ec2.images import AMAZONS
from local.patches.ec2.launch_request import LaunchRefusedError, LaunchRequest, read_request
from local.patches.ec2.shared_subnets import owner_of
from local.patches.ec2.wire import Params, members, parameter, tag_specifications, tags_of
from local.patches.events.schedules import group_of
from local.patches.iam.credentials import source_instance
from local.patches.iam.object_keys import arn, key_questions, place
from local.patches.replace import override
from local.patches.tables.item_conditions import item_context
from local.patches.upstream import account_id, app, ec2, iam, iam_actions, iam_evaluator, region_name

_request: contextvars.ContextVar[Asked] = contextvars.ContextVar("_request")
_caller: contextvars.ContextVar[tuple[str, str]] = contextvars.ContextVar("_caller")
_extract = iam_actions.extract_resource_arn
_enforce = iam_evaluator.enforce
_pin_origin = app.pin_request_origin
_refused: contextvars.ContextVar[str] = contextvars.ContextVar("_refused")
_access_denied = iam_actions.access_denied_response


class Asked(NamedTuple):
    """The call whose questions these are."""

    method: str = ""
    params: Params = {}  # noqa: RUF012 - never changed
    headers: dict[str, str] = {}  # noqa: RUF012
    body: bytes = b""


RULE_ACTIONS = (
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:AuthorizeSecurityGroupEgress",
    "ec2:RevokeSecurityGroupIngress",
    "ec2:RevokeSecurityGroupEgress",
)
EVENT_RULE_ACTIONS = {f"events:{verb}Rule" for verb in ("Put", "Describe", "Enable", "Disable", "Delete")} | {
    "events:ListTargetsByRule",
    "events:PutTargets",
    "events:RemoveTargets",
}


# arn:aws:lambda:REGION:ACCOUNT:function:NAME
FUNCTION_COLONS = 6


@dataclass(frozen=True)
class Check:
    """One question to the policies."""

    action: str
    resource: str
    context: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Scope:
    """Account and region of a call."""

    account: str
    region: str

    def arn(self, kind: str, name: str = "*") -> str:
        """ARN of an EC2 resource."""
        if kind == "subnet":
            owner = owner_of(self.account, self.region, name)
        else:
            owner = "" if kind == "image" else self.account
        return f"arn:aws:ec2:{self.region}:{owner}:{kind}/{name}"

    def tagged(self, kind: str, name: str) -> dict[str, str]:
        """Condition keys of the tags that a resource has."""
        return {f"ec2:ResourceTag/{key}": value for key, value in tags_of(self.account, self.region, name).items()}


def install() -> None:
    """Ask for every resource; take the endpoint as TLS."""
    override(iam_actions, extract_resource_arn=_noting, access_denied_response=_naming)
    override(iam_evaluator, enforce=_enforce_all)
    override(app, pin_request_origin=lambda address, secure: _pin_origin(address, True))


def _noting(
    service: str, method: str, path: str, headers: Any, body: bytes, params: Params, region: str, account: str
) -> Any:
    _request.set(Asked(method, params, headers, body))
    if service == "s3" and place(path)[1]:
        return arn(*place(path))
    resource = _extract(service, method, path, headers, body, params, region, account)
    if service == "lambda":
        resource = qualified(resource, parameter(params, "Qualifier"))
    if service == "scheduler":
        resource = resource.replace(":schedule/default/", f":schedule/{group_of(params, body)}/")
    return resource


def _enforce_all(
    access_key: str, action: str, service: str, region: str, resource_arn: str = "*", service_context: Any = None
) -> Any:
    _caller.set((access_key, region))
    method, params, headers, body = _request.get(Asked())
    scope = Scope(account_id(), region)
    plain = Check(action, resource_arn, item_context(action, body, service_context or {}))
    keys = [Check(*key) for key in key_questions(action, resource_arn, method, headers, params)]
    for check in (checks_of(action, params, body, scope, plain) or [plain]) + keys:
        denied = _enforce(
            access_key,
            check.action,
            check.action.split(":")[0],
            region,
            resource_arn=check.resource,
            service_context={**check.context, **source_instance(access_key)},
        )
        # DeleteObjects is answered key by key.
        is_of_a_key = check.action in ("s3:DeleteObject", "s3:DeleteObjectVersion")
        is_judged_later = is_of_a_key and method == "POST" and "delete" in params
        if denied and not (is_judged_later and not isinstance(denied, iam_evaluator.AuthError)):
            _refused.set(check.resource)
            return denied
    return None


def _naming(*words: Any, **more: Any) -> Any:
    if words[:2] == ("ssm", "ssm:SendCommand"):
        more["resource_arn"] = _refused.get()
    return _access_denied(*words, **more)


def caller_may(action: str, resource: str, context: dict[str, Any] | None = None) -> bool:
    """Return whether whoever makes the present request is allowed something else that comes of it."""
    return not denial(action, resource, context)


def denial(action: str, resource: str, context: dict[str, Any] | None = None) -> str:
    """Return in AWS's words why the present request's caller may not do something; nothing where it may."""
    access_key, region = _caller.get(("", ""))
    if not app.AUTH or not access_key:
        return ""
    words = {"resource_arn": resource, "service_context": context or {}}
    denied = _enforce(access_key, action, action.split(":")[0], region, **words)
    if not denied:
        return ""
    is_explicit = getattr(denied, "decision", "") == "Deny"
    reason = (
        "with an explicit deny in an identity-based policy"
        if is_explicit
        else f"because no identity-based policy allows the {action} action"
    )
    who = getattr(denied, "principal_arn", "")
    return f'User: {who} is not authorized to perform: {action} on resource: "{resource}" {reason}'


def role_may(role_arn: str, action: str, resource: str) -> bool:
    """Return whether a role allows what an AWS service does under it without a request that is signed with it."""
    if not app.AUTH:
        return True
    account, name = role_arn.split(":")[4], role_arn.rsplit("/", 1)[-1]
    context = iam_evaluator.EvalContext(
        principal_arn=f"arn:aws:sts::{account}:assumed-role/{name}/service",
        principal_type="AssumedRole",
        principal_account=account,
        action=action,
        resource_arn=resource,
        region=region_name(),
    )
    decision = iam_evaluator.evaluate(context, iam_evaluator._gather_role_policies(name, account)).decision
    return bool(decision == "Allow")


def checks_of(action: str, params: Params, body: bytes, scope: Scope, plain: Check) -> list[Check]:
    """Return what AWS asks the policies about this call; empty where one question is enough."""
    if action.startswith("states:"):
        return [of_machine(plain)]
    if action == "ec2:RunInstances":
        return run_instances(params, scope)
    if action == "ec2:TerminateInstances":
        ids = members(params, "InstanceId")
        return [Check(action, scope.arn("instance", item), scope.tagged("instance", item)) for item in ids]
    if action in RULE_ACTIONS:
        return security_group_rules(action, params, scope)
    if action == "ssm:SendCommand":
        return send_command(json.loads(body or b"{}"), scope)
    if action == "events:PutEvents":
        return put_events(json.loads(body or b"{}"), scope)
    if action in EVENT_RULE_ACTIONS:
        return [Check(action, event_rule(json.loads(body or b"{}"), scope))]
    if action in ("scheduler:CreateSchedule", "scheduler:UpdateSchedule"):
        role = json.loads(body or b"{}").get("Target", {}).get("RoleArn", "")
        passed = {"iam:PassedToService": "scheduler.amazonaws.com"}
        return [plain, Check("iam:PassRole", role, passed)]
    if action == "iam:GetRole":
        # IAM knows the path of a role that exists; of others it has the name alone.
        name = parameter(params, "RoleName")
        arn = iam._roles[name]["Arn"] if name in iam._roles else f"arn:aws:iam::{scope.account}:role/{name}"
        return [Check(action, arn)]
    if action == "elasticfilesystem:DescribeFileSystems" and (name := parameter(params, "FileSystemId")):
        return [Check(action, f"arn:aws:elasticfilesystem:{scope.region}:{scope.account}:file-system/{name}")]
    if action == "servicequotas:GetServiceQuota":
        asked = json.loads(body or b"{}")
        quota = f"{asked.get('ServiceCode')}/{asked.get('QuotaCode')}"
        return [Check(action, f"arn:aws:servicequotas:{scope.region}:{scope.account}:{quota}")]
    return []


def qualified(function: str, qualifier: str | None) -> str:
    """ARN of a function with the alias or version that a call names beside it; one that has it already stays."""
    return f"{function}:{qualifier}" if qualifier and function.count(":") == FUNCTION_COLONS else function


def of_machine(plain: Check) -> Check:
    """The question about a state machine itself, where a call names an alias or a version of it.

    Step Functions Developer Guide, "Authorization for versions and aliases".
    """
    qualifier = plain.resource.partition(":stateMachine:")[2].partition(":")[2]
    if not qualifier:
        return plain
    resource = plain.resource.removesuffix(f":{qualifier}")
    return Check(plain.action, resource, {**plain.context, "states:StateMachineQualifier": [qualifier]})


def run_instances(params: Params, scope: Scope) -> list[Check]:
    """Questions of RunInstances; none when the request is not valid, which the launch itself then says."""
    try:
        request = read_request(params)
    except LaunchRefusedError:
        return []
    action = "ec2:RunInstances"
    tags = tag_specifications(params)
    instance = {
        **_requested(tags.get("instance", {})),
        "ec2:InstanceType": request.instance_type,
        "ec2:MetadataHttpTokens": request.http_tokens,
        "ec2:InstanceMarketType": "spot" if request.spot else "on-demand",
        **({"ec2:InstanceProfile": request.profile["Arn"]} if request.profile else {}),
    }
    checks = [
        Check(action, scope.arn("instance"), instance),
        Check(action, scope.arn("volume"), {**_requested(tags.get("volume", {})), "ec2:Encrypted": request.encrypted}),
        Check(action, scope.arn("network-interface")),
        Check(action, scope.arn("image", request.image_id), _image(scope, request.image_id)),
        *(_tagged(action, scope, kind, name) for kind, name in _network(request)),
    ]
    if request.template_id:
        checks.append(_tagged(action, scope, "launch-template", request.template_id))
    if request.spot:
        checks.append(
            Check(action, scope.arn("spot-instances-request"), _requested(tags.get("spot-instances-request", {})))
        )
    for kind in ("instance", "volume"):
        if kind in tags:
            context = {"ec2:CreateAction": "RunInstances", **_requested(tags[kind])}
            checks.append(Check("ec2:CreateTags", scope.arn(kind), context))
    if request.image_parameter:
        owner = "" if request.image_parameter.startswith("/aws/") else scope.account
        parameter = f"parameter/{request.image_parameter.lstrip('/')}"
        checks.append(Check("ssm:GetParameters", f"arn:aws:ssm:{scope.region}:{owner}:{parameter}"))
    if request.role:
        role = f"arn:aws:iam::{scope.account}:role/{request.role}"
        checks.append(Check("iam:PassRole", role, {"iam:PassedToService": "ec2.amazonaws.com"}))
    return checks


def security_group_rules(action: str, params: Params, scope: Scope) -> list[Check]:
    """Questions of Authorize… and Revoke…: the group, and new rules that get tags; none for rules that go."""
    group = parameter(params, "GroupId")
    checks = [_tagged(action, scope, "security-group", group)]
    tags = tag_specifications(params).get("security-group-rule")
    if tags:
        rule = scope.arn("security-group-rule")
        created = {"ec2:CreateAction": action.split(":")[1], **_requested(tags)}
        checks += [Check(action, rule, _requested(tags)), Check("ec2:CreateTags", rule, created)]
    return checks


def send_command(data: dict[str, Any], scope: Scope) -> list[Check]:
    """Questions of SendCommand: the document, and each instance with its tags."""
    name = str(data.get("DocumentName", "")).rsplit("/", 1)[-1]
    owner = "" if name.startswith("AWS-") else scope.account
    checks = [Check("ssm:SendCommand", f"arn:aws:ssm:{scope.region}:{owner}:document/{name}")]
    for instance_id in data.get("InstanceIds") or []:
        tags = tags_of(scope.account, scope.region, instance_id)
        context = {f"ssm:resourceTag/{key}": value for key, value in tags.items()}
        checks.append(Check("ssm:SendCommand", scope.arn("instance", instance_id), context))
    return checks


def event_rule(data: dict[str, Any], scope: Scope) -> str:
    """ARN of a rule: of one on the default bus it does not name the bus."""
    bus, name = str(data.get("EventBusName") or "default").rpartition("/")[2], data.get("Rule") or data.get("Name")
    return f"arn:aws:events:{scope.region}:{scope.account}:rule/{name if bus == 'default' else f'{bus}/{name}'}"


def put_events(data: dict[str, Any], scope: Scope) -> list[Check]:
    """Questions of PutEvents: one for each entry."""
    checks = []
    for entry in data.get("Entries") or []:
        bus = str(entry.get("EventBusName") or "default")
        arn = bus if bus.startswith("arn:") else f"arn:aws:events:{scope.region}:{scope.account}:event-bus/{bus}"
        told = {"events:source": entry.get("Source"), "events:detail-type": entry.get("DetailType")}
        context = {key: [value] for key, value in told.items() if value is not None}  # lists, as the reference has them
        checks.append(Check("events:PutEvents", arn, context))
    return checks


def _network(request: LaunchRequest) -> list[tuple[str, str]]:
    return [("subnet", request.subnet_id), *(("security-group", group) for group in request.group_ids)]


def _tagged(action: str, scope: Scope, kind: str, name: str) -> Check:
    return Check(action, scope.arn(kind, name), scope.tagged(kind, name))


def _image(scope: Scope, image_id: str) -> dict[str, str]:
    """An image is known by its owner, Amazon's accounts by an alias, and by the tags that it has in this account."""
    image = ec2._images[image_id]
    owner = "amazon" if image["OwnerId"] == AMAZONS else image["OwnerId"]
    public = str(bool(image.get("Public"))).lower()
    return {"ec2:Owner": owner, "ec2:Public": public, **scope.tagged("image", image_id)}


def _requested(tags: dict[str, str]) -> dict[str, str]:
    return {f"aws:RequestTag/{key}": value for key, value in tags.items()}
