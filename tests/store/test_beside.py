"""What lies beside the memories, for every engine: passages of documents that are kept elsewhere, and definitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from store_kit import (
    DAY,
    ENGINES,
    HOUR,
    NOW,
    Engine,
    OpenSpace,
    add,
    answer,
    apply,
    beside,
    everything,
    faults,
    file,
    filed,
    found,
    passage,
    said,
    unfiled,
)

from recollect.errors import InvalidInput, NotFound
from recollect.model import (
    Change,
    Clear,
    Condition,
    Corpus,
    Define,
    Definition,
    File,
    Json,
    Op,
    Passage,
    Unfile,
)
from recollect.store import Store

pytestmark = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


@pytest.fixture
def open_space(engine: Engine, tmp_path: Path) -> Iterator[OpenSpace]:
    """Spaces that are closed in the end."""
    spaces = OpenSpace(engine, tmp_path)
    yield spaces
    spaces.close()


@pytest.fixture
def store(open_space: OpenSpace) -> Store:
    """One empty space."""
    return open_space()


# --- Passages --------------------------------------------------------------------------------------------------------

CORPORA = [
    pytest.param(Corpus.ITEMS, id="items", marks=pytest.mark.row("B10", "items")),
    pytest.param(Corpus.SESSIONS, id="sessions", marks=pytest.mark.row("B10", "sessions")),
    pytest.param(Corpus.SOURCES, id="sources", marks=pytest.mark.row("B10", "sources")),
]


@pytest.mark.parametrize("corpus", CORPORA)
def test_a_filed_passage_is_there_as_it_was_given(store: Store, corpus: Corpus) -> None:
    """Filing gives an id and changes nothing else; a passage makes no memory."""
    wanted = [
        passage("The first", corpus=corpus, label="Ada", at=NOW, payload={"lines": [3, 9]}),
        passage("The second", corpus=corpus, position=1),
        passage("Elsewhere", corpus=corpus, document="s2", position=7),
    ]
    receipt = apply(store, File(passages=tuple(wanted)))
    assert [outcome.action for outcome in receipt.outcomes] == ["file"]
    stored = filed(store)
    assert unfiled(stored) == wanted
    assert len({each.id for each in stored}) == 3
    assert all(each.id > 0 for each in stored)
    assert store.count() == 0
    assert faults(store) == []


def test_passages_of_many_corpora_may_be_filed_at_once(store: Store) -> None:
    """The same document and position is another place in another corpus."""
    file(store, *(passage(f"of {corpus}", corpus=corpus) for corpus in beside))
    assert {each.corpus: each.text for each in filed(store)} == {corpus: f"of {corpus}" for corpus in beside}
    assert store.audit()[-1].detail == {"passages": {corpus.value: 1 for corpus in beside}}
    assert faults(store) == []


@pytest.mark.parametrize("corpus", beside)
def test_a_passage_is_filed_in_place_of_the_one_at_its_position(store: Store, corpus: Corpus) -> None:
    """It takes over its place and id, is found by its own words only, and the others stay as they are."""
    file(store, *(passage(f"Old parrot {n}", corpus=corpus, position=n, label="ada", at=NOW) for n in range(3)))
    before = filed(store)
    anew = passage("New llama", corpus=corpus, position=1, label="bob", at=NOW + 40 * DAY, payload=7)
    file(store, anew, now=NOW + HOUR)
    after = filed(store)
    assert after == [before[0], replace(anew, id=before[1].id), before[2]]
    for question, texts in (
        ("llama", ["New llama"]),
        ("bob", ["New llama"]),
        ("April", ["New llama"]),
        ("parrot", ["Old parrot 0", "Old parrot 2"]),
        ("ada March", ["Old parrot 0", "Old parrot 2"]),
    ):
        assert sorted(said(answer(store, question, corpus=corpus).passages)) == texts, question
    assert store.totals()["passage"] == 3
    assert faults(store) == []


def test_of_two_passages_for_one_position_the_last_counts(store: Store) -> None:
    """Within one request each sees what those before it did."""
    file(store, passage("first"), passage("second"), passage("third"))
    assert said(filed(store)) == ["third"]
    assert answer(store, "first second", corpus=Corpus.SESSIONS).passages == []
    assert faults(store) == []


def test_filing_the_same_again_changes_no_answer(store: Store) -> None:
    """Reading a document twice is reading it once."""
    wanted = [passage(f"cache {n}", position=n, label="ada", at=NOW) for n in range(5)]
    file(store, *wanted)
    before = filed(store), answer(store, "cache ada", corpus=Corpus.SESSIONS)
    file(store, *wanted)
    assert (filed(store), answer(store, "cache ada", corpus=Corpus.SESSIONS)) == before
    assert faults(store) == []


def test_a_passage_takes_no_id_of_elsewhere(store: Store) -> None:
    """The id that a passage comes with belongs to another store."""
    file(store, passage("one"), passage("two", position=1))
    one, two = filed(store)
    file(store, replace(passage("three", position=2), id=one.id), replace(passage("TWO", position=1), id=999))
    assert [(each.id, each.text) for each in filed(store)][:2] == [(one.id, "one"), (two.id, "TWO")]
    assert said(filed(store)) == ["one", "TWO", "three"]


@pytest.mark.parametrize(
    "start, left", [(0, []), (-5, []), (1, [0]), (3, [0, 1, 2]), (4, [0, 1, 2, 3]), (2**70, [0, 1, 2, 3])]
)
def test_a_document_is_unfiled_from_a_position_on(store: Store, start: int, left: list[int]) -> None:
    """What stood there is found no longer; other documents and other corpora keep theirs."""
    for corpus in beside:
        file(store, *(passage(f"cache {n}", corpus=corpus, position=n) for n in range(4)))
        file(store, *(passage(f"cache {n}", corpus=corpus, document="s11", position=n) for n in range(4)))
    audited = len(store.audit())
    receipt = apply(store, Unfile(corpus=Corpus.SESSIONS, document="s1", start=start))
    assert receipt.outcomes[0].action == ("unchanged" if len(left) == 4 else "unfile")
    assert len(store.audit()) == audited + (len(left) != 4)
    remaining = [each.position for each in filed(store) if (each.corpus, each.document) == (Corpus.SESSIONS, "s1")]
    assert remaining == left
    assert store.totals()["passage"] == 5 * 4 + len(left)
    assert len(answer(store, "cache", corpus=Corpus.SESSIONS, limit=99).passages) == 4 + len(left)
    assert len(answer(store, "cache", corpus=Corpus.ITEMS, limit=99).passages) == 8
    assert faults(store) == []


@pytest.mark.parametrize("corpus", list(Corpus))
def test_unfiling_what_is_not_there_changes_nothing(store: Store, corpus: Corpus) -> None:
    """A document that nobody filed, and memories, which are not filed."""
    add(store, "a memory")
    before = everything(store)
    for document in ("nowhere", "", "1"):
        assert apply(store, Unfile(corpus=corpus, document=document)).outcomes[0].action == "unchanged"
    assert everything(store) == before


def test_an_id_is_not_given_twice(store: Store) -> None:
    """What refers to a passage that is gone never comes to mean another one."""
    file(store, passage("one"), passage("two", position=1))
    gone = filed(store)[-1]
    apply(store, Unfile(corpus=Corpus.SESSIONS, document="s1", start=1))
    file(store, passage("three", position=1))
    assert filed(store)[-1].id > gone.id


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"corpus": Corpus.MEMORY}, id="a-memory"),
        pytest.param({"position": -1}, id="before-the-beginning"),
        pytest.param({"position": 2**63}, id="beyond-all-numbers"),
        pytest.param({"payload": float("nan")}, id="no-json"),
        pytest.param({"payload": {"a": {1, 2}}}, id="no-value"),
    ],
)
def test_a_passage_that_cannot_be_filed_is_refused(store: Store, wrong: dict[str, Any]) -> None:
    """It is told in the product's words, and those before it in the request are not filed either."""
    file(store, passage("there"))
    before = everything(store)
    with pytest.raises(InvalidInput):
        file(store, passage("fine", position=1), passage("wrong", **({"position": 2} | wrong)))
    assert everything(store) == before
    assert faults(store) == []


def test_a_passage_is_dated_by_the_day_in_utc(store: Store) -> None:
    """Wherever its clock stood, it is indexed under the day that is read back with it."""
    late = (NOW + 11.5 * HOUR).astimezone(timezone(timedelta(hours=5)))
    assert late.day == 2
    file(store, passage("late", at=late))
    [stored] = filed(store)
    assert stored.at == late
    assert stored.reading == "1 March 2026 late"
    for question, texts in (("1 March", ["late"]), ("2 April", [])):
        assert said(answer(store, question, corpus=Corpus.SESSIONS).passages) == texts
    assert faults(store) == []


def neighbours(store: Store, asked: list[Passage], around: int, **given: Any) -> list[tuple[str, int]]:
    """The documents and positions that are read with some passages."""
    entries = store.entries([each.id for each in asked], corpus=asked[0].corpus, around=around, **given)
    passages = [each.of for each in entries if isinstance(each.of, Passage)]
    assert len({each.id for each in passages}) == len(passages)
    return sorted((each.document, each.position) for each in passages)


@pytest.mark.parametrize("corpus", beside)
def test_what_stands_around_a_passage_is_read_with_it(store: Store, corpus: Corpus) -> None:
    """As far as asked for, in its document and corpus only, each once; where positions are missing, what is there."""
    for each in beside:
        file(store, *(passage(f"{n}", corpus=each, document="a", position=n) for n in (0, 1, 2, 3, 5, 6, 9)))
        file(store, *(passage(f"{n}", corpus=each, document="b", position=n) for n in range(7)))
    place = {(each.document, each.position): each for each in filed(store) if each.corpus is corpus}
    assert neighbours(store, [place["a", 2]], 0) == [("a", 2)]
    assert neighbours(store, [place["a", 2]], 1) == [("a", 1), ("a", 2), ("a", 3)]
    assert neighbours(store, [place["a", 0]], 2) == [("a", 0), ("a", 1), ("a", 2)]
    assert neighbours(store, [place["a", 9]], 2) == [("a", 9)]
    assert neighbours(store, [place["a", 3], place["a", 5]], 1) == [("a", 2), ("a", 3), ("a", 5), ("a", 6)]
    assert neighbours(store, [place["a", 9], place["b", 6]], 1) == [("a", 9), ("b", 5), ("b", 6)]
    assert len(neighbours(store, [place["a", 2]], 10**9)) == 7


def test_neighbours_are_read_whether_the_filter_holds_for_them_or_not(store: Store) -> None:
    """The filter chooses the passages; what stands around those is context."""
    file(store, *(passage(f"{n}", position=n, label="ab"[n % 2]) for n in range(6)))
    stored = filed(store)
    where = (Condition("label", Op.EQ, "a"), Condition("position", Op.LT, 3))
    assert neighbours(store, stored, 0, where=where) == [("s1", 0), ("s1", 2)]
    assert neighbours(store, stored, 1, where=where) == [("s1", 0), ("s1", 1), ("s1", 2), ("s1", 3)]
    assert neighbours(store, stored[5:], 1, where=where) == []


def test_an_id_means_a_passage_in_its_own_corpus_only(store: Store) -> None:
    """Asked for in another corpus, or as a memory, it is not there."""
    memory_id = add(store, "a memory").id
    file(store, *(passage(f"of {corpus}", corpus=corpus) for corpus in beside))
    for each in filed(store):
        for corpus in Corpus:
            texts = [entry.of for entry in store.entries([each.id], corpus=corpus, around=2)]
            if corpus is each.corpus:
                assert texts == [each]
            elif corpus is not Corpus.MEMORY or each.id != memory_id:
                assert texts == []


def test_passages_are_no_memories(store: Store) -> None:
    """They are not recalled as memories, not forgotten with them, and not counted among them."""
    memory_id = add(store, "The cache of a memory").id
    file(store, passage("The cache of a session"))
    assert found(store, "cache") == ["The cache of a memory"]
    apply(store, Clear())
    assert store.count() == 1
    assert found(store, "cache") == []
    assert said(answer(store, "cache", corpus=Corpus.SESSIONS).passages) == ["The cache of a session"]
    assert store.get(memory_id) is not None


def test_a_request_to_file_is_answered_once(store: Store) -> None:
    """A retry under the same key changes nothing, also when the document has grown since."""
    change = File(passages=(passage("one"), passage("two", position=1)))
    first = apply(store, change, key="k")
    file(store, passage("TWO", position=1))
    again = apply(store, change, key="k", now=NOW + HOUR)
    assert again.replayed
    assert again.outcomes == first.outcomes
    assert said(filed(store)) == ["one", "TWO"]


@pytest.mark.row("J27", "persistent")
def test_passages_are_there_after_opening_again(store: Store, open_space: OpenSpace) -> None:
    """With their ids, words and neighbours, and further ones get further ids."""
    file(store, *(passage(f"cache {n}", corpus=corpus, position=n, at=NOW) for corpus in beside for n in range(3)))
    apply(store, Unfile(corpus=Corpus.ITEMS, document="s1", start=1))
    before = filed(store), [answer(store, "cache March", corpus=corpus) for corpus in Corpus]
    again = open_space.again(store)
    assert (filed(again), [answer(again, "cache March", corpus=corpus) for corpus in Corpus]) == before
    assert faults(again) == []
    file(again, passage("further", document="s9"))
    assert max(filed(again), key=lambda each: each.id).text == "further"
    assert faults(again) == []


# --- Definitions -----------------------------------------------------------------------------------------------------

VALUES: list[Json] = [["kubernetes"], {"from": "12-01", "to": "02-28"}, "text", "", 0, 1.5, False, True, [], {}, [None]]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_something_is_defined_as_it_was_given(store: Store, value: Json) -> None:
    """Any JSON can be defined under a name, with who defined it and when."""
    receipt = apply(store, Define(sort="alias", name="k8s", value=value), actor="ada", now=NOW + HOUR)
    assert [(outcome.action, outcome.memory) for outcome in receipt.outcomes] == [("define", None)]
    expected = Definition(sort="alias", name="k8s", value=value, made_by="ada", updated_at=NOW + HOUR)
    assert store.definitions() == store.definitions("alias") == (expected,)
    assert type(store.definitions()[0].value) is type(value)
    assert faults(store) == []


def test_definitions_are_told_apart_by_sort_and_name(store: Store) -> None:
    """The same name may be defined in two sorts; they are read by sort, or all, by name."""
    for sort, name in (("season", "winter"), ("alias", "k8s"), ("alias", "db"), ("season", "db")):
        apply(store, Define(sort=sort, name=name, value=f"{sort} {name}"))
    assert [each.name for each in store.definitions("alias")] == ["db", "k8s"]
    assert [each.name for each in store.definitions("season")] == ["db", "winter"]
    assert [(each.sort, each.name) for each in store.definitions()] == [
        ("alias", "db"),
        ("alias", "k8s"),
        ("season", "db"),
        ("season", "winter"),
    ]
    assert store.definitions("Alias") == store.definitions("") == ()


def test_what_is_defined_again_is_defined_anew(store: Store) -> None:
    """The last one to define it counts."""
    apply(store, Define(sort="alias", name="k8s", value=["kubernetes"]), actor="ada")
    apply(store, Define(sort="alias", name="k8s", value=["kube"]), actor="bob", now=NOW + HOUR)
    expected = Definition(sort="alias", name="k8s", value=["kube"], made_by="bob", updated_at=NOW + HOUR)
    assert store.definitions() == (expected,)
    assert store.totals()["definition"] == 1
    assert faults(store) == []


def test_what_is_defined_no_longer_is_gone(store: Store) -> None:
    """Without a value a definition is taken back, that one only, and can be made again."""
    for name in ("k8s", "db"):
        apply(store, Define(sort="alias", name=name, value=[name]))
    apply(store, Define(sort="season", name="db", value=1))
    assert apply(store, Define(sort="alias", name="db")).outcomes[0].action == "undefine"
    assert [(each.sort, each.name) for each in store.definitions()] == [("alias", "k8s"), ("season", "db")]
    apply(store, Define(sort="alias", name="db", value=["database"]))
    assert store.definitions("alias")[0].value == ["database"]
    assert faults(store) == []


@pytest.mark.parametrize("sort, name", [("alias", "unknown"), ("season", "k8s"), ("", ""), ("alias", "K8S")])
def test_what_nobody_defined_cannot_be_taken_back(store: Store, sort: str, name: str) -> None:
    """It is told that there is nothing of that name, and nothing changes."""
    apply(store, Define(sort="alias", name="k8s", value=["kubernetes"]))
    before = everything(store)
    with pytest.raises(NotFound):
        apply(store, Define(sort=sort, name=name))
    assert everything(store) == before


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")], {"a": {1, 2}}], ids=repr)
def test_what_is_no_json_cannot_be_defined(store: Store, value: Any) -> None:
    """It is refused in the product's words."""
    with pytest.raises(InvalidInput):
        apply(store, Define(sort="alias", name="k8s", value=value))
    assert store.definitions() == ()
    assert store.audit() == ()


def test_definitions_are_audited_without_what_they_say(store: Store) -> None:
    """Who defined something of which sort when; neither its name nor its value, which are content."""
    changes: list[Change] = [
        Define(sort="alias", name="secretname", value=["secretvalue"]),
        Define(sort="alias", name="secretname"),
    ]
    for change in changes:
        apply(store, change, actor="ada")
    entries = store.audit()
    assert [(entry.action, entry.actor, entry.detail) for entry in entries] == [
        ("define", "ada", {"sort": "alias"}),
        ("undefine", "ada", {"sort": "alias"}),
    ]
    assert not any("secret" in repr(entry) for entry in entries)
    assert store.verify_audit() == ()


@pytest.mark.row("J27", "persistent")
def test_definitions_are_there_after_opening_again(store: Store, open_space: OpenSpace) -> None:
    """As they were, and sound."""
    for n, value in enumerate(VALUES):
        apply(store, Define(sort="alias", name=f"name {n}", value=value))
    before = store.definitions()
    again = open_space.again(store)
    assert again.definitions() == before
    assert faults(again) == []


def test_a_snapshot_holds_passages_and_definitions_still(store: Store) -> None:
    """What is filed or defined meanwhile is seen after it."""
    file(store, passage("one"))
    with store.snapshot():
        before = filed(store), store.definitions()
        file(store, passage("two", position=1))
        apply(store, Define(sort="alias", name="k8s", value=["kubernetes"]))
        assert (filed(store), store.definitions()) == before
        assert answer(store, "two", corpus=Corpus.SESSIONS).passages == []
    assert said(filed(store)) == ["one", "two"]
    assert len(store.definitions()) == 1
