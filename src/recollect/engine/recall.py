"""Reading: recall by words and meaning, ranked, gated and explained. Reading changes nothing in line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from time import monotonic

from ..errors import InvalidInput, InvalidText, NotFound, StoreError
from ..model import (
    LIVE,
    Absence,
    Condition,
    Corpus,
    Entry,
    Hit,
    LinkKind,
    Memory,
    MemoryId,
    Op,
    Recall,
    Scope,
    Status,
    Uid,
    Where,
    WordStatistics,
)
from ..policy.moments import Period, periods
from ..policy.query import holds, parse_limit
from ..policy.rank import PROFILES, Asking, Candidate, Profile, calibrated, rank
from ..policy.relevance import MEMORIES, Evidence, Text, evidence
from ..policy.select import Left, chosen, drop_worst, gate, renewed, top
from ..policy.spread import Edge, Node, Reached, edges_of, spread
from ..policy.words import MEMORY_FIELDS, Query, held, rarity
from ..store import Store
from .definitions import active_seasons
from .events import Search
from .parts import Parts, SpaceName, space_of
from .past import ranked_at
from .probe import IN_LINE, Probed, asked_words, limits_of, meaning_notes, probe, weighed_query
from .rerank import AsRanked, reranked

POOL = 4
"""How many candidates are ranked for each result asked for: the ranking may reorder what was found."""
LEAST_POOL = 40
WALKED = 8
"""From how many of the best candidates links are walked in our own profile."""
FAN_OUT = 24
"""How many links of one node are walked at most."""

_SPACES: tuple[SpaceName, ...] = ("project", "global")

FOUND_BY_SEARCH = frozenset(Status) - {Status.FORGOTTEN, Status.QUARANTINED}
"""What a search may show: everything that was not forgotten and is not withheld."""

OWN_LINKS = frozenset({LinkKind.RELATES_TO, LinkKind.SUPERSEDES, LinkKind.DERIVED_FROM})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is asked for besides the question itself."""

    where: Where = ()
    limit: int | None = None
    session: str | None = None
    task: str | None = None
    space: SpaceName | None = None
    statuses: frozenset[Status] = LIVE
    profile: str | None = None
    gate: bool | None = None
    words_pass: bool = False
    """Whether whatever holds a word that was asked for passes the gate."""
    files: frozenset[str] = frozenset()
    as_of: datetime | None = None
    noticed: bool = True
    """Whether the results count as recalled: what is only looked at leaves no habit."""


@dataclass
class _Search:
    """One question on its way through the steps."""

    parts: Parts
    text: str
    wish: Wish
    profile: Profile
    now: datetime
    trouble: list[str] = field(default_factory=list)
    left: Left = field(default_factory=Left)
    watched: Memory | None = None
    started: float = field(default_factory=monotonic)
    scored: int = 0
    read: int = 0
    unread: int = 0
    """How many relevant ones were not read, because others had more to say for them."""
    thorough: bool = False
    said: dict[Uid, str] = field(default_factory=dict)
    """What each memory that was read says, as stems."""
    worded: set[Uid] = field(default_factory=set)
    """What was found by its words."""
    explained: Callable[[frozenset[Uid]], list[Hit]] | None = None
    """The ranking of some with its reasons: telling takes longer than ranking, so it is left to the end."""

    @property
    def wanted(self) -> int:
        settings = self.parts.settings.recall
        wanted = parse_limit(settings.limit if self.wish.limit is None else self.wish.limit, most=1_000)
        if self.profile.name == "cascade":
            return min(wanted, self.parts.settings.cascade.results)
        return min(wanted, settings.inject) if self.profile.injects else wanted

    @property
    def spaces(self) -> tuple[SpaceName, ...]:
        return _SPACES if self.wish.space is None else (self.wish.space,)

    def stores(self) -> Iterator[Store]:
        """The stores to search. What holds here is worth having even when what holds everywhere cannot be had."""
        for name in self.spaces:
            try:
                yield self.parts.store(name)
            except StoreError as error:
                self.excuse(name, error)

    def excuse(self, name: SpaceName, error: StoreError) -> None:
        """Note that the global memory could not be searched; that another could not is an error."""
        if self.wish.space is not None or name == "project":
            raise error
        told = f"the global memory could not be searched: {error}"
        if told not in self.trouble:
            self.trouble.append(told)

    @cached_property
    def periods(self) -> tuple[Period, ...]:
        """The times that the question names."""
        return periods(self.text, self.wish.as_of or self.now)

    @cached_property
    def seasons(self) -> frozenset[str]:
        """The seasons that are on, in any of the spaces."""
        moment = self.wish.as_of or self.now
        return frozenset(name for store in self.stores() for name in active_seasons(store, moment))

    @property
    def gated(self) -> bool:
        """Whether what is not relevant enough is left out."""
        return self.profile.gated if self.wish.gate is None else self.wish.gate

    @property
    def late(self) -> bool:
        """Whether a profile with a hard time cut has used its time up."""
        deadline = self.parts.settings.recall.deadline_ms / 1_000
        return self.profile.injects and monotonic() - self.started > deadline


def recall(parts: Parts, query: object, wish: Wish) -> Recall:
    """The memories that answer a question best, from one space or from the project and the global one."""
    search = _begun(parts, query, wish)
    off = parts.switch.off_where()
    if off:
        return Recall(query=search.text, notes=(f"memory is switched off {off}",))
    words = _words(search)
    if not words or not search.wanted:
        return Recall(query=search.text, notes=() if words else ("the question holds no word to look for",))
    ranked, notes = _ranked_then(search, words) if wish.as_of else _ranked(search, words)
    ranked, remarks = reranked(parts.reranker, search.text, ranked)
    hits = _explained(search, _selected(search, ranked))
    if len(hits) < search.wanted and search.unread:
        # So many were left out that what was not read may be wanted after all.
        search = replace(search, thorough=True, left=Left())
        ranked, remarks = reranked(parts.reranker, search.text, _ranked(search, words)[0])
        hits = _explained(search, _selected(search, ranked))
    beside = search.profile.injects and wish.as_of is None
    found = Recall(
        query=search.text,
        hits=tuple(hits),
        scored=search.scored,
        read=search.read,
        pinned=_pinned(search) if beside else (),
        conflicts=_conflicts(search, hits) if wish.as_of is None and not search.late else (),
    )
    if wish.as_of is None:
        # What only came up because the gate was open is no habit.
        sure = parts.settings.recall.gate if search.profile.gated else 0.0
        every = parts.settings.capacity.evict_every
        before = parts.habits.accesses
        if wish.noticed:
            parts.habits.noticed([hit.memory for hit in hits if hit.relevance >= sure])
        after = parts.habits.accesses
        due = before == 0 < after or before // every != after // every
        if parts.meaning.take_up() or parts.habits.full or due:
            parts.wake()
        parts.oversight.slo.timed(1_000 * (monotonic() - search.started))
        parts.oversight.events.tell(Search(query=search.text, results=tuple(hit.memory.ref for hit in hits)))
    slow = ("recall was slow lately, so fewer memories were weighed",) if parts.oversight.slo.degraded else ()
    return replace(found, notes=(*search.trouble, *notes, *remarks, *slow))


def why_not(parts: Parts, query: object, ref: str | int, wish: Wish) -> Absence:
    """At which step a memory left, and by how much; the step "returned" says that it did not."""
    search = _begun(parts, query, wish)
    store, memory = parts.find(ref)
    words = _words(search)
    refused = _refused(search, memory, store, words)
    if refused is not None:
        return Absence(memory=memory, step=refused[0], detail=refused[1])
    _, hits = _outcome(search, words)
    for at, hit in enumerate(hits, start=1):
        if hit.memory.uid == memory.uid:
            return Absence(memory=memory, step="returned", detail=f"it is result {at}", place=at, why=hit.why)
    # Once more, with the memory among the candidates whether it was found or not.
    search = replace(_begun(parts, query, wish), watched=memory)
    ranked, _ = _outcome(search, words)
    place = next((at for at, hit in enumerate(ranked, start=1) if hit.memory.uid == memory.uid), None)
    step, detail = search.left.steps.get(memory.uid, ("search", "neither its words nor its meaning came close enough"))
    return Absence(memory=memory, step=step, detail=detail, place=place, why=ranked[place - 1].why if place else ())


def _outcome(search: _Search, words: tuple[str, ...]) -> tuple[list[Hit], list[Hit]]:
    """The ranking and the results that it comes to."""
    ranked, _ = _ranked(search, words)
    ranked, _ = reranked(search.parts.reranker, search.text, ranked)
    return ranked, _explained(search, _selected(search, ranked))


def _begun(parts: Parts, query: object, wish: Wish) -> _Search:
    if not isinstance(query, str):
        raise InvalidText("query", f"expected text, not {type(query).__name__}")
    settings = parts.settings.recall
    name = wish.profile or settings.profile
    if name not in PROFILES:
        raise NotFound("profile", name)
    moment: object = wish.as_of
    if moment is not None and (not isinstance(moment, datetime) or moment.tzinfo is None):
        raise InvalidInput("as_of", "expected a time with its time zone")
    return _Search(parts, query[: settings.query_limit], wish, PROFILES[name], parts.clock())


def _words(search: _Search) -> tuple[str, ...]:
    """The words to look for: those that say what the question is about, not those that say when."""
    about = search.text
    for each in search.periods:
        about = about.replace(each.phrase, " ")
    return asked_words(about) or asked_words(search.text)


# --- Finding and ranking --------------------------------------------------------------------------------------------


def _ranked(search: _Search, words: tuple[str, ...]) -> tuple[list[Hit], tuple[str, ...]]:
    """Everything that was found, best first, and what limited the search."""
    with ExitStack() as moment:
        probes = _probed(search, words, moment)
        query = weighed_query(
            probes,
            (fields[0] for each in probes for fields in each.fields.values()),
            search.parts.meaning,
            softened=search.profile.softened,
            corpus=Corpus.MEMORY,
        )
        asking = Asking(
            now=search.now,
            query=query,
            files=search.wish.files,
            periods=search.periods,
            settings=_numbers(search.parts),
            kinds=search.parts.kinds,
        )
        candidates = [found for each in probes for found in _candidates(search, each, asking)]
        unsure = search.watched is not None or not isinstance(search.parts.reranker, AsRanked)
        hits = rank(candidates, search.profile, asking, told=None if unsure else 0)
        search.explained = lambda some: _ranked_again(candidates, some, search.profile, asking)
        if search.profile.renews and not asking.periods:  # who asks about a time wants what was so then
            hits = _in_time(search, hits)
    return hits, (*limits_of(probes), *meaning_notes(probes, search.parts.meaning, search.profile))


def _ranked_again(candidates: list[Candidate], some: frozenset[Uid], profile: Profile, asking: Asking) -> list[Hit]:
    # In a fusion of ranks a place depends on all the others.
    pool = candidates if profile.name == "rrf" else [each for each in candidates if each.memory.uid in some]
    return rank(pool, profile, asking)


def _explained(search: _Search, hits: list[Hit]) -> list[Hit]:
    """The results, each with its reasons."""
    if search.explained is None or all(hit.why for hit in hits):
        return hits
    reasons = {hit.memory.uid: hit.why for hit in search.explained(frozenset(hit.memory.uid for hit in hits))}
    return [hit if hit.why else replace(hit, why=reasons[hit.memory.uid]) for hit in hits]


def _numbers(parts: Parts) -> dict[str, float]:
    """What profiles take from the settings."""
    settings = parts.settings.recall
    return {"vector_weight": settings.vector_weight, "text_weight": settings.text_weight}


def _probed(search: _Search, words: tuple[str, ...], moment: ExitStack) -> list[Probed]:
    """What every space has to offer, each read as it is at one moment."""
    found: list[Probed] = []
    for name in search.spaces:
        if found and search.late:
            search.trouble.append(f"the time was up before the {name} memory was searched")
            break
        try:
            store = search.parts.store(name)
            if search.profile.vectors:
                search.parts.meaning.catch_up_in_line(store, Corpus.MEMORY, seconds=IN_LINE)
            moment.enter_context(store.snapshot())
            probed = _probe(search, store, words)
            if probed.asked:  # a space that holds nothing has nothing to add
                found.append(probed)
        except StoreError as error:
            search.excuse(name, error)
    return found


def _probe(search: _Search, store: Store, words: tuple[str, ...]) -> Probed:
    settings = search.parts.settings.recall
    most = search.parts.oversight.slo.limits()[1]
    pool = max(min(LEAST_POOL, most), search.wanted, min(POOL * search.wanted, most))
    probed = probe(
        store,
        words,
        search.text,
        meaning=search.parts.meaning,
        profile=search.profile,
        corpus=Corpus.MEMORY,
        where=_allowed(search),
        pool=min(pool, most),
        postings=settings.postings,
    )
    items = probed.items
    if search.watched is not None and store is search.parts.store(space_of(search.watched.scope)):
        _note_search(search, probed, items)
        items = list(dict.fromkeys([*items, search.watched.id]))
    return replace(probed, fields=store.texts(items, corpus=Corpus.MEMORY, where=_allowed(search)) if items else {})


def _note_search(search: _Search, probed: Probed, items: list[int]) -> None:
    """Remember of a watched memory that the search itself did not find it."""
    memory = search.watched
    assert memory is not None
    if memory.id in items:
        return
    cosine = probed.cosines(Corpus.MEMORY, [memory.id]).get(memory.id)
    told = "it holds none of the words" + (f"; cosine {cosine:.2f}" if cosine is not None else "")
    if probed.near:
        told += f", the last of {len(probed.near)} found by meaning has {probed.near[-1].cosine:.2f}"
    search.left.steps[memory.uid] = ("search", told)


def _candidates(search: _Search, probed: Probed, asking: Asking) -> list[Candidate]:
    """The found memories with their evidence, what superseded them and what they are linked with."""
    found = _judged(probed, probed.fields, asking.query)
    search.scored += len(found)
    items = list(found)
    if search.profile.softened and not (asking.periods or search.watched or search.thorough):
        # The factors of our own profile only nudge, so what is far behind on evidence need not be read at all.
        items.sort(key=lambda item: -found[item][1].sum(MEMORIES))
        least = search.parts.settings.recall.gate if search.gated else 0.0
        unread = items[max(_READ, 4 * search.wanted) :]
        search.unread += sum(calibrated(found[item][1].sum(MEMORIES)) >= least for item in unread)
        items = items[: len(items) - len(unread)]
    entries = _in_season(search, probed.store.entries(items, corpus=Corpus.MEMORY))
    search.read += len(entries)
    heirs = {} if Status.SUPERSEDED in search.wish.statuses else _heirs(probed.store, entries)
    successors = _successors(search, probed.store, entries, heirs)
    found |= _judged(probed, {_memory(entry).id: entry.fields for entry in successors}, asking.query)
    worded = frozenset(probed.found.items) if search.wish.words_pass else frozenset()
    candidates = {}
    for entry in [*entries, *successors]:
        text, speaks = found[_memory(entry).id]
        search.said[_memory(entry).uid] = entry.fields[0]
        if _memory(entry).id in worded:
            search.worded.add(_memory(entry).uid)
        candidates[_memory(entry).id] = Candidate(
            memory=_memory(entry), held=text.held, evidence=speaks, cosine=text.cosine
        )
    if Status.SUPERSEDED not in search.wish.statuses:
        candidates = _given_way(candidates, heirs)
    return list(_linked(search, probed, candidates).values())


_READ = 30
"""How many memories are read and ranked at least."""


def _judged(probed: Probed, fields: Mapping[int, tuple[str, ...]], query: Query) -> dict[int, tuple[Text, Evidence]]:
    """What speaks for each item."""
    cosines = probed.cosines(Corpus.MEMORY, list(fields))
    stems = query.stems
    texts = [Text(held=held(words, MEMORY_FIELDS, stems), cosine=cosines.get(item)) for item, words in fields.items()]
    return dict(zip(fields, zip(texts, evidence(texts, query), strict=True), strict=True))


def _memory(entry: Entry) -> Memory:
    assert isinstance(entry.of, Memory)
    return entry.of


def _heirs(store: Store, entries: list[Entry]) -> dict[Uid, Memory]:
    """What took the place of each superseded memory that was found, at the end of the chain."""
    known = {_memory(entry).uid: _memory(entry) for entry in entries}
    heirs: dict[Uid, Memory] = {}
    for uid, found in known.items():
        memory: Memory | None = found
        for _ in range(_CHAIN):
            if memory is None or memory.superseded_by is None:
                break
            memory = known.get(memory.superseded_by) or store.by_uid(memory.superseded_by)
        if memory is not None and memory.active and memory is not found:
            heirs[uid] = memory
    return heirs


def _successors(search: _Search, store: Store, entries: list[Entry], heirs: Mapping[Uid, Memory]) -> list[Entry]:
    """Those of the heirs that the search itself did not find, if they may be found."""
    known = {_memory(entry).id for entry in entries}
    missing = [number for number in dict.fromkeys(heir.id for heir in heirs.values()) if number not in known]
    if not missing:
        return []
    return _in_season(search, store.entries(missing, corpus=Corpus.MEMORY, where=_allowed(search)))


_CHAIN = 8


def _given_way(candidates: dict[MemoryId, Candidate], heirs: Mapping[Uid, Memory]) -> dict[MemoryId, Candidate]:
    """Superseded memories hand what speaks for them to what superseded them, and leave."""
    kept = {number: each for number, each in candidates.items() if each.memory.status is not Status.SUPERSEDED}
    for old in candidates.values():
        heir = heirs.get(old.memory.uid)
        if heir is not None and heir.id in kept:
            was = kept[heir.id]
            kept[heir.id] = replace(
                was,
                evidence=Evidence(
                    words=max(was.evidence.words, _HANDED * old.evidence.words),
                    meaning=max(was.evidence.meaning, _HANDED * old.evidence.meaning),
                ),
                reached=Reached(0.0, 1, f"supersedes [id:{old.memory.ref}], which was found"),
            )
    return kept


_HANDED = 0.95


def _linked(search: _Search, probed: Probed, candidates: dict[MemoryId, Candidate]) -> dict[MemoryId, Candidate]:
    """The candidates with what links say of them; the walk may bring in others."""
    if not search.profile.walks or not candidates or search.late:
        return candidates
    cascade = search.profile.name == "cascade"
    settings = search.parts.settings.cascade
    best = sorted(
        candidates.values(), key=lambda each: -(each.cosine or 0.0) if cascade else -each.evidence.sum(MEMORIES)
    )
    if cascade:
        seeds = {
            each.memory.id: each.cosine or 0.0
            for each in best[: settings.initial_hits]
            if (each.cosine or 0.0) >= settings.similarity_threshold
        }
        reached = spread(seeds, _Walk(probed.store), depth=settings.depth, decay=settings.edge_decay)
        return _brought_in(search, probed, {n: candidates[n] for n in seeds}, reached)
    seeds = {each.memory.id: 1.0 for each in best[:WALKED]}
    links = probed.store.links_of(list(seeds), kinds=OWN_LINKS, limit=WALKED * FAN_OUT)
    reached = spread(seeds, lambda node: edges_of(node, links), depth=1, decay=settings.edge_decay) if links else {}
    reached = {number: way for number, way in reached.items() if way.depth}
    company = _company(probed.store, list(seeds))
    return {
        number: replace(each, reached=reached.get(number, each.reached), together=company.get(number, 0.0))
        for number, each in candidates.items()
    }


def _company(store: Store, best: list[MemoryId]) -> dict[MemoryId, float]:
    """How strongly memories go with the best ones, from 0 to 1."""
    found: dict[MemoryId, float] = {}
    for each in store.together(best):
        found[each.other] = max(found.get(each.other, 0.0), each.strength / (each.strength + _COMPANY))
    return found


_COMPANY = 3.0
"""The strength at which company counts for half."""


@dataclass(frozen=True, slots=True)
class _Walk:
    """The steps that lead on from a node of a store's graph."""

    store: Store

    def __call__(self, node: Node) -> Iterable[Edge]:
        if isinstance(node, tuple):
            kind, name = node
            return [Edge(kind, 1.0, each) for each in self.store.group(kind, name, limit=FAN_OUT)]
        return edges_of(node, self.store.links(node))[:FAN_OUT]


def _brought_in(
    search: _Search, probed: Probed, seeds: Mapping[MemoryId, Candidate], reached: Mapping[MemoryId, Reached]
) -> dict[MemoryId, Candidate]:
    """The seeds, and the memories that the walk came to."""
    beyond = [number for number in reached if number not in seeds]
    entries = probed.store.entries(beyond, corpus=Corpus.MEMORY, where=_allowed(search)) if beyond else ()
    found = dict(seeds)
    for entry in _in_season(search, entries):
        memory = _memory(entry)
        found[memory.id] = Candidate(
            memory=memory, held=held(entry.fields, MEMORY_FIELDS, frozenset()), evidence=Evidence()
        )
    return {number: replace(each, reached=reached[number]) for number, each in found.items()}


def _in_time(search: _Search, hits: list[Hit]) -> list[Hit]:
    """What is newer on the same thing before what is older. How telling a word is, the hits themselves say."""
    bags = {hit.memory.uid: frozenset(search.said[hit.memory.uid].split()) for hit in hits[:_RENEWED]}
    holding = Counter(word for bag in bags.values() for word in bag)
    among = WordStatistics(texts=len(bags), words=holding.total(), holding=holding)
    rarities = {count: rarity(word, among) for word, count in holding.items()}
    return renewed(hits, bags, {word: rarities[count] for word, count in holding.items()}, reach=_RENEWED)


_RENEWED = 32


# --- From the ranking to the results --------------------------------------------------------------------------------


def _selected(search: _Search, ranked: list[Hit]) -> list[Hit]:
    profile, left = search.profile, search.left
    hits = ranked
    if search.gated:
        hits = gate(hits, search.parts.settings.recall.gate, left, exempt=search.worded)
    if profile.top:
        hits = top(hits, search.parts.oversight.slo.limits()[0], left, step="top")
    hits = drop_worst(hits, profile.dropped, left) if profile.dropped else hits
    settings = search.parts.settings.recall
    per_source = settings.per_source if profile.per_source else None
    return chosen(hits, search.wanted, left, per_source=per_source, said=search.said if profile.gated else None)


def _pinned(search: _Search) -> tuple[Memory, ...]:
    reach = (_reach(search.wish),)
    found = [memory for store in search.stores() for memory in store.pinned() if holds(memory, reach)]
    return tuple(found[: search.parts.settings.recall.pinned])


def _conflicts(search: _Search, hits: list[Hit]) -> tuple[tuple[str, str], ...]:
    """Which of the results contradict something, as pairs of references."""
    pairs = []
    kinds = frozenset({LinkKind.CONTRADICTS})
    for space in ("project", "global"):
        there = {hit.memory.id: hit.memory for hit in hits if space_of(hit.memory.scope) == space}
        if not there:
            continue
        store = search.parts.store(space)
        for link in store.links_of(list(there), kinds=kinds, limit=_CONFLICTS):
            numbers = (link.memory, MemoryId(int(link.target)))
            ends = [there.get(number) or store.get(number) for number in numbers]
            refs = sorted(end.ref for end in ends if end is not None and end.active)
            if len(refs) == 2:  # what is superseded or archived contradicts nobody any more
                pairs.append((refs[0], refs[1]))
    return tuple(dict.fromkeys(pairs))


_CONFLICTS = 100


# --- Who may be found -----------------------------------------------------------------------------------------------


def _allowed(search: _Search) -> Where:
    # A superseded memory is found so that it can lead to what superseded it.
    found = search.wish.statuses | ({Status.SUPERSEDED} if search.profile.renews else frozenset())
    return (*search.wish.where, Condition("status", Op.IN, tuple(sorted(found))), _reach(search.wish))


def _reach(wish: Wish) -> Condition:
    """A passing memory is for its own session or task and nobody else."""
    own = (f"session:{wish.session}" if wish.session else "", f"task:{wish.task}" if wish.task else "")
    return Condition("owner", Op.IN, tuple(dict.fromkeys(("", *own))))


def _in_season(search: _Search, entries: Iterable[Entry]) -> list[Entry]:
    """Without seasonal memories whose time it is not."""
    return [entry for entry in entries if _memory(entry).season is None or _memory(entry).season in search.seasons]


def _refused(search: _Search, memory: Memory, store: Store, words: tuple[str, ...]) -> tuple[str, str] | None:
    """Why a memory may not be found at all, whatever its words."""
    wish = search.wish
    off = search.parts.switch.off_where()
    if off:
        return "off", f"memory is switched off {off}"
    if not words:
        return "question", "the question holds no word to look for"
    if wish.space is not None and (memory.scope is Scope.GLOBAL) != (wish.space == "global"):
        return "space", f"only the {wish.space} memory was searched"
    if memory.status is Status.SUPERSEDED and Status.SUPERSEDED not in wish.statuses:
        return "superseded", f"it gave way to {memory.superseded_by}"
    if memory.status not in wish.statuses:
        return "status", f"it is {memory.status}"
    if not holds(memory, (_reach(wish),)):
        return "reach", f"it belongs to {memory.owner} alone"
    for condition in wish.where:
        if not holds(memory, (condition,)):
            return "filter", f"{condition.field} does not fit"
    if memory.season is not None and memory.season not in search.seasons:
        return "season", f"{memory.season} is not on"
    return None


# --- As it was ------------------------------------------------------------------------------------------------------


def _ranked_then(search: _Search, words: tuple[str, ...]) -> tuple[list[Hit], tuple[str, ...]]:
    """What the stores held at a moment, ranked as it would have been then."""
    moment = search.wish.as_of
    assert moment is not None
    hits = ranked_at(
        list(search.stores()),
        words,
        search.text,
        moment=moment,
        where=(
            *search.wish.where,
            Condition("status", Op.IN, tuple(sorted(search.wish.statuses))),
            _reach(search.wish),
        ),
        profile=search.profile,
        meaning=search.parts.meaning,
        files=search.wish.files,
        settings=_numbers(search.parts),
    )
    hits = [hit for hit in hits if hit.memory.season is None or hit.memory.season in search.seasons]
    return hits, (f"as of {moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC",)
