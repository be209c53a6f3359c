"""What a row of the table is made of while it is learned. Works alike on arrays of numpy and tensors of torch."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

SEEN = 50.0  # times that a piece is seen before it is half free to move

Numbers: TypeAlias = Any  # a numpy array or a torch tensor; this module uses what they share


def freedom(counts: Numbers) -> Numbers:
    """How far each piece may go its own way, from 0 to 1, by how often the text has it."""
    return (counts / (counts + SEEN)) ** 2


def formed(base: Numbers, own: Numbers, weight: Numbers, *, shared: Numbers, free: Numbers) -> Numbers:
    """The rows: what they were, heavier or lighter, with what all pieces learn alike and what each learns for itself.

    `shared` is a map, the same for all pieces, of what the teacher makes of each piece alone: pieces that the text
    hardly has move along with the rest by it. `weight` and `own` count as far as the piece is free.
    """
    return base * math.e ** (free * weight) + shared + free * own
