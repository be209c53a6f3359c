"""Properties of what is stored: nothing is lost in writing it down, and no sequence of changes leaves a fault."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from store_kit import (
    AGAIN,
    ENGINES,
    MEMORY,
    NOW,
    POSTINGS,
    Engine,
    add,
    anchors,
    apply,
    beside,
    contents,
    counts,
    definitions,
    everything,
    faults,
    file,
    filed,
    held,
    maybe_moments,
    maybe_texts,
    memories,
    memory,
    moments,
    names,
    only,
    passage,
    passages,
    payloads,
    procedures,
    provenances,
    shares,
    texts,
    tuples_of,
    unfiled,
    values,
)

from recollect.codec import canonical, decode, encode, from_iso, from_micros, to_iso, to_micros
from recollect.errors import DuplicateMemory, InvalidText, NotFound
from recollect.model import (
    OCCUPYING,
    Add,
    AuditEntry,
    Change,
    Clear,
    Connect,
    Corpus,
    Define,
    Definition,
    Disconnect,
    Draft,
    Drop,
    Edit,
    Feedback,
    File,
    Json,
    Kind,
    Link,
    LinkKind,
    Mark,
    Memory,
    MemoryId,
    Notice,
    Passage,
    Perform,
    Propose,
    Put,
    Rate,
    Refuse,
    Regroup,
    Relation,
    Retag,
    Revert,
    Revise,
    Sight,
    Signals,
    Status,
    Step,
    Together,
    Uid,
    Unfile,
    Version,
    Vouch,
    Weigh,
)
from recollect.policy.admit import Limits, admit
from recollect.policy.identity import fingerprint, state_hash
from recollect.policy.query import edits_allowed
from recollect.policy.words import passage_fields
from recollect.store import Store
from recollect.store.undoing import REVERSIBLE

# --- Written down and read back --------------------------------------------------------------------------------------

ids = st.integers(1, 2**63 - 1).map(MemoryId)
amounts = st.floats(-1, 1)
signals = st.builds(
    Signals,
    importance=amounts,
    confidence=amounts,
    strength=counts,
    score=counts,
    access=counts,
    hit=st.booleans(),
    confirm=st.booleans(),
)
edits = st.builds(
    Edit,
    content=st.none() | names,
    kind=st.none() | st.sampled_from(Kind),
    importance=st.none() | shares,
    tags=st.none() | tuples_of(names),
    anchors=st.none() | tuples_of(anchors),
    triggers=st.none() | tuples_of(texts),
    procedure=st.none() | procedures,
    season=maybe_texts,
    valid_from=maybe_moments,
    valid_to=maybe_moments,
    clear=tuples_of(st.sampled_from(["procedure", "season", "valid_from", "valid_to"]), unique=True),
)
links = st.builds(
    Link,
    memory=ids,
    kind=st.sampled_from(LinkKind),
    target=ids | texts,
    weight=shares,
    made_by=texts,
    created_at=maybe_moments,
    updated_at=maybe_moments,
)
versions = st.builds(Version, memory=memories, recorded_from=moments, recorded_to=moments)
verdicts = st.builds(Feedback, uid=names.map(Uid), helpful=st.booleans(), at=moments, actor=texts, note=texts)
entries = st.builds(
    AuditEntry,
    seq=st.integers(1, 2**62),
    at=moments,
    actor=texts,
    action=texts,
    uid=texts,
    detail=payloads,
    state=texts,
    prev=texts,
    hash=texts,
)
relations = st.builds(Relation, kind=st.sampled_from(LinkKind), target=ids, content_hash=texts, weight=st.floats(0, 1))
changes: dict[type, st.SearchStrategy[Any]] = {
    Add: st.builds(
        Add, memory=memories, on_duplicate=signals, same_as=st.none() | relations, relations=tuples_of(relations)
    ),
    Revise: st.builds(
        Revise,
        id=ids,
        edit=edits,
        provenance=st.none() | provenances,
        expected_version=st.none() | st.integers(1, 9),
    ),
    Weigh: st.builds(Weigh, id=ids, signals=signals, action=texts),
    Mark: st.builds(Mark, id=ids, status=st.sampled_from(Status), superseded_by=st.none() | names.map(Uid)),
    Retag: st.builds(Retag, id=ids, add=tuples_of(texts), remove=tuples_of(texts)),
    Connect: st.builds(Connect, link=links),
    Disconnect: st.builds(Disconnect, memory=ids, kind=st.sampled_from(LinkKind), target=ids),
    Rate: st.builds(Rate, id=ids, helpful=st.booleans(), signals=signals, note=texts),
    Put: st.builds(Put, memory=memories, history=tuples_of(versions), feedback=tuples_of(verdicts)),
    Regroup: st.builds(
        Regroup,
        clusters=tuples_of(st.tuples(texts, tuples_of(ids))),
        first=st.integers(1, 2**62),
        last=st.none() | st.integers(1, 2**62),
    ),
    Clear: st.builds(Clear),
    File: st.builds(File, passages=tuples_of(passages)),
    Unfile: st.builds(Unfile, corpus=st.sampled_from(Corpus), document=texts, start=st.integers(0, 2**62)),
    Define: st.builds(Define, sort=texts, name=texts, value=payloads),
    Vouch: st.builds(Vouch, id=ids, trust=shares, provenance=provenances),
    Sight: st.builds(Sight, sort=texts, seen=tuples_of(ids), gone=tuples_of(ids)),
    Notice: st.builds(Notice, fingerprints=tuples_of(texts), session_id=texts, agent=texts),
    **{kind: st.builds(kind, plan=ids, step=ids) for kind in (Perform, Revert, Refuse, Drop)},
}
steps = st.builds(
    Step,
    sort=texts,
    key=texts,
    why=texts,
    changes=tuples_of(st.one_of([changes[kind] for kind in REVERSIBLE.__args__])),
    expects=tuples_of(st.tuples(ids, st.integers(1, 1_000))),
    retires=tuples_of(ids),
)
proposals: dict[type, st.SearchStrategy[Any]] = {
    Propose: st.builds(Propose, sort=texts, steps=tuples_of(steps), live=st.integers(0, 2**62))
}
"""Which sort of change a step consists of is written beside it, by the store that it is proposed to."""
VALUES: dict[type, st.SearchStrategy[Any]] = {
    Memory: memories,
    Version: versions,
    Feedback: verdicts,
    AuditEntry: entries,
    Passage: passages,
    Definition: definitions,
    **changes,
}


def through_json(value: Json) -> Json:
    """What comes back of a value that was written to a file."""
    text = canonical(value)
    text.encode("utf-8")
    back: Json = json.loads(text)
    return back


@pytest.mark.row("J8", "classification", "source", "lifecycle", "trust")
@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=settings().max_examples // 2)
def test_every_value_is_read_back_as_it_was_written(kind: type, data: st.DataObject) -> None:
    """Encoding, JSON text and decoding together change nothing, with defaults left out or spelled out."""
    value = data.draw(VALUES[kind])
    assert decode(kind, through_json(encode(value))) == value
    assert decode(kind, through_json(encode(value, complete=True))) == value


def test_every_kind_of_change_is_among_those_tried() -> None:
    """A new kind of change joins these properties when it joins the union."""
    assert {*changes, *proposals} == set(Change.__args__)


@given(moments)
def test_moments_are_kept_to_the_microsecond(moment: Any) -> None:
    """Both forms of a moment lead back to it, and order like it."""
    assert from_micros(to_micros(moment)) == moment == from_iso(to_iso(moment))
    later = moment + timedelta(microseconds=1)
    assert to_micros(later) == to_micros(moment) + 1
    assert to_iso(later) > to_iso(moment)


@given(memories)
def test_what_identifies_a_state_survives_being_written(value: Memory) -> None:
    """The hash of a state is the same before and after, and another state has another hash."""
    assert state_hash(decode(Memory, through_json(encode(value)))) == state_hash(value)
    assert state_hash(replace(value, content=value.content + "x")) != state_hash(value)
    assert state_hash(replace(value, score=value.score + 1)) != state_hash(value)


# --- Into a store and out of it --------------------------------------------------------------------------------------


@pytest.mark.row("J9", "origins", "chain")
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@given(wanted=st.lists(memories, min_size=1, max_size=3, unique_by=lambda each: fingerprint(each.content)))
@settings(max_examples=settings().max_examples // 2)
def test_any_memory_survives_any_store(engine: Engine, wanted: list[Memory]) -> None:
    """Whatever its fields hold, a memory comes back equal, also after the store was opened again."""
    with TemporaryDirectory() as folder:
        store = engine.open(Path(folder))
        stored = [only(apply(store, Put(memory=each))) for each in wanted]
        assert [replace(each, id=before.id) for each, before in zip(stored, wanted, strict=True)] == wanted
        assert [store.get(each.id) for each in stored] == [store.by_uid(each.uid) for each in stored] == stored
        assert faults(store) == []
        if engine.lasts:
            store.close()
            store = engine.open(Path(folder))
            assert [store.get(each.id) for each in stored] == stored
            assert faults(store) == []
        store.close()


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@given(said=st.lists(st.text(max_size=200), min_size=1, max_size=4))
@settings(max_examples=settings().max_examples // 2)
def test_any_text_that_is_admitted_survives_any_store(engine: Engine, said: list[str]) -> None:
    """What the door lets in comes out again letter by letter, and what it keeps out is told."""
    admitted = []
    for text in said:
        try:
            admitted.append(admit(Draft(content=text), Limits()).content)
        except InvalidText:
            assert not text.strip() or "\x00" in text or any("\ud800" <= each <= "\udfff" for each in text)
    with TemporaryDirectory() as folder:
        store = engine.open(Path(folder))
        expected: dict[str, str] = {}
        for text in admitted:
            expected.setdefault(fingerprint(text), text)
            assert add(store, text).content == expected[fingerprint(text)]
        if engine.lasts:
            store.close()
            store = engine.open(Path(folder))
        assert sorted(contents(store.query())) == sorted(expected.values())
        assert faults(store) == []
        store.close()


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@given(
    wanted=st.lists(
        passages, min_size=1, max_size=4, unique_by=lambda each: (each.corpus, each.document, each.position)
    ),
    defined=st.dictionaries(st.tuples(texts, texts), values, max_size=3),
)
@settings(max_examples=settings().max_examples // 2)
def test_any_passage_and_any_definition_survive_any_store(
    engine: Engine, wanted: list[Passage], defined: dict[tuple[str, str], Json]
) -> None:
    """Whatever they hold, they come back equal, from the open store, a backup of it, and when it is opened again."""
    with TemporaryDirectory() as folder:
        store = engine.open(Path(folder))
        file(store, *wanted)
        apply(store, *(Define(sort=sort, name=name, value=value) for (sort, name), value in defined.items()))
        held_now = everything(store)
        assert unfiled(filed(store)) == wanted
        assert {(each.sort, each.name): each.value for each in store.definitions()} == defined
        assert faults(store) == []
        copy = MEMORY.open(Path())
        store.backup(Path(folder) / "backup.db")
        copy.restore(Path(folder) / "backup.db")
        assert everything(copy) == held_now
        copy.close()
        if engine.lasts:
            store.close()
            store = engine.open(Path(folder))
            assert everything(store) == held_now
            assert faults(store) == []
        store.close()


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@given(wanted=proposals[Propose])
@settings(max_examples=settings().max_examples // 2)
def test_any_plan_survives_any_store(engine: Engine, wanted: Propose) -> None:
    """Whatever its steps consist of, they come back equal, from the open store and when it is opened again."""
    with TemporaryDirectory() as folder:
        store = engine.open(Path(folder))
        plan = apply(store, wanted).outcomes[0].plan
        assert plan is not None
        numbered = tuple(replace(each, number=n) for n, each in enumerate(wanted.steps, start=1))
        assert store.steps(plan) == numbered
        [held_now] = store.plans()
        assert (held_now.sort, held_now.live) == (wanted.sort, wanted.live)
        assert faults(store) == []
        if engine.lasts:
            store.close()
            store = engine.open(Path(folder))
            assert (store.plans(), store.steps(plan)) == ((held_now,), numbered)
            assert faults(store) == []
        store.close()


# --- Found by words --------------------------------------------------------------------------------------------------


def slips(one: str, two: str) -> int:
    """How many slips lead from a word to another: a letter wrong, missing, added, or two that stand side by side
    swapped, none touched twice. The plainest way to count them.
    """
    rows = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one) + 1):
        for j in range(len(two) + 1):
            if not i or not j:
                rows[i][j] = i + j
                continue
            rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (one[i - 1] != two[j - 1]))
            if i > 1 and j > 1 and one[i - 1] == two[j - 2] and one[i - 2] == two[j - 1]:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


few_letters = st.text("ab", min_size=2, max_size=10).map(lambda word: f"x{word}")


@given(
    words=st.lists(few_letters, min_size=1, max_size=12), asked=few_letters | st.text("xab1", min_size=1, max_size=9)
)
@settings(max_examples=settings().max_examples // 2)
def test_near_spellings_are_all_that_the_allowed_slips_lead_to(words: list[str], asked: str) -> None:
    """No more and no fewer, the closest first, and only where nobody holds the word or a longer one."""
    store = MEMORY.open(Path())
    file(store, *(passage(word, position=n) for n, word in enumerate(words)))
    known = store.vocabulary(corpus=Corpus.SESSIONS, limit=99)
    longer, alike = store.spellings(asked, corpus=Corpus.SESSIONS, limit=99)
    assert longer == {word: known[word] for word in known if word.startswith(asked) and word != asked}
    expected = {
        word: known[word] for word in known if word[0] == asked[0] and slips(asked, word) <= edits_allowed(asked)
    }
    assert alike == ({} if longer or asked in known or not edits_allowed(asked) else expected)
    distances = [slips(asked, word) for word in alike]
    assert distances == sorted(distances)
    store.close()


@given(
    said_in=st.dictionaries(st.sampled_from(beside), st.lists(st.text("ab c", max_size=12), max_size=6), min_size=1),
    asked=st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=3),
    limit=st.integers(0, 5),
)
@settings(max_examples=settings().max_examples // 2)
def test_what_is_found_is_what_holds_a_word(said_in: dict[Corpus, list[str]], asked: list[str], limit: int) -> None:
    """Of each corpus all passages that hold any of the words and no others, up to the limit."""
    store = MEMORY.open(Path())
    for corpus, spoken in said_in.items():
        file(store, *(passage(text, corpus=corpus, position=n) for n, text in enumerate(spoken)))
    for corpus in beside:
        everyone = store.entries(range(1, 99), corpus=corpus)
        assert all(each.fields == passage_fields(each.of) for each in everyone if isinstance(each.of, Passage))
        holding = {each.of.id for each in everyone if set(" ".join(each.fields).split()) & set(asked)}
        for most in (limit, 99):
            items = store.find(tuple(asked), corpus=corpus, limit=most, postings=POSTINGS).items
            assert set(items) <= holding
            assert len(items) == len(set(items)) == min(most, len(holding))
    store.close()


# --- Any sequence of changes -----------------------------------------------------------------------------------------

few_words = st.lists(st.sampled_from(["cache", "Build", "user_id", "naïve", "数据库"]), min_size=1, max_size=3).map(
    " ".join
)
few_tags = st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True).map(tuple)
statuses = st.sampled_from(Status)


class Life(RuleBasedStateMachine):
    """A store in memory beside the plainest model of one: what each memory says, and its status, tags and version; what
    stands at each position of a document; what is defined.
    """

    memories: Bundle[MemoryId] = Bundle("memories")

    def __init__(self) -> None:
        super().__init__()
        self.store: Store = MEMORY.open(Path())
        self.model: dict[MemoryId, tuple[str, Status, tuple[str, ...], int]] = {}
        self.pasts: dict[MemoryId, int] = {}
        self.undone: dict[MemoryId, int] = {}
        self.links: set[tuple[MemoryId, LinkKind, MemoryId]] = set()
        self.verdicts = 0
        self.passages: dict[tuple[Corpus, str, int], Passage] = {}
        self.definitions: dict[tuple[str, str], Json] = {}
        self.now = NOW

    def teardown(self) -> None:
        self.store.close()

    def twin(self, content: str, status: Status, but: MemoryId | None = None) -> MemoryId | None:
        """Who holds the place that these words would take."""
        if status not in OCCUPYING:
            return None
        withheld = status is Status.QUARANTINED
        for number, (said, held_status, _, _) in self.model.items():
            same = fingerprint(said) == fingerprint(content)
            placed = held_status in OCCUPYING and (held_status is Status.QUARANTINED) == withheld
            if same and placed and number != but:
                return number
        return None

    def change(self, number: MemoryId, change: Change, **new: Any) -> None:
        """Carry out a change of one memory, which the model says is allowed or is not."""
        content, status, tags, _ = self.model[number]
        after = (new.get("content", content), new.get("status", status), new.get("tags", tags), self.next(number))
        moved = after[0] != content or after[1] is not status
        if moved and self.twin(after[0], after[1], but=number) is not None:
            before = everything(self.store)
            with pytest.raises(DuplicateMemory):
                apply(self.store, change, now=self.now)
            assert everything(self.store) == before
            return
        assert only(apply(self.store, change, now=self.now)).version == after[3]
        self.model[number] = after
        self.pasts[number] += 1

    def next(self, number: MemoryId) -> int:
        """The number of a memory's next version. One that was undone is not given again."""
        return max(self.model[number][3], self.undone.get(number, 0)) + 1

    @initialize(hours=st.integers(-3, 3))
    def start(self, hours: int) -> None:
        """The clock starts somewhere."""
        self.now += timedelta(hours=hours)

    @rule(target=memories, content=few_words, tags=few_tags, withheld=st.booleans())
    def add(self, content: str, tags: tuple[str, ...], withheld: bool) -> MemoryId:
        """A new memory, or one more time an old one."""
        status = Status.QUARANTINED if withheld else Status.CONFIRMED
        twin = self.twin(content, status)
        fresh = memory(content, tags=tags, status=status)
        receipt = apply(self.store, Add(memory=fresh, on_duplicate=AGAIN), now=self.now)
        stored = only(receipt)
        if twin is None:
            assert receipt.outcomes[0].action == "add"
            self.model[stored.id] = (content, status, tags, 1)
            self.pasts[stored.id] = 0
        else:
            assert (receipt.outcomes[0].action, stored.id) == ("reinforce", twin)
            said, known, had, _ = self.model[twin]
            self.model[twin] = (said, known, tuple(dict.fromkeys((*had, *tags))), self.next(twin))
            self.pasts[twin] += 1
        return stored.id

    @rule(number=memories, content=few_words)
    def revise(self, number: MemoryId, content: str) -> None:
        """New words in place."""
        self.change(number, Revise(id=number, edit=Edit(content=content)), content=content)

    @rule(number=memories, score=st.integers(-9, 9))
    def weigh(self, number: MemoryId, score: int) -> None:
        """Another score."""
        before = held(self.store, number).score
        self.change(number, Weigh(id=number, signals=Signals(score=score)))
        assert held(self.store, number).score == before + score

    @rule(number=memories, status=statuses)
    def mark(self, number: MemoryId, status: Status) -> None:
        """Another status, or the same one, which changes nothing."""
        if self.model[number][1] is status:
            assert apply(self.store, Mark(id=number, status=status)).outcomes[0].action == "unchanged"
        else:
            self.change(number, Mark(id=number, status=status), status=status)

    @rule(number=memories, more=few_tags, less=few_tags)
    def retag(self, number: MemoryId, more: tuple[str, ...], less: tuple[str, ...]) -> None:
        """Other tags, or the same ones, which changes nothing."""
        tags = self.model[number][2]
        after = tuple(tag for tag in dict.fromkeys((*tags, *more)) if tag not in less)
        change = Retag(id=number, add=more, remove=less)
        if after == tags:
            assert apply(self.store, change).outcomes[0].action == "unchanged"
        else:
            self.change(number, change, tags=after)

    @rule(one=memories, two=memories, kind=st.sampled_from([LinkKind.RELATES_TO, LinkKind.CONTRADICTS]))
    def connect(self, one: MemoryId, two: MemoryId, kind: LinkKind) -> None:
        """A link, new or once more."""
        if one != two:
            apply(self.store, Connect(link=Link(memory=one, kind=kind, target=two)), now=self.now)
            self.links.add((one, kind, two))

    @rule(data=st.data())
    def disconnect(self, data: st.DataObject) -> None:
        """One link less."""
        if self.links:
            one, kind, two = data.draw(st.sampled_from(sorted(self.links)))
            apply(self.store, Disconnect(memory=one, kind=kind, target=two), now=self.now)
            self.links.remove((one, kind, two))

    @rule(number=memories, helpful=st.booleans())
    def rate(self, number: MemoryId, helpful: bool) -> None:
        """A verdict, each at a moment of its own."""
        self.now += timedelta(minutes=1)
        self.change(number, Rate(id=number, helpful=helpful, signals=Signals(strength=1)))
        self.verdicts += 1

    @rule(number=memories, trust=shares, told=provenances)
    def vouch(self, number: MemoryId, trust: float, told: Any) -> None:
        """Somebody vouches for a memory."""
        self.change(number, Vouch(id=number, trust=trust, provenance=told))

    @rule(number=memories, other=memories, more=few_tags, score=st.integers(-9, 9), value=values)
    def do_and_undo(self, number: MemoryId, other: MemoryId, more: tuple[str, ...], score: int, value: Json) -> None:
        """A step of a plan that is undone has never been, whatever was done to its memories before."""
        wanted: list[Change] = [
            *(Retag(id=number, add=more, remove=("a",)), Weigh(id=other, signals=Signals(score=score, access=1))),
            *(Revise(id=number, edit=Edit(content=f"{score} that nobody says")), Regroup(clusters=(("x", (other,)),))),
            *(Define(sort="alias", name="x", value=value), Mark(id=number, status=Status.SUPERSEDED)),
        ]
        proposed = Propose(sort="garden", steps=(Step(sort="tidy", key="k", why="w", changes=tuple(wanted)),))
        plan = apply(self.store, proposed, now=self.now).outcomes[0].plan
        assert plan is not None
        before = everything(self.store)
        assert apply(self.store, Perform(plan=plan, step=1), now=self.now).outcomes[0].action == "perform"
        for each in (number, other):
            reached = self.store.get(each)
            assert reached is not None
            if reached.version != self.model[each][3]:
                self.undone[each] = reached.version
        assert apply(self.store, Revert(plan=plan, step=1), now=self.now).outcomes[0].action == "revert"
        growing = ("audit", "head")
        after = everything(self.store)
        assert {name: after[name] for name in growing} != {name: before[name] for name in growing}
        assert after | {name: before[name] for name in growing} == before

    @rule(number=memories)
    def put_back(self, number: MemoryId) -> None:
        """The first state once more, as undoing does it."""
        history = self.store.history(number)
        if history:
            first = history[0].memory
            self.change(number, Put(memory=first), content=first.content, status=first.status, tags=first.tags)

    @rule(number=memories, content=few_words)
    def fail(self, number: MemoryId, content: str) -> None:
        """A request whose last change is refused leaves nothing behind."""
        before = everything(self.store)
        wanted: list[Change] = [
            Weigh(id=number, signals=Signals(score=1)),
            Put(memory=memory(f"{content} that nobody says")),
            Retag(id=number, add=("failed",)),
            Disconnect(memory=number, kind=LinkKind.DERIVED_FROM, target=number),
        ]
        with pytest.raises(NotFound):
            apply(self.store, *wanted, now=self.now)
        assert everything(self.store) == before

    @rule(data=st.data(), content=few_words, corpus=st.sampled_from(beside), document=st.sampled_from("ab"))
    def file(self, data: st.DataObject, content: str, corpus: Corpus, document: str) -> None:
        """Passages, new or in place of what was there."""
        wanted = [
            passage(content, corpus=corpus, document=document, position=position, label=label, at=at)
            for position, label, at in data.draw(
                st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["", "ada"]), maybe_moments), max_size=3)
            )
        ]
        apply(self.store, File(passages=tuple(wanted)), now=self.now)
        self.passages |= {(each.corpus, each.document, each.position): each for each in wanted}

    @rule(corpus=st.sampled_from(Corpus), document=st.sampled_from("ab"), start=st.integers(-1, 5))
    def unfile(self, corpus: Corpus, document: str, start: int) -> None:
        """A document that ends earlier, or is no longer there."""
        gone = [place for place in self.passages if place[:2] == (corpus, document) and place[2] >= start]
        receipt = apply(self.store, Unfile(corpus=corpus, document=document, start=start), now=self.now)
        assert receipt.outcomes[0].action == ("unfile" if gone else "unchanged")
        for place in gone:
            del self.passages[place]

    @rule(sort=st.sampled_from(["alias", "season"]), name=st.sampled_from("xy"), value=st.none() | payloads)
    def define(self, sort: str, name: str, value: Json) -> None:
        """Something new, something else, or nothing any more, if there was something."""
        change = Define(sort=sort, name=name, value=value)
        if value is None and (sort, name) not in self.definitions:
            with pytest.raises(NotFound):
                apply(self.store, change, now=self.now)
        else:
            apply(self.store, change, now=self.now)
            self.definitions[sort, name] = value
            if value is None:
                del self.definitions[sort, name]

    @rule(one=memories, two=memories)
    def use(self, one: MemoryId, two: MemoryId) -> None:
        """Two were recalled together, which is a habit and no change."""
        before = self.store.audit_head(), self.store.totals()
        self.store.note_uses({one: 1, two: 1}, [Together(memory=one, other=two, strength=1.0)], now=self.now)
        assert (self.store.audit_head(), self.store.totals()) == before

    @rule()
    def rebuild(self) -> None:
        """What is derived is made anew, and nothing is different."""
        before = everything(self.store)
        words = {corpus: self.store.vocabulary(corpus=corpus, limit=99) for corpus in Corpus}
        self.store.rebuild()
        assert everything(self.store) == before
        assert {corpus: self.store.vocabulary(corpus=corpus, limit=99) for corpus in Corpus} == words

    @rule()
    def clear(self) -> None:
        """Everything is forgotten."""
        apply(self.store, Clear(), now=self.now)
        for each, (content, status, tags, _) in self.model.items():
            if status is not Status.FORGOTTEN:
                self.model[each] = (content, Status.FORGOTTEN, tags, self.next(each))
                self.pasts[each] += 1

    @rule(hours=st.integers(-5, 5))
    def pass_time(self, hours: int) -> None:
        """The clock goes on, or is set back."""
        self.now += timedelta(hours=hours)

    @invariant()
    def the_store_is_sound(self) -> None:
        """Every check holds and the audit accounts for every memory."""
        assert faults(self.store) == []
        assert self.store.verify_audit() == ()

    @invariant()
    def the_store_holds_what_the_model_holds(self) -> None:
        """The same memories in the same states, with all their versions, and the same counts."""
        actual = {
            each.id: (each.content, each.status, each.tags, each.version) for each in self.store.query(limit=None)
        }
        assert actual == self.model
        totals = self.store.totals()
        assert totals["memory"] == len(self.model) == self.store.count()
        assert totals["version"] == sum(self.pasts.values())
        assert (totals["link"], totals["feedback"]) == (len(self.links), self.verdicts)
        live = [
            tags for _, status, tags, _ in self.model.values() if status.value in ("candidate", "confirmed", "pinned")
        ]
        assert {tag.name: tag.count for tag in self.store.tags()} == {
            name: sum(name in tags for tags in live) for tags in live for name in tags
        }

    @invariant()
    def what_lies_beside_the_memories_is_what_the_model_holds(self) -> None:
        """The same passages at the same places under the same words, and the same definitions, counted right."""
        actual = {(each.corpus, each.document, each.position): replace(each, id=0) for each in filed(self.store)}
        assert actual == self.passages
        assert {(each.sort, each.name): each.value for each in self.store.definitions()} == self.definitions
        totals = self.store.totals()
        assert (totals["passage"], totals["definition"]) == (len(self.passages), len(self.definitions))
        for corpus in beside:
            texts_of_it = [each for each in self.passages.values() if each.corpus is corpus]
            holding = Counter(word for each in texts_of_it for word in set(" ".join(passage_fields(each)).split()))
            assert self.store.vocabulary(corpus=corpus, limit=999) == holding
            assert self.store.statistics((), corpus=corpus).texts == len(texts_of_it)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=settings().max_examples, stateful_step_count=30)
