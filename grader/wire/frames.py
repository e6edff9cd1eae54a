"""Frames: a fixed head, a JSON header, a body of raw tensors. No torch here.

A frame is 16 bytes (magic, header length, body length, little-endian), then the header and the
body. Both lengths are checked against their limits before a byte of either part is read.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

Buffer = bytes | bytearray  # a bytearray where a copy into bytes would double the memory

MAX_BODY_BYTES = 64 << 20  # ten times as many as our largest exercise sends
MAX_REQUEST_HEADER_BYTES = 4 << 20  # the trusted side sends whole sources
MAX_REPLY_HEADER_BYTES = 1 << 20

_HEAD = struct.Struct("<4sIQ")
_MAGIC = b"ADW1"

_T = TypeVar("_T")


class BadFrame(Exception):
    """The other side sent something that is not a valid frame."""


def pack(header: Any, *body: bytes) -> bytes:
    """Return a frame of a message and the parts of its body, joined once, as they may be large."""
    text = msgspec.json.encode(header)
    return b"".join((_HEAD.pack(_MAGIC, len(text), sum(map(len, body))), text, *body))


def unpack(
    receive: Callable[[int], Buffer], max_header: int, message: type[_T]
) -> tuple[_T, Buffer]:
    """Read one frame with ``receive``, which returns exactly as many bytes as it is asked for.

    Args:
        receive: Returns as many bytes as its argument says.
        max_header: The limit on the header's length, in bytes.
        message: The type of message that the header must be.

    Raises:
        BadFrame: The frame's first bytes are not ours, a length is over its limit, or the header is
            not such a message.
    """
    magic, header_length, body_length = _HEAD.unpack(receive(_HEAD.size))
    if magic != _MAGIC:
        raise BadFrame("it does not begin as a frame does")
    if header_length > max_header:
        raise BadFrame(f"its header has {header_length} bytes, {max_header} are allowed")
    if body_length > MAX_BODY_BYTES:
        raise BadFrame(f"its body has {body_length} bytes, {MAX_BODY_BYTES} are allowed")
    try:
        header = msgspec.json.decode(receive(header_length), type=message)
    except msgspec.ValidationError as problem:
        raise BadFrame(f"its header is no message of ours: {problem}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadFrame("its header is no JSON") from None
    return header, receive(body_length) if body_length else b""
