"""Whose an execution is: said by the alias that it was started through, and never by its request.

IAM admits a tenant to his alias alone, and to executions and records whose names begin with `TENANT-`. So a name of a
tenant's belongs to his alias, and his alias to names of his.
"""

from collections.abc import Collection

_ALIAS_PARTS = 8


def tenant_of_alias(qualified: str | None) -> str | None:
    """The tenant that an ARN ends with, `…:stateMachine:NAME:TENANT` or `…:function:NAME:TENANT`; None without one."""
    parts = (qualified or "").split(":")
    return parts[-1] if len(parts) == _ALIAS_PARTS else None


def prefix_of(tenant: str) -> str:
    """The beginning of all names of a tenant; none of another's begins so, as no tenant has a hyphen in his name."""
    return f"{tenant}-"


def owner_of(name: str, tenants: Collection[str]) -> str | None:
    """The tenant whose name this is; None: the operator's."""
    found = name.partition("-")[0]
    return found if found in tenants and name.startswith(prefix_of(found)) else None


def problems_of_names(tenant: str | None, execution: str, transfer: str, tenants: Collection[str]) -> list[str]:
    """What is wrong with an execution of `tenant` (None: the operator) of this name, for a transfer of that name."""
    if tenant is not None and tenant not in tenants:
        return [
            f"$: tenant '{tenant}' is not configured here; {_known(tenants)}, or have him added to `tenants` of the "
            "deployment's settings"
        ]
    # A request without a name gets that of its execution: one problem is enough.
    names = {f"execution name '{execution}'": execution} | ({} if transfer == execution else {"$.name": transfer})
    return [problem for where, name in names.items() if (problem := _problem(tenant, where, name, tenants))]


def _problem(tenant: str | None, where: str, name: str, tenants: Collection[str]) -> str | None:
    owner = owner_of(name, tenants)
    said = where if where.startswith("execution") else f"{where}: '{name}'"
    if tenant is None and owner is not None:
        return (
            f"{said} is of tenant '{owner}', and it was started without his alias; start it through "
            f"…:stateMachine:…:{owner} (cpt --tenant {owner}), or under a name that does not begin with "
            f"'{prefix_of(owner)}'"
        )
    if tenant is not None and owner != tenant:
        return (
            f"{said} does not begin with '{prefix_of(tenant)}', as names of tenant '{tenant}' do; write "
            f"'{prefix_of(tenant)}{name}', for example"
        )
    return None


def not_his(tenant: str, transfer: str) -> str:
    """What a tenant is told who names a transfer that is not his own."""
    return (
        f"$.transferId: '{transfer}' is not of tenant '{tenant}', whose transfers' names begin with "
        f"'{prefix_of(tenant)}'; give the name of one of them"
    )


def _known(tenants: Collection[str]) -> str:
    return (
        f"start through the alias of one that is ({', '.join(sorted(tenants))})" if tenants else "start without alias"
    )
