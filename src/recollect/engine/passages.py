"""Passages: what lies beside the memories and is searched in the same way. Turns, knowledge items, source chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..errors import InvalidText, NotFound
from ..model import Condition, Corpus, Entry, Excerpt, Excerpts, File, Op, Passage, Unfile, Where, Why
from ..policy.query import parse_limit
from ..policy.rank import PROFILES, RRF, Profile, calibrated, summed
from ..policy.relevance import CHUNKS, SORTS, TURNS, Text, evidence
from ..policy.words import PASSAGE_FIELDS, TURN_FIELDS, bm25, held, stems_of
from .parts import Parts
from .probe import IN_LINE, Probed, asked_words, limits_of, meaning_notes, probe, weighed_query

AROUND = 2
"""How many neighbours on each side help to find a passage, and are shown with it."""
LEAST_POOL = 200
"""So many passages are looked at by words, and so many by meaning, however few are asked for."""
LEAST_TURNS = 100
"""So many turns. Each is weighed with its neighbours; twice as many take twice the time and find nothing more."""
_AT_ONCE = 1_000


def file_passages(parts: Parts, passages: Iterable[Passage]) -> int:
    """Index passages, each in place of the one at its position; how many there were."""
    parts.switch.require_on()
    waiting: list[Passage] = []
    done = 0
    for passage in passages:
        waiting.append(_checked(passage))
        if len(waiting) >= _AT_ONCE:
            done += _file(parts, waiting)
            waiting = []
    done += _file(parts, waiting) if waiting else 0
    parts.wake()
    return done


def _file(parts: Parts, passages: Sequence[Passage]) -> int:
    parts.project().apply([File(passages=tuple(passages))], actor=parts.actor, now=parts.clock())
    return len(passages)


def _checked(passage: object) -> Passage:
    if not isinstance(passage, Passage):
        raise InvalidText("passages", f"expected passages, not {type(passage).__name__}")
    for name, text in (("text", passage.text), ("label", passage.label), ("document", passage.document)):
        if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidText(name, "holds a NUL or a lone surrogate")
    if passage.corpus is Corpus.MEMORY:
        raise InvalidText("corpus", "memories are remembered, not filed")
    return passage


def _of_passages(corpus: Corpus) -> Corpus:
    if corpus is Corpus.MEMORY:
        raise InvalidText("corpus", "memories are no passages; recall and search find them, forget takes them out")
    return corpus


def unfile(parts: Parts, corpus: Corpus, document: str, start: int) -> None:
    """Take a document's passages out of the index."""
    change = Unfile(corpus=_of_passages(corpus), document=document, start=start)
    parts.project().apply([change], actor=parts.actor, now=parts.clock())


def search_passages(
    parts: Parts,
    query: object,
    *,
    corpus: Corpus,
    document: str | None,
    limit: int | None,
    profile: str | None,
    gate: bool | None,
) -> Excerpts:
    """The passages that answer a question best, each with what stands around it."""
    if not isinstance(query, str):
        raise InvalidText("query", f"expected text, not {type(query).__name__}")
    settings = parts.settings.recall
    text = query[: settings.query_limit]
    chosen = _profile(profile or settings.profile)
    words = asked_words(text)
    wanted = parse_limit(settings.limit if limit is None else limit, most=1_000)
    off = parts.switch.off_where()
    if off:
        return Excerpts(query=text, notes=(f"memory is switched off {off}",))
    if not words or not wanted:
        return Excerpts(query=text, notes=() if words else ("the question holds no word to look for",))
    where: Where = () if document is None else (Condition("document", Op.EQ, document),)
    store = parts.project()
    least = LEAST_TURNS if corpus is Corpus.SESSIONS else LEAST_POOL
    if chosen.vectors:
        parts.meaning.catch_up_in_line(store, _of_passages(corpus), seconds=IN_LINE)
    probed = probe(
        store,
        words,
        text,
        meaning=parts.meaning,
        profile=chosen,
        corpus=_of_passages(corpus),
        where=where,
        pool=min(settings.candidates, max(least, 2 * wanted)),
        postings=settings.postings,
    )
    gated = chosen.gated if gate is None else gate
    ranking = _Ranking(parts, probed, chosen, corpus, where)
    excerpts = ranking.best(wanted, least=settings.gate if gated else 0.0)
    if parts.meaning.take_up():
        parts.wake()
    notes = (*limits_of([probed]), *meaning_notes([probed], parts.meaning, chosen))
    return Excerpts(query=text, excerpts=tuple(excerpts), notes=notes)


def _profile(name: str) -> Profile:
    if name not in PROFILES:
        raise NotFound("profile", name)
    return PROFILES[name]


class _Ranking:
    """The passages found for a question and their neighbours, with what speaks for each."""

    def __init__(self, parts: Parts, probed: Probed, profile: Profile, corpus: Corpus, where: Where) -> None:
        turns = corpus is Corpus.SESSIONS
        self.store = probed.store
        entries = self.store.entries(probed.items, corpus=corpus, where=where, around=AROUND, payloads=False)
        self.passages = [_passage(entry) for entry in entries]
        labels = {each.label for each in self.passages if each.label} if turns else set()
        named = {stems_of(label): label for label in labels}
        speakers = frozenset(named[each.stem] for each in probed.asked if each.stem in named)
        spoken = tuple(each for each in probed.asked if each.stem not in named) or probed.asked
        self.query = weighed_query(
            [replace(probed, asked=spoken)],
            [entry.fields[0] for entry in entries],
            parts.meaning,
            softened=profile.softened,
            corpus=corpus,
        )
        cosines = probed.cosines(corpus, [each.id for each in self.passages])
        fields = TURN_FIELDS if turns and profile.softened else PASSAGE_FIELDS
        wanted = self.query.stems
        self.texts = [_text(entry, wanted, fields, cosines) for entry in entries]
        self.evidence = evidence(self.texts, self.query, speakers=speakers)
        self.corpus = corpus
        self.weights = TURNS if turns else CHUNKS
        self.profile = profile
        self.found = frozenset(probed.items)
        self.settings = parts.settings.recall
        self.fused = self._fused() if profile.name == "rrf" else []

    def best(self, most: int, *, least: float) -> list[Excerpt]:
        """The best passages with their reasons, those that are not relevant enough left out."""
        scores = self._scores()
        order = sorted(
            # A neighbour of what was found may be the answer, but only where neighbours count.
            (at for at, each in enumerate(self.passages) if self.profile.softened or each.id in self.found),
            key=lambda at: (-scores[at], self.passages[at].document, self.passages[at].position),
        )
        kept: list[tuple[int, float]] = []
        for at in order:
            relevance = calibrated(self.evidence[at].sum(self.weights))
            if scores[at] <= 0 or len(kept) == most:
                break
            if relevance >= least:
                kept.append((at, relevance))
        shown = self._whole([self.passages[at] for at, _ in kept])
        return [
            self._surrounded(shown, self.passages[at], scores[at], self._reasons(at), relevance)
            for at, relevance in kept
        ]

    def _whole(self, passages: Sequence[Passage]) -> dict[tuple[str, int], Passage]:
        """Passages and their neighbours by their places, with all that is known of them."""
        items = [each.id for each in passages]
        entries = self.store.entries(items, corpus=self.corpus, around=AROUND) if items else ()
        return {(each.document, each.position): each for each in map(_passage, entries)}

    def _scores(self) -> list[float]:
        if self.profile.softened:
            return [each.sum(self.weights) for each in self.evidence]
        return [summed(self._reasons(at)) for at in range(len(self.passages))]

    def _reasons(self, at: int) -> tuple[Why, ...]:
        text, speaks = self.texts[at], self.evidence[at]
        words = Why(factor="words", value=bm25(text.held, self.query))
        meaning = Why(factor="meaning", value=max(0.0, text.cosine or 0.0))
        match self.profile.name:
            case "words" | "koshi" | "praxis":
                return (words,)
            case "vectors" | "cascade":
                return (meaning,)
            case "rrf":
                return self.fused[at]
            case "brain":
                return (
                    Why(factor="meaning", value=self.settings.vector_weight * meaning.value, adds=True),
                    Why(factor="words", value=self.settings.text_weight * speaks.words, adds=True),
                )
        weighed = speaks.weighed(self.weights)
        return tuple(Why(factor=sort, value=value, adds=True) for sort in SORTS if (value := getattr(weighed, sort)))

    def _fused(self) -> list[tuple[Why, ...]]:
        """Reciprocal-rank fusion of words and meaning: each list gives 1 / (60 + place)."""
        lists = {
            "words": [bm25(text.held, self.query) for text in self.texts],
            "meaning": [text.cosine or 0.0 for text in self.texts],
        }
        reasons: list[list[Why]] = [[] for _ in self.texts]
        for name, values in lists.items():
            listed = sorted((-value, at) for at, value in enumerate(values) if value > 0)
            for place, (_, at) in enumerate(listed, start=1):
                reasons[at].append(Why(factor=name, value=1 / (RRF + place), adds=True))
        return [tuple(each) or (Why(factor="words", value=0.0, adds=True),) for each in reasons]

    def _surrounded(
        self,
        shown: Mapping[tuple[str, int], Passage],
        passage: Passage,
        score: float,
        why: tuple[Why, ...],
        relevance: float,
    ) -> Excerpt:
        around = [shown.get((passage.document, passage.position + step)) for step in range(-AROUND, AROUND + 1)]
        return Excerpt(
            passage=around[AROUND] or passage,
            score=score,
            why=why,
            relevance=relevance,
            before=tuple(each for each in around[:AROUND] if each is not None),
            after=tuple(each for each in around[AROUND + 1 :] if each is not None),
        )


def _passage(entry: Entry) -> Passage:
    assert isinstance(entry.of, Passage)
    return entry.of


def _text(entry: Entry, wanted: frozenset[str], weights: Sequence[float], cosines: dict[int, float]) -> Text:
    passage = _passage(entry)
    return Text(
        held=held(entry.fields, weights, wanted),
        cosine=cosines.get(passage.id),
        document=f"{passage.document}\x00",  # never "", which is a text that stands alone
        position=passage.position,
        speaker=passage.label,
        asks=passage.text.rstrip().endswith("?"),
    )
