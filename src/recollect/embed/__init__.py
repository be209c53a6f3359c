"""Text to vectors whose nearness is nearness of meaning.

`open_embedder` gives one of three: the table that is built in (static), all-MiniLM-L6-v2 on this machine (minilm), or
any endpoint that speaks OpenAI's embeddings interface (http). Importing this package loads none of what they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..errors import EmbedderUnavailable
from .http import HttpEmbedder
from .minilm import MiniLmEmbedder, minilm_folder
from .static import StaticEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EMBEDDERS", "Embedder", "open_embedder"]

EMBEDDERS = ("static", "minilm", "http")
"""The names `open_embedder` knows, which are the values of the setting embed.model."""


class Embedder(Protocol):
    """A model. Any number of threads may use one at a time."""

    @property
    def model(self) -> str:
        """What to store beside a vector: it is another as soon as vectors would be."""

    @property
    def dimension(self) -> int:
        """How long a vector is."""

    @property
    def local(self) -> bool:
        """Whether it works on this machine alone; if not, nothing that somebody waits for may wait for it."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row for each text, of length 1; a row of zeros where nothing in the text is known to the model.

        Any text will do: what a model cannot read is left out, what is too long for it is cut. The row of a text does
        not depend on the texts beside it. Raises EmbedderUnavailable when the model, not the text, is the trouble.
        """


def open_embedder(
    name: str,
    *,
    folder: Path,
    url: str | None = None,
    remote: str | None = None,
    key: str | None = None,
    timeout: float = 30.0,
) -> Embedder:
    """The embedder of that name, ready for use; nothing goes over the network yet.

    `folder` is where models are installed, <home>/models. The others are for http alone: the address of the endpoint,
    the model it is asked for, the bearer key if it wants one, and the seconds an answer may take. Raises
    EmbedderUnavailable, which says what is missing and what mends it.
    """
    match name:
        case "static":
            return StaticEmbedder()
        case "minilm":
            return MiniLmEmbedder(minilm_folder(folder))
        case "http":
            if not url or not remote:
                raise EmbedderUnavailable(
                    name,
                    "it has no address or no model to ask for",
                    hint="Say where the endpoint is and which of its models to use.",
                )
            return HttpEmbedder(url, remote=remote, key=key, timeout=timeout)
    raise EmbedderUnavailable(name, "there is none of that name", hint=f"There are {', '.join(EMBEDDERS)}.")
