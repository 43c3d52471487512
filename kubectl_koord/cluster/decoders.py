"""JSON decoders, of which only one is made at a time.

msgspec keeps what it knows of a type where all threads see it before it knows everything: a thread that then decodes
the type reads what is not there yet, and the process dies. Types that threads decode are made known here, whole.
"""

import threading
from typing import Any

import msgspec

_MAKING = threading.Lock()


def decoder(kind: Any) -> "msgspec.json.Decoder[Any]":  # noqa: ANN401 - `list[kind]` is no type that could be written
    """Return a decoder of a msgspec type, for any thread."""
    with _MAKING:
        return msgspec.json.Decoder(kind)
