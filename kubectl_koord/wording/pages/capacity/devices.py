"""The sentences of `devices`."""

from collections.abc import Sequence

from kubectl_koord.model.accelerators import CARD
from kubectl_koord.reports.capacity.devices import Card, DevicesReport, NodeCards, TypeTotal
from kubectl_koord.wording.words import count, device_name, listed

UNKNOWN_AMOUNT = "?"
IN_SHARES = "IN SHARES: what is free of devices that are in use in part."
ROOM = "PODS OF n: how many pods with n whole devices fit on nodes of the domain, as devices alone go."


def unknown(why: str) -> str:
    """Return why devices cannot be listed."""
    return f"Cannot list the devices: {why}."


def headline(report: DevicesReport, nodes: int) -> str:
    """Return what of each type is free on the nodes with devices, and how many of the largest pods fit."""
    if not nodes:
        return _none(report)
    where = f" on {report.asked[0] if len(report.asked) == 1 else count(nodes, 'node')}"
    parts = (_of_type(total, "" if at else where) for at, total in enumerate(report.devices))
    return f"{'; '.join(parts)}."


def _none(report: DevicesReport) -> str:
    if report.asked:
        return f"No devices are known of {listed(report.asked)}."
    return f"No devices are known{f' in {report.domain}' if report.domain else ''}."


def _of_type(total: TypeTotal, where: str) -> str:
    name = device_name(total.type)
    cards = f"{total.cards} {name}"
    if total.free is None:
        return f"{cards}{where}, how many are free is unknown"
    known = known_to_be_free(total)
    free = f"{known} of {cards} {_are(known)} free{where}"
    if total.unbooked:
        return f"{free}, {held_unbooked(total)}"
    largest = total.room[-1]
    pods = count(largest.pods, "pod") if largest.pods else "no pod"
    return free if largest.cards == 1 else f"{free}, with room for {pods} of {largest.cards} {name}"


def known_to_be_free(total: TypeTotal) -> int:
    """Return how many whole devices are free, and not held by a pod that the scheduler does not know to have one."""
    return max(0, (total.free or 0) - -(-total.unbooked // CARD))


def held_unbooked(total: TypeTotal) -> str:
    """Return how many more devices are taken for free, and held by pods."""
    held = parts(total.unbooked)
    return f"and {held} more {'is' if held == '1' else 'are'} held by pods, though the scheduler takes all for free"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def shares(total: TypeTotal) -> str:
    """Return how much is free of devices that are in use."""
    name, them = device_name(total.type), "it" if total.shared == 1 else "them"
    return f"{total.shared} {name} {_are(total.shared or 0)} in use in part, with {parts(total.shares)} free in {them}."


def unhealthy(total: TypeTotal) -> str:
    """Return how many devices no pod is given, as they are unhealthy."""
    them = "it" if total.unhealthy == 1 else "them"
    name = device_name(total.type)
    return f"{total.unhealthy} {name} {_are(total.unhealthy)} unhealthy: the scheduler does not allocate {them}."


def withheld(total: TypeTotal, nodes: Sequence[str]) -> str:
    """Return how many devices are whole and do not count as free, as nodes are cordoned or not ready."""
    whose = "its" if len(nodes) == 1 else "their"
    them = f"{whose} {total.withheld} free {device_name(total.type)} {_are(total.withheld or 0)} not counted"
    return f"{listed(nodes)} {_are(len(nodes))} cordoned or not ready: {them}."


def not_reported(nodes: Sequence[NodeCards]) -> str:
    """Return which nodes have accelerators in their allocatable, and no devices."""
    names = listed([node.node for node in nodes])
    what = listed(sorted({resource for node in nodes for resource in node.accelerators}))
    have = "has" if len(nodes) == 1 else "have"
    if all(node.device == "empty" for node in nodes):
        return (
            f"{names} {have} {what} but an empty Device object: koordlet has found no devices (for GPUs it has to load"
            " NVML), and the scheduler has none to give there."
        )
    return f"{names} {have} {what} but no Device object, which koordlet writes."


def outside(nodes: Sequence[str]) -> str:
    """Return which nodes are in no domain."""
    return f"{listed(nodes)} {_are(len(nodes))} outside the topology tree."


def others_without(number: int) -> str:
    """Return how many nodes are not shown, as they have no devices."""
    return f"{count(number, 'node')} {'has' if number == 1 else 'have'} no Device object."


def empty(nodes: Sequence[NodeCards]) -> str:
    """Return how many nodes have Device objects without devices, and no accelerators either."""
    if len(nodes) == 1:
        return f"{nodes[0].node} has an empty Device object, and no accelerators."
    return f"{count(len(nodes), 'node')} have empty Device objects, and no accelerators."


def unlisted(node: NodeCards) -> str:
    """Return which devices pods of a node have that no Device object lists."""
    held = (f"{place(each.type, each.minor)} ({', '.join(each.pods)})" for each in node.unlisted)
    return f"{node.node}: pods have devices that no Device object lists: {listed(tuple(held))}."


def place(kind: str, minor: int) -> str:
    """Return the name of a device on its node: `gpu 0`."""
    return f"{kind} {minor}"


def parts(hundredths: int | None) -> str:
    """Return hundredths of a device as devices: `0.5`; `?` where that is unknown."""
    return UNKNOWN_AMOUNT if hundredths is None else f"{hundredths / CARD:g}"


def holders(card: Card) -> str:
    """Return who has a device: pods, and Reservations with what is left of them; shares in brackets."""
    if card.holders is None:
        return UNKNOWN_AMOUNT
    return ", ".join(
        ("reservation " if each.kind == "reservation" else "")
        + each.name
        + (f" ({parts(each.share)})" if each.share != CARD else "")
        for each in card.holders
    )


def notes(card: Card, node: NodeCards) -> str:
    """Return what keeps pods from a device."""
    return ", ".join(filter(None, ["" if card.healthy else "unhealthy", node.state]))
