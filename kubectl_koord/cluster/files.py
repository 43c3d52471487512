"""Opening files, folders, URLs, kustomizations and standard input, and reading YAML documents one object at a time."""

import io
import json
import os
import re
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import yaml
from yaml.composer import Composer, ComposerError

from kubectl_koord import leaving
from kubectl_koord.cluster.bounds import Meter, TooLargeError, too_large_object
from kubectl_koord.cluster.reading import LONGEST_HEAD, Rejoined, Source, completed
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

EXTENSIONS = (".json", ".yaml", ".yml")
"""Those of files in folders that are read; each may be packed."""
_PACKED = ".gz"
_DUMPED = {f"nodes{end}" for end in EXTENSIONS}


def files_of(names: Iterable[str], *, recursive: bool = False) -> tuple[str, ...]:
    """Return the names with folders replaced by the files in them, in name order.

    `names`: paths and URLs; `-` is standard input. `recursive`: whether folders within folders are looked into; those
    of a `kubectl cluster-info dump` always are.

    Raises KoordError, naming a folder that cannot be read, or that has no such file.
    """
    return tuple(file for name in names for file in (_files(name, recursive=recursive) if _is_folder(name) else [name]))


class Kustomization(str):
    """A folder that is not read as it is, but as kustomize builds it."""

    __slots__ = ()


def named(files: Sequence[str], kustomization: str) -> Sequence[str]:
    """Return the names that `-f` and `-k` give. Raises KoordError when both are given."""
    if files and kustomization:
        raise KoordError(say("error: only one of -f and -k can be given"))
    return [Kustomization(kustomization)] if kustomization else files


def _is_folder(name: str) -> bool:
    return name != "-" and not isinstance(name, Kustomization) and os.path.isdir(name)  # noqa: PTH112 - pathlib costs start-up time


def _files(folder: str, *, recursive: bool) -> list[str]:
    found = [file for file in _walked(folder, recursive=recursive) if file.removesuffix(_PACKED).endswith(EXTENSIONS)]
    if not found:
        raise KoordError(
            say(
                "error: no file in {folder}: recognized file extensions are {extensions}",
                folder=folder,
                extensions=", ".join(EXTENSIONS),
            )
        )
    return sorted(found)


def _walked(folder: str, *, recursive: bool) -> Iterator[str]:
    recursive = recursive or _is_dump(folder)
    for place, folders, names in os.walk(folder, onerror=_refused):
        folders[:] = folders if recursive else []
        yield from (os.path.join(place, name) for name in names)  # noqa: PTH118


def _is_dump(folder: str) -> bool:
    """Tell whether a folder has a cluster as `kubectl cluster-info dump` writes it: pods in a folder per namespace."""
    try:
        with os.scandir(folder) as entries:
            there = {one.name: one.is_dir() for one in entries}
    except OSError:
        return False  # said as it is walked
    beside = [os.path.join(folder, name) for name, is_folder in there.items() if is_folder]  # noqa: PTH118
    return not _DUMPED.isdisjoint(there) and any(
        os.path.exists(os.path.join(one, f"pods{end}"))  # noqa: PTH110, PTH118
        for one in beside
        for end in EXTENSIONS
    )


def _refused(problem: OSError) -> None:
    raise KoordError(
        say(
            "error: the path {filename!r} cannot be read: {strerror}",
            filename=problem.filename,
            strerror=problem.strerror,
        )
    ) from None


_GZIP = b"\x1f\x8b"
_WEB = ("http://", "https://")
_LARGEST_PAGE = 256 << 20
_BUILD_SECONDS = 120
_USER = re.compile(r"//[^/?#]*@")
_LOGGED = re.compile(r'^[EF]\d{4} .*?"command failed" err="(.*)"$')
_OF_SERVERS = "Unable to connect to the server: "


@contextmanager
def opened(name: str) -> Iterator[Source]:
    """Open a file, a URL, or standard input for `-`, while it is read; what goes wrong in that time names it."""
    try:
        if isinstance(name, Kustomization):
            with _built(name) as file:
                yield _Stream(file)
        elif name.startswith(_WEB):
            from kubectl_koord.cluster.api.direct import fetched  # noqa: PLC0415 - start-up time

            with _named(name):
                page = fetched(name)
            with closing(page):
                yield _Page(name, page)
        elif name == "-":
            if sys.stdin is None:
                raise KoordError(say("error: standard input is closed"))
            yield _Stream(sys.stdin.buffer)
        else:
            with open(name, "rb") as file:  # noqa: PTH123 - pathlib costs start-up time
                yield _Stream(file)
    except TooLargeError as problem:
        raise KoordError(say("error: {name}: {problem}", name=name, problem=problem)) from None
    except (EOFError, zlib.error) as problem:
        raise KoordError(say("error: {name}: broken gzip: {problem}", name=name, problem=problem)) from None
    except OSError as problem:
        if problem.errno is None:  # the sum or the head of a packed file
            raise KoordError(say("error: {name}: broken gzip: {problem}", name=name, problem=problem)) from None
        raise KoordError(
            say("error: the path {name!r} cannot be read: {strerror}", name=name, strerror=problem.strerror)
        ) from None


@contextmanager
def _built(folder: str) -> Iterator[Any]:
    """Open what `kubectl kustomize` makes of a folder, or kustomize where there is no kubectl."""
    import subprocess  # noqa: PLC0415 - start-up time
    from tempfile import TemporaryFile  # noqa: PLC0415

    from kubectl_koord.cluster.api.connect import find_kubectl  # noqa: PLC0415

    kubectl, kustomize = find_kubectl(), shutil.which("kustomize")
    if not (kubectl or kustomize):
        raise KoordError(say("error: -k needs kubectl or kustomize, and neither is on PATH"))
    command = [kubectl, "kustomize"] if kubectl else [str(kustomize), "build"]
    with TemporaryFile() as output:
        child = subprocess.Popen(  # noqa: S603 - a program of the PATH
            [*command, "--", folder], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE
        )
        leaving.first(child.kill)
        try:
            _, said = child.communicate(timeout=_BUILD_SECONDS)
        except subprocess.TimeoutExpired:
            raise KoordError(
                say(
                    "error: {folder}: kustomize did not end within {build_seconds} s",
                    folder=folder,
                    build_seconds=_BUILD_SECONDS,
                )
            ) from None
        finally:
            child.kill()
            with child:
                leaving.no_more(child.kill)
        if child.returncode:
            why = said.decode("utf-8", "replace").removeprefix("error: ").strip().partition("\n")[0]
            why = _LOGGED.sub(r"\1", why)
            raise KoordError(
                say(
                    "error: {folder}: kustomize failed: {why}",
                    folder=folder,
                    why=why or f"exit code {child.returncode}",
                )
            )
        output.seek(0)
        yield output


class _Page:
    """A page of the web as a `Source`, up to a size."""

    def __init__(self, name: str, page: Source) -> None:
        self._name = name
        self._page = page
        self._left = _LARGEST_PAGE

    def read(self, size: int = -1, /) -> bytes:
        with _named(self._name):
            content = self._page.read(self._left + 1 if size < 0 else size)
        self._count(len(content))
        return content

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        with _named(self._name):
            filled = self._page.readinto(buffer)
        self._count(filled)
        return filled

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise TooLargeError(f"more than {_LARGEST_PAGE >> 20} MiB")


@contextmanager
def _named(url: str) -> Iterator[None]:
    """Name the URL in what the way to any server raises."""
    try:
        yield
    except KoordError as problem:
        shown = _USER.sub("//", url)
        raise KoordError(
            say(
                "error: {shown}: {of_servers}",
                shown=shown,
                of_servers=str(problem).removeprefix(_OF_SERVERS).removeprefix("error: "),
            )
        ) from None


def whole(name: str, most: int) -> bytes:
    """Return all that a file holds, unpacked; `-` is standard input.

    Raises KoordError when it cannot be read, or is larger than so many bytes.
    """
    with opened(name) as packed:
        found = unpacked(packed)[1].read(most + 1)
        if len(found) > most:
            raise TooLargeError(f"more than {most >> 20} MiB")
    return found


class _Stream:
    """A file as a `Source`; `fault` is what its library raises where it cannot unpack."""

    def __init__(self, file: Any, fault: type[Exception] = zlib.error) -> None:  # noqa: ANN401 - of any library
        self._file = file
        self._fault = fault

    def read(self, size: int = -1, /) -> bytes:
        try:
            content: bytes = self._file.read(size)
        except self._fault as problem:
            raise zlib.error(str(problem)) from None
        return content

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        view = memoryview(buffer)
        filled = 0
        try:
            while filled < len(view) and (count := self._file.readinto(view[filled:])):
                filled += count
        except self._fault as problem:
            raise zlib.error(str(problem)) from None
        return filled


def unpacked(source: Source) -> tuple[bytes, Source]:
    """Return the first bytes of a file, and a reader of all of it, which unpacks gzip."""
    head = source.read(LONGEST_HEAD)
    if head.startswith(_GZIP):
        source = _unpacked(Rejoined(head, source))
        head = source.read(LONGEST_HEAD)
    return head, Rejoined(head, source)


def by_line(source: Source) -> io.BufferedReader:
    """Return a source that can also be read line by line."""
    return io.BufferedReader(_Raw(source), io.DEFAULT_BUFFER_SIZE)


class _Raw(io.RawIOBase):
    """A source as the standard library's buffers take it."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        return self._source.readinto(buffer)


def _unpacked(packed: Source) -> Source:
    """Return what a gzipped source holds; isal is twice as fast as the standard library, where it is installed."""
    try:
        from isal import igzip, isal_zlib  # noqa: PLC0415
    except ImportError:
        from gzip import GzipFile  # noqa: PLC0415

        return _Stream(GzipFile(fileobj=packed))  # type: ignore[call-overload]
    return _Stream(igzip.IGzipFile(fileobj=packed), isal_zlib.IsalError)


_EXPECTED = re.compile(r"Expected `str(?: \| null)?`, got `(\w+)` - at `\$([^`]*)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|\[\.\.\.\]")
_TYPES = {"bool": bool, "int": int, "float": float, "array": list, "object": dict}
_NAMES = {"bool": "a boolean", "int": "a number", "float": "a number"}
_Place = tuple[str, Any]


def told(problem: Exception, value: Any) -> str:  # noqa: ANN401 - any value
    """Return what is wrong with an object, in words; where text is wanted, also the key and how to write it."""
    found = _EXPECTED.match(str(problem))
    wrong = next(_wrong(found[1], found[2], value), None) if found else None
    if found is None or wrong is None:
        return str(problem)
    key, is_there = wrong
    if isinstance(is_there, (list, dict)):
        if "annotations." not in key:
            return str(problem)
        return f"write the value of {key} as text, in quotes: '{json.dumps(is_there)}'"
    return f"write it in quotes: the value of {key} is {_NAMES[found[1]]} without them"


def _wrong(got: str, path: str, value: Any) -> Iterator[_Place]:  # noqa: ANN401 - any value
    """Yield the places in a value that a path stands for, and that are of the type that is not wanted."""
    places: list[_Place] = [("", value)]
    for step in _STEP.finditer(path):
        places = [inner for place in places for inner in _within(place, step[1] or step[2])]
    wanted = _TYPES.get(got, type(None))
    return (place for place in places if type(place[1]) is wanted)


def _within(place: _Place, name: str | None) -> Iterable[_Place]:
    """Return what a step leads to: a field, an item, or the value of any key."""
    where, value = place
    if isinstance(value, list):
        return [(f"{where}[{number}]", inner) for number, inner in enumerate(value) if name == str(number)]
    before = f"{where}." if where else ""
    return [(f"{before}{key}", inner) for key, inner in value.items() if name in {None, key}]


_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SEQUENCE = "tag:yaml.org,2002:seq"
_MERGE = "tag:yaml.org,2002:merge"
_BASES: tuple[Any, ...] = (_BASE,) if issubclass(_BASE, Composer) else (Composer, _BASE)


def read_objects(source: Source, meter: Meter) -> Iterator[Any]:
    """Yield each document's value; the items of a List one by one, as soon as they are there, and a List without any.

    Timestamps stay text, as in the API.

    Raises TooLargeError when an object, or all of them, are larger than the bounds. Raises yaml.YAMLError when it is no
    YAML; RecursionError and ValueError likewise.
    """
    yield from _Loader(_Metered(source, meter), meter).objects()


class NumberedObjects:
    """The objects of a YAML or JSON file, with the number of the current document; an empty document yields None.

    A mapping that has a key twice is an error.
    """

    def __init__(self, source: Source, meter: Meter) -> None:
        self._loader = _StrictLoader(_Metered(source, meter), meter)

    @property
    def document(self) -> int:
        """The number of the document, from 1."""
        return max(self._loader.documents, 1)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._loader.objects())


def read_document(text: str) -> Any:  # noqa: ANN401 - any value
    """Return the value of a text that is one YAML document, None of an empty one.

    Raises TooLargeError when it has more values than the bounds allow. Raises yaml.YAMLError when it is no YAML, or
    several documents; RecursionError and ValueError likewise.
    """
    meter = Meter()
    return _Loader(_Metered(io.BytesIO(text.encode()), meter), meter).document()


def read_strictly(text: str, meter: Meter) -> Any:  # noqa: ANN401 - any value
    """Return the value of a document in which a mapping that has a key twice is an error."""
    return _StrictLoader(_Metered(io.BytesIO(text.encode()), meter), meter).document()


def read_documents(text: str) -> list[Any]:
    """Return the value of each YAML document of a text, None of an empty one.

    Raises TooLargeError when one has more values than the bounds allow. Raises yaml.YAMLError when it is no YAML;
    RecursionError and ValueError likewise.
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
