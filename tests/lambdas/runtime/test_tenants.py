from typing import Any

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.estimate.approval import ApprovalDecision
from lambdas.core.pool.tenant import parse_tenants
from lambdas.handlers.calls.limit_transfers import handler as limit_transfers
from lambdas.runtime import handler as module
from lambdas.runtime.handler import user_call
from tests.lambdas.cloud import Cloud
from tests.lambdas.runtime.test_handler import Context


def test_a_tenant_acts_on_his_own_by_his_alias_and_on_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Cloud(tenants=parse_tenants(["acme", "beta"])).world
    monkeypatch.setattr(module, "world", lambda **_: here)

    class OfAcme(Context):
        invoked_function_arn = f"{Context.invoked_function_arn}:acme"

    class OfGone(Context):
        invoked_function_arn = f"{Context.invoked_function_arn}:gone"

    def by(context: type[Context], name: str, **more: bool) -> Any:
        handler = user_call(ApprovalDecision, lambda asked, _: {"of": asked.transfer_id}, **more)
        return handler({"transferId": name, "decision": "approve"}, context())  # type: ignore[arg-type]

    assert by(OfAcme, "acme-a") == {"of": "acme-a"}
    assert by(Context, "acme-a") == {"of": "acme-a"}, "the operator has a say in everything"
    for other in ("beta-a", "a", "acme", "acmes-a"):
        with pytest.raises(InvalidRequest, match=rf"\$\.transferId: '{other}' is not of tenant 'acme'"):
            by(OfAcme, other)
    with pytest.raises(InvalidRequest, match="tenant 'gone' is not configured"):
        by(OfGone, "gone-a")
    with pytest.raises(InvalidRequest, match="not of tenant 'acme'"):
        by(OfAcme, "beta-a", of_no_transfer=True)


def test_a_tenant_has_no_say_in_what_is_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "world", lambda **_: Cloud(tenants=parse_tenants(["acme"])).world)

    class OfAcme(Context):
        invoked_function_arn = f"{Context.invoked_function_arn}:acme"

    with pytest.raises(InvalidRequest, match="not for one transfer"):
        limit_transfers({"bandwidthLimitMbps": 8}, OfAcme())  # type: ignore[arg-type]
