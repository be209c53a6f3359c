"""The built-in model: what it promises about any text, and that its table is the one that was built."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect.embed
from recollect.embed import EMBEDDERS, Embedder, open_embedder
from recollect.embed.static import STATIC_DIMENSION, StaticEmbedder, static_size
from recollect.errors import EmbedderUnavailable
from recollect.policy.stem import stem

FOLDER = Path(recollect.embed.__file__).parent / "static"
STATIC: Embedder = open_embedder("static", folder=Path("unused"))

SENTENCES = [
    "Deploys go out from the main branch on Tuesdays.",
    "The user prefers tabs over spaces.",
    "Großmutter kocht süße Äpfel.",
    "def total(prices): return sum(prices)",
    "",
    "東京に住んでいます",
]


@given(st.lists(st.text(st.characters()), max_size=8))
def test_any_text_has_a_vector_of_length_one_or_zero(texts: list[str]) -> None:
    """NUL, lone surrogates, emoji: whatever it is, its row is finite, and 1 or 0 long."""
    vectors = STATIC.embed(texts)
    assert vectors.shape == (len(texts), STATIC_DIMENSION)
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))


@given(st.lists(st.text(st.characters(max_codepoint=0x24F)), max_size=8))
def test_a_vector_does_not_depend_on_the_texts_beside_it(texts: list[str]) -> None:
    """To the last bit."""
    together = STATIC.embed(texts)
    for row, text in zip(together, texts, strict=True):
        assert np.array_equal(row, STATIC.embed([text])[0])


def test_a_batch_of_many_portions_is_no_different() -> None:
    """More words than are worked on together, blank texts among them."""
    texts = [f"note {number} about deploy {number % 7}" if number % 5 else " " for number in range(3_000)]
    together = STATIC.embed(texts)
    for place in (0, 1, 999, 1_500, 2_999):
        assert np.array_equal(together[place], STATIC.embed([texts[place]])[0])


@pytest.mark.parametrize("text", ["", " \n", "\x00", "\ud800", "🦜" * 3, "x" * 500])
def test_nothing_known_is_a_row_of_zeros(text: str) -> None:
    """Which is near nothing at all."""
    assert not STATIC.embed([text]).any()


def test_no_texts_are_no_rows() -> None:
    """With the right width, so that they can be put with others."""
    assert STATIC.embed([]).shape == (0, STATIC.dimension)


@pytest.mark.parametrize("text", ["word " * 200_000, "." * 1_000_000, "é" * 1_000_000, "\ud800a" * 500_000])
def test_a_megabyte_is_cut_not_refused(text: str) -> None:
    """Its vector is that of its beginning."""
    assert np.isfinite(STATIC.embed([text])).all()


@pytest.mark.parametrize(
    "text, near, far",
    [
        ("the car is broken", "my automobile does not work", "we had soup for lunch"),
        ("where do deploys come from?", "Releases are shipped from the main branch.", "Her sister plays the violin."),
        ("Caroline adopted a puppy", "she has a new dog", "the invoice was paid in March"),
        ("the database password was rotated", "new credentials for postgres", "it rained the whole weekend"),
    ],
)
def test_what_means_alike_is_nearer(text: str, near: str, far: str) -> None:
    """Though no word of it is the same."""
    this, one, other = STATIC.embed([text, near, far])
    assert this @ one > this @ other + 0.1


def test_it_is_the_same_in_every_process() -> None:
    """Whatever the seed of hashes there."""
    program = (
        "import hashlib, pathlib, sys; from recollect.embed import open_embedder\n"
        "vectors = open_embedder('static', folder=pathlib.Path()).embed(sys.argv[1:])\n"
        "print(hashlib.sha256(vectors.tobytes()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program, *SENTENCES],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1", "2")
    }
    assert digests == {hashlib.sha256(STATIC.embed(SENTENCES).tobytes()).hexdigest()}


def test_threads_can_share_it() -> None:
    """Each gets what it would have got alone."""
    texts = [f"{sentence} {number}" for number in range(50) for sentence in SENTENCES]
    alone = StaticEmbedder().embed(texts)
    shared = StaticEmbedder()
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda text: shared.embed([text])[0], texts))
    assert np.array_equal(np.stack(rows), alone)


@pytest.mark.row("J19", "offline")
def test_it_opens_no_connection() -> None:
    """Not when it is loaded and not when it is used: the process forbids itself to."""
    program = (
        "import pathlib, sys\n"
        "def forbid(event, arguments):\n"
        "    if event.startswith('socket.') or event == 'urllib.Request': sys.exit(f'reached out: {event}')\n"
        "sys.addaudithook(forbid)\n"
        "from recollect.embed import open_embedder\n"
        "print(open_embedder('static', folder=pathlib.Path()).embed(['a text']).shape)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "(1, 256)\n"), done.stderr


def test_importing_the_package_loads_nothing_heavy() -> None:
    """Commands that embed nothing do not pay for it."""
    heavy = {"numpy", "tokenizers", "onnx", "onnxruntime", "httpx", "urllib.request", "http.client", "ssl", "zipfile"}
    program = f"import sys, recollect.embed; print(sorted({heavy!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.row("X10", "model-id")
def test_the_table_is_the_one_its_model_id_stands_for() -> None:
    """Vectors of another table are not comparable: whoever changes the table changes the id, and then this test."""
    lines = (FOLDER / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert sums == {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in sums}
    assert (STATIC.model, sums) == (
        "static-1",
        {
            "scales.npy": "0f9925915c8531c99c8b08d5cdd96e5adca3a0dbdfd385336acc95fc80284297",
            "stems.txt": "5130a19b6554346212695e2fbc902eb2888fbae87169a8f3c349861e655c5461",
            "table.npy": "2afb6e9dedbc13f1a45f45e3233e8c322f710ce406c5b2c9f456e2acd912813a",
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        },
    )


def test_a_row_uses_the_whole_range_of_its_bytes_or_is_empty() -> None:
    """Rows are empty for special and unused pieces alone, and no row is one that a scale cannot give back."""
    table, scales = np.load(FOLDER / "table.npy"), np.load(FOLDER / "scales.npy")
    pieces = (FOLDER / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    empty = np.array([piece.startswith("[") and piece.endswith("]") and len(piece) > 2 for piece in pieces])
    assert (table.shape, scales.shape) == ((len(pieces), STATIC_DIMENSION), (len(pieces),))
    assert np.isfinite(scales).all()
    assert np.array_equal(np.abs(table.astype(np.int16)).max(axis=1), np.where(empty, 0, 127))
    assert np.array_equal(scales > 0, ~empty)


def test_the_stems_are_those_of_the_vocabulary() -> None:
    """A line for each piece: the stem of a whole word of English letters, else nothing."""
    pieces = (FOLDER / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    stems = (FOLDER / "stems.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    letters = set("abcdefghijklmnopqrstuvwxyz")
    assert stems == [stem(piece) if len(piece) > 1 and letters.issuperset(piece) else "" for piece in pieces]


def test_its_licence_ships_with_it() -> None:
    """And says where it came from and what went into it."""
    assert "Apache License" in (FOLDER / "LICENSE").read_text(encoding="utf-8")
    notice = (FOLDER / "NOTICE").read_text(encoding="utf-8")
    assert "sentence-transformers/all-MiniLM-L6-v2" in notice
    assert "What was changed" in notice
    assert "What it was trained on" in notice


def test_it_says_its_size() -> None:
    """That of what is read at run time."""
    assert 7_500_000 < static_size() < 9_000_000


@pytest.mark.parametrize("name", ["table.npy", "scales.npy", "vocab.txt"])
@pytest.mark.parametrize("damage", ["missing", "cut", "other"])
def test_a_damaged_table_is_told(tmp_path: Path, name: str, damage: str) -> None:
    """As an error that says what to do, never as a wrong vector."""
    for path in FOLDER.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    if damage == "missing":
        (tmp_path / name).unlink()
    elif damage == "cut":
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes()[:2_000])
    else:
        (tmp_path / name).write_bytes(b"something else\n")
    with pytest.raises(EmbedderUnavailable) as caught:
        StaticEmbedder(tmp_path)
    assert caught.value.hint


@pytest.mark.parametrize(
    "name, problem, hint",
    [
        ("nope", "there is none of that name", ", ".join(EMBEDDERS)),
        ("minilm", "not installed", "recollect models install minilm"),
        ("http", "no address", "Say where"),
    ],
)
def test_a_model_that_cannot_be_opened_says_what_mends_it(tmp_path: Path, name: str, problem: str, hint: str) -> None:
    """The error names the model, the trouble, and what to do."""
    with pytest.raises(EmbedderUnavailable, match=problem) as caught:
        open_embedder(name, folder=tmp_path)
    assert caught.value.model == name
    assert hint in caught.value.hint
