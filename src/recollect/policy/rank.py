"""Where a memory comes in the results, and why.

A ranking profile is data: how candidates are found, and the factors that order them. Each factor is a pure function
with a name. Some are evidence and are added up, the others multiply; a hit keeps the value of each, so that a place can
always be explained: score = (sum of what adds) * (product of what multiplies).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ..model import Hit, Memory, Status, Uid, Why
from .decay import age_days, confidence_at
from .kinds import KINDS, KindTable
from .moments import Period, closeness
from .relevance import MEMORIES, Evidence
from .spread import Reached
from .words import Held, Query, best_variants, bm25

SCORE_STEP = 0.2
RECENCY_STEP = 0.01
_SCORE_LIMIT = 500
"""Beyond it, exp() would only tell infinities apart."""


def score_weight(score: int, *, step: float = SCORE_STEP) -> float:
    """What reinforcement is worth: 1 at score 0, 1.82 at 3, 0.37 at -5."""
    return math.exp(step * max(-_SCORE_LIMIT, min(_SCORE_LIMIT, score)))


def recency_weight(since: datetime, now: datetime, *, step: float = RECENCY_STEP) -> float:
    """What freshness is worth: 1 today, a half after a hundred days. A time in the future counts as today."""
    return 1 / (1 + step * age_days(since, now))


def recency_boost(since: datetime, now: datetime) -> float:
    """What having been used lately is worth: 1.5 at once, 1.18 after a day, fading to 1."""
    return 1 + 0.5 * math.exp(-24 * age_days(since, now) / 24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory that was found, with all that the ranking may weigh."""

    memory: Memory
    held: Held
    evidence: Evidence
    cosine: float | None = None
    reached: Reached | None = None
    """How the walk over links came to it."""
    together: float = 0.0
    """How strongly it goes with the best of what was found, from having been recalled with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What a ranking needs to know besides the memory: when it is asked, for which words, and in which situation."""

    now: datetime
    query: Query
    files: frozenset[str] = frozenset()
    """Files the asker is at work on."""
    periods: tuple[Period, ...] = ()
    """Times that the question names."""
    settings: Mapping[str, float] = field(default_factory=dict)
    """Numbers that a profile takes from the settings."""
    kinds: KindTable = field(default_factory=lambda: KINDS)


@dataclass(frozen=True, slots=True)
class Factor:
    """One named influence on a memory's place: what it is worth, and, for those who ask, what that was made from."""

    name: str
    value: Callable[[Candidate, Asking], float]
    detail: Callable[[Candidate, Asking], str]
    adds: bool = False


def last_used(memory: Memory) -> datetime:
    """The moment recency counts from: the last hit, else creation."""
    return memory.last_hit_at or memory.created_at


def _words(candidate: Candidate, asking: Asking) -> float:
    return bm25(candidate.held, asking.query)


def _words_detail(candidate: Candidate, asking: Asking) -> str:
    return ", ".join(best_variants(candidate.held, asking.query.asked))


def _recency_detail(candidate: Candidate, asking: Asking) -> str:
    word = "last hit" if candidate.memory.last_hit_at else "created"
    return f"{word} {age_days(last_used(candidate.memory), asking.now):.0f} days ago"


def _meaning_detail(candidate: Candidate, asking: Asking) -> str:
    return "no vector, so judged by its words" if candidate.cosine is None else f"cosine {candidate.cosine:.2f}"


def _score_detail(candidate: Candidate, asking: Asking) -> str:
    return f"score {candidate.memory.score:+d}"


def _kind_detail(candidate: Candidate, asking: Asking) -> str:
    return candidate.memory.kind.value


def _status_detail(candidate: Candidate, asking: Asking) -> str:
    return candidate.memory.status.value


def _files_detail(candidate: Candidate, asking: Asking) -> str:
    return ", ".join(sorted(asking.files & set(candidate.memory.files)))


def _nothing(candidate: Candidate, asking: Asking) -> str:
    return ""


def _no_value(candidate: Candidate, asking: Asking) -> float:
    """The value of a factor that depends on the others that were found."""
    return 0.0


# --- Keyword search with reinforcement ------------------------------------------------------------------------------

WORDS = Factor("words", _words, _words_detail)
SCORE = Factor("score", lambda candidate, _: score_weight(candidate.memory.score), _score_detail)
RECENCY = Factor(
    "recency", lambda candidate, asking: recency_weight(last_used(candidate.memory), asking.now), _recency_detail
)

# --- Keyword search with metadata -----------------------------------------------------------------------------------

_STATUS = {Status.CANDIDATE: 0.9, Status.PINNED: 1.2}
_ACCESS_STEP, _ACCESS_MOST = 0.1, 1.5
_AFFINITY = 1.5
PRAXIS_FACTORS = (
    WORDS,
    Factor("kind", lambda candidate, _: KINDS[candidate.memory.kind].weight, _kind_detail),
    Factor(
        "recency",
        lambda candidate, asking: 0.5 + 0.5 * 0.95 ** (age_days(candidate.memory.updated_at, asking.now) / 7),
        lambda candidate, asking: f"changed {age_days(candidate.memory.updated_at, asking.now):.0f} days ago",
    ),
    Factor(
        "access",
        lambda candidate, _: min(_ACCESS_MOST, 1 + _ACCESS_STEP * math.log2(1 + candidate.memory.access_count)),
        lambda candidate, _: f"recalled {candidate.memory.access_count} times",
    ),
    Factor(
        "files",
        lambda candidate, asking: _AFFINITY if asking.files & set(candidate.memory.files) else 1.0,
        _files_detail,
    ),
    Factor("status", lambda candidate, _: _STATUS.get(candidate.memory.status, 1.0), _status_detail),
)

# --- The walk over the graph ----------------------------------------------------------------------------------------


def _reached(candidate: Candidate, asking: Asking) -> float:
    return candidate.reached.score if candidate.reached else 0.0


def _reached_detail(candidate: Candidate, asking: Asking) -> str:
    return candidate.reached.path if candidate.reached else ""


def _accessed(candidate: Candidate) -> datetime:
    return candidate.memory.accessed_at or candidate.memory.created_at


CASCADE_FACTORS = (
    Factor("cascade", _reached, _reached_detail),
    Factor(
        "recency",
        lambda candidate, asking: recency_boost(_accessed(candidate), asking.now),
        lambda candidate, asking: f"recalled or made {24 * age_days(_accessed(candidate), asking.now):.0f} hours ago",
    ),
    Factor(
        "confidence",
        lambda candidate, asking: confidence_at(candidate.memory, asking.now, asking.kinds),
        lambda candidate, _: f"confidence {candidate.memory.confidence:.2f}, trust {candidate.memory.trust:.2f}",
    ),
)

# --- A weighted sum -------------------------------------------------------------------------------------------------

BRAIN_FACTORS = (
    Factor(
        "meaning",
        lambda candidate, asking: asking.settings["vector_weight"] * (candidate.cosine or 0.0),
        _meaning_detail,
        adds=True,
    ),
    Factor(
        "words",
        lambda candidate, asking: asking.settings["text_weight"] * candidate.evidence.words,
        _words_detail,
        adds=True,
    ),
)

# --- Ours -----------------------------------------------------------------------------------------------------------

_GENTLE = 0.05
_PINNED, _CANDIDATE = 1.05, 0.95


def _sort(name: str, detail: Callable[[Candidate, Asking], str]) -> Factor:
    return Factor(
        name, lambda candidate, _: getattr(candidate.evidence, name) * getattr(MEMORIES, name), detail, adds=True
    )


def _begun(memory: Memory) -> datetime:
    return memory.valid_from or memory.created_at


def _timely(candidate: Candidate, asking: Asking) -> float:
    """A question that names a time wants what is from then; without one, what is fresh is a little better."""
    memory = candidate.memory
    if asking.periods:
        return 0.4 + max(closeness(_begun(memory), period) for period in asking.periods)
    return 0.96 + 0.04 * recency_weight(last_used(memory), asking.now)


def _timely_detail(candidate: Candidate, asking: Asking) -> str:
    if asking.periods:
        phrases = ", ".join(each.phrase for each in asking.periods)
        return f"{_begun(candidate.memory):%Y-%m-%d}, asked for {phrases}"
    return _recency_detail(candidate, asking)


DEFAULT_FACTORS = (
    _sort("words", _words_detail),
    _sort("meaning", _meaning_detail),
    Factor("time", _timely, _timely_detail),
    Factor(
        "score",
        lambda candidate, _: score_weight(max(-10, min(10, candidate.memory.score)), step=_GENTLE),
        _score_detail,
    ),
    Factor(
        "confidence",
        lambda candidate, _: 0.85 + 0.15 * candidate.memory.confidence * candidate.memory.trust,
        lambda candidate, _: f"confidence {candidate.memory.confidence:.2f}, trust {candidate.memory.trust:.2f}",
    ),
    Factor(
        "importance",
        lambda candidate, _: 1 + 0.04 * (candidate.memory.importance - 0.5),
        lambda candidate, _: f"importance {candidate.memory.importance:.2f}",
    ),
    Factor("kind", lambda candidate, _: KINDS[candidate.memory.kind].weight ** 0.1, _kind_detail),
    Factor(
        "status",
        lambda candidate, _: {Status.PINNED: _PINNED, Status.CANDIDATE: _CANDIDATE}.get(candidate.memory.status, 1.0),
        _status_detail,
    ),
    Factor(
        "files",
        lambda candidate, asking: 1.25 if asking.files & set(candidate.memory.files) else 1.0,
        _files_detail,
    ),
    Factor(
        "together",
        lambda candidate, _: 1 + 0.08 * min(1.0, candidate.together),
        lambda candidate, _: f"strength {candidate.together:.2f}" if candidate.together else "",
    ),
    Factor(
        "links",
        lambda candidate, _: 1 + 0.1 * (candidate.reached.score if candidate.reached else 0.0),
        _reached_detail,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A named way to find and rank. How many the steps let through, the settings say."""

    name: str
    meaning: str
    factors: tuple[Factor, ...]
    words: bool = True
    """Whether words find."""
    vectors: bool = True
    """Whether meaning finds."""
    varied: bool = False
    """Whether aliases, longer words and near spellings count as the words asked for."""
    softened: bool = False
    """Whether words of like meaning count as the words asked for."""
    walks: bool = False
    """Whether links are walked from what was found."""
    gated: bool = False
    """Whether what is not relevant enough is left out."""
    renews: bool = False
    """Whether a newer memory on the same thing comes before an older one."""
    top: bool = False
    """Whether only the best go on to the final selection (`recall.top_k`)."""
    dropped: float = 0.0
    """Which share of those, the worst, is dropped."""
    per_source: bool = False
    """Whether only some may come from one session (`recall.per_source`)."""
    injects: bool = False
    """Whether results are for a prompt: `recall.inject` at most, pinned ones beside them, and a hard time cut."""


PROFILES: dict[str, Profile] = {
    each.name: each
    for each in (
        Profile(
            name="default",
            meaning="words and meaning together, with everything else that is known as a gentle nudge",
            factors=DEFAULT_FACTORS,
            varied=True,
            softened=True,
            walks=True,
            gated=True,
            renews=True,
            per_source=True,
        ),
        Profile(
            name="koshi",
            meaning="BM25 times reinforcement times recency; the model that asks is the semantic layer",
            factors=(WORDS, SCORE, RECENCY),
            vectors=False,
        ),
        Profile(
            name="cascade",
            meaning="similarity, then breadth-first over the graph, fresher and surer memories first",
            factors=CASCADE_FACTORS,
            words=False,
            walks=True,
        ),
        Profile(
            name="praxis",
            meaning="field-boosted BM25 times metadata, the twelve steps with their limits",
            factors=PRAXIS_FACTORS,
            vectors=False,
            varied=True,
            top=True,
            dropped=0.3,
            per_source=True,
            injects=True,
        ),
        Profile(
            name="brain",
            meaning="vector_weight times cosine plus text_weight times BM25",
            factors=BRAIN_FACTORS,
        ),
        Profile(name="words", meaning="BM25 alone, to compare with", factors=(WORDS,), vectors=False),
        Profile(
            name="vectors",
            meaning="cosine alone, to compare with",
            factors=(Factor("meaning", lambda candidate, _: max(0.0, candidate.cosine or 0.0), _meaning_detail),),
            words=False,
        ),
        Profile(
            name="rrf",
            meaning="reciprocal-rank fusion of the two, to compare with",
            factors=tuple(Factor(name, _no_value, _nothing, adds=True) for name in ("words", "meaning")),
        ),
    )
}
BASELINES = ("words", "vectors", "rrf")


def rank(candidates: Iterable[Candidate], profile: Profile, asking: Asking, *, told: int | None = None) -> list[Hit]:
    """Every candidate under a profile, best first; equals are ordered newest first, then by uid.

    The first `told` carry their reasons, by default all: telling takes longer than ranking.
    """
    pool = list(candidates)
    if profile.name == "rrf":
        values = _fused(pool, asking)
    else:
        values = [[factor.value(each, asking) for factor in profile.factors] for each in pool]
    adding = [factor.adds for factor in profile.factors]
    scored = sorted(
        ((_score(held_values, adding), each, held_values) for each, held_values in zip(pool, values, strict=True)),
        key=lambda each: (-each[0], -each[1].memory.created_at.timestamp(), each[1].memory.uid),
    )
    return [
        Hit(
            memory=each.memory,
            score=score,
            why=_told(each, held_values, profile, asking) if told is None or place < told else (),
            relevance=certainty(each),
        )
        for place, (score, each, held_values) in enumerate(scored)
        if score > 0
    ]


def _told(candidate: Candidate, values: list[float], profile: Profile, asking: Asking) -> tuple[Why, ...]:
    return tuple(
        Why(factor=factor.name, value=value, detail=factor.detail(candidate, asking), adds=factor.adds)
        for factor, value in zip(profile.factors, values, strict=True)
    )


def _score(values: list[float], adding: list[bool]) -> float:
    """The sum of the evidence times the product of the factors."""
    total, product, any_adds = 0.0, 1.0, False
    for value, adds in zip(values, adding, strict=True):
        if adds:
            total += value
            any_adds = True
        else:
            product *= value
    return total * product if any_adds else product


def summed(why: tuple[Why, ...]) -> float:
    """What reasons come to: the sum of the evidence times the product of the factors."""
    return _score([each.value for each in why], [each.adds for each in why])


RRF = 60


def _fused(pool: list[Candidate], asking: Asking) -> list[list[float]]:
    """Reciprocal-rank fusion: each list gives 1 / (60 + place)."""
    words = _places(pool, lambda candidate: bm25(candidate.held, asking.query))
    vectors = _places(pool, lambda candidate: candidate.cosine or 0.0)
    return [
        [1 / (RRF + places[each.memory.uid]) if each.memory.uid in places else 0.0 for places in (words, vectors)]
        for each in pool
    ]


def _places(pool: list[Candidate], value: Callable[[Candidate], float]) -> dict[Uid, int]:
    listed = sorted((-value(each), each.memory.uid) for each in pool if value(each) > 0)
    return {uid: place for place, (_, uid) in enumerate(listed, start=1)}


# --- Is it relevant at all? -----------------------------------------------------------------------------------------

_SLOPE, _MIDDLE = 12.5, 0.354


def certainty(candidate: Candidate) -> float:
    """How sure it is that a memory answers the question, from 0 to 1, judged by words and meaning alone."""
    return calibrated(candidate.evidence.sum(MEMORIES))


def calibrated(total: float) -> float:
    """What evidence comes to, as a share from 0 to 1: a half where as many answers as not lie above it."""
    return 1 / (1 + math.exp(-_SLOPE * (total - _MIDDLE)))
