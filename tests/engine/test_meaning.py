"""The life of vectors: made in the background, changed with the model, done without where there is none.

Run as a program (`python test_meaning.py PATH DIMENSION`), it opens a store with a small model, embeds what is missing
until it is told to stop, and answers each question of its input with what it found, for tests of two processes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import Corpus, Embedder, EmbedderUnavailable, Passage, Recall, Recollect
from recollect.embed.static import STATIC_MODEL
from recollect.engine import meaning as meaning_module
from recollect.engine.meaning import BATCH, Background, Meaning
from recollect.testing import FixedClock, HashEmbedder

START = datetime(2026, 6, 1, tzinfo=UTC)
DEADLINE = 30.0
NOTES = [
    "The physician prescribed antibiotics for the infection",
    "Invoices are rendered as PDF by the billing worker",
    "The cat sleeps on the sofa",
    "Run the linter before you commit",
    "Holiday requests go to Maria",
]
BY_MEANING = "doctor gave medicine against illness"


def at(path: Path, **given: Any) -> Recollect:
    """The memory in a file, without a background unless the test wants one."""
    return recollect.open(store=str(path), clock=FixedClock(START), **{"background": False, **given})


def said(found: Recall) -> list[str]:
    return [hit.memory.content for hit in found]


def vectors(memory: Recollect, corpus: Corpus = Corpus.MEMORY) -> tuple[str, int, int, str]:
    """How far the vectors of a corpus are, as the status says: model, done, total, serving."""
    memory.count()
    [found] = [each for each in memory.status().vectors if each.corpus is corpus]
    return found.model, found.done, found.total, found.serving


def held(memory: Recollect) -> dict[str, int]:
    """How many vectors of memories the store holds, by model."""
    return {name: count for name, count in memory._parts.project().embedded(corpus=Corpus.MEMORY).items() if count}


def wait_for(done: Callable[[], bool]) -> bool:
    """Whether something came to be before the deadline."""
    until = time.monotonic() + DEADLINE
    while not done():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


# --- The small model that tests use


@given(st.lists(st.text(), max_size=5), st.integers(1, 100))
def test_the_model_for_tests_is_a_model(texts: list[str], dimension: int) -> None:
    """A row for each text, of length 1 or 0, the same every time and whatever is beside it."""
    model: Embedder = HashEmbedder(dimension)
    assert (model.model, model.dimension, model.local) == (f"hash-{dimension}", dimension, True)
    rows = model.embed(texts)
    assert rows.shape == (len(texts), dimension)
    assert rows.dtype == np.float32
    for text, row in zip(texts, rows, strict=True):
        assert np.array_equal(HashEmbedder(dimension).embed([text])[0], row)
        assert np.linalg.norm(row) == pytest.approx(1.0, abs=1e-5) or not row.any()


def test_the_model_for_tests_fails_when_it_is_told_to() -> None:
    """As a model does that is not there; and texts are as close as they have words in common."""
    model = HashEmbedder(512)
    cat, dog, both = model.embed(["a sleeping cat", "the barking dog", "a sleeping CAT and the dog"])
    assert both @ cat > both @ dog > cat @ dog
    model.trouble = "it is down"
    with pytest.raises(EmbedderUnavailable, match="it is down"):
        model.embed([])


# --- Every vector knows its model


@pytest.mark.row("X10", "model-id")
@pytest.mark.row("J19", "offline")
def test_what_is_remembered_gets_a_vector_that_names_its_model(path: Path) -> None:
    """Of the model that is built in, unless another is wanted; nothing is asked over a network."""
    with at(path) as memory:
        memory.remember_many(NOTES)
        memory.recall("cat")
        assert vectors(memory) == (STATIC_MODEL, 5, 5, STATIC_MODEL)
        assert held(memory) == {STATIC_MODEL: 5}
        memory.forget(3)
        memory.update(1, "The physician prescribed rest")
        memory.recall("cat")
        assert vectors(memory)[1:3] == (4, 4)


@pytest.mark.row("X10", "model-id", "re-embed")
def test_another_model_makes_its_own_vectors(path: Path) -> None:
    """They are never mixed: each is searched with the model that made it."""
    with at(path) as memory:
        memory.remember_many(NOTES)
        memory.embed_pending()
    with at(path, embedder=HashEmbedder(48)) as memory:
        assert memory.embed_pending() == 5
        assert vectors(memory) == ("hash-48", 5, 5, "hash-48")
        store = memory._parts.project()
        items, rows = store.vectors("hash-48", corpus=Corpus.MEMORY)
        assert rows.shape == (5, 48)
        expected = HashEmbedder(48).embed([memory.get(item).content for item in items])
        assert np.allclose(rows, expected, atol=0.02)
        assert "cat" in said(memory.recall("the cat sleeps on the sofa"))[0]
        assert not [hit for hit in memory.recall(BY_MEANING, profile="vectors") if "physician" in hit.memory.content]


@pytest.mark.row("X10", "available")
def test_the_old_vectors_serve_until_the_new_ones_are_there(path: Path) -> None:
    """A question is answered by meaning at every moment of the change."""
    with at(path) as memory:
        memory.remember_many([*NOTES, *(f"filler text number {number}" for number in range(300))])
        assert memory.embed_pending() == 305
    new = HashEmbedder(48, local=False)
    with at(path, embedder=new) as memory:
        assert vectors(memory) == ("hash-48", 0, 305, STATIC_MODEL)
        assert said(memory.recall(BY_MEANING, gate=False))[0] == NOTES[0]
        some = memory._parts.meaning.embed_some(memory._parts.project(), new, Corpus.MEMORY, 100)
        assert some == 100
        assert vectors(memory) == ("hash-48", 100, 305, STATIC_MODEL)
        assert said(memory.recall(BY_MEANING, gate=False))[0] == NOTES[0]
        assert memory.embed_pending() == 205
        assert vectors(memory) == ("hash-48", 305, 305, "hash-48")
        assert said(memory.recall("cat sleeps sofa", profile="vectors"))[0] == NOTES[2]
        assert memory.recall(BY_MEANING, profile="vectors", limit=1)[0].memory.content != NOTES[0]


@pytest.mark.row("X10", "re-embed")
def test_a_change_of_model_goes_on_where_it_was_interrupted(path: Path) -> None:
    """Closing midway loses nothing of what was made."""
    count = 3 * BATCH
    with at(path) as memory:
        memory.remember_many([f"note about topic{number}" for number in range(count)])
        memory.embed_pending()
    for made in (BATCH, 2 * BATCH):
        model = HashEmbedder(48)
        with at(path, embedder=model) as memory:
            memory._parts.meaning.embed_some(memory._parts.project(), model, Corpus.MEMORY, BATCH)
            assert held(memory) == {STATIC_MODEL: count, "hash-48": made}
    told: list[tuple[int, int]] = []
    with at(path, embedder=HashEmbedder(48)) as memory:
        assert memory.embed_pending(progress=lambda done, total: told.append((done, total))) == BATCH
        assert told[-1] == (count, count)
        assert vectors(memory) == ("hash-48", count, count, "hash-48")
    with at(path) as memory:
        assert vectors(memory) == (STATIC_MODEL, count, count, STATIC_MODEL)
        assert memory.embed_pending() == 0


@pytest.mark.row("X10", "re-embed")
def test_the_background_changes_the_model_without_being_asked(path: Path) -> None:
    """In batches, until everything has a vector of the new one."""
    with at(path) as memory:
        memory.remember_many([f"note about topic{number}" for number in range(600)])
        memory.embed_pending()
    with at(path, embedder=HashEmbedder(48, local=False), background=True) as memory:
        memory.remember("one more note")  # wakes it
        assert wait_for(lambda: held(memory).get("hash-48") == 601)
        assert vectors(memory) == ("hash-48", 601, 601, "hash-48")


@pytest.mark.row("X10", "re-embed")
def test_questions_alone_get_a_change_of_model_going(path: Path) -> None:
    """A program that only reads brings it about as well."""
    with at(path) as memory:
        memory.remember_many(NOTES)
        memory.embed_pending()
    with at(path, embedder=HashEmbedder(48, local=False), background=True) as memory:
        assert said(memory.recall(BY_MEANING, gate=False))[0] == NOTES[0]
        assert wait_for(lambda: held(memory).get("hash-48") == 5)


def test_vectors_of_a_model_that_nobody_knows_serve_nobody(path: Path) -> None:
    """A model that was given when opening cannot be opened by its name."""
    with at(path, embedder=HashEmbedder(48)) as memory:
        memory.remember_many(NOTES)
        memory.embed_pending()
    with at(path, embedder=HashEmbedder(32, local=False)) as memory:
        assert vectors(memory) == ("hash-32", 0, 5, "")
        assert said(memory.recall("cat sleeps on the sofa"))[0] == NOTES[2]


def test_texts_without_any_word_have_a_vector_too(path: Path) -> None:
    """So that a change of model comes to its end; they are close to nothing."""
    with at(path) as memory:
        memory.remember_many(["🚀🚀🚀", "🦑", "a cat"])
        memory.embed_pending()
        assert vectors(memory)[1:3] == (3, 3)
        assert memory.embed_pending() == 0
        assert said(memory.recall("cat", profile="vectors")) == ["a cat"]


def test_a_passage_is_embedded_like_a_memory(path: Path) -> None:
    """And counted by its corpus."""
    with at(path, background=True) as memory:
        memory.file_passages(
            [
                Passage(corpus=Corpus.SOURCES, document="d", position=number, text=f"chunk {number}")
                for number in range(40)
            ]
        )
        assert wait_for(lambda: vectors(memory, Corpus.SOURCES) == (STATIC_MODEL, 40, 40, STATIC_MODEL))


# --- The background


def background_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "recollect-background"]


def test_the_background_embeds_though_nobody_asks(path: Path) -> None:
    """And is gone when the memory is closed."""
    with at(path, background=True) as memory:
        memory.remember_many(NOTES)
        assert wait_for(lambda: held(memory) == {STATIC_MODEL: 5})
        assert len(background_threads()) <= 1
    assert background_threads() == []


def test_a_memory_that_is_only_opened_starts_no_thread(path: Path) -> None:
    """Nor does one that only reads."""
    with at(path, background=True) as memory:
        memory.recall("anything")
        memory.status()
        assert background_threads() == []


def test_without_a_background_there_is_no_thread(path: Path) -> None:
    """Everything still works; vectors are made when a question comes."""
    with at(path) as memory:
        memory.remember_many(NOTES)
        assert background_threads() == []
        assert said(memory.recall(BY_MEANING, gate=False))[0] == NOTES[0]
        assert held(memory) == {STATIC_MODEL: 5}


def test_closing_does_not_wait_for_all_that_is_left_to_do(path: Path) -> None:
    """The batch at hand is finished or let go of; the rest is made the next time."""
    slow = threading.Event()

    class Slow(HashEmbedder):
        def embed(self, texts: Any) -> Any:
            slow.set()
            time.sleep(0.05)
            return super().embed(texts)

    with at(path, embedder=Slow(48, local=False), background=True) as memory:
        memory.remember_many([f"note about topic{number}" for number in range(6_000)])
        assert slow.wait(DEADLINE)
    assert background_threads() == []
    with at(path, embedder=HashEmbedder(48)) as memory:
        done = held(memory).get("hash-48", 0)
        assert 0 < done < 6_000
        assert memory.embed_pending() == 6_000 - done


def test_closing_does_not_wait_for_a_model_that_hangs(path: Path) -> None:
    """The thread is left behind and does no harm when the answer comes at last."""
    asked, answer = threading.Event(), threading.Event()

    class Hanging(HashEmbedder):
        def embed(self, texts: Any) -> Any:
            asked.set()
            answer.wait(DEADLINE)
            return super().embed(texts)

    memory = at(path, embedder=Hanging(48, local=False), background=True)
    memory.remember_many(NOTES)
    assert asked.wait(DEADLINE)
    memory.close()
    [thread] = background_threads()
    answer.set()
    thread.join(DEADLINE)
    assert not thread.is_alive()
    with at(path) as again:
        assert again.verify_audit() == ()
        assert said(again.recall("cat sleeps"))[0] == NOTES[2]


def test_a_background_that_was_woken_never_oversleeps() -> None:
    """Whenever it is woken, also just as it is about to end."""
    wanted, done = 0, 0

    def work() -> bool:
        nonlocal done
        done = wanted
        return False

    background = Background(work, pause=0.0)
    try:
        for number in range(1, 400):
            wanted = number
            background.wake()
            assert wait_for(lambda number=number: done >= number)  # type: ignore[misc]
    finally:
        background.close()
    assert background_threads() == []


# --- Doing without


@pytest.mark.row("X10", "available")
def test_a_broken_model_leaves_the_words(path: Path) -> None:
    """Notes and status say so; remembering, recalling and closing work."""
    broken = HashEmbedder(48)
    broken.trouble = "it is down"
    with at(path, embedder=broken, background=True) as memory:
        memory.remember_many(NOTES)
        memory.update(3, "The cat sleeps on the old sofa")
        found = memory.recall("where does the cat sleep")
        assert said(found) == ["The cat sleeps on the old sofa"]
        assert found.notes == ("searched by words alone: embedding model 'hash-48': it is down",)
        assert memory.recall("where does the cat sleep", profile="koshi").notes == ()
        assert "embedding model 'hash-48': it is down" in memory.status().trouble
        assert vectors(memory) == ("hash-48", 0, 5, "")
        assert memory.embed_pending() == 0


def test_what_was_written_while_the_model_was_down_gets_its_vector_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as it is tried again, and then nothing is said of the trouble any more."""
    monkeypatch.setattr(meaning_module, "_PAUSE", 0.0)
    model = HashEmbedder(48, local=False)
    model.trouble = "it is down"
    with at(path, embedder=model, background=True) as memory:
        memory.remember_many(NOTES)
        assert memory.recall("cat").notes
        assert held(memory) == {}
        model.trouble = ""
        memory.recall("cat")  # wakes the background where it has gone to sleep
        assert wait_for(lambda: held(memory) == {"hash-48": 5})
        assert memory.recall("cat").notes == ()
        assert memory.status().trouble == ()


def test_a_model_that_failed_is_left_alone_for_a_while(path: Path) -> None:
    """Nobody waits for it again and again."""
    asked = 0

    class Counting(HashEmbedder):
        def embed(self, texts: Any) -> Any:
            nonlocal asked
            asked += 1
            raise EmbedderUnavailable("counting", "it is down")

    with at(path, embedder=Counting(48)) as memory:
        memory.remember_many(NOTES)
        for _ in range(20):
            memory.recall("cat")
        assert asked == 1


def test_while_the_new_model_is_down_the_old_vectors_serve(path: Path) -> None:
    """The note says which."""
    with at(path) as memory:
        memory.remember_many(NOTES)
        memory.embed_pending()
    broken = HashEmbedder(48)
    broken.trouble = "it is down"
    with at(path, embedder=broken) as memory:
        for _ in range(3):
            found = memory.recall(BY_MEANING, gate=False)
            assert said(found)[0] == NOTES[0]
            told = f"searched with the vectors of {STATIC_MODEL}: embedding model 'hash-48': it is down"
            assert found.notes == (told,)
        assert vectors(memory) == ("hash-48", 0, 5, STATIC_MODEL)
        memory.remember("A new note about the tax office")
        assert said(memory.recall("tax office note"))[0] == "A new note about the tax office"


def test_a_model_that_cannot_be_opened_leaves_the_words(path: Path) -> None:
    """It is not installed, or has no address."""
    for model, told in (("minilm", "minilm"), ("http", "no address")):
        with at(path, settings={"embed.model": model}) as memory:
            memory.remember(f"a cat of {model}")
            found = memory.recall(f"cat of {model}")
            assert said(found)[0] == f"a cat of {model}"
            assert told in found.notes[0]
            assert any(told in each for each in memory.status().trouble)
            assert memory.status().search == "hybrid"


def test_an_endpoint_that_refuses_connections_leaves_the_words(path: Path) -> None:
    """Nothing fails, not even closing."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        port = server.server_port
    settings = {"embed.model": "http", "embed.url": f"http://127.0.0.1:{port}", "embed.remote": "m", "embed.timeout": 2}
    with at(path, settings=settings, background=True) as memory:
        memory.remember_many(NOTES)
        found = memory.recall("where does the cat sleep")
        assert said(found)[0] == NOTES[2]
        assert found.notes[0].startswith("searched by words alone: ")
        assert memory.status().trouble
        memory.remember("another note")
        assert memory.count() == 6


@contextmanager
def endpoint(vector: Callable[[str], list[float]]) -> Iterator[str]:
    """An embeddings endpoint on this machine."""

    class Request(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            data = [{"index": place, "embedding": vector(text)} for place, text in enumerate(texts)]
            body = json.dumps({"data": data}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *given: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Request) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_an_endpoint_gives_memories_their_vectors(path: Path) -> None:
    """In the background: nobody who remembers or recalls waits for it to embed what is stored."""
    model = HashEmbedder(48)
    with endpoint(lambda text: [float(value) for value in model.embed([text])[0]]) as url:
        settings = {"embed.model": "http", "embed.url": url, "embed.remote": "words"}
        with at(path, settings=settings, background=True) as memory:
            memory.remember_many(NOTES)
            assert wait_for(lambda: vectors(memory)[1:3] == (5, 5))
            assert said(memory.recall("cat sleeps on the sofa", profile="vectors"))[0] == NOTES[2]
            assert memory.recall("cat").notes == ()


def test_what_is_stored_is_not_embedded_over_a_network_while_somebody_waits(path: Path) -> None:
    """Only the question itself goes there."""
    asked: list[list[str]] = []

    class Far(HashEmbedder):
        def embed(self, texts: Any) -> Any:
            asked.append(list(texts))
            return super().embed(texts)

    with at(path, embedder=Far(48, local=False)) as memory:
        memory.remember_many(NOTES)
        memory.recall("cat on sofa")
        memory.recall("cat on sofa", as_of=START)
        assert {text for texts in asked for text in texts} <= {"cat on sofa"}
        assert held(memory) == {}


def test_meaning_that_is_off_opens_nothing(path: Path) -> None:
    """Nor is anything said of it."""

    def refuse() -> Any:
        raise AssertionError("opened")

    assert not Meaning(None, lambda model: refuse()).on
    with at(path, settings={"recall.search": "fts5"}, embedder=HashEmbedder(48), background=True) as memory:
        memory.remember_many(NOTES)
        assert said(memory.recall("cat")) == [NOTES[2]]
        assert held(memory) == {}
        assert memory.status().trouble == ()
        assert memory.embed_pending() == 0


# --- Two processes


def test_two_processes_change_the_model_side_by_side(path: Path) -> None:
    """Each text gets one vector, and both find by it."""
    with at(path) as memory:
        memory.remember_many([*NOTES, *(f"note about topic{number}" for number in range(1_500))])
        memory.embed_pending()
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, str(path), "48"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    answers = [
        worker.communicate("the cat sleeps on the sofa\nholiday requests go to maria\n", timeout=100)[0]
        for worker in workers
    ]
    assert [worker.returncode for worker in workers] == [0, 0]
    for answer in answers:
        made, *found = map(json.loads, answer.splitlines())
        assert found == [NOTES[2], NOTES[4]]
        assert made >= 0
    with at(path, embedder=HashEmbedder(48)) as memory:
        assert vectors(memory) == ("hash-48", 1_505, 1_505, "hash-48")
        assert memory.embed_pending() == 0
        assert [check for check in memory.doctor() if not check.ok and check.name.startswith("project")] == []


def test_a_process_sees_the_vectors_that_another_made(path: Path) -> None:
    """Without being told."""
    with at(path) as one, at(path) as other:
        one.remember_many(NOTES)
        one.embed_pending()
        assert said(other.recall(BY_MEANING, gate=False))[0] == NOTES[0]
        other.remember("A nurse bandaged the wound")
        other.embed_pending()
        assert "A nurse bandaged the wound" in said(one.recall(BY_MEANING, gate=False, limit=3))


def main(path: str, dimension: str) -> None:
    with at(Path(path), embedder=HashEmbedder(int(dimension))) as memory:
        print(json.dumps(memory.embed_pending()))
        for question in sys.stdin:
            print(json.dumps(memory.recall(question.strip(), profile="vectors", limit=1)[0].memory.content))


if __name__ == "__main__":
    main(*sys.argv[1:])
