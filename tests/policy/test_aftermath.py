"""What retrievals teach: small steps, within bounds, one a memory, and tags that say something."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import LIVE, Memory, MemoryId, Retag, Scope, Status, Uid, Weigh
from recollect.policy.aftermath import (
    BOOST,
    DECAY,
    ENOUGH_TAGS,
    LEAST_SURE,
    MOST,
    NEAR,
    SHARERS,
    SUREST,
    Lessons,
    Served,
    common_tag,
    is_gap,
    mergeable,
)
from recollect.policy.evolve import weighed
from recollect.policy.intent import Intent, intent

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def made(number: int = 1, content: str = "", **fields: object) -> Memory:
    memory = Memory(
        id=MemoryId(number),
        uid=Uid(f"00000000-0000-7000-8000-{number:012d}"),
        content=content or f"memory {number}",
        created_at=NOW,
        updated_at=NOW,
        confidence=0.5,
        status=Status.CONFIRMED,
    )
    return replace(memory, **fields)  # type: ignore[arg-type]


def after(memory: Memory, lessons: Lessons, *, shared: bool = False) -> Memory:
    """What becomes of a memory by what was learned."""
    for change in lessons.changes({memory.id: memory}, shared=shared):
        if isinstance(change, Weigh):
            memory = weighed(memory, change.signals, NOW)
    return memory


def learned(*several: Served) -> Lessons:
    lessons = Lessons()
    for each in several:
        lessons.add(each)
    return lessons


def gave(*memories: Memory, prompt: str = "") -> Served:
    return Served(wanted=intent(prompt), given=memories, found=len(memories))


def rejects(*memories: Memory) -> Served:
    return Served(wanted=Intent(), rejected=memories, found=len(memories))


# --- Confidence -----------------------------------------------------------------------------------------------------


@pytest.mark.row("J15", "boost", "decay")
@pytest.mark.parametrize(
    ("given", "rejected", "before", "expected"),
    [
        (1, 0, 0.5, 0.51),
        (3, 0, 0.5, 0.53),
        (50, 0, 0.5, 0.55),  # however often, a batch moves it so far
        (0, 1, 0.5, 0.48),
        (0, 50, 0.5, 0.45),
        (2, 1, 0.5, 0.5),
        (3, 1, 0.5, 0.51),
        (0, 0, 0.5, 0.5),
        (50, 0, 0.94, 0.95),  # and so sure it may get by being given
        (50, 0, 0.97, 0.97),  # what was surer stays so
        (50, 0, 1.0, 1.0),
        (0, 1, 1.0, 0.98),
        (0, 50, 0.32, 0.3),
        (0, 50, 0.2, 0.2),  # what was less sure before stays so
        (1, 0, 0.0, 0.01),
    ],
)
def test_confidence_moves_a_little_at_a_time(given: int, rejected: int, before: float, expected: float) -> None:
    memory = made(confidence=before)
    lessons = learned(*[gave(memory)] * given, *[rejects(memory)] * rejected)
    assert after(memory, lessons).confidence == pytest.approx(expected)


@pytest.mark.parametrize(("status", "most"), [*SUREST.items()])
def test_being_given_makes_nobody_certain(status: Status, most: float) -> None:
    """A candidate least of all: that is for whoever confirms it."""
    memory = made(status=status, confidence=0.6)
    for _ in range(100):
        memory = after(memory, learned(*[gave(memory)] * 50))
    assert memory.confidence == pytest.approx(most)
    assert SUREST[Status.CANDIDATE] < SUREST[Status.CONFIRMED] < 1.0
    assert set(SUREST) == LIVE


@pytest.mark.row("J15", "decay")
def test_being_rejected_makes_nobody_worthless() -> None:
    """What is of no use for many prompts may be all that matters for one."""
    memory = made(confidence=0.9)
    for _ in range(100):
        memory = after(memory, learned(*[rejects(memory)] * 50))
    assert memory.confidence == pytest.approx(LEAST_SURE)


@given(
    confidence=st.floats(0, 1),
    status=st.sampled_from(sorted(LIVE)),
    gives=st.integers(0, 200),
    rejections=st.integers(0, 200),
)
def test_no_batch_moves_a_confidence_far_or_the_wrong_way(
    confidence: float, status: Status, gives: int, rejections: int
) -> None:
    memory = made(confidence=confidence, status=status)
    lessons = learned(*[gave(memory)] * gives, *[rejects(memory)] * rejections)
    moved = after(memory, lessons).confidence - confidence
    net = gives * BOOST - rejections * DECAY
    assert abs(moved) <= min(MOST, abs(net)) + 1e-8
    assert moved * net >= -1e-8
    assert not moved or min(LEAST_SURE, confidence) - 1e-8 <= confidence + moved <= max(SUREST[status], confidence)
    assert len(lessons.changes({memory.id: memory}, shared=False)) <= 1


@pytest.mark.parametrize("status", sorted(set(Status) - LIVE))
def test_what_is_no_longer_live_is_left_alone(status: Status) -> None:
    memory = made()
    lessons = learned(gave(memory))
    assert lessons.changes({memory.id: memory}, shared=False)
    assert lessons.changes({memory.id: replace(memory, status=status)}, shared=False) == []


def test_memories_of_one_number_in_two_spaces_are_two() -> None:
    here, everywhere = made(1), made(1, scope=Scope.GLOBAL)
    lessons = learned(gave(here), gave(made(2, scope=Scope.TASK)), rejects(everywhere))
    assert lessons.touched(shared=False) == [1, 2]
    assert lessons.touched(shared=True) == [1]
    assert after(here, lessons).confidence == 0.51
    assert after(everywhere, lessons, shared=True).confidence == 0.48


# --- Gaps -----------------------------------------------------------------------------------------------------------


@pytest.mark.row("J15", "gaps")
@pytest.mark.parametrize(
    ("prompt", "previous", "given", "found", "gap"),
    [
        ("how is the telescope calibrated?", "", 0, 0, True),
        ("how is the telescope calibrated?", "", 1, 1, False),
        ("how is the telescope calibrated?", "", 0, 2, False),  # near, and not sure to help; or said before
        ("how is the telescope calibrated?", "", 1, 0, False),  # a trigger, say
        ("thanks a lot!", "", 0, 0, False),
        ("", "", 0, 0, False),
        ("yes, do that", "Shall I calibrate the telescope?", 0, 0, False),
    ],
)
def test_a_gap_is_a_question_of_its_own_with_nothing_near(
    prompt: str, previous: str, given: int, found: int, gap: bool
) -> None:
    wanted = intent(prompt, previous=previous)
    assert is_gap(Served(wanted=wanted, given=(made(),) * given, found=found)) is gap


# --- Tags -----------------------------------------------------------------------------------------------------------

BILLING = (
    "The billing worker retries three times with backoff",
    "Billing runs nightly and never on Fridays",
    "Refunds of the billing service need the approval of finance",
)


def several(*contents: str, tags: tuple[str, ...] = ()) -> list[Memory]:
    return [made(number, content, tags=tags) for number, content in enumerate(contents, start=1)]


@pytest.mark.row("J15", "tags")
@pytest.mark.row("J4", "inferred")
@pytest.mark.parametrize(
    ("prompt", "contents", "tag"),
    [
        ("why does billing fail on Fridays?", BILLING, "billing"),
        ("fix the Billing job", BILLING, "billing"),
        ("what are our billings?", BILLING, "billings"),  # as the prompt has it
        ("why does billing fail?", BILLING[:2], ""),  # too few
        ("why does billing fail?", (*BILLING[:2], "Deploys go out on Mondays"), ""),
        ("does it?", ("It does this", "It does that", "What it does is fine"), ""),
        ("what should I use?", ("Use uv", "Use ruff", "Use mypy"), ""),
        ("which port?", ("Port 1 is web", "Port 2 is ssh", "Port 3 is mail"), "port"),
        ("run all the tests", ("Tests need Postgres", "Run tests with -x", "Tests take an hour"), "tests"),
        ("three times?", ("Three times a day", "It is tried three times", "Ten times three"), ""),
        ("never push?", ("Never commit", "Never rebase", "Never merge"), ""),
        ("add 8080 to it", ("8080 is taken", "8080 is free", "8080 is web"), ""),
        ("what changed recently?", ("Recently changed: a", "Recently changed: b", "Recently changed: c"), ""),
        ("write the code for it", ("Code is formatted", "Code is typed", "Code is tested"), ""),
        ("please go on", BILLING, ""),
        ("", BILLING, ""),
        # Of several words, the one that most have in common; of as many, the first.
        ("billing finance", (*BILLING, "The finance team sits in Bern", "Ask finance", "finance, finance"), "finance"),
        ("worker of billing", ("billing worker a", "worker of billing b", "billing and worker c"), "worker"),
    ],
)
def test_the_tag_is_the_word_that_says_what_they_are_about(prompt: str, contents: tuple[str, ...], tag: str) -> None:
    memories = several(*contents)
    found = common_tag(intent(prompt), memories)
    assert {word for _, word in found} == ({tag} if tag else set())
    assert len(found) >= SHARERS or not found
    assert all(tag[:5] in memory.content.lower() for memory, _ in found)


@pytest.mark.parametrize("there", ["billing", "billings"])
def test_a_thing_that_one_of_them_is_tagged_with_needs_no_other_tag(there: str) -> None:
    one, two, three = several(*BILLING)
    assert common_tag(intent("why does billing fail?"), [one, replace(two, tags=(there,)), three]) == []


def test_whoever_gets_a_tag_gets_one_version_by_it() -> None:
    memories = several(*BILLING)
    lessons = learned(gave(*memories, prompt="why does billing fail?"), gave(*memories, prompt="and finance?"))
    changes = lessons.changes({memory.id: memory for memory in memories}, shared=False)
    assert changes == [Retag(id=memory.id, add=("billing",)) for memory in memories]


@pytest.mark.parametrize(("there", "most", "tagged"), [(0, 32, True), (4, 32, True), (5, 32, False), (2, 2, False)])
def test_a_memory_with_tags_enough_gets_no_more(there: int, most: int, tagged: bool) -> None:
    memories = several(*BILLING, tags=tuple(f"t{number}" for number in range(there)))
    lessons = learned(gave(*memories, prompt="why does billing fail?"))
    [change] = lessons.changes({memories[0].id: memories[0]}, shared=False, tags=most)
    assert isinstance(change, Retag) is tagged
    assert ENOUGH_TAGS == 5


words = st.sampled_from("does billing use worker the deploy three run gateway fix now it times cache 42 never".split())
sentences = st.lists(words, max_size=8).map(" ".join)


@given(prompt=sentences, contents=st.lists(sentences, min_size=1, max_size=6))
def test_tags_come_from_the_prompt_and_are_shared(prompt: str, contents: list[str]) -> None:
    memories = several(*contents)
    found = common_tag(intent(prompt), memories)
    assert len({word for _, word in found}) <= 1
    for memory, word in found:
        assert word in prompt.split()
        assert word in memory.content.split()
        assert word in {"billing", "worker", "deploy", "gateway", "cache"}
    assert not found or len(found) >= SHARERS


@given(st.lists(st.tuples(st.lists(st.integers(1, 6), unique=True), sentences), max_size=12))
def test_a_batch_makes_one_change_a_memory_at_most(batch: list[tuple[list[int], str]]) -> None:
    memories = {
        MemoryId(number): made(number, f"billing {number} worker", confidence=number / 6) for number in range(1, 7)
    }
    lessons = learned(*(gave(*(memories[MemoryId(each)] for each in ids), prompt=prompt) for ids, prompt in batch))
    changes = lessons.changes(memories, shared=False)
    touched = [change.id for change in changes if isinstance(change, Weigh | Retag)]
    assert len(touched) == len(set(touched)) == len(changes)
    assert set(touched) <= {each for ids, _ in batch for each in ids}
    assert lessons.changes(memories, shared=True) == []


# --- Near clusters --------------------------------------------------------------------------------------------------


@pytest.mark.row("J15", "cluster-merge")
@pytest.mark.parametrize(
    ("near", "pairs"),
    [
        ([], []),
        ([(1, 2, 0.95)], [(1, 2)]),
        ([(2, 1, 0.95)], [(1, 2)]),
        ([(1, 2, NEAR)], [(1, 2)]),
        ([(1, 2, NEAR - 0.01)], []),
        ([(1, 2, 0.92), (2, 3, 0.97)], [(2, 3)]),  # the closest first, each once
        ([(1, 2, 0.92), (2, 3, 0.97), (1, 4, 0.91)], [(2, 3), (1, 4)]),
        ([(1, 1, 1.0)], []),
    ],
)
def test_near_clusters_go_together_two_and_two(
    near: list[tuple[int, int, float]], pairs: list[tuple[int, int]]
) -> None:
    assert mergeable(near) == pairs


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8), st.floats(0, 1)), max_size=30))
def test_no_cluster_is_merged_twice(near: list[tuple[int, int, float]]) -> None:
    pairs = mergeable(near)
    merged = [number for pair in pairs for number in pair]
    assert len(merged) == len(set(merged))
    close = {frozenset(each[:2]) for each in near if each[2] >= NEAR}
    assert {frozenset(pair) for pair in pairs} <= close
    left = {frozenset(each[:2]) for each in near if each[2] >= NEAR and each[0] != each[1]}
    assert all(pair & set(merged) for pair in left)
