"""What each kind may leave out, or write as null."""

from typing import Any

import msgspec
import pytest

from kubectl_koord.cluster.kinds import WIRE_TYPES
from kubectl_koord.cluster.objects.pod_wire import Pod
from kubectl_koord.cluster.objects.pods import PodPool


def structs(info: Any) -> set[type]:  # noqa: ANN401 - any of msgspec's descriptions
    """Return every struct that a type is made of."""
    match info:
        case msgspec.inspect.StructType(cls=cls, fields=fields):
            return {cls}.union(*(structs(one.type) for one in fields))
        case msgspec.inspect.UnionType(types=types):
            return set().union(*map(structs, types))
        case msgspec.inspect.ListType(item_type=inner) | msgspec.inspect.DictType(value_type=inner):
            return structs(inner)
        case _:
            return set()


EVERY = sorted(
    set().union(*(structs(msgspec.inspect.type_info(kind)) for kind in WIRE_TYPES.values())),
    key=lambda cls: cls.__name__,
)


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_every_field_but_metadata_may_be_absent_and_lists_and_maps_null(cls: type) -> None:
    fields = msgspec.inspect.type_info(cls).fields  # type: ignore[attr-defined]

    assert [one.encode_name for one in fields if one.required] in ([], ["metadata"])
    for one in fields:
        kinds = {type(kind) for kind in getattr(one.type, "types", (one.type,))}
        if kinds & {msgspec.inspect.ListType, msgspec.inspect.DictType}:
            assert msgspec.inspect.NoneType in kinds, one.name


def test_telling_the_shape_of_a_pod_leaves_the_pod_as_it_was() -> None:
    written = {
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n", "volumes": [{"name": "plain"}, {"name": "tied", "csi": {"driver": "d"}}]},
    }
    first, second = (msgspec.convert(written, Pod) for _ in range(2))

    PodPool().requirements(first, (None, None))

    assert first == second
