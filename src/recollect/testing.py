"""Fakes for programs that use Recollect: a clock that stands still, a memory that leaves nothing behind, a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from .embed import Embedder
from .engine import Recollect
from .engine.rerank import Reranker
from .errors import EmbedderUnavailable
from .opening import open as open_memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class FixedClock:
    """A clock that shows the time it was set to until it is moved."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def move(self, **amount: float) -> None:
        """Move on by days, hours, seconds … as `timedelta` takes them; back if they are negative."""
        self.now += timedelta(**amount)


class HashEmbedder:
    """An embedding model that knows no meaning: texts are as close as they have words in common.

    Each word is hashed to one of `dimension` places and a sign, so a text always has the same vector. Set `trouble` to
    have it fail as a model does that is not there; `local=False` has it pass for one that lies across a network.
    """

    def __init__(self, dimension: int = 64, *, local: bool = True) -> None:
        self.dimension = dimension
        self.local = local
        self.model = f"hash-{dimension}"
        self.trouble = ""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row for each text, of length 1, or 0 where it has no words."""
        import numpy as np

        if self.trouble:
            raise EmbedderUnavailable(self.model, self.trouble)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()):
                hashed = int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")
                row[(hashed >> 1) % self.dimension] += 1.0 if hashed & 1 else -1.0
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        vectors /= np.where(lengths > 0, lengths, 1)[:, None]
        return vectors


@contextmanager
def temp_recollect(
    *,
    clock: FixedClock | None = None,
    settings: Mapping[str, object] | None = None,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    background: bool = True,
) -> Iterator[Recollect]:
    """A memory in a home and a project of its own, both gone when the block ends."""
    with TemporaryDirectory(prefix="recollect-") as folder:
        project = Path(folder) / "project"
        project.mkdir()
        with open_memory(
            project,
            home=Path(folder) / "home",
            clock=clock,
            settings=settings,
            embedder=embedder,
            reranker=reranker,
            background=background,
        ) as memory:
            yield memory
