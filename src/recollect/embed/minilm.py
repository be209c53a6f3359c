"""all-MiniLM-L6-v2 on this machine, from the files that `recollect models install minilm` makes.

It needs onnxruntime, and reads nothing but its folder. One thread: more of them are slower for texts of this size.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import EmbedderUnavailable
from .graph import MASK, TOKENS, VECTORS
from .wordpiece import FIRST, LAST, UNKNOWN, WordPiece

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

MINILM_MODEL: Final = "minilm-1"
MINILM_DIMENSION: Final = 384
GRAPH_FILE, VOCABULARY_FILE, MANIFEST_FILE = "model.onnx", "vocab.txt", "manifest.json"

_MOST_TOKENS = 256  # with the two that every text begins and ends with; the model was trained on no longer ones
_MEND = "`recollect models install minilm` installs it anew."


def minilm_folder(models: Path) -> Path:
    """Where the model is installed, in the folder of all models."""
    return models / MINILM_MODEL


@dataclass(frozen=True)
class Manifest:
    """What an installed model consists of and where it came from; `files` is SHA-256 by name."""

    model: str
    dimension: int
    source: str
    licence: str
    files: Mapping[str, str]


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of an installed model; None where there is none. Raises EmbedderUnavailable if it is damaged."""
    try:
        data = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        manifest = Manifest(**data)
        if manifest.model == MINILM_MODEL and {GRAPH_FILE, VOCABULARY_FILE} <= manifest.files.keys():
            return manifest
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(f"{MANIFEST_FILE} cannot be read ({error.strerror})") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise _damaged(f"{MANIFEST_FILE} is not what was written") from error
    raise _damaged(f"{MANIFEST_FILE} is about another model")


class MiniLmEmbedder:
    """`Embedder` over an installed model. It reads the first 254 tokens of a text."""

    model: Final = MINILM_MODEL
    dimension: Final = MINILM_DIMENSION
    local: Final = True

    def __init__(self, folder: Path) -> None:
        """Load the model, checking every file first.

        Raises EmbedderUnavailable when the model or onnxruntime is not there, or a file is not what was installed.
        """
        manifest = read_manifest(folder)
        if manifest is None:
            raise EmbedderUnavailable(
                "minilm", "it is not installed", hint="`recollect models install minilm` installs it."
            )
        files = {name: _checked(folder / name, digest) for name, digest in manifest.files.items()}
        self._pieces = WordPiece(files[VOCABULARY_FILE].decode("utf-8").removesuffix("\n").split("\n"))
        self._session = _session(files[GRAPH_FILE])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row for each text, of length 1, or 0 where no word is known."""
        import numpy as np

        vectors = np.zeros((len(texts), MINILM_DIMENSION), dtype=np.float32)
        for place, text in enumerate(texts):
            tokens = self._pieces.tokens(text, limit=_MOST_TOKENS - 2)
            if any(token != UNKNOWN for token in tokens):
                # One at a time: numbers inside are rounded by the largest in the batch, so that texts run together
                # would change each other's vectors, by up to 0.02 in the cosine, to gain a fifth in speed.
                given = np.array([[FIRST, *tokens, LAST]], dtype=np.int64)
                vectors[place] = self._session.run([VECTORS], {TOKENS: given, MASK: np.ones_like(given)})[0]
        return vectors


def _checked(path: Path, digest: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _damaged(f"{path.name} cannot be read ({error.strerror})") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise _damaged(f"{path.name} is damaged")
    return data


def _session(graph: bytes) -> Any:
    try:
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as failures
    except ImportError as error:
        raise EmbedderUnavailable("minilm", f"onnxruntime cannot be loaded ({error})", hint=_MEND) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # it plans memory for inputs of one size; texts have many
    options.log_severity_level = 3  # errors; what it warns about is nothing a user can act on
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except (failures.Fail, failures.InvalidGraph, failures.InvalidProtobuf, failures.NotImplemented) as error:
        version = onnxruntime.__version__
        raise EmbedderUnavailable("minilm", f"onnxruntime {version} cannot run it ({error})", hint=_MEND) from error


def _damaged(problem: str) -> EmbedderUnavailable:
    return EmbedderUnavailable("minilm", problem, hint=_MEND)
