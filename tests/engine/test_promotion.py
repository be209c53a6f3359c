"""Promotion: what a session found becomes a memory when enough speaks for it, and holds more widely when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, cast

import pytest

import recollect
from recollect import (
    InvalidInput,
    Kind,
    LinkKind,
    MemoryOff,
    NotFound,
    Origin,
    Recollect,
    Refused,
    Scope,
    Source,
    Status,
    TooLarge,
)
from recollect.engine.promotion import Promoted
from recollect.model import Add, Change, Finding, Mark, Receipt
from recollect.policy.identity import fingerprint
from recollect.policy.kinds import TRUST
from recollect.policy.promote import PRESETS, PromotionSignal
from recollect.store import Store, open_store
from recollect.testing import FixedClock

START = datetime(2026, 1, 1, tzinfo=UTC)
STORES = ["memory:", "{}/memory.db", "json:{}/memory.json"]
CACHE = "The cache is keyed by tenant, so a test that changes the tenant has to clear it."
PLAIN = Finding(content=CACHE, importance=0.5)
EVERY = [status.value for status in Status]
SECRET = "AKIA" + "IOSFODNN7" + "QXMPLWZ"
"""Looks like an access key; in two pieces, so that nobody takes this file for a leak."""


class Opener(Protocol):
    """Opens a memory of the store under test."""

    def __call__(self, *, origin: Origin = Origin.OBSERVED, **settings: object) -> Recollect: ...


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture(params=STORES, ids=["memory", "sqlite", "json"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Opener]:
    with ExitStack() as memories:

        def open_one(*, origin: Origin = Origin.OBSERVED, **settings: object) -> Recollect:
            told = {key.replace("__", "."): value for key, value in settings.items()}
            store = str(request.param).format(tmp_path)
            return memories.enter_context(
                recollect.open(store=store, clock=clock, settings=told, origin=origin, background=False)
            )

        yield open_one


@pytest.fixture
def memory(opened: Opener) -> Recollect:
    return opened()


def found(memory: Recollect, finding: Finding, session: str = "s1", agent: str = "") -> Promoted:
    """What became of one finding."""
    [done] = memory.promote_findings([finding], session=session, agent=agent)
    return done


def signals(done: Promoted) -> set[str]:
    return {signal.value for signal in done.judged.signals}


# --- What the user says --------------------------------------------------------------------------------------------

SAID = [
    ("We decided to use Postgres for the ledger.", Kind.DECISION, Origin.USER_STATED),
    ("No, we use pnpm, not npm.", Kind.CORRECTION, Origin.USER_CORRECTED),
    ("Remember that the staging server is called heron.", Kind.FACT, Origin.USER_STATED),
    ("Always run the linter before committing.", Kind.PREFERENCE, Origin.USER_STATED),
    ("Never push straight to main.", Kind.NEGATIVE, Origin.USER_STATED),
]


@pytest.mark.row("K15", "decisions", "corrections", "facts")
@pytest.mark.parametrize("turn, kind, origin", SAID)
def test_what_the_user_states_in_a_turn_is_kept_unasked(
    memory: Recollect, turn: str, kind: Kind, origin: Origin
) -> None:
    """Confirmed at once and trusted as the user is; with the session and the message it was said in."""
    [done] = memory.learn(turn, session="s1", agent="coder", host="editor", message=7)
    assert done.remembered is not None
    stored = memory.get(done.remembered.ref)
    assert (stored.kind, stored.status, stored.origin, stored.trust) == (kind, Status.CONFIRMED, origin, 1.0)
    assert (stored.confidence, stored.source, stored.scope) == (1.0, Source.CONVERSATION, Scope.PROJECT)
    assert (stored.session_id, stored.agent, stored.host, stored.message_range) == ("s1", "coder", "editor", (7, 7))
    assert stored.provenance[0].reason.startswith("promoted: ")
    assert PromotionSignal.USER_INTENT in done.judged.signals


@pytest.mark.row("K15", "decisions", "corrections", "facts")
def test_all_that_a_turn_states_is_kept(memory: Recollect) -> None:
    """Each statement is a memory of its own."""
    done = memory.learn(" ".join(turn for turn, _, _ in SAID), session="s1")
    assert [each.finding.kind for each in done] == [kind for _, kind, _ in SAID]
    assert memory.count() == len(SAID)


@pytest.mark.row("K15", "facts")
@pytest.mark.parametrize("turn", ["Can you fix the failing test?", "ok", "", "The build is still broken.", "Thanks!"])
def test_what_states_nothing_leaves_nothing(memory: Recollect, turn: str) -> None:
    """Most turns are such."""
    assert memory.learn(turn, session="s1") == ()
    assert memory.count({"status": EVERY}) == 0


@pytest.mark.row("K15", "corrections")
def test_saying_it_again_strengthens_what_is_there(memory: Recollect) -> None:
    """In another session, in other capitals."""
    memory.learn("Never push straight to main.", session="s1")
    [again] = memory.learn("never  push straight to MAIN.", session="s2", message=3)
    assert again.remembered is not None
    assert again.remembered.duplicate
    assert memory.count() == 1
    assert [(each.session_id, each.message) for each in memory.get(1).reinforcements] == [("s2", 3)]


@pytest.mark.row("P4", "confirmed")
def test_what_the_user_says_too_is_no_candidate_any_more(memory: Recollect) -> None:
    """And is trusted as the user is."""
    found(memory, Finding(content="never commit secrets to the repository", kind=Kind.NEGATIVE, resolves=True))
    assert (memory.get(1).status, memory.get(1).trust) == (Status.CANDIDATE, 0.7)
    memory.learn("Never commit secrets to the repository.", session="s2")
    assert (memory.count(), memory.get(1).status, memory.get(1).trust) == (1, Status.CONFIRMED, 1.0)


@pytest.mark.row("K15", "corrections")
def test_a_correction_of_the_user_s_takes_the_place_of_what_was_found_and_never_the_other_way(
    memory: Recollect, clock: FixedClock
) -> None:
    """A finding that says otherwise than the user opens a conflict."""
    lesson = "The billing API listens on port 8080 in staging"
    found(memory, Finding(content=lesson, kind=Kind.ERROR, resolves=True))
    clock.move(days=3)
    [said] = memory.learn("No, the billing API listens on port 9090 in staging.", session="s2")
    assert said.remembered is not None
    assert (said.remembered.supersedes, memory.get(1).status) == (("1",), Status.SUPERSEDED)
    clock.move(days=3)
    again = found(memory, Finding(content=lesson.replace("8080", "7070"), kind=Kind.ERROR, resolves=True), session="s3")
    assert again.remembered is not None
    assert (again.remembered.supersedes, again.remembered.contradicts) == ((), (said.remembered.ref,))
    assert memory.get(said.remembered.ref).active


# --- What speaks for a finding -------------------------------------------------------------------------------------


@pytest.mark.row("P3", "signals")
@pytest.mark.row("P4", "recallable")
def test_a_finding_that_enough_speaks_for_becomes_a_candidate(memory: Recollect) -> None:
    """Extracted, trusted by seven tenths, and recalled like any other."""
    done = found(
        memory, Finding(content=CACHE, kind=Kind.ERROR, resolves=True, files=("src/cache.py",), tags=("cache",))
    )
    assert signals(done) == {"error-resolution", "high-importance"}
    assert done.remembered is not None
    stored = memory.get(done.remembered.ref)
    assert (stored.status, stored.origin, stored.trust) == (Status.CANDIDATE, Origin.EXTRACTED, 0.7)
    assert (stored.source, stored.confidence, stored.importance) == (Source.EXTRACTION, 0.7, 0.85)
    assert (stored.files, stored.tags, stored.session_id) == (("src/cache.py",), ("cache",), "s1")
    assert stored.provenance[0].reason == "promoted: 3 of 3 points: error-resolution, high-importance"
    assert [hit.memory.ref for hit in memory.recall("what is the cache keyed by?")] == [stored.ref]


@pytest.mark.row("P3", "signals")
def test_what_too_little_speaks_for_is_noted_and_not_kept(memory: Recollect) -> None:
    """It says why, and leaves no memory behind."""
    done = found(memory, PLAIN)
    assert (done.judged.promote, done.remembered) == (False, None)
    assert done.judged.reason == "0 of 3 points: nothing speaks for it yet"
    assert memory.count({"status": EVERY}) == 0
    assert memory._parts.project().seen([fingerprint(CACHE)]) == {fingerprint(CACHE): (1, 0)}


@pytest.mark.row("P3", "signals")
@pytest.mark.row("P15", "fingerprint")
def test_the_same_finding_in_two_sessions_and_from_two_agents_counts_as_such(memory: Recollect) -> None:
    """Whatever its case and spaces."""
    first = found(memory, PLAIN, session="s1", agent="coder")
    second = found(memory, Finding(content=f"  {CACHE.upper()}\n", importance=0.5), session="s2", agent="coder")
    third = found(memory, Finding(content=CACHE.replace(" ", "  "), importance=0.5), session="s2", agent="tester")
    assert [signals(each) for each in (first, second, third)] == [
        set(),
        {"multi-session"},
        {"multi-session", "multi-agent"},
    ]
    assert [each.judged.promote for each in (first, second, third)] == [False, False, True]
    assert third.remembered is not None
    assert third.remembered.memory.status is Status.CANDIDATE


@pytest.mark.row("P3", "signals")
def test_a_finding_that_comes_twice_in_one_session_is_one_session(memory: Recollect) -> None:
    """Retried, found again, or twice at once; and whoever does not say who they are is no second agent."""
    for _ in range(3):
        assert signals(found(memory, PLAIN, session="s1")) == set()
    for done in memory.promote_findings([PLAIN, PLAIN], session="s1", agent="coder"):
        assert signals(done) == set()
    assert signals(found(memory, PLAIN, session="s1", agent="tester")) == {"multi-agent"}


@pytest.mark.row("P15", "fingerprint", "boost")
def test_a_finding_that_is_a_memory_already_strengthens_it(memory: Recollect) -> None:
    """A fork that promotes what its parent did makes no second one."""
    lesson = Finding(content=CACHE, kind=Kind.ERROR, importance=0.8, resolves=True)
    found(memory, lesson, session="parent")
    again = found(memory, Finding(content=CACHE.lower(), importance=0.8, resolves=True), session="fork")
    assert again.remembered is not None
    assert again.remembered.duplicate
    assert memory.count({"status": EVERY}) == 1
    stored = memory.get(1)
    assert (stored.importance, stored.access_count) == (0.9, 1)
    assert [each.session_id for each in stored.reinforcements] == ["fork"]


def test_sessions_are_counted_from_one_opening_to_the_next(tmp_path: Path, clock: FixedClock) -> None:
    """The note outlives the process."""
    for place in (str(tmp_path / "memory.db"), f"json:{tmp_path / 'memory.json'}"):
        for session, told in (("s1", set()), ("s1", set()), ("s2", {"multi-session"})):
            with recollect.open(store=place, clock=clock, background=False) as memory:
                assert signals(found(memory, PLAIN, session=session)) == told


# --- Presets, filters and modes ------------------------------------------------------------------------------------

POINTS = {
    1: Finding(content="The export job runs at night, and its log is kept for a week.", importance=0.7),
    2: Finding(content="The parser fails on a trailing comma until strict is off.", importance=0.5, resolves=True),
    3: Finding(content=CACHE, importance=0.7, resolves=True),
}
"""Findings that so much speaks for."""


@pytest.mark.row("P3", "conservative", "balanced", "aggressive")
@pytest.mark.parametrize("preset, promoted", [("conservative", set()), ("balanced", {3}), ("aggressive", {2, 3})])
def test_a_preset_says_how_many_points_it_takes(opened: Opener, preset: str, promoted: set[int]) -> None:
    """Four, three or two; and a second session is worth two more."""
    memory = opened(promotion__preset=preset)
    done = memory.promote_findings(POINTS.values(), session="s1")
    assert [each.judged.points for each in done] == list(POINTS)
    assert {each.judged.points for each in done if each.remembered} == promoted
    again = memory.promote_findings(POINTS.values(), session="s2")
    assert [each.judged.points for each in again] == [3, 4, 5]
    assert [each.judged.promote for each in again] == [preset != "conservative", True, True]


@pytest.mark.row("P3", "filters")
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_what_is_short_or_unimportant_is_not_looked_at(opened: Opener, preset: str) -> None:
    """However much speaks for it; a sentence of the user's is looked at all the same."""
    memory, told = opened(promotion__preset=preset), PRESETS[preset]
    short = "x" * (told.length - 1)
    for session in ("s1", "s2"):
        done = found(memory, Finding(content=short, importance=0.9, resolves=True), session=session)
        assert done.judged.reason == f"content is {told.length - 1} characters, fewer than {told.length}"
        dull = Finding(content=CACHE, importance=told.importance - 0.01, resolves=True)
        assert "importance is" in found(memory, dull, session=session).judged.reason
    assert memory.count() == 0
    assert found(memory, Finding(content="No tabs.", importance=0.0, stated=True)).remembered


@pytest.mark.row("P3", "bypass")
def test_what_is_remembered_on_request_passes_every_filter(opened: Opener) -> None:
    """In both modes, with automatic promotion on or off: confirmed at once."""
    for settings in ({}, {"promotion__mode": "explicit"}, {"promotion__auto": False}):
        memory = opened(**settings)
        assert memory.remember("No tabs", importance=0.0).memory.status is Status.CONFIRMED
        memory.close()


@pytest.mark.row("E6", "never-unasked")
def test_in_explicit_mode_nothing_is_promoted_unasked(opened: Opener) -> None:
    """Not what the user states, not what five sessions found; it is noted, for when the mode changes."""
    memory = opened(promotion__mode="explicit")
    for number in range(5):
        lesson = Finding(content=CACHE, kind=Kind.ERROR, importance=1.0, resolves=True)
        assert not found(memory, lesson, session=f"s{number}", agent=f"a{number}").judged.promote
    [said] = memory.learn("Never push straight to main.", session="s1")
    assert said.judged.reason == "nobody asked for it, and nothing is promoted unasked"
    assert memory.count({"status": EVERY}) == 0
    assert memory._parts.project().seen([fingerprint(CACHE)]) == {fingerprint(CACHE): (5, 5)}


@pytest.mark.row("E6", "never-unasked")
def test_without_automatic_promotion_nothing_is_even_noted(opened: Opener) -> None:
    """Nor said about it."""
    memory = opened(promotion__auto=False)
    assert memory.promote_findings([POINTS[3]], session="s1") == ()
    assert memory.learn("Never push straight to main.", session="s1") == ()
    assert memory.count({"status": EVERY}) == 0
    assert memory.audit() == ()
    assert memory._parts.project().seen([fingerprint(CACHE)]) == {}


def test_while_memory_is_off_nothing_is_learned(tmp_path: Path) -> None:
    """It says so."""
    (tmp_path / "project").mkdir()
    with recollect.open(tmp_path / "project", home=tmp_path / "home", background=False) as memory:
        memory.turn_off()
        with pytest.raises(MemoryOff):
            memory.learn("Never push straight to main.", session="s1")
        with pytest.raises(MemoryOff):
            memory.promote_findings([POINTS[3]], session="s1")
        memory.turn_on()
        assert memory.count({"status": EVERY}) == 0
        assert memory._parts.project().seen([fingerprint(CACHE)]) == {}


@pytest.mark.parametrize(
    "finding, session, error",
    [
        (Finding(content=""), "s1", InvalidInput),
        (Finding(content="x" * 8_001), "s1", TooLarge),
        (Finding(content="a\x00b"), "s1", InvalidInput),
        (Finding(content=CACHE, importance=2.0), "s1", InvalidInput),
        (Finding(content=CACHE, confidence=-1.0), "s1", InvalidInput),
        (PLAIN, "", InvalidInput),
        (PLAIN, "s" * 257, TooLarge),
        (PLAIN, "s\ud800", InvalidInput),
    ],
)
def test_what_cannot_be_stored_is_refused_and_all_that_came_with_it(
    memory: Recollect, finding: Finding, session: str, error: type[Exception]
) -> None:
    """Before anything is noted."""
    with pytest.raises(error):
        memory.promote_findings([POINTS[3], finding], session=session)
    assert memory.audit() == ()


def test_no_findings_leave_no_trace(memory: Recollect) -> None:
    """Not in the audit either."""
    assert memory.promote_findings([], session="s1") == ()
    assert memory.audit() == ()


# --- Secrets -------------------------------------------------------------------------------------------------------


def on_disk(folder: Path, *needles: str) -> set[str]:
    """Which of these texts stand in any file below a folder."""
    held = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return {needle for needle in needles if any(needle.encode() in data for data in held)}


@pytest.mark.row("J26", "secrets")
@pytest.mark.parametrize("place", ["sqlite", "json"])
def test_a_secret_in_a_finding_never_reaches_the_store(tmp_path: Path, clock: FixedClock, place: str) -> None:
    """Neither in words nor as the fingerprint of the words that held it, whether the finding is promoted or not."""
    (tmp_path / "project").mkdir()
    raw = f"The release job signs in with {SECRET}, which the vault hands out every night."
    told = {"store.format": place}
    with recollect.open(
        tmp_path / "project", home=tmp_path / "home", clock=clock, settings=told, background=False
    ) as memory:
        noted = found(memory, Finding(content=raw, importance=0.5))
        kept = found(memory, Finding(content=f"Again: {raw}", resolves=True, importance=0.9, tags=(SECRET,)))
        said = memory.learn(f"Never use {SECRET} for the release job.", session="s1")
        assert not noted.judged.promote
        assert kept.remembered is not None
        assert said
        assert SECRET not in repr((noted.finding.content, kept.remembered, said))
        clean = noted.finding.content
        assert "[redacted:" in clean
        assert memory._parts.project().seen([fingerprint(raw), fingerprint(clean)]) == {fingerprint(clean): (1, 0)}
    hashed = fingerprint(raw).removeprefix("b2:")
    assert on_disk(tmp_path / "home", SECRET, SECRET.lower(), hashed) == set()
    assert on_disk(tmp_path / "home", fingerprint(clean)) == {fingerprint(clean)}


@pytest.mark.row("J26", "secrets")
def test_a_secret_in_the_name_of_a_session_or_agent_is_left_out_too(tmp_path: Path, clock: FixedClock) -> None:
    """As it is left out of a memory's."""
    place = str(tmp_path / "memory.db")
    with recollect.open(store=place, home=tmp_path / "home", clock=clock, background=False) as memory:
        done = found(memory, POINTS[3], session=f"run with {SECRET}", agent=f"coder {SECRET}")
        assert done.remembered is not None
        assert SECRET not in repr(done.remembered.memory)
    assert on_disk(tmp_path, SECRET) == set()


# --- To a wider scope, when asked ----------------------------------------------------------------------------------


@pytest.mark.row("E6", "task-to-project")
@pytest.mark.parametrize("scope", ["task", "session"])
def test_a_memory_of_a_task_or_session_becomes_one_of_the_project(memory: Recollect, scope: str) -> None:
    """It holds beyond what it came from; the narrow one gives way to it."""
    memory.remember(CACHE, scope=scope, task="t1", session="s1", kind="discovery", tags=["cache"], importance=0.7)
    wider = memory.promote(1)
    assert (wider.scope, wider.owner, wider.status) == (Scope.PROJECT, "", Status.CONFIRMED)
    assert (wider.content, wider.kind, wider.tags, wider.importance) == (CACHE, Kind.DISCOVERY, ("cache",), 0.7)
    assert (wider.session_id, wider.task_id) == ("s1", "t1")
    narrow = memory.get(1)
    assert (narrow.status, narrow.superseded_by) == (Status.SUPERSEDED, wider.uid)
    assert (LinkKind.SUPERSEDES, narrow.id) in [(each.kind, each.target) for each in memory.links(wider.ref)]
    assert [hit.memory.ref for hit in memory.recall(CACHE)] == [wider.ref]
    assert wider.provenance[-1].reason == f"promoted from {scope} 1 by library"


@pytest.mark.row("E6", "project-to-global")
def test_a_memory_of_the_project_becomes_a_global_one_once_that_is_confirmed(memory: Recollect) -> None:
    """Everywhere is every project of this user."""
    memory.remember(CACHE, kind="pattern", task="t1")
    with pytest.raises(Refused, match="known in every project"):
        memory.promote(1, "global")
    assert memory.count(space="global") == 0
    wide = memory.promote(1, "global", confirmed=True)
    assert (wide.ref, wide.scope, wide.content, wide.task_id) == ("g1", Scope.GLOBAL, CACHE, None)
    assert (memory.get(1).status, memory.get(1).superseded_by) == (Status.SUPERSEDED, wide.uid)
    assert (memory.count(), memory.count(space="global")) == (0, 1)
    assert [hit.memory.ref for hit in memory.recall(CACHE)] == ["g1"]
    assert memory.verify_audit() == memory.verify_audit(space="global") == ()


@pytest.mark.row("E6", "task-to-project", "project-to-global")
def test_from_a_task_to_the_project_to_everywhere(memory: Recollect) -> None:
    """Step by step; where it came from is told to the end, and each step can be taken back."""
    memory.remember(CACHE, scope="task", task="t1", snippet="about caches")
    wide = memory.promote(memory.promote(1).ref, Scope.GLOBAL, confirmed=True)
    assert [step.reason.split(" by ")[0] for step in wide.provenance[1:]] == [
        "promoted from task 1",
        "promoted from project 2",
    ]
    assert wide.provenance[0].snippet == "about caches"
    assert [memory.get(number).status for number in (1, 2)] == [Status.SUPERSEDED] * 2
    assert memory.restore(2).status is Status.CONFIRMED


@pytest.mark.row("E6", "never-unasked")
@pytest.mark.parametrize(
    "scope, to",
    [("project", "project"), ("project", "task"), ("project", "session"), ("task", "session"), ("task", "task")],
)
def test_nothing_is_promoted_to_where_it_holds_already_or_to_less(memory: Recollect, scope: str, to: str) -> None:
    """Refused, with the two scopes named."""
    memory.remember(CACHE, scope=scope, task="t1", session="s1")
    with pytest.raises(InvalidInput, match=f"scope {scope} cannot be promoted to {to}"):
        memory.promote(1, to, confirmed=True)
    assert memory.get(1).active


def test_a_global_memory_has_nowhere_to_go(memory: Recollect) -> None:
    """Nor has one that is not there, or is not live."""
    memory.remember(CACHE, scope="global")
    for to in ("project", "global"):
        with pytest.raises(InvalidInput):
            memory.promote("g1", to, confirmed=True)
    with pytest.raises(InvalidInput, match="nowhere"):
        memory.promote("g1", "nowhere", confirmed=True)
    with pytest.raises(NotFound):
        memory.promote(1)
    memory.remember(CACHE)
    memory.forget(1)
    with pytest.raises(InvalidInput, match="forgotten; restore it"):
        memory.promote(1, "global", confirmed=True)


@pytest.mark.row("E6", "task-to-project")
def test_what_the_project_knows_already_is_strengthened(memory: Recollect) -> None:
    """There is one of it afterwards."""
    memory.remember(CACHE, importance=0.5)
    memory.remember(CACHE.lower(), scope="task", task="t1")
    wider = memory.promote(2)
    assert (wider.ref, wider.importance) == ("1", 0.6)
    assert (memory.count(), memory.get(2).superseded_by) == (1, wider.uid)


@pytest.mark.row("E6", "project-to-global")
def test_what_is_known_everywhere_already_is_strengthened(memory: Recollect) -> None:
    """And stands for the one of the project."""
    memory.remember(CACHE, scope="global", importance=0.5)
    memory.remember(CACHE.upper())
    wide = memory.promote(1, "global", confirmed=True)
    assert (wide.ref, wide.importance) == ("g1", 0.6)
    assert (memory.count(space="global"), memory.get(1).superseded_by) == (1, wide.uid)


@pytest.mark.row("E6", "task-to-project", "project-to-global")
@pytest.mark.parametrize("origin", Origin)
def test_being_promoted_makes_nothing_more_trusted(opened: Opener, origin: Origin) -> None:
    """Whoever it came from."""
    memory = opened(origin=origin)
    memory.remember(CACHE, scope="task", task="t1", confidence=0.4)
    wider = memory.promote(1)
    wide = memory.promote(wider.ref, "global", confirmed=True)
    for each in (wider, wide):
        assert (each.trust, each.origin, each.confidence) == (TRUST[origin], origin, 0.4)


@pytest.mark.row("E6", "task-to-project")
def test_what_is_pinned_or_a_candidate_is_pinned_or_confirmed_where_it_goes(memory: Recollect) -> None:
    """Somebody asked for it, so it has nothing to prove any more."""
    memory.remember("Tests need the vault", scope="task", task="t1")
    memory.pin(1)
    assert memory.promote(1).status is Status.PINNED
    done = found(memory, POINTS[3])
    assert done.remembered is not None
    wide = memory.promote(done.remembered.ref, "global", confirmed=True)
    assert (wide.status, wide.trust) == (Status.CONFIRMED, 0.7)


@pytest.mark.row("E6", "project-to-global")
def test_a_global_one_that_was_forgotten_can_be_promoted_again(memory: Recollect) -> None:
    """The forgotten one stays forgotten, and there is one that is live."""
    memory.remember(CACHE)
    first = memory.promote(1, "global", confirmed=True)
    memory.forget(first.ref)
    memory.restore(1)
    again = memory.promote(1, "global", confirmed=True)
    assert again.uid != first.uid
    assert (memory.get(first.ref).status, memory.count(space="global")) == (Status.FORGOTTEN, 1)


@pytest.mark.row("E6", "project-to-global")
def test_what_was_changed_since_is_promoted_as_it_is_now(memory: Recollect) -> None:
    """The newest words are the ones that hold everywhere."""
    memory.remember("The staging server is called heron")
    memory.promote(1, "global", confirmed=True)
    memory.restore(1)
    memory.update(1, "The staging server is called osprey")
    assert memory.promote(1, "global", confirmed=True).content == "The staging server is called osprey"
    assert "The staging server is called osprey" in [each.content for each in memory.list(space="global")]


# --- Killed on the way ---------------------------------------------------------------------------------------------


class Killed(BaseException):
    """The process is gone."""


class Dying:
    """A store of a process that is killed just before it writes a change that `fatal` picks out."""

    def __init__(self, store: Store, fatal: Callable[[Change], bool]) -> None:
        self._store = store
        self._fatal = fatal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def apply(self, changes: Sequence[Change], *, actor: str, now: datetime, key: str | None = None) -> Receipt:
        wanted = tuple(changes)
        if any(map(self._fatal, wanted)):
            raise Killed
        return self._store.apply(wanted, actor=actor, now=now, key=key)


def dying(place: Path, home: Path, clock: FixedClock, fatal: type[Add | Mark]) -> Recollect:
    store = Dying(open_store(str(place)), lambda change: isinstance(change, fatal))
    return recollect.open(store=cast(Store, store), home=home, clock=clock, background=False)


@pytest.mark.row("E6", "project-to-global")
def test_killed_between_copy_and_mark_the_same_call_goes_on(tmp_path: Path, clock: FixedClock) -> None:
    """Twice even: there is one global memory in the end, and the one of the project has given way to it."""
    place, home = tmp_path / "memory.db", tmp_path / "home"
    with recollect.open(store=str(place), home=home, clock=clock, background=False) as memory:
        memory.remember(CACHE)
    for _ in range(2):
        with dying(place, home, clock, Mark) as memory, pytest.raises(Killed):
            memory.promote(1, "global", confirmed=True)
        with recollect.open(store=str(place), home=home, clock=clock, background=False) as memory:
            assert (memory.count(), memory.count({"status": EVERY}, space="global")) == (1, 1)
            assert memory.get("g1").importance == 0.5
    with recollect.open(store=str(place), home=home, clock=clock, background=False) as memory:
        wide = memory.promote(1, "global", confirmed=True)
        assert (wide.ref, wide.version, wide.importance) == ("g1", 1, 0.5)
        assert (memory.count(), memory.count({"status": EVERY}, space="global")) == (0, 1)
        assert memory.get(1).superseded_by == wide.uid
        assert all(check.ok for check in memory.doctor())


@pytest.mark.row("E6", "project-to-global")
def test_killed_before_the_copy_nothing_has_happened(tmp_path: Path, clock: FixedClock) -> None:
    """The memory of the project is what it was."""
    place, home = tmp_path / "memory.db", tmp_path / "home"
    with recollect.open(store=str(place), home=home, clock=clock, background=False) as memory:
        memory.remember(CACHE, scope="task", task="t1")
        before = memory.get(1)
    with dying(place, home, clock, Add) as memory, pytest.raises(Killed):
        memory.promote(1)
    with recollect.open(store=str(place), home=home, clock=clock, background=False) as memory:
        assert memory.get(1) == before
        assert memory.count({"status": EVERY}) == 1
        assert memory.promote(1).scope is Scope.PROJECT


@pytest.mark.row("E6", "task-to-project")
def test_killed_before_the_narrow_one_gives_way_to_a_twin_there_is_still_one(tmp_path: Path, clock: FixedClock) -> None:
    """The project knew it already; repeating the call lets the narrow one go."""
    place, home = tmp_path / "memory.db", tmp_path / "home"
    with recollect.open(store=str(place), home=home, clock=clock, background=False) as memory:
        memory.remember(CACHE)
        memory.remember(CACHE, scope="task", task="t1")
    with dying(place, home, clock, Mark) as memory, pytest.raises(Killed):
        memory.promote(2)
    with recollect.open(store=str(place), home=home, clock=clock, background=False) as memory:
        assert memory.get(2).active
        assert memory.promote(2).ref == "1"
        assert (memory.count(), memory.get(2).status) == (1, Status.SUPERSEDED)


# --- Vouching ------------------------------------------------------------------------------------------------------


@pytest.mark.row("P4", "confirmed")
@pytest.mark.parametrize("vouching", Origin)
@pytest.mark.parametrize("made", Origin)
def test_a_memory_is_trusted_as_the_one_who_vouches_and_never_less_than_before(
    tmp_path: Path, clock: FixedClock, vouching: Origin, made: Origin
) -> None:
    """The user's word makes it certain, an agent's no more than 0.8; its origin stays what it was."""
    place = str(tmp_path / "memory.db")
    with recollect.open(store=place, clock=clock, origin=made, background=False) as memory:
        memory.remember(CACHE)
    clock.move(days=3)
    with recollect.open(store=place, clock=clock, origin=vouching, actor="ann", background=False) as memory:
        after = memory.confirm(1)
        assert after.trust == max(TRUST[made], TRUST[vouching])
        assert vouching is not Origin.OBSERVED or after.trust <= max(0.8, TRUST[made])
        assert (after.origin, after.confirmed_at, after.confidence) == (made, clock.now, 1.0)
        assert (after.provenance[-1].origin, after.provenance[-1].reason) == (vouching, "confirmed by ann")


@pytest.mark.row("P4", "confirmed")
def test_vouching_for_a_candidate_confirms_it(memory: Recollect, clock: FixedClock) -> None:
    """At once, and it has nothing to lose any more."""
    found(memory, POINTS[3])
    assert memory.confirm(1).status is Status.CONFIRMED
    clock.move(days=3)
    assert memory.tend().plan is None
    assert memory.get(1).importance == 0.7


def test_vouching_changes_no_other_status(memory: Recollect) -> None:
    """What is pinned stays so; what is out has to be brought back first."""
    memory.remember(CACHE)
    memory.pin(1)
    assert memory.confirm(1).status is Status.PINNED
    memory.archive(1)
    with pytest.raises(InvalidInput, match="archived; restore it first"):
        memory.confirm(1)
    with pytest.raises(NotFound):
        memory.confirm(2)
