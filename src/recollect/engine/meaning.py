"""Meaning: which embedder is used, what has no vector yet, and what happens while a model is being changed.

Nothing a caller waits for may fail because of a model. Where there is none, or it is broken, search goes by words and
says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from ..embed import Embedder
from ..embed.kin import Kinship
from ..embed.static import STATIC_MODEL, StaticEmbedder
from ..errors import EmbedderUnavailable, RecollectError, StoreError
from ..model import Corpus
from ..store import Store

if TYPE_CHECKING:
    from ..store.contract import Floats

BATCH = 256
"""How many texts are embedded at a time in the background."""
STEP = 32
"""How many are embedded between two looks at the clock when somebody waits."""
CALM = 0.05
"""For how many seconds nothing may have come before the background begins."""
LONGEST_WAIT = 2.0
"""After so many seconds it begins in any case."""
COMPLETE = 0.98
"""The share of texts that must have a vector of a new model before the old one's vectors give way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How far the vectors of a corpus are: how many texts have one, of how many, and of which model."""

    corpus: Corpus
    model: str
    done: int
    total: int
    serving: str
    """The model whose vectors are searched meanwhile; "" is none."""


class Meaning:
    """The embedder of one open memory, opened when it is first needed.

    `wanted` opens the model that the settings name, `others` one that made vectors before, by its name in them.
    """

    def __init__(self, wanted: Callable[[], Embedder] | None, others: Callable[[str], Embedder | None]) -> None:
        self._open_wanted = wanted
        self._open_other = others
        self._lock = threading.Lock()
        self._wanted: Embedder | None = None
        self._others: dict[str, Embedder | None] = {}
        self._kinship: Kinship | None = None
        self._built_in: Embedder | None = None
        self._trouble = ""
        self._retry_at = 0.0
        self._behind = False

    @property
    def on(self) -> bool:
        """Whether meaning is to be used at all."""
        return self._open_wanted is not None

    @property
    def trouble(self) -> str:
        """Why there is no embedder, or why it failed last; "" when all is well."""
        return self._trouble

    @property
    def ready(self) -> bool:
        """Whether the embedder is open, so that using it costs no start."""
        return self._wanted is not None

    def wanted(self) -> Embedder | None:
        """The embedder that the settings name, or None while it cannot be had."""
        with self._lock:
            if self._wanted is None and self._open_wanted is not None and monotonic() >= self._retry_at:
                try:
                    self._wanted = self._open_wanted()
                    self._trouble = ""
                except EmbedderUnavailable as error:
                    self.failed(error)
            return self._wanted

    def failed(self, error: EmbedderUnavailable) -> None:
        """Note that the wanted model did not answer; it is left alone for a while."""
        self._trouble = f"{error} {error.hint}".strip()
        self._retry_at = monotonic() + _PAUSE

    def take_up(self) -> bool:
        """Whether vectors were seen to be missing and it is time to make them; whoever asks is to see to it."""
        due = self._behind and monotonic() >= self._retry_at
        self._behind = self._behind and not due
        return due

    def serving(self, store: Store, corpus: Corpus) -> Embedder | None:
        """The embedder whose vectors answer best now: the wanted one, or while it catches up, the one before."""
        wanted = self.wanted()
        counts = store.embedded(corpus=corpus)
        name = self._model_of(wanted)
        total = store.statistics((), corpus=corpus).texts
        self._behind = self._behind or counts.get(name, 0) < total
        if wanted is not None and counts.get(name, 0) >= COMPLETE * total:
            return wanted
        for other, count in sorted(counts.items(), key=lambda item: -item[1]):
            if other != name and count > counts.get(name, 0):
                older = self._other(other)
                if older is not None:
                    return older
        return wanted

    def _model_of(self, embedder: Embedder | None) -> str:
        return embedder.model if embedder is not None else ""

    def _other(self, model: str) -> Embedder | None:
        if model not in self._others:
            with suppress(EmbedderUnavailable):
                self._others[model] = self._open_other(model)
        return self._others.get(model)

    def vector(self, embedder: Embedder, text: str) -> Floats | None:
        """A question as a vector, or None when the model failed or knows none of its words."""
        vectors = self.embed(embedder, [text])
        return vectors[0] if vectors is not None and vectors[0].any() else None

    def embed(self, embedder: Embedder, texts: list[str]) -> Floats | None:
        """Texts as vectors, or None while the model fails. A model that stands in has no part in that."""
        wanted = embedder is self._wanted
        if wanted and monotonic() < self._retry_at:
            return None
        try:
            vectors = embedder.embed(texts)
        except EmbedderUnavailable as error:
            if wanted:
                self.failed(error)
            return None
        if wanted:
            self._trouble = ""
        return vectors

    def built_in(self) -> Embedder | None:
        """The built-in model, whichever one the settings name; None where meaning is not to be used."""
        wanted = self.wanted()
        if wanted is not None and wanted.model == STATIC_MODEL:
            return wanted
        with self._lock:
            if self._built_in is None and self.on:
                with suppress(EmbedderUnavailable):
                    self._built_in = StaticEmbedder()
            return self._built_in

    def kinship(self) -> Kinship | None:
        """Words of like meaning, from the table that is built in."""
        with self._lock:
            if self._kinship is None and self.on:
                with suppress(EmbedderUnavailable):
                    self._kinship = Kinship()
            return self._kinship

    def catch_up(self, store: Store, corpus: Corpus, *, seconds: float, most: int | None = None) -> int:
        """Embed what has no vector yet, for at most so long. Returns how many were done."""
        embedder = self.wanted()
        done = 0
        until = monotonic() + seconds
        while embedder is not None and monotonic() < until and (most is None or done < most):
            size = BATCH if seconds > 1 else STEP
            got = self.embed_some(store, embedder, corpus, size)
            done += got
            if not got:
                break
        return done

    def catch_up_in_line(self, store: Store, corpus: Corpus, *, seconds: float) -> None:
        """Catch up while somebody waits: with a model on this machine only, and no matter if it cannot be kept."""
        embedder = self.wanted()
        if embedder is not None and embedder.local:
            with suppress(StoreError):
                self.catch_up(store, corpus, seconds=seconds)

    def embed_some(self, store: Store, embedder: Embedder, corpus: Corpus, most: int) -> int:
        """Embed up to so many texts that have no vector yet; how many were kept."""
        waiting = store.unembedded(embedder.model, corpus=corpus, limit=most)
        vectors = self.embed(embedder, [each.text for each in waiting]) if waiting else None
        if vectors is None:
            self._behind = self._behind or bool(waiting)
            return 0
        texts = [(each.item, each.content_hash) for each in waiting]
        return store.keep_vectors(embedder.model, texts, vectors, corpus=corpus)

    def retire(self, store: Store) -> None:
        """Let go of the vectors of other models, once every text has one of the wanted model."""
        wanted = self.wanted()
        if wanted is None:
            return
        sizes = {corpus: store.statistics((), corpus=corpus).texts for corpus in Corpus}
        counts = {corpus: store.embedded(corpus=corpus) for corpus in Corpus}
        if all(counts[corpus].get(wanted.model, 0) >= size for corpus, size in sizes.items()):
            for model in {model for each in counts.values() for model in each} - {wanted.model}:
                store.forget_vectors(model)

    def coverage(self, store: Store) -> Iterator[Coverage]:
        """How far the vectors are, for each corpus that holds anything."""
        wanted = self.wanted()
        for corpus in Corpus:
            total = store.statistics((), corpus=corpus).texts
            if total and self.on:
                counts = store.embedded(corpus=corpus)
                serving = self.serving(store, corpus)
                yield Coverage(
                    corpus=corpus,
                    model=self._model_of(wanted),
                    done=counts.get(self._model_of(wanted), 0),
                    total=total,
                    serving=self._model_of(serving) if self._model_of(serving) in counts else "",
                )


_PAUSE = 30.0
"""Seconds for which a model that failed is left alone."""


class Background:
    """The thread that does what nobody should wait for: pieces left to it, missing vectors, habits noticed."""

    def __init__(self, work: Callable[[], bool], *, pause: float = 2.0) -> None:
        """`work` does a little and says whether there is more to do at once."""
        self._work = work
        self._pause = pause
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._left: dict[str, Callable[[], object]] = {}

    def leave(self, name: str, piece: Callable[[], object]) -> None:
        """Have a piece of work done soon, once however often it is left before. Nobody hears of it if it fails."""
        with self._lock:
            self._left[name] = piece
        self.wake()

    def wake(self) -> None:
        """There may be something to do."""
        with self._lock:
            self._wake.set()
            if not self._stop.is_set() and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._run, name="recollect-background", daemon=True)
                self._thread.start()

    def close(self, seconds: float = 2.0) -> None:
        """Finish the piece at hand and those that were left, and stop; whoever closes waits for so long at most."""
        self._stop.set()
        self._wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wait_for_calm()
            self._wake.clear()
            if self._stop.is_set():  # looked at again, for that may have been what woke it
                break
            self._do_what_was_left()
            more = False
            with suppress(StoreError):
                more = self._work()
            if not more and not self._wake.wait(self._pause):
                with self._lock:  # whoever wakes it either finds it gone or is heard
                    if not self._wake.is_set():
                        self._thread = None
                        return
        self._do_what_was_left()

    def _wait_for_calm(self) -> None:
        """Let whoever is at work go first: two threads of Python at work take longer than one after the other."""
        until = monotonic() + LONGEST_WAIT
        while self._wake.is_set() and not self._stop.is_set() and monotonic() < until:
            self._wake.clear()
            self._wake.wait(min(CALM, self._pause))

    def _do_what_was_left(self) -> None:
        while self._left:
            with self._lock:
                name = next(iter(self._left))
                piece = self._left.pop(name)
            with suppress(RecollectError):
                piece()
