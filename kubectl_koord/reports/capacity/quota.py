"""The answer of `quota`, and what other answers say of quotas."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.codes import QuotaFindingCode
from kubectl_koord.reports.common import Basis, Notice, Verdict

Spelled: TypeAlias = Mapping[str, str]
"""Amounts by resource, as exact quantities."""
Severity: TypeAlias = Literal["error", "warning", "info"]


class Share(Struct, frozen=True, rename="camel"):
    """What a quota has of others, or others of it, of one resource: how much, and which of them.

    `exact` is false where it is the most that it can be: several leave more than is taken. `of_it` is how much of the
    amount these quotas can give, empty for all of it.
    """

    resource: str
    amount: str
    quotas: tuple[str, ...]
    exact: bool = True
    of_it: str = ""


class Hold(Struct, frozen=True, rename="camel"):
    """The pods of a gang (or one without a gang) that a quota refuses, and what they ask for together.

    `resources` are those of which the quota has too little, `of` is how many pods of the gang wait in it.
    """

    gang: str
    pods: tuple[str, ...]
    of: int
    resources: tuple[str, ...]
    requests: Spelled
    lone_pod: bool = False


class HeldBack(Struct, frozen=True, rename="camel"):
    """What one quota holds back: the gangs, and what their refused pods ask for together."""

    quota: str
    requests: Spelled
    gangs: tuple[Hold, ...]
    waiting_for: str = ""


class QuotaPod(Struct, frozen=True, rename="camel"):
    """A pod that counts against a quota: where it is, or what it lacks there; empty where nothing is lacking."""

    pod: str
    node: str
    priority: int
    requests: Spelled
    gang: str = ""
    preemptible: bool = True
    lacks: str = ""


class QuotaRow(Struct, frozen=True, rename="camel"):
    """One quota. What is None could not be computed, as pods or nodes could not be read.

    `namespace` is empty for a built-in quota that is no object. `sharedWeight` is by what quotas share.
    `guaranteed` is its minimum as it is kept, scaled down where minimums are too much. `limit` is what its pods are
    held against, None for no limit. `lends` is whether it lends at all, `lent` what others use of its minimum,
    `borrowed` what it uses above that, and of whom. `fault` tells why it is open what becomes of it. `total` is
    what the quotas below a root quota share.
    """

    name: str
    parent: str
    tree: str
    is_parent: bool
    min: Spelled
    max: Spelled
    used: Spelled | None
    request: Spelled | None
    runtime: Spelled | None
    shared_weight: Spelled
    non_preemptible_used: Spelled | None
    children: tuple[str, ...]
    namespace: str = ""
    depth: int = 0
    built_in: bool = False
    lends: bool = True
    guaranteed: Spelled | None = None
    limit: Spelled | None = None
    lent: tuple[Share, ...] = ()
    borrowed: tuple[Share, ...] = ()
    total: Spelled | None = None
    fault: str = ""


class QuotaFinding(Struct, frozen=True, rename="camel"):
    """Something that is wrong with a quota: which, the numbers, and what to do."""

    code: QuotaFindingCode
    severity: Severity
    object: str
    message: str
    remedy: str


class Eviction(Struct, frozen=True, rename="camel"):
    """The pods that the over-use controller would evict from a quota that uses more than its runtime."""

    quota: str
    resources: tuple[str, ...]
    pods: tuple[QuotaPod, ...]


class OverUse(Struct, frozen=True, rename="camel"):
    """Whether the over-use controller runs, and whom it would evict, or would if it ran."""

    on: bool
    message: str
    evicts: tuple[Eviction, ...] = ()


class ChainLevel(Struct, frozen=True, rename="camel"):
    """One quota from a gang's own upwards: what it may use and uses of the resource of which it has the least room.

    `members` is how many pods of the gang's shape it has room for, None where it limits nothing they ask for;
    `checked` whether the scheduler holds them against it.
    """

    quota: str
    resource: str
    limit: str
    used: str
    requested: str
    members: int | None
    checked: bool


class Headroom(Struct, frozen=True, rename="camel"):
    """How many of a gang's pending pods its quotas admit, one after the other, and what stops the next.

    `chain` goes from the quota of its first pod upwards. `admits` is None where it is open.
    """

    gang: str
    pods: int
    admits: int | None
    message: str
    stopped_by: str = ""
    resources: tuple[str, ...] = ()
    chain: tuple[ChainLevel, ...] = ()


class QuotaTreeReport(Struct, frozen=True, rename="camel"):
    """The quotas as the scheduler sees them, in pre-order of their trees.

    `resource` is what tables count. `held_back` is what they keep from being placed, `pods` are those of the one
    quota that was asked for by its name, the biggest first. `message` is the verdict in one sentence.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    quotas: tuple[QuotaRow, ...]
    message: str
    asked: str = ""
    resource: str = "cpu"
    held_back: tuple[HeldBack, ...] = ()
    findings: tuple[QuotaFinding, ...] = ()
    over_use: OverUse | None = None
    headroom: Headroom | None = None
    pods: tuple[QuotaPod, ...] = ()
