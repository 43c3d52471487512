"""The objects of YAML documents, one by one, so that a long list takes no more memory than its largest item.

libyaml parses; nodes are composed here, where they can be counted: a few bytes of aliases may stand for gigabytes.
"""

import io
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.composer import Composer, ComposerError

from kubectl_koord.cluster.bounds import Meter, TooLargeError, too_large_object
from kubectl_koord.cluster.reading.list_head import Source, completed

_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SEQUENCE = "tag:yaml.org,2002:seq"
_MERGE = "tag:yaml.org,2002:merge"
_BASES: tuple[Any, ...] = (_BASE,) if issubclass(_BASE, Composer) else (Composer, _BASE)


def read_objects(source: Source, meter: Meter) -> Iterator[Any]:
    """Yield each document's value; the items of a List one by one, as soon as they are there, and a List without any.

    Timestamps stay text, as in the API.

    Raises:
        TooLargeError: when an object, or all of them, are larger than the bounds.
        yaml.YAMLError: when it is no YAML; RecursionError and ValueError likewise.

    """
    yield from _Loader(_Metered(source, meter), meter).objects()


class NumberedObjects:
    """The same, with the number of the document that is being read; a document that is empty yields None.

    A mapping that has a key twice is no YAML: nobody can tell which of them is meant.
    """

    def __init__(self, source: Source, meter: Meter) -> None:
        """Begin to read."""
        self._loader = _StrictLoader(_Metered(source, meter), meter)

    @property
    def document(self) -> int:
        """The number of the document, from 1."""
        return max(self._loader.documents, 1)

    def __iter__(self) -> Iterator[Any]:
        """Yield the objects, and raise what `read_objects` raises."""
        return iter(self._loader.objects())


def read_document(text: str) -> Any:  # noqa: ANN401 - any value
    """Return the value of a text that is one YAML document, None of an empty one.

    Raises:
        TooLargeError: when it has more values than the bounds allow.
        yaml.YAMLError: when it is no YAML, or several documents; RecursionError and ValueError likewise.

    """
    meter = Meter()
    return _Loader(_Metered(io.BytesIO(text.encode()), meter), meter).document()


def read_strictly(text: str, meter: Meter) -> Any:  # noqa: ANN401 - any value
    """Return the same, where a mapping that has a key twice is no YAML."""
    return _StrictLoader(_Metered(io.BytesIO(text.encode()), meter), meter).document()


def read_documents(text: str) -> list[Any]:
    """Return the value of each YAML document of a text, None of an empty one.

    Raises:
        TooLargeError: when one has more values than the bounds allow.
        yaml.YAMLError: when it is no YAML; RecursionError and ValueError likewise.

    """
    meter = Meter()
    return _Loader(_Metered(io.BytesIO(text.encode()), meter), meter).every_document()


class _Metered:
    """Hands bytes on, as long as they may belong to one object."""

    def __init__(self, source: Source, meter: Meter) -> None:
        self._source = source
        self._meter = meter
        self._size = 0

    def read(self, size: int) -> bytes:
        piece = self._source.read(size)
        self._size += len(piece)
        if self._size > self._meter.bounds.object_bytes:
            raise too_large_object(self._meter.bounds)
        return piece

    def next_object(self) -> None:
        self._meter.count(1, self._size)
        self._size = 0


class _Loader(*_BASES):  # type: ignore[misc]
    """Composes one object after the other; of what was before it only anchored nodes are kept."""

    def __init__(self, source: _Metered, meter: Meter) -> None:
        _BASE.__init__(self, source)
        self.anchors: dict[str, Any] = {}
        self._source = source
        self._most = meter.bounds.values
        self._sizes: dict[str, int] = {}
        self._count = self._anchored = 0
        self.documents = 0

    def objects(self) -> Iterator[Any]:
        self.get_event()  # of the stream
        while not self.check_event(yaml.StreamEndEvent):
            self.get_event()  # of the document
            self.documents += 1
            self.anchors, self._sizes = {}, {}
            self._count = self._anchored = 0
            if self._is_plain(yaml.MappingStartEvent):
                yield from self._mapping()
            else:
                yield self._object()
            self.get_event()

    def document(self) -> Any:  # noqa: ANN401 - any value
        self.get_event()  # of the stream
        value = None
        if not self.check_event(yaml.StreamEndEvent):
            self.get_event()  # of the document
            value = self._object()
            self.get_event()
        if not self.check_event(yaml.StreamEndEvent):
            raise ComposerError(None, None, "more than one document", None)
        return value

    def every_document(self) -> list[Any]:
        values = []
        self.get_event()  # of the stream
        while not self.check_event(yaml.StreamEndEvent):
            self.get_event()  # of the document
            self.anchors, self._sizes = {}, {}
            self._count = self._anchored = 0
            values.append(self._object())
            self.get_event()
        return values

    def _mapping(self) -> Iterator[Any]:
        """Yield the items of a mapping that has any, else the mapping.

        Those that do not say their kind come last: in the order of keys that kubectl writes, the list says it behind.
        """
        start = self.get_event()
        root = yaml.MappingNode("tag:yaml.org,2002:map", [], start.start_mark, start.end_mark)
        has_items, nameless = False, []
        while not self.check_event(yaml.MappingEndEvent):
            key = self.compose_node(root, None)
            if key.value != "items" or not self._is_plain(yaml.SequenceStartEvent):
                root.value.append((key, self.compose_node(root, key)))
                continue
            start = self.get_event()
            if self.check_event(yaml.SequenceEndEvent):
                root.value.append((key, yaml.SequenceNode(_SEQUENCE, [], start.start_mark, start.end_mark)))
            while not self.check_event(yaml.SequenceEndEvent):
                has_items = True
                item = self._object()
                if isinstance(item, dict) and not item.get("kind"):
                    nameless.append(item)
                else:
                    yield item
            self.get_event()
        self.get_event()
        self._source.next_object()
        if not has_items:
            yield self.construct_document(root)
        said = {key.value: node.value for key, node in root.value if isinstance(key, yaml.ScalarNode)}
        for item in nameless:
            yield completed(item, said.get("kind"), said.get("apiVersion"))

    def _object(self) -> Any:  # noqa: ANN401 - any value
        count, anchored = self._count, self._anchored
        value = self.construct_document(self.compose_node(None, None))
        self._count = count + self._anchored - anchored
        self._source.next_object()
        return value

    def _is_plain(self, kind: type) -> bool:
        """Tell whether the next node is of a kind, and neither tagged nor anchored."""
        if not self.check_event(kind):
            return False
        event = self.peek_event()
        return event.tag is None and event.anchor is None

    def compose_node(self, parent: Any, index: Any) -> Any:  # noqa: ANN401 - as the base class has it
        event = self.peek_event()
        before = self._count
        self._add(1)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in self.anchors and event.anchor not in self._sizes:
                mark: Any = event.start_mark
                raise ComposerError(None, None, f"the anchor {event.anchor!r} contains itself", mark)
            self._add(self._sizes.get(str(event.anchor), 0))
        node = super().compose_node(parent, index)
        if event.anchor and not isinstance(event, yaml.AliasEvent):
            self._sizes[event.anchor] = self._count - before
            self._anchored += self._count - before
        return node

    def _add(self, count: int) -> None:
        self._count += count
        if self._count > self._most:
            raise TooLargeError(f"one object has more than {self._most:,} values")


_Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))


class _StrictLoader(_Loader):
    """Refuses a key that stands twice in a mapping; one that overrides what is merged (`<<`) does not."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - as the base has it
        written = [key for key, _ in node.value]
        found = super().construct_mapping(node, deep)
        if len(found) < len(written) and not any(key.tag == _MERGE for key in written):
            values = [key.value for key in written]
            twice = next(key for at, key in enumerate(written) if key.value in values[:at])
            raise ComposerError(None, None, f"the key {twice.value!r} stands there twice", twice.start_mark)
        return found
