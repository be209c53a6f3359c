"""Whether a memory is worth interrupting a model for: a judgement of its own, stricter than that of a search.

A search may show what is perhaps of use; whoever reads it chooses. What is put into a prompt unasked has to be right,
or agents learn to look past it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..model import Hit
from .intent import Intent


def worthwhile(hits: Sequence[Hit], wanted: Intent, *, least: float) -> list[Hit]:
    """Those of the found memories that are sure enough to help, best first, with how sure that is as relevance."""
    judged = [replace(hit, relevance=hit.relevance) for hit in hits]
    return [hit for hit in judged if hit.relevance >= least]
