"""What an agent is given for a prompt: gathered from all parts, checked, fitted into a budget, written for its host.

Search answers a question; this interrupts a model. So what is not sure to help is withheld, nothing is said twice on
one topic, what the code no longer bears out is left out, and what fails in here is logged here and invisible there.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from ..judge import Candidate, Linked, Verified, Verify
from ..model import (
    LIVE,
    Allocation,
    Condition,
    Corpus,
    Given,
    GivenItem,
    Hit,
    Kind,
    Memory,
    Op,
    Order,
    Recollected,
    Recollection,
    Scope,
    Standing,
    Status,
    Tier,
    Why,
    Withheld,
    WordStatistics,
)
from ..policy.budget import PART_OF, Packed, allocate, ceilings_of, pack, shares
from ..policy.intent import Intent, intent
from ..policy.occasions import RULES, occasions
from ..policy.query import holds
from ..policy.redact import redact
from ..policy.render import acting_text
from ..policy.stem import stem
from ..policy.tokens import estimate_tokens
from ..policy.worth import rules_for, stems_needed, worthwhile
from ..policy.written import HOSTS, Caps, HostStyle, Style, Written, write
from . import acting, recall
from .definitions import active_seasons
from .parts import Parts, new_uid
from .recall import Wish
from .standing import Standings
from .surfaced import Surfaced, tier_of

_LOG = logging.getLogger("recollect")

POOL = 15
"""How many found memories are looked at for a prompt."""
START_WARNINGS = 5
START_SUMMARIES = 2
_BRIDGED = 50
_RULES_READ = 40
_POSTINGS = 2_000
_LABEL = 10
"""About how many tokens an item takes besides its text: its reference, kind and date."""
_QUERY_KEPT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What an agent is about to do, and what is known of it."""

    prompt: str = ""
    files: tuple[str, ...] = ()
    """Files being worked on."""
    previous: str = ""
    """The turn before the prompt, in case the prompt only points back at it."""
    session: str = ""
    task: str = ""
    agent: str = ""
    host: str = ""
    remaining: int | None = None
    """How many tokens of its context window are left."""
    start: bool = False
    """A session begins, or goes on after its context was dropped: what holds in any case is given."""
    asked: bool = False
    """Somebody asked for it: what nobody vouches for is shown too, as a quotation, and what was given before."""
    ceilings: Mapping[str, int] = field(default_factory=dict)
    """Other ceilings for parts: pinned, bridge, found, summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What to hand to the model, and what it holds. False, and "" as a text, when there is nothing to say."""

    text: str = ""
    recollection: Recollection = field(default_factory=Recollection)

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What may be told to an agent, before it is: nothing counts as given until it is delivered."""

    context: Context
    record: Given | None = None
    memories: tuple[Memory, ...] = ()
    """Those that are in it."""
    wanted: Intent = field(default_factory=Intent)
    found: int = 0
    """How many memories had anything to do with the prompt, whether they were sure to help or not."""
    rejected: tuple[Memory, ...] = ()
    """Those of them that a judge read and found of no use."""
    links: tuple[Linked, ...] = ()
    """What the judge says that memories are to each other."""


@dataclass(frozen=True, slots=True)
class _Offer:
    """An item that may be given, and the memory it is made from, if it is one."""

    item: Recollected
    memory: Memory | None = None


class _Found(NamedTuple):
    """What recall had for a prompt: what may be given of it, what contradicts what, how many came near."""

    offers: tuple[_Offer, ...] = ()
    conflicts: tuple[tuple[str, str], ...] = ()
    near: int = 0
    rejected: tuple[Memory, ...] = ()
    links: tuple[Linked, ...] = ()


class Contexts:
    """Gives agents what they need to know."""

    def __init__(self, parts: Parts, root: Path | None, tasks: Callable[[], Iterable[str]]) -> None:
        """`root` is the working tree that memories are checked against; `tasks` are those that are open, as texts."""
        self._parts = parts
        self._tasks = tasks
        self._standings = Standings(root)
        self.surfaced = Surfaced(parts)

    def give(self, situation: Situation, *, style: Style | None = None, caps: Caps | None = None) -> Context:
        """What to tell an agent. Whatever goes wrong in here is logged, and the agent is told nothing."""
        return self.delivered(self.prepare(situation, style=style, caps=caps))

    def prepare(
        self, situation: Situation, *, style: Style | None = None, caps: Caps | None = None, read: bool = False
    ) -> Prepared:
        """The same, for somebody who will take it later, or not at all. `read` lets a judge take its time over it."""
        told = HOSTS.get(situation.host, HOSTS["default"])
        form = HostStyle(style=style or told.style, caps=caps or told.caps)
        try:
            return self._prepared(situation, form, read=read and self._parts.oversight.reads)
        except Exception:  # the agent must go on, whatever is wrong with its memory
            _LOG.exception("no context could be given")
            return Prepared(context=Context(recollection=Recollection(notes=("memory failed; its log says why",))))

    def delivered(self, prepared: Prepared) -> Context:
        """Note that what was prepared is given."""
        if prepared.record is not None:
            self.surfaced.note(prepared.record)
            self._parts.habits.noticed(prepared.memories)
            self._parts.wake()
        return prepared.context

    def _prepared(self, situation: Situation, form: HostStyle, *, read: bool) -> Prepared:
        parts = self._parts
        off = parts.switch.off_where()
        if off or (parts.settings.recall.mode == "tools" and not situation.asked):
            note = f"memory is switched off {off}" if off else "memories are given only when a tool asks for them"
            return Prepared(context=Context(recollection=Recollection(notes=(note,))))
        wanted = intent(situation.prompt, files=situation.files, previous=situation.previous)
        query = "" if wanted.points_back else redact(wanted.query).text[:_QUERY_KEPT]
        topic, seen = self.surfaced.since(situation.session, situation.agent, query, afresh=situation.start)
        found = self._found(situation, wanted, read=read)
        offers = self._offers(situation, wanted, found.offers)
        kept, withheld = self._fit(offers, frozenset() if situation.asked else seen, asked=situation.asked)
        allocation = allocate(
            situation.remaining,
            share=parts.settings.budget.share,
            ceiling=parts.settings.budget.ceiling,
            **situation.ceilings,
        )
        packed = self._packed(kept, allocation)
        withheld += [_withheld(left.item.item, left.reason) for left in packed.left]
        chosen = {id(offer.item): offer for offer in packed.chosen}
        whole = Recollection(
            id=new_uid(parts.clock()),
            query=wanted.query,
            items=tuple(offer.item for offer in packed.chosen),
            conflicts=found.conflicts,
            withheld=tuple(withheld),
            allocation=allocation,
            tokens=packed.tokens,
            compression=packed.compression,
        )
        written = write(whole, form.style, nonce=os.urandom(8).hex(), caps=form.caps)
        given = _as_written(whole, written)
        memories = {item.ref: memory for item in given if (memory := chosen[id(item)].memory)}
        return Prepared(
            context=Context(text=written.text, recollection=given),
            record=self._record(situation, given, memories, topic=topic, query=query, tokens=written.tokens),
            memories=tuple(memories.values()),
            wanted=wanted,
            found=found.near,
            rejected=found.rejected,
            links=found.links,
        )

    # --- What may be given -----------------------------------------------------------------------------------------

    def _offers(self, situation: Situation, wanted: Intent, found: tuple[_Offer, ...]) -> list[_Offer]:
        """Everything that might be said, in the order of reading, each memory once."""
        every = [
            *self._pinned(situation),
            *self._acting(situation, wanted),
            *(offer for offer in found if offer.item.tier is Tier.FOUND),
            *self._bridge(situation),
            *(offer for offer in found if offer.item.tier is Tier.SUMMARY),
            *(self._latest() if situation.start else ()),
        ]
        once: dict[str | int, _Offer] = {}
        for offer in every:
            once.setdefault(offer.item.ref or id(offer), offer)
        return list(once.values())

    def _pinned(self, situation: Situation) -> Iterator[_Offer]:
        most = self._parts.settings.recall.pinned
        reach = (_reach(situation),)
        found = [each for store in self._parts.stores() for each in store.pinned() if holds(each, reach)]
        for memory in found[:most]:
            yield _offer(memory, Tier.PINNED, why=(Why(factor="pinned", value=1.0),))

    def _acting(self, situation: Situation, wanted: Intent) -> Iterator[_Offer]:
        context = "\n".join(
            part for part in (situation.prompt, situation.previous if wanted.points_back else "") if part
        )
        for each in acting.triggered(
            self._parts,
            context,
            files=wanted.files,
            session=situation.session or None,
            task=situation.task or None,
        ):
            why = Why(factor="trigger", value=1.0, detail=f"{each.pattern}: {each.found}")
            yield _offer(each.memory, Tier.ACTING, text=each.text, why=(why,))
        if situation.start:
            where = (
                Condition("kind", Op.IN, (Kind.NEGATIVE.value, Kind.WARNING.value, Kind.CORRECTION.value)),
                Condition("status", Op.IN, tuple(sorted(LIVE))),
                _reach(situation),
            )
            found = [
                memory
                for store in self._parts.stores()
                for memory in store.query(where, order=Order(field="importance"), limit=START_WARNINGS)
            ]
            for memory in sorted(found, key=lambda each: -each.importance)[:START_WARNINGS]:
                why = Why(factor="warning", value=memory.importance, detail="given when a session begins")
                yield _offer(memory, Tier.ACTING, text=acting_text(memory), why=(why,))

    def _found(self, situation: Situation, wanted: Intent, *, read: bool) -> _Found:
        if wanted.idle:
            return _Found()
        statuses = LIVE | {Status.QUARANTINED} if situation.asked else LIVE
        wish = Wish(
            limit=POOL,
            gate=False,
            noticed=False,
            session=situation.session or None,
            task=situation.task or None,
            files=frozenset(wanted.files),
            statuses=frozenset(statuses),
        )
        result = recall.recall(self._parts, wanted.query, wish)
        among = self._statistics(stems_needed(result.hits, wanted))
        sure = worthwhile(result.hits, wanted, among, least=self._parts.settings.recall.inject_gate)
        verified, was_read = self._verified(wanted, result.hits, sure) if read else (Verified(), False)
        if was_read:
            sure = [replace(hit, relevance=1.0) for hit in result.hits if hit.memory.ref in verified.ids]
        known = {hit.memory.uid for hit in sure}
        sure += [hit for hit in self._rules(situation) if hit.memory.uid not in known]
        hits = [hit for hit in sure if hit.memory.status is not Status.PINNED]
        offers = tuple(
            _offer(
                hit.memory,
                Tier.SUMMARY if hit.memory.kind is Kind.SUMMARY else Tier.FOUND,
                why=hit.why,
                relevance=hit.relevance,
            )
            for hit in hits[: self._parts.settings.recall.inject]
        )
        near = [hit.memory for hit in result if hit.relevance >= self._parts.settings.recall.gate]
        rejected = tuple(each for each in near if each.ref not in verified.ids) if was_read else ()
        return _Found(offers, result.conflicts, len(near), rejected, verified.links)

    def _verified(self, wanted: Intent, hits: Sequence[Hit], sure: Sequence[Hit]) -> tuple[Verified, bool]:
        """Which of the found memories help, and whether somebody read them for that."""
        certain = {hit.memory.ref: hit.relevance for hit in sure}
        candidates = tuple(
            Candidate(
                id=hit.memory.ref,
                text=hit.memory.content,
                kind=hit.memory.kind.value,
                relevance=certain.get(hit.memory.ref, 0.0),
            )
            for hit in hits
            if hit.memory.status is not Status.QUARANTINED
        )
        least = self._parts.settings.recall.inject_gate
        return self._parts.oversight.ask(Verify(prompt=wanted.query, candidates=candidates, least=least))

    def _statistics(self, stems: frozenset[str]) -> WordStatistics:
        """How frequent words are in both spaces together."""
        found = [store.statistics(stems, corpus=Corpus.MEMORY) for store in self._parts.stores()]
        holding = Counter[str]()
        for each in found:
            holding.update(each.holding)
        texts, words = sum(each.texts for each in found), sum(each.words for each in found)
        return WordStatistics(texts=texts, words=words, holding=holding)

    def _rules(self, situation: Situation) -> list[Hit]:
        """Rules about the tools that the request takes, if it is an everyday one."""
        asked = occasions(situation.prompt)
        if not asked:
            return []
        where = (
            Condition("kind", Op.IN, tuple(sorted(RULES))),
            Condition("status", Op.IN, tuple(sorted(LIVE))),
            _reach(situation),
        )
        stems = {stem(name) for each in asked for name in each.names}
        memories = []
        for store in self._parts.stores():
            found = store.find(
                tuple(sorted(stems)), corpus=Corpus.MEMORY, where=where, limit=_RULES_READ, postings=_POSTINGS
            )
            memories += [each.of for each in store.entries(found.items, corpus=Corpus.MEMORY, where=where)]
        return rules_for(situation.prompt, [each for each in memories if isinstance(each, Memory)])

    def _bridge(self, situation: Situation) -> Iterator[_Offer]:
        """What other agents of the session found, the latest first, whether it holds for the session or beyond it."""
        if not situation.session:
            return
        where = (
            Condition("session_id", Op.EQ, situation.session),
            Condition("status", Op.IN, tuple(sorted(LIVE))),
            Condition("kind", Op.NE, Kind.SUMMARY.value),
            _reach(situation),
        )
        for memory in self._parts.project().query(where, limit=_BRIDGED):
            if (memory.agent or "") != situation.agent:
                finder = memory.agent or "another agent"
                why = Why(factor="bridge", value=1.0, detail=f"found by {finder}")
                yield _offer(memory, Tier.BRIDGE, why=(why,), notes=(f"found by {finder} in this session",))

    def _latest(self) -> Iterator[_Offer]:
        """What the last sessions came to, and what there is to do."""
        where = (
            Condition("kind", Op.EQ, Kind.SUMMARY.value),
            Condition("status", Op.IN, tuple(sorted(LIVE))),
            Condition("owner", Op.EQ, ""),
        )
        for memory in self._parts.project().query(where, limit=START_SUMMARIES):
            yield _offer(memory, Tier.SUMMARY, why=(Why(factor="recent", value=1.0),))
        for text in self._tasks():
            item = Recollected(
                tier=Tier.SUMMARY, text=text, kind=Kind.TASK_PROGRESS, tokens=estimate_tokens(text) + _LABEL
            )
            yield _Offer(item)

    # --- What is fit to be given -----------------------------------------------------------------------------------

    def _fit(
        self, offers: Iterable[_Offer], seen: frozenset[str], *, asked: bool
    ) -> tuple[list[_Offer], list[Withheld]]:
        """Without what was said before, what nobody vouches for unasked, and what the code no longer bears out."""
        kept, withheld = [], []
        fresh = []
        for offer in offers:
            if offer.item.ref in seen and offer.item.ref:
                withheld.append(_withheld(offer.item, "given before, on this topic"))
            else:
                fresh.append(offer)
        standings = self._standings.of(offer.memory for offer in fresh if offer.memory)
        least = self._parts.settings.recall.least_trust
        seasons = self._seasons(fresh)
        for offer in fresh:
            memory = offer.memory
            if memory is None:
                kept.append(offer)
                continue
            trusted = memory.trust >= least and memory.status is not Status.QUARANTINED
            checked = standings[memory.ref]
            if not trusted and not asked:
                withheld.append(_withheld(offer.item, f"nobody vouches for it: {memory.origin}"))
            elif memory.season not in seasons and offer.item.tier is not Tier.PINNED:
                withheld.append(_withheld(offer.item, f"its season, {memory.season}, is not now"))
            elif checked.standing is Standing.GONE and not asked:
                withheld.append(_withheld(offer.item, "; ".join(checked.notes) or "the code it is about is gone"))
            else:
                notes = (*offer.item.notes, *checked.notes)
                origin = () if trusted else (Why(factor="origin", value=memory.trust, detail=memory.origin.value),)
                item = replace(
                    offer.item,
                    standing=checked.standing,
                    notes=notes,
                    tokens=offer.item.tokens + sum(map(estimate_tokens, notes)),
                    trusted=trusted,
                    why=(*offer.item.why, *origin),
                )
                kept.append(replace(offer, item=item))
        return kept, withheld

    def _seasons(self, offers: Iterable[_Offer]) -> frozenset[str | None]:
        """The seasons that are on, and None for a memory that waits for none."""
        if all(offer.memory is None or offer.memory.season is None for offer in offers):
            return frozenset({None})
        now = self._parts.clock()
        return frozenset({None, *(name for store in self._parts.stores() for name in active_seasons(store, now))})

    def _packed(self, offers: list[_Offer], allocation: Allocation) -> Packed[_Offer]:
        """As many as fit. Of what was found, what the share of its scope has room for goes in first."""
        found = [offer for offer in offers if offer.item.tier is Tier.FOUND]
        late: set[int] = set()
        if sum(map(_tokens, found)) > allocation.found:
            held = self.surfaced.shares()
            ceilings = shares(
                allocation.found, task=held[Scope.TASK], project=held[Scope.PROJECT], shared=held[Scope.GLOBAL]
            )
            first = pack(found, tokens=_tokens, part=_scope, ceilings=ceilings, total=allocation.found)
            late = {id(left.item) for left in first.left}
        order = {id(offer): place for place, offer in enumerate(offers)}
        packed = pack(
            sorted(offers, key=lambda offer: (_TIERS[offer.item.tier], id(offer) in late)),
            tokens=_tokens,
            part=lambda offer: PART_OF[offer.item.tier],
            ceilings=ceilings_of(allocation),
            total=allocation.total,
            head_tail=self._parts.settings.budget.head_tail,
        )
        return replace(packed, chosen=tuple(sorted(packed.chosen, key=lambda offer: order[id(offer)])))

    # --- What is noted of it ---------------------------------------------------------------------------------------

    def _record(
        self,
        situation: Situation,
        given: Recollection,
        memories: Mapping[str, Memory],
        *,
        topic: int,
        query: str,
        tokens: int,
    ) -> Given:
        items = []
        for item in given:
            memory = memories.get(item.ref)
            uid = memory.uid if memory else None
            items.append(GivenItem(uid=uid, ref=item.ref, tier=item.tier, tokens=item.tokens, relevance=item.relevance))
        return Given(
            id=given.id,
            at=self._parts.clock(),
            session=situation.session,
            agent=situation.agent,
            host=situation.host,
            topic=topic,
            query=query,
            items=tuple(items),
            withheld=len(given.withheld),
            tokens=tokens if items else 0,
        )


def _reach(situation: Situation) -> Condition:
    owners = [""]
    owners += [f"session:{situation.session}"] if situation.session else []
    owners += [f"task:{situation.task}"] if situation.task else []
    return Condition("owner", Op.IN, tuple(owners))


def _offer(
    memory: Memory,
    tier: Tier,
    *,
    text: str = "",
    why: tuple[Why, ...] = (),
    relevance: float = 1.0,
    notes: tuple[str, ...] = (),
) -> _Offer:
    said = text or memory.content
    item = Recollected(
        tier=tier,
        text=said,
        ref=memory.ref,
        kind=memory.kind,
        tokens=estimate_tokens(said) + _LABEL,
        at=memory.valid_from or memory.created_at,
        relevance=relevance,
        why=why,
        notes=notes,
    )
    return _Offer(item, memory)


_TIERS = {tier: place for place, tier in enumerate(Tier)}


def _tokens(offer: _Offer) -> int:
    return offer.item.tokens


def _scope(offer: _Offer) -> Scope:
    return tier_of(offer.memory.scope) if offer.memory else Scope.PROJECT


def _withheld(item: Recollected, reason: str) -> Withheld:
    return Withheld(ref=item.ref, tier=item.tier, reason=reason)


def _as_written(whole: Recollection, written: Written) -> Recollection:
    """The recollection without what its host has no room for."""
    if not written.dropped:
        return whole
    kept = [item for place, item in enumerate(whole) if place in written.places]
    dropped = [item for place, item in enumerate(whole) if place not in written.places]
    return replace(
        whole,
        items=tuple(kept),
        tokens=sum(item.tokens for item in kept),
        withheld=(*whole.withheld, *(_withheld(item, "the host has no room for it") for item in dropped)),
    )
