"""Sessions: turns kept and found at once, findings saved, compaction, forks, the end, and what a crash leaves."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import pytest

import recollect
from recollect import InvalidInput, Kind, MemoryOff, NotFound, Origin, Recollect, Status
from recollect.engine.session import Session, SessionMemory, compacted_view
from recollect.engine.transcripts import Transcripts
from recollect.formats.transcript import Role, Turn
from recollect.testing import FixedClock

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
RULE = "We always deploy from the main branch on Tuesdays."
RULE_KEPT = "We always deploy from the main branch on Tuesdays"
OTHER_RULE = "Never commit to the release branch directly."
CORRECTION = "No, that is wrong: the API listens on port 9090, not on port 8080."
DECISION = "We decided to use PostgreSQL for billing because SQLite locks under concurrent writers."
SMALL = {"compaction.keep_recent": 2}
NOW = timedelta(0)


class Opener(Protocol):
    def __call__(self, **settings: object) -> Recollect: ...


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def opened(tmp_path: Path, clock: FixedClock) -> Iterator[Opener]:
    """Opens the memory of one project, as often as it is asked to."""
    (tmp_path / "project").mkdir()
    with ExitStack() as memories:

        def open_one(**settings: object) -> Recollect:
            return memories.enter_context(
                recollect.open(
                    tmp_path / "project", home=tmp_path / "home", clock=clock, settings=settings, background=False
                )
            )

        yield open_one


@pytest.fixture
def memory(opened: Opener) -> Recollect:
    return opened()


def turn(content: str, role: Role = Role.USER) -> Turn:
    return Turn(role=role, content=content, timestamp=START)


def written(memory: Recollect, name: str, *turns: Turn) -> None:
    """Turns that reached the transcript before the process was killed, and nothing else."""
    memory.sessions.transcripts.append(name, turns, now=START)


def texts(memory: Recollect, kind: Kind | None = None) -> list[str]:
    """The memories there are, in order."""
    found = memory.list({} if kind is None else {"kind": kind.value}, limit=1_000)
    return sorted(each.content for each in found)


def places(memory: Recollect, question: str) -> set[tuple[str, int]]:
    """In which session, at which turn a search finds something."""
    return {(each.passage.document, each.passage.position) for each in memory.search_passages(question).excerpts}


def says(memory: Recollect, question: str, word: str) -> list[tuple[str, int]]:
    """Where what a search finds holds a word, neighbours left aside."""
    excerpts = memory.search_passages(question).excerpts
    return [(each.passage.document, each.passage.position) for each in excerpts if word in each.passage.text]


def long_session(memory: Recollect, name: str = "s1") -> Session:
    """Six turns, with a rule, a decision and idle words."""
    session = memory.session(name)
    for role, text in (
        *(("user", RULE), ("assistant", DECISION), ("user", "Go on with the invoices.")),
        *(("assistant", "The invoices are next."), ("user", "Good."), ("assistant", "Thanks.")),
    ):
        session.append(role, text)
    return session


# Appending


@pytest.mark.row("B14", "searchable", "timestamped")
def test_a_turn_is_found_as_soon_as_it_is_there_with_its_neighbours(memory: Recollect, clock: FixedClock) -> None:
    """And it has the time that it was said at."""
    session = memory.session("s1", agent="coder", host="editor")
    session.append("user", "The invoices go out at night.")
    clock.move(minutes=1)
    made = session.append("assistant", "The zebra cache is what makes them late.")
    session.append("user", "Then empty it.")
    best = memory.search_passages("zebra cache").excerpts[0]
    assert (best.passage.document, best.passage.position, best.passage.label) == ("s1", 2, "assistant")
    assert (best.passage.at, best.passage.payload) == (START + timedelta(minutes=1), {"id": made.id})
    assert [each.text for each in best.before] == ["The invoices go out at night."]
    assert [each.text for each in best.after] == ["Then empty it."]
    assert (made.seq, made.agent, made.host, made.timestamp) == (2, "coder", "editor", START + timedelta(minutes=1))


@pytest.mark.row("B14", "append-only", "readable", "logged")
def test_a_transcript_only_grows_and_can_be_read(memory: Recollect) -> None:
    """Each turn is a line of JSON after those before it; that it was indexed is logged."""
    assert memory.identity
    path = memory.identity.folder / "sessions" / "s1.jsonl"
    before = b""
    session = memory.session("s1")
    for text in (RULE, "And the tests?", "They are green."):
        session.append("user", text)
        after = path.read_bytes()
        assert after.startswith(before)
        assert json.loads(after.splitlines()[-1])["content"] == text
        before = after
    session.compact(force=True)
    session.finalise()
    assert path.read_bytes().startswith(before)
    assert next(each.detail for each in memory.audit() if each.action == "file") == {"passages": {"sessions": 1}}
    assert memory.sessions.transcripts.verify("s1") == ()


def test_what_tools_say_is_kept_and_not_searched(memory: Recollect) -> None:
    """Their calls and results are long and say little; the transcript has them."""
    session = memory.session("s1")
    session.append("tool_call", "", name="bash", input={"command": "cat zebra.txt"}, ref="t1")
    session.append("tool_result", "the zebra cache is cold", name="bash", ref="t1")
    session.append("system", "zebra rules")
    assert [each.role for each in session.turns()] == [Role.TOOL_CALL, Role.TOOL_RESULT, Role.SYSTEM]
    assert places(memory, "zebra") == set()


@pytest.mark.row("X6")
def test_what_was_injected_is_stored_and_neither_indexed_nor_extracted(memory: Recollect) -> None:
    """As a turn of its own, or inside the marks within one."""
    session = memory.session("s1")
    session.append("user", "Never touch the zebra ledger by hand.", injected=True)
    session.append("user", "<recollect>\nNever touch the zebra ledger by hand.\n</recollect>\nGo on with the invoices.")
    done = session.finalise()
    assert [each.injected for each in session.turns()] == [True, False]
    assert "zebra" in (session.turns()[0].content or "")
    assert says(memory, "zebra ledger by hand", "zebra") == []
    assert says(memory, "invoices", "invoices") == [("s1", 2)]
    assert (done.findings, done.promoted, texts(memory)) == (0, (), [])
    assert "zebra" not in done.summary


@pytest.mark.parametrize("role", ["", "User", "tool", "mark"])
def test_a_role_that_there_is_not_is_refused(memory: Recollect, role: str) -> None:
    """And nothing is written."""
    with pytest.raises(InvalidInput, match="role"):
        memory.session("s1").append(role, "hello")
    assert memory.sessions.list() == ()


@pytest.mark.parametrize("name", ["", " ", "\t"])
def test_a_session_needs_a_name(memory: Recollect, name: str) -> None:
    """Before anything is written."""
    with pytest.raises(InvalidInput, match="session"):
        memory.session(name)


@pytest.mark.parametrize("act", ["turns", "finalise", "compact", "checkpoint"])
def test_a_session_without_a_turn_is_not_there(memory: Recollect, act: str) -> None:
    """It begins with its first turn."""
    with pytest.raises(NotFound):
        getattr(memory.session("s1"), act)()
    with pytest.raises(NotFound):
        memory.sessions.listed("s1")


@pytest.mark.row("B2", "index")
def test_sessions_are_listed_the_latest_first(memory: Recollect, clock: FixedClock) -> None:
    """With their length, their beginning and whether they have ended."""
    memory.session("older", host="editor").append("user", RULE)
    clock.move(hours=1)
    memory.session("newer").append("user", OTHER_RULE)
    memory.session("older").finalise()
    first, second = memory.sessions.list()
    assert (first.id, first.turns, first.finalised, first.title) == ("newer", 1, 0, OTHER_RULE)
    assert (second.id, second.turns, second.finalised, second.host) == ("older", 1, 1, "editor")
    assert memory.sessions.listed("newer") == first


@pytest.mark.row("B2", "archive")
def test_a_session_is_archived_after_thirty_days_and_still_found(memory: Recollect, clock: FixedClock) -> None:
    """Read, searched and listed as before."""
    session = memory.session("s1")
    session.append("user", RULE)
    clock.move(days=29)
    assert memory.sessions.archive() == ()
    clock.move(days=2)
    assert memory.sessions.archive() == ("s1",)
    assert memory.sessions.listed("s1").archived
    assert [each.content for each in session.turns()] == [RULE]
    assert places(memory, "deploy main branch") == {("s1", 1)}


# Checkpoints


@pytest.mark.row("P1", "checkpoint")
@pytest.mark.parametrize("every, through", [(1, 7), (3, 6), (7, 7), (8, 0)])
def test_findings_are_saved_every_few_turns(opened: Opener, every: int, through: int) -> None:
    """Ten by default; nobody has to ask for it."""
    memory = opened(**{"session.checkpoint_every": every})
    session = memory.session("s1")
    session.append("user", RULE)
    for number in range(6):
        session.append("assistant", f"step {number}")
    assert session.memory.through == through
    assert [each.content for each in session.memory.findings] == ([RULE_KEPT] if through else [])


@pytest.mark.row("P1", "checkpoint")
def test_ten_turns_make_a_checkpoint_however_they_come(memory: Recollect) -> None:
    """One by one, or many at once that pass the mark."""
    one = memory.session("one")
    for number in range(9):
        one.append("user", f"step {number}")
    assert one.memory.through == 0
    one.append("user", RULE)
    many = memory.session("many")
    many.extend([turn(RULE), *(turn(f"step {number}") for number in range(11))])
    assert (one.memory.through, many.memory.through) == (10, 12)
    assert [each.message for each in (*one.memory.findings, *many.memory.findings)] == [10, 1]


@pytest.mark.row("P1", "checkpoint")
def test_with_a_background_nobody_waits_for_findings(tmp_path: Path) -> None:
    """They are made soon, and at the latest when the memory is closed."""
    (tmp_path / "project").mkdir()
    every = {"session.checkpoint_every": 2}
    with recollect.open(tmp_path / "project", home=tmp_path / "home", settings=every) as memory:
        session = memory.session("s1")
        session.extend([turn(RULE), turn("Go on.")])
        deadline = time.monotonic() + 20
        while session.memory.through < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [each.content for each in session.memory.findings] == [RULE_KEPT]
        session.extend([turn(OTHER_RULE), turn("Go on.")])
    with recollect.open(tmp_path / "project", home=tmp_path / "home", background=False) as memory:
        assert [each.message for each in memory.session("s1").memory.findings] == [1, 3]


@pytest.mark.row("P1", "checkpoint")
def test_a_checkpoint_that_was_never_made_is_made_up_for(opened: Opener) -> None:
    """Killed before the background came to it: the next one reads on from the last one, and so does the end."""
    memory = opened(**{"session.checkpoint_every": 2})
    session = memory.session("s1")
    written(memory, "s1", turn(RULE), turn("Go on."))
    assert session.memory.through == 0
    session.extend([turn(OTHER_RULE), turn("Go on.")])
    assert [each.message for each in session.memory.findings] == [1, 3]
    written(memory, "s1", turn(CORRECTION), turn("Go on."))
    assert len(session.finalise().promoted) == 3


def test_an_end_is_not_undone_by_findings_that_are_made_meanwhile(memory: Recollect) -> None:
    """Whoever makes findings saves nothing over what was noted since they began."""
    session = memory.session("s1")
    session.extend([turn(RULE), *(turn(f"step {number}") for number in range(300))])
    threads = [threading.Thread(target=session.checkpoint) for _ in range(4)]
    for each in threads:
        each.start()
    session.finalise(fast=True)
    for each in threads:
        each.join()
    assert (session.memory.ended, session.memory.through) == (True, 301)


def test_a_second_checkpoint_finds_nothing_twice(memory: Recollect) -> None:
    """Nor does it forget what was found."""
    session = memory.session("s1")
    session.append("user", RULE)
    first = session.checkpoint()
    assert session.checkpoint() == first
    session.append("user", OTHER_RULE)
    session.append("user", RULE)
    assert [each.message for each in session.checkpoint().findings] == [1, 2]


# Compaction


@pytest.mark.row("B7", "summary", "keeps-recent", "reported", "recoverable")
def test_compaction_lets_a_summary_stand_for_the_older_turns(opened: Opener) -> None:
    """The latest stay as they are, sizes are told, and every word can still be read and searched."""
    memory = opened(**SMALL)
    session = long_session(memory)
    told, before = session.turns(), session.tokens
    done = session.compact(force=True)
    assert done.summary is not None
    assert (done.turns_before, done.turns_after) == (6, 3)
    assert (done.tokens_before, done.tokens_after) == (before, session.tokens)
    assert session.view() == [done.summary, *told[-2:]]
    assert (done.summary.role, done.summary.covers) == (Role.SUMMARY, (told[0].id, told[3].id))
    assert "deploy from the main branch" in (done.summary.content or "")
    assert session.turns() == [*told, done.summary]
    assert ("s1", 3) in places(memory, "go on with the invoices")


def test_compacting_again_goes_on_from_there(opened: Opener) -> None:
    """One summary is shown, and none of the turns that either stands for."""
    memory = opened(**SMALL)
    session = long_session(memory)
    session.compact(force=True)
    for text in (OTHER_RULE, "one", "two"):
        session.append("user", text)
    again = session.compact(force=True)
    assert [each.content for each in session.view()[1:]] == ["one", "two"]
    assert session.view()[0] == again.summary
    assert again.summary is not None
    assert "release branch" in (again.summary.content or "")
    assert len([each for each in session.turns() if each.role is not Role.SUMMARY]) == 9


def test_below_the_threshold_compaction_does_nothing(memory: Recollect) -> None:
    """No turn, no memory, and the same sizes before and after."""
    session = long_session(memory)
    told = session.turns()
    done = session.compact()
    assert (done.summary, done.promoted) == (None, ())
    assert (done.turns_before, done.tokens_before) == (done.turns_after, done.tokens_after) == (6, session.tokens)
    assert (session.turns(), texts(memory)) == (told, [])


@pytest.mark.row("B7", "summary")
def test_past_the_threshold_it_is_done_unforced(opened: Opener) -> None:
    """Its tokens are what counts."""
    tokens = long_session(opened(), "measured").tokens
    above, below = opened(**SMALL, **{"compaction.threshold": tokens}), opened(**{"compaction.threshold": tokens + 1})
    assert long_session(below, "s1").compact().summary is None
    assert long_session(above, "s2").compact().summary is not None


@pytest.mark.row("B7", "keeps-recent")
def test_with_nothing_older_there_is_nothing_to_compact(memory: Recollect) -> None:
    """Even if it is forced: all turns are among the latest."""
    session = long_session(memory)
    assert session.compact(force=True).summary is None
    assert len(session.turns()) == 6


@pytest.mark.row("B8")
def test_what_is_worth_keeping_is_saved_before_compaction(opened: Opener) -> None:
    """The user's rule is a memory, made before the summary was written."""
    memory = opened(**SMALL)
    done = long_session(memory).compact(force=True)
    [kept] = [each.remembered for each in done.promoted if each.remembered]
    assert (kept.memory.content, kept.memory.status) == (RULE_KEPT, Status.CONFIRMED)
    actions = [each.action for each in memory.audit()]
    assert actions.index("add") < len(actions) - 1 - actions[::-1].index("file")


@pytest.mark.row("B8")
def test_a_long_session_is_saved_before_it_is_long_enough_to_compact(opened: Opener) -> None:
    """Its own threshold, lower than that of compaction; switched off, nothing is saved."""
    memory = opened(**{"flush.threshold": 1})
    done = long_session(memory).compact()
    assert (done.summary, texts(memory)) == (None, [RULE_KEPT])
    off = opened(**SMALL, **{"flush.enabled": False})
    assert long_session(off, "s2").compact(force=True).promoted == ()


@pytest.mark.row("B8")
def test_whatever_is_compacted_is_saved_first(opened: Opener) -> None:
    """However the two thresholds are set."""
    memory = opened(**SMALL, **{"compaction.threshold": 10})
    done = long_session(memory).compact()
    assert done.summary is not None
    assert [each.remembered.memory.content for each in done.promoted if each.remembered] == [RULE_KEPT]


@pytest.mark.row("K11", "before-compaction")
def test_the_summary_of_a_compaction_is_a_memory_too(opened: Opener) -> None:
    """It says which session it is of."""
    memory = opened(**SMALL)
    done = long_session(memory).compact(force=True)
    assert done.summary is not None
    [kept] = memory.list({"kind": "summary"})
    assert (kept.content, kept.session_id, kept.origin) == (done.summary.content, "s1", Origin.EXTRACTED)


def test_a_summary_teaches_nothing_new(opened: Opener) -> None:
    """It is told in the session's own words, so nothing is found in it a second time."""
    memory = opened(**SMALL)
    session = long_session(memory)
    before = session.checkpoint().findings
    session.compact(force=True)
    session.finalise()
    assert session.memory.findings == before
    assert texts(memory, Kind.PREFERENCE) == [RULE_KEPT]


def test_the_view_leaves_out_a_tools_result_that_the_summary_covers(opened: Opener) -> None:
    """A call and its result share an id; the summary stands for both."""
    memory = opened(**{"compaction.keep_recent": 1})
    session = memory.session("s1")
    session.append("user", RULE)
    session.append("tool_call", "", name="bash", input={"command": "ls"}, ref="t1")
    session.append("tool_result", "a b c", name="bash", ref="t1")
    session.append("user", "Thanks.")
    session.compact(force=True)
    assert [each.role for each in session.view()] == [Role.SUMMARY, Role.USER]


def test_a_view_without_a_summary_is_everything() -> None:
    """Also when a summary says nothing of what it covers."""
    told = [turn("a"), turn("b", Role.SUMMARY)]
    assert compacted_view(told) == told
    assert compacted_view([]) == []


# The end


@pytest.mark.row("J22")
@pytest.mark.row("P5", "at-once")
@pytest.mark.row("K15", "facts")
def test_ending_a_session_keeps_what_the_user_stated(memory: Recollect) -> None:
    """Confirmed, as the user's own word, with the session and the turn that it is from."""
    session = memory.session("s1", agent="coder", host="editor")
    session.append("assistant", "What are the rules?")
    session.append("user", RULE)
    done = session.finalise()
    [kept] = memory.list({"kind": "preference"})
    assert (kept.content, kept.status, kept.origin) == (RULE_KEPT, Status.CONFIRMED, Origin.USER_STATED)
    assert (kept.session_id, kept.message_range, kept.agent, kept.host) == ("s1", (2, 2), "coder", "editor")
    assert (done.session, done.findings, done.pending, len(done.promoted)) == ("s1", 1, False, 1)
    assert memory.sessions.listed("s1").finalised == 2
    assert memory.recall("deploy branch").hits[0].memory.content == RULE_KEPT


@pytest.mark.row("K15", "corrections", "decisions")
def test_corrections_and_decisions_of_the_user_are_kept_unasked(memory: Recollect) -> None:
    """Each as what it is."""
    session = memory.session("s1")
    session.append("assistant", "The API listens on port 8080.")
    session.append("user", CORRECTION)
    session.append("user", "Let's go with PostgreSQL for the billing database.")
    session.finalise()
    kept = {each.kind: each for each in memory.list({}) if each.kind is not Kind.SUMMARY}
    assert {Kind.CORRECTION, Kind.DECISION} <= set(kept)
    assert kept[Kind.CORRECTION].origin is Origin.USER_CORRECTED
    assert "9090" in kept[Kind.CORRECTION].content
    assert "PostgreSQL" in kept[Kind.DECISION].content


@pytest.mark.row("K11", "session-end")
@pytest.mark.row("K13", "session")
def test_what_a_session_came_to_is_stored_once_however_often_it_ends(memory: Recollect) -> None:
    """As a summary; the session leads to it and to what it taught."""
    session = long_session(memory)
    done = session.finalise()
    first = texts(memory)
    again = session.finalise()
    assert texts(memory) == first
    assert texts(memory, Kind.SUMMARY) == [done.summary]
    assert (again.promoted, again.findings) == ((), done.findings)
    assert {each.content for each in memory.list({"session_id": "s1"})} == {RULE_KEPT, done.summary}


def test_a_session_that_goes_on_after_its_end_can_end_again(memory: Recollect) -> None:
    """What was said since is kept as well, and nothing twice."""
    session = memory.session("s1")
    session.append("user", RULE)
    session.finalise()
    session.append("user", OTHER_RULE)
    session.finalise()
    kept = [each for each in memory.list({}) if each.kind is not Kind.SUMMARY]
    assert sorted(each.content for each in kept) == sorted([RULE_KEPT, OTHER_RULE.rstrip(".")])
    assert memory.sessions.listed("s1").finalised == 2


def test_sessions_with_long_names_keep_a_summary_each(memory: Recollect) -> None:
    """Also when the names begin alike."""
    for name, rule in (("a" * 195 + "1", RULE), ("a" * 195 + "2", OTHER_RULE)):
        session = memory.session(name)
        session.append("user", rule)
        session.finalise()
    assert len(texts(memory, Kind.SUMMARY)) == 2


@pytest.mark.row("P5", "background")
def test_ending_in_a_hurry_leaves_the_rest_to_recovery(memory: Recollect) -> None:
    """Nothing is made of it yet; the next start does it, however fresh the session is."""
    session = long_session(memory)
    done = session.finalise(fast=True)
    assert (done.pending, done.promoted, texts(memory)) == (True, (), [])
    assert memory.sessions.listed("s1").finalised == 0
    [finished] = memory.sessions.recover()
    assert (finished.session, finished.pending) == ("s1", False)
    assert texts(memory, Kind.PREFERENCE) == [RULE_KEPT]
    assert memory.sessions.recover() == ()


@pytest.mark.row("P5", "off")
def test_with_automatic_memory_off_nothing_becomes_a_memory(opened: Opener) -> None:
    """The transcript and its index are there all the same."""
    memory = opened(**SMALL, **{"promotion.auto": False})
    session = long_session(memory)
    assert session.flush() == ()
    done = session.finalise()
    assert (done.promoted, done.summary, texts(memory)) == ((), "", [])
    assert memory.sessions.listed("s1").finalised == 6
    assert ("s1", 1) in places(memory, "deploy main branch")


@pytest.mark.row("P5", "off")
def test_with_automatic_memory_off_compaction_makes_no_memory_either(opened: Opener) -> None:
    """The summary is a turn of the session and no more."""
    memory = opened(**SMALL, **{"promotion.auto": False})
    assert long_session(memory).compact(force=True).summary is not None
    assert texts(memory) == []


def test_with_memory_off_nothing_is_written(memory: Recollect) -> None:
    """Neither turns nor memories; what is there can be read."""
    session = long_session(memory)
    memory.turn_off()
    for act in (lambda: session.append("user", "more"), session.finalise, lambda: session.compact(force=True)):
        with pytest.raises(MemoryOff):
            act()
    assert (len(session.turns()), texts(memory), memory.sessions.listed("s1").finalised) == (6, [], 0)


def test_with_memory_off_no_session_is_forked(memory: Recollect) -> None:
    """A fork is a transcript too."""
    session = long_session(memory)
    memory.turn_off()
    with pytest.raises(MemoryOff):
        session.fork("s2")


# Recovery


@pytest.mark.row("P1", "recovery")
def test_turns_that_were_not_indexed_are_found_after_recovery(memory: Recollect) -> None:
    """Killed after the transcript was written; findings come too, once the session has ended."""
    memory.session("s1").append("user", "The invoices go out at night.")
    written(memory, "s1", turn("The zebra cache is cold."), turn(RULE))
    assert says(memory, "zebra cache", "zebra") == []
    assert memory.sessions.recover() == ()
    assert says(memory, "zebra cache", "zebra") == [("s1", 2)]
    [done] = memory.sessions.recover(idle=NOW)
    assert (done.session, texts(memory, Kind.PREFERENCE)) == ("s1", [RULE_KEPT])


@pytest.mark.row("P1", "recovery")
def test_turns_that_were_not_indexed_are_found_though_the_session_went_on(memory: Recollect) -> None:
    """Killed after the transcript was written; another process went on before anybody recovered."""
    memory.session("s1").append("user", "The invoices go out at night.")
    written(memory, "s1", turn("The zebra cache is cold."))
    memory.session("s1").append("user", "Go on.")
    memory.sessions.recover(idle=NOW)
    assert says(memory, "zebra cache", "zebra") == [("s1", 2)]


@pytest.mark.row("P1", "recovery")
@pytest.mark.parametrize("reached", ["transcript", "indexed", "found", "promoted", "weighed", "ended"])
def test_a_session_that_crashed_is_finished_wherever_it_was(memory: Recollect, clock: FixedClock, reached: str) -> None:
    """The same memories, each once, as if nothing had happened."""
    session = memory.session("s1")
    written(memory, "s1", turn(RULE), turn(DECISION, Role.ASSISTANT), turn("Good."))
    if reached != "transcript":
        assert memory.sessions.recover() == ()
    if reached in ("found", "promoted"):
        session.checkpoint()
    if reached == "promoted":
        memory.promote_findings(session.memory.findings, session="s1")
    if reached in ("weighed", "ended"):
        session.flush()
    if reached == "ended":
        session.finalise(fast=True)
    else:
        clock.move(hours=2)
    [done] = memory.sessions.recover()
    assert (done.session, done.findings) == ("s1", 2)
    assert texts(memory) == sorted([done.summary, RULE_KEPT])
    assert places(memory, "deploy main branch") >= {("s1", 1)}
    assert memory.sessions.recover() == ()
    assert memory.verify_audit() == ()


@pytest.mark.row("P1", "recovery")
def test_a_half_written_turn_is_set_aside(memory: Recollect) -> None:
    """What came before it is kept, and the session goes on."""
    assert memory.identity
    session = memory.session("s1")
    session.append("user", RULE)
    with (memory.identity.folder / "sessions" / "s1.jsonl").open("ab") as file:
        file.write(b'{"id": "msg_000002", "role": "us')
    memory.sessions.recover(idle=NOW)
    assert [each.content for each in session.turns()] == [RULE]
    assert session.append("user", "Go on.").seq == 2
    assert memory.sessions.transcripts.verify("s1") == ()


def test_a_session_in_use_is_left_alone(memory: Recollect, clock: FixedClock) -> None:
    """Until nobody has added to it for an hour."""
    memory.session("s1").append("user", RULE)
    clock.move(minutes=59)
    assert memory.sessions.recover() == ()
    clock.move(minutes=1)
    assert [each.session for each in memory.sessions.recover()] == ["s1"]


@pytest.mark.row("P1", "recovery")
def test_a_session_that_went_on_after_its_end_and_crashed_is_finished(memory: Recollect) -> None:
    """What was said since its first end is not lost."""
    session = memory.session("s1")
    session.append("user", RULE)
    session.finalise()
    session.append("user", OTHER_RULE)
    memory.sessions.recover(idle=NOW)
    assert OTHER_RULE.rstrip(".") in texts(memory)


@pytest.mark.row("P1", "recovery")
@pytest.mark.parametrize("fast", [False, True])
def test_a_session_that_goes_on_after_its_end_is_in_use_again(memory: Recollect, clock: FixedClock, fast: bool) -> None:
    """That somebody said that it has ended holds until it goes on; then it is left alone for an hour."""
    session = memory.session("s1")
    session.append("user", RULE)
    session.finalise(fast=fast)
    session.append("user", OTHER_RULE)
    assert memory.sessions.recover() == ()
    assert OTHER_RULE.rstrip(".") not in texts(memory)
    clock.move(hours=1)
    assert [each.session for each in memory.sessions.recover()] == ["s1"]
    assert OTHER_RULE.rstrip(".") in texts(memory)


def test_a_session_that_is_finished_is_not_read_again(memory: Recollect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recovery reads only what may have something left to do, however many sessions there are."""
    for name in ("s1", "s2", "s3"):
        session = memory.session(name)
        session.append("user", f"{RULE} {name}")
        session.finalise()
    memory.session("s3").append("user", "Go on.")
    read: list[str] = []
    repair = Transcripts.repair

    def noted(self: Transcripts, session_id: str, *, now: datetime) -> bool:
        read.append(session_id)
        return repair(self, session_id, now=now)

    monkeypatch.setattr(Transcripts, "repair", noted)
    assert memory.sessions.recover() == ()
    assert read == ["s3"]


@pytest.mark.row("P1", "recovery")
@pytest.mark.parametrize("left", ["torn", "unfiled", "unnoted"])
def test_of_a_finished_session_what_is_amiss_is_put_right(memory: Recollect, left: str) -> None:
    """A record torn after the end, turns that the index has lost, a kill just before the end was noted."""
    assert memory.identity
    session = memory.session("s1")
    session.append("user", "The zebra cache is cold.")
    written(memory, "s1", turn("The zebra cache is warm."))
    session.finalise()
    assert places(memory, "zebra cache") == {("s1", 1), ("s1", 2)}
    path = memory.identity.folder / "sessions" / "s1.jsonl"
    whole = path.read_bytes()
    if left == "torn":
        path.write_bytes(whole + b'{"id": "msg_000003", "role": "us')
    elif left == "unfiled":
        memory.unfile("sessions", "s1", start=2)
    else:
        session._save(SessionMemory())
    assert memory.sessions.recover() == ()
    assert (path.read_bytes(), places(memory, "zebra cache")) == (whole, {("s1", 1), ("s1", 2)})
    audited = memory.audit()
    assert (memory.sessions.recover(), memory.audit()) == ((), audited)


# Forks


@pytest.mark.row("P17", "copy", "lineage")
def test_a_fork_shares_the_past_and_remembers_what_was_found(memory: Recollect) -> None:
    """Both go on by themselves from there."""
    session = memory.session("s1")
    session.append("user", RULE)
    child = session.fork("s2")
    assert child.memory == SessionMemory(through=1, findings=session.memory.findings, parent="s1", shared=1)
    assert len(child.memory.findings) == 1
    child.append("user", "only in the fork")
    session.append("user", "only in the parent")
    assert [each.content for each in child.turns()] == [RULE, "only in the fork"]
    assert [each.content for each in session.turns()] == [RULE, "only in the parent"]
    listed = memory.sessions.listed("s2")
    assert (listed.parent, listed.fork_at, listed.turns) == ("s1", 1, 2)


@pytest.mark.row("P17", "copy")
def test_a_fork_from_the_middle_knows_nothing_of_what_came_after(memory: Recollect) -> None:
    """Neither turns nor findings."""
    session = memory.session("s1")
    session.append("user", RULE)
    session.append("user", OTHER_RULE)
    child = session.fork("s2", at=1)
    assert [each.content for each in child.turns()] == [RULE]
    assert [each.content for each in child.memory.findings] == [RULE_KEPT]
    child.finalise()
    assert texts(memory, Kind.PREFERENCE) == [RULE_KEPT]


@pytest.mark.row("P17", "no-duplicates")
@pytest.mark.parametrize("before", [False, True], ids=["weighed after the fork", "weighed before the fork"])
def test_a_session_and_its_fork_promote_without_duplicates(memory: Recollect, before: bool) -> None:
    """What both found is one memory; what each found alone is one each."""
    session = memory.session("s1")
    session.append("user", RULE)
    if before:
        session.flush()
    child = session.fork("s2")
    session.append("user", OTHER_RULE)
    child.append("user", "Always run the linter before you commit to the repository.")
    session.finalise()
    child.finalise()
    kept = [each for each in memory.list({}) if each.kind is not Kind.SUMMARY]
    assert sorted(each.content for each in kept) == sorted(
        [RULE_KEPT, OTHER_RULE.rstrip("."), "Always run the linter before you commit to the repository"]
    )
    assert {each.session_id for each in kept if each.content == RULE_KEPT} == {"s1"}


@pytest.mark.row("P17", "no-duplicates")
def test_the_shared_past_of_a_fork_is_found_once(memory: Recollect) -> None:
    """Where it was said."""
    session = memory.session("s1")
    session.append("user", RULE)
    session.fork("s2")
    memory.sessions.recover()
    assert places(memory, "deploy main branch") == {("s1", 1)}


@pytest.mark.row("P17", "no-duplicates")
def test_what_was_said_once_is_not_counted_twice_for_a_fork(memory: Recollect) -> None:
    """A finding too weak for the parent is too weak for its fork."""
    session = memory.session("s1")
    session.append("assistant", DECISION)
    child = session.fork("s2")
    verdicts = [each.judged.promote for done in (session.finalise(), child.finalise()) for each in done.promoted]
    assert not any(verdicts)


def test_a_fork_needs_a_name_of_its_own(memory: Recollect) -> None:
    """And a session to begin from."""
    session = long_session(memory)
    with pytest.raises(recollect.RecollectError):
        session.fork("s1")
    with pytest.raises(NotFound):
        memory.session("nowhere").fork("s3")
    assert [each.id for each in memory.sessions.list()] == ["s1"]


# Gaps


@pytest.mark.row("J16", "logged")
def test_a_gap_is_logged_with_its_context_and_counted(memory: Recollect, clock: FixedClock) -> None:
    """The same once more, however it is spaced, is counted."""
    first = memory.note_gap("How are vault keys rotated?", session="s1")
    clock.move(minutes=5)
    memory.note_gap("Which port does staging use?")
    again = memory.note_gap("how are  vault keys rotated?", session="s1")
    assert (first.context, first.at, first.session, first.times) == ("How are vault keys rotated?", START, "s1", 1)
    assert (again.times, again.at) == (2, START + timedelta(minutes=5))
    assert {(each.context.casefold().replace("  ", " "), each.times) for each in memory.gaps()} == {
        ("how are vault keys rotated?", 2),
        ("which port does staging use?", 1),
    }


@pytest.mark.row("J16", "reviewed")
def test_gaps_are_looked_at_again_when_their_session_ends(memory: Recollect) -> None:
    """Those that a memory answers by now are answered; those of other sessions wait for theirs."""
    session = memory.session("s1")
    session.append("user", "Hello there.")
    for context in ("Which branch do we deploy from?", "How are vault keys rotated?"):
        memory.note_gap(context, session="s1")
    memory.note_gap("What day do we deploy from main?", session="s2")
    session.append("user", RULE)
    done = session.finalise()
    assert done.gaps == 1
    assert {each.context for each in memory.gaps()} == {
        "How are vault keys rotated?",
        "What day do we deploy from main?",
    }
    assert {each.context for each in memory.gaps(answered=True) if each.answered} == {"Which branch do we deploy from?"}


@pytest.mark.row("J16", "reviewed")
def test_a_question_does_not_answer_itself(memory: Recollect) -> None:
    """That a session asked it is no answer, though its summary says so."""
    question = "How do we rotate the vault keys for staging?"
    session = memory.session("s1")
    session.append("user", question)
    session.append("assistant", DECISION)
    memory.note_gap(question, session="s1")
    assert session.finalise().gaps == 1


def test_the_oldest_gaps_give_way(memory: Recollect, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a log nobody reads stays small."""
    monkeypatch.setattr("recollect.engine.gaps.MOST", 3)
    for number in range(5):
        clock.move(seconds=1)
        memory.note_gap(f"question number {number}")
    assert [each.context for each in memory.gaps()] == [f"question number {number}" for number in (4, 3, 2)]


def test_a_gap_hides_secrets_and_needs_words(memory: Recollect) -> None:
    """As every text that is stored."""
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    assert secret not in memory.note_gap(f"Why does {secret} not work?").context
    with pytest.raises(InvalidInput):
        memory.note_gap("  ")
    memory.turn_off()
    with pytest.raises(MemoryOff):
        memory.note_gap("Is it on?")
