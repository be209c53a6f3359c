"""Memories that act: they come up when what somebody does touches their trigger, and at no other time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import recollect
from recollect import Draft, InvalidInput, Kind, Procedure, Recollect, Status, TooLarge
from recollect.engine.acting import Triggered
from recollect.model import Finding, Mark, Put
from recollect.testing import FixedClock, temp_recollect

START = datetime(2026, 1, 1, tzinfo=UTC)
PUSH = "Never push straight to main"
SHIP = Procedure(
    name="Ship a release",
    trigger="deploy to production",
    steps=("Build the image", "Push it"),
    prerequisites=("A key of the registry",),
    warnings=("It takes ten minutes",),
)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture(params=["memory:", "{}/memory.db", "json:{}/memory.json"], ids=["memory", "sqlite", "json"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Recollect]:
    store = str(request.param).format(tmp_path)
    with recollect.open(store=store, home=tmp_path / "home", clock=clock, background=False) as opened:
        yield opened


def refs(memory: Recollect, context: str, **more: object) -> list[str]:
    """What comes up, by reference."""
    return [each.memory.ref for each in memory.triggered(context, **more)]  # type: ignore[arg-type]


# --- What triggers -------------------------------------------------------------------------------------------------

TRIGGERS: list[tuple[str, str, list[str], str]] = [
    # the trigger, a context that touches it, files at work on, and what is told as found
    ("force push", "let's FORCE\n push this branch", [], "FORCE push"),
    ("println!", 'add println!("{x}") here', [], "println!"),
    ("rm -rf", "then run rm  -rf build", [], "rm -rf"),
    ("*.pem", "look at it", ["certs/server.pem"], "certs/server.pem"),
    ("*.pem", "cat certs/server.pem please", [], "certs/server.pem"),
    ("glob:config/**", "look at it", ["app/config/prod/db.toml"], "app/config/prod/db.toml"),
    (r"re:push\s+(-f|--force)\b", "git push --force origin", [], "push --force"),
    (r"/drop\s+table/i", "DROP TABLE users;", [], "DROP TABLE"),
    ("words:delete production data", "the data of production was deleted", [], "data … production … deleted"),
]


@pytest.mark.row("J12")
@pytest.mark.parametrize("trigger, context, files, found", TRIGGERS)
def test_a_warning_comes_up_when_its_pattern_matches_the_context(
    memory: Recollect, trigger: str, context: str, files: list[str], found: str
) -> None:
    """Words, paths and regular expressions, in what is said and in the files at work on."""
    memory.remember("Ask before you do this", kind="negative", triggers=[trigger])
    memory.remember("Something about another matter entirely", kind="negative", triggers=["penguin"])
    [each] = memory.triggered(context, files=files)
    assert (each.memory.ref, each.found) == ("1", found)
    assert each.pattern == each.memory.triggers[0]
    assert memory.triggered("nothing of the kind", files=["README.md"]) == ()


@pytest.mark.row("J12")
def test_the_documents_example(memory: Recollect) -> None:
    """Never println! in production code: it comes up for each of its patterns, once."""
    triggers = ["println!", "print!", "dbg!"]
    memory.remember("Never use println! for logging in production code", kind="negative", triggers=triggers)
    for pattern in triggers:
        [each] = memory.triggered(f'I will add {pattern}("here")')
        assert each.pattern == pattern
    [each] = memory.triggered(" ".join(triggers))
    assert each.pattern == "println!"
    assert memory.triggered("print the report, and println without the sign") == ()


@pytest.mark.row("J12")
@pytest.mark.parametrize("kind", Kind)
def test_a_memory_of_any_kind_may_have_triggers(memory: Recollect, kind: Kind) -> None:
    """Without one, it waits to be asked for."""
    memory.remember("About the vault", kind=kind, triggers=["open the vault"])
    memory.remember("About the vault as well: open the vault with care", kind=kind)
    assert refs(memory, "open the vault") == ["1"]


@pytest.mark.row("J13")
def test_a_procedure_comes_up_for_what_it_is_for(memory: Recollect) -> None:
    """By the words of its trigger, in any form and order."""
    memory.remember("How releases are shipped", kind="procedure", procedure=SHIP)
    for context in (
        "deploy to production",
        "can you deploy this to the production cluster?",
        "production is where we deploy next",
    ):
        assert refs(memory, context) == ["1"]
    for context in ("deploy to staging", "production is down", "ship a release"):
        assert refs(memory, context) == []


@pytest.mark.row("J13")
def test_a_procedure_without_a_trigger_or_with_a_pattern_of_its_own(memory: Recollect) -> None:
    """The first waits to be asked for, the second comes up by either."""
    memory.remember("How to warm it", kind="procedure", procedure=Procedure(name="Warm the cache", steps=("Run it",)))
    memory.remember("How to cut it", kind="procedure", procedure=SHIP, triggers=["git tag"])
    memory.remember("How to mend it", kind="procedure", procedure=Procedure(name="Mend", trigger="*.sql"))
    assert refs(memory, "warm the cache and mend it") == []
    assert refs(memory, "git tag v1") == ["2"]
    assert refs(memory, "deploy to production") == ["2"]
    assert refs(memory, "look", files=["db/001.sql"]) == ["3"]


@pytest.mark.row("J12")
def test_both_spaces_speak_up_the_most_important_first(memory: Recollect) -> None:
    """Of equals, in the order of their references."""
    memory.remember("Ask the release captain", importance=0.5, triggers=["force push"])
    memory.remember("History is shared by everybody", importance=0.9, triggers=["force push"])
    memory.remember("Hooks are not run", importance=0.7, scope="global", triggers=["force push"])
    memory.remember("The mirror takes an hour", importance=0.5, triggers=["force push"])
    assert refs(memory, "force push") == ["2", "g1", "1", "3"]


@pytest.mark.row("J12")
def test_nothing_comes_up_for_nothing(memory: Recollect) -> None:
    """No context, no files; nor in a memory that waits for nothing."""
    assert memory.triggered("") == ()
    memory.remember(PUSH, kind="negative", triggers=["push"])
    assert memory.triggered("") == memory.triggered("", files=[]) == ()
    assert refs(memory, "", files=["push"]) == ["1"]


@pytest.mark.row("J12")
def test_only_so_much_of_a_context_is_read(clock: FixedClock) -> None:
    """As of a query."""
    with recollect.open(store="memory:", clock=clock, settings={"recall.query_limit": 40}, background=False) as memory:
        memory.remember(PUSH, kind="negative", triggers=["force push"])
        assert refs(memory, " " * 30 + "force push") == ["1"]
        assert refs(memory, " " * 31 + "force push") == []


@pytest.mark.parametrize("context", ["\x00", "\ud800 force push", "a" * 200_000, "😀" * 50, "(((", "\\"])
def test_no_context_is_too_odd(memory: Recollect, context: str) -> None:
    """Whatever an agent sends."""
    memory.remember(PUSH, kind="negative", triggers=["force push", r"re:push\s+-f", "*.pem"])
    assert refs(memory, context, files=[context, "\x00"]) == (["1"] if "force push" in context else [])


@pytest.mark.parametrize("context", [None, 7, b"force push"])
def test_a_context_that_is_no_text_is_refused(memory: Recollect, context: object) -> None:
    """With an error of ours."""
    memory.remember(PUSH, kind="negative", triggers=["force push"])
    with pytest.raises(InvalidInput):
        memory.triggered(context)  # type: ignore[arg-type]


def test_one_file_alone_is_a_mistake(memory: Recollect) -> None:
    """A text is many letters, not many files."""
    with pytest.raises(InvalidInput):
        memory.triggered("look", files="server.pem")


# --- When it holds -------------------------------------------------------------------------------------------------


@pytest.mark.row("J12")
@pytest.mark.row("J10", "seasons")
@pytest.mark.parametrize("space", ["project", "global"])
def test_a_memory_with_a_season_waits_for_it(memory: Recollect, clock: FixedClock, space: str) -> None:
    """Of its own space; by a switch, or by the calendar."""
    memory.remember("Do not merge now", kind="negative", scope=space, season="freeze", triggers=["merge it"])
    [ref] = ["1" if space == "project" else "g1"]
    other = "global" if space == "project" else "project"
    assert refs(memory, "merge it") == []
    memory.seasons.define("freeze", on=True, space=other)  # type: ignore[arg-type]
    assert refs(memory, "merge it") == []
    memory.seasons.define("freeze", on=True, space=space)  # type: ignore[arg-type]
    assert refs(memory, "merge it") == [ref]
    memory.seasons.define("freeze", rule="12-15..01-05", space=space)  # type: ignore[arg-type]
    assert refs(memory, "merge it") == [ref]
    clock.move(days=10)
    assert refs(memory, "merge it") == []


@pytest.mark.row("J12")
def test_a_memory_of_a_session_or_task_comes_up_only_there(memory: Recollect) -> None:
    """And one of the project anywhere."""
    memory.remember("Of session one", scope="session", session="s1", triggers=["force push"])
    memory.remember("Of task one", scope="task", task="t1", session="s1", triggers=["force push"])
    memory.remember("Of the project", session="s1", task="t1", triggers=["force push"], importance=0.1)
    assert refs(memory, "force push") == ["3"]
    assert refs(memory, "force push", session="s1") == ["1", "3"]
    assert refs(memory, "force push", task="t1") == ["2", "3"]
    assert refs(memory, "force push", session="s1", task="t1") == ["1", "2", "3"]
    assert refs(memory, "force push", session="t1", task="s1") == ["3"]


@pytest.mark.row("J12")
@pytest.mark.parametrize("scope", ["session", "task"])
def test_no_session_is_none_of_any_name(memory: Recollect, scope: str) -> None:
    """Not even of one that is called None."""
    memory.remember("Of somebody else", scope=scope, session="None", task="None", triggers=["force push"])
    assert refs(memory, "force push") == []


@pytest.mark.row("J12")
@pytest.mark.parametrize("status", sorted(set(Status) - {Status.PINNED, Status.CANDIDATE, Status.CONFIRMED}))
def test_what_is_not_live_does_not_come_up(memory: Recollect, status: Status) -> None:
    """Whatever took it out."""
    stored = memory.remember(PUSH, kind="negative", triggers=["force push"]).memory
    assert refs(memory, "force push") == ["1"]
    memory._parts.project().apply([Mark(id=stored.id, status=status)], actor="test", now=START)
    assert refs(memory, "force push") == []


@pytest.mark.row("J24", "off")
def test_while_memory_is_off_nothing_speaks_up() -> None:
    """As nothing is recalled."""
    with temp_recollect(background=False) as memory:
        memory.remember(PUSH, kind="negative", triggers=["force push"])
        memory.turn_off()
        assert memory.recall("push to main").hits == ()
        assert refs(memory, "force push") == []


# --- Changes are seen at once --------------------------------------------------------------------------------------

ALL = "force push, then rebase it, then tag it"
Act = Callable[[Recollect], object]


def store_another(memory: Recollect) -> object:
    return memory.remember("Never rebase it", kind="negative", triggers=["rebase it"])


CHANGES: list[tuple[str, Act, list[str]]] = [
    ("new", store_another, ["1", "2"]),
    ("new procedure", lambda m: m.remember("How to", procedure=Procedure(name="Tag", trigger="tag it")), ["1", "2"]),
    ("many", lambda m: m.remember_many([Draft(content="About it", triggers=("tag it",))]), ["1", "2"]),
    ("global", lambda m: m.remember("Everywhere", scope="global", importance=0.1, triggers=["tag it"]), ["1", "g1"]),
    ("other words", lambda m: m.update(1, "Never push at all"), ["1"]),
    ("another trigger", lambda m: m.update(1, triggers=["cherry-pick"]), []),
    ("no trigger", lambda m: m.update(1, triggers=[]), []),
    ("a season", lambda m: m.update(1, season="freeze"), []),
    ("forgotten", lambda m: m.forget(1), []),
    ("archived", lambda m: m.archive(1), []),
    ("pinned", lambda m: m.pin(1), ["1"]),
    ("superseded", lambda m: m.link(m.remember("Push as you like").ref, 1, kind="supersedes"), []),
    ("promoted", lambda m: m.promote(1, "global", confirmed=True), ["g1"]),
]


@pytest.mark.row("J12")
@pytest.mark.parametrize("change, expected", [case[1:] for case in CHANGES], ids=[case[0] for case in CHANGES])
def test_a_change_is_seen_at_once(memory: Recollect, change: Act, expected: list[str]) -> None:
    """By the very next question."""
    memory.remember(PUSH, kind="negative", triggers=["force push"])
    assert refs(memory, ALL) == ["1"]
    change(memory)
    assert refs(memory, ALL) == expected
    assert refs(memory, ALL) == expected


@pytest.mark.row("J12")
@pytest.mark.parametrize("take_out", [Recollect.forget, Recollect.archive])
def test_what_is_brought_back_comes_up_again_at_once(memory: Recollect, take_out: Callable[..., object]) -> None:
    """As it was."""
    memory.remember(PUSH, kind="negative", triggers=["force push"])
    before = memory.triggered(ALL)
    take_out(memory, 1)
    assert refs(memory, ALL) == []
    memory.restore(1)
    [after] = memory.triggered(ALL)
    assert (after.text, after.pattern, after.found) == (before[0].text, before[0].pattern, before[0].found)


@pytest.mark.row("J12")
def test_what_is_told_is_the_memory_as_it_is_now(memory: Recollect) -> None:
    """Its words, not those it had when it was first looked for."""
    memory.remember(PUSH, kind="negative", triggers=["force push"])
    memory.triggered(ALL)
    memory.update(1, "Never push to a branch of somebody else")
    [each] = memory.triggered(ALL)
    assert each.memory == memory.get(1)
    assert each.text.startswith("Do not: push to a branch of somebody else")


@pytest.mark.row("J12")
def test_an_import_and_a_restored_backup_are_seen_at_once(tmp_path: Path, clock: FixedClock) -> None:
    """Whatever way a memory comes in or goes out."""
    (tmp_path / "project").mkdir()
    with temp_recollect(clock=clock, background=False) as elsewhere:
        elsewhere.remember(PUSH, kind="negative", triggers=["force push"])
        lines = list(elsewhere.export_lines())
    with recollect.open(tmp_path / "project", home=tmp_path / "home", clock=clock, background=False) as memory:
        assert refs(memory, ALL) == []
        empty = memory.backup(tmp_path / "empty.db")
        memory.import_lines(lines)
        assert refs(memory, ALL) == ["1"]
        full = memory.backup(tmp_path / "full.db")
        memory.restore_backup(empty)
        assert refs(memory, ALL) == []
        memory.restore_backup(full)
        assert refs(memory, ALL) == ["1"]


@pytest.mark.row("J12")
def test_what_tending_takes_out_and_undoing_brings_back_is_seen_at_once(clock: FixedClock) -> None:
    """Also where somebody else changed others meanwhile."""
    told = {"capacity.soft_limit": 2, "capacity.evict_to": 1}
    with recollect.open(store="memory:", clock=clock, settings=told, background=False) as memory:
        for number, trigger in enumerate(("force push", "rebase it", "tag it"), start=1):
            memory.remember(f"Ask first, case {number}", importance=number / 10, triggers=[trigger])
        assert refs(memory, ALL) == ["3", "2", "1"]
        clock.move(days=2)
        memory.tend()
        assert refs(memory, ALL) == ["3"]
        memory.plans.undo()
        assert refs(memory, ALL) == ["3", "2", "1"]


@pytest.mark.row("J12")
def test_others_in_the_place_of_others_are_seen_at_once(clock: FixedClock) -> None:
    """As many as before, as old as before, and not the same."""
    told = {"capacity.soft_limit": 4, "capacity.evict_to": 3}
    with recollect.open(store="memory:", clock=clock, settings=told, background=False) as memory:
        words = ("alpha", "bravo", "charlie", "delta", "echo")
        for word, importance in zip(words, (0.1, 0.7, 0.8, 0.2, 0.9), strict=True):
            memory.remember(f"About {word}", importance=importance, triggers=[f"about {word}"])
        clock.move(days=2)
        memory.tend()
        everything = " ".join(f"about {word}" for word in words)
        assert refs(memory, everything) == ["5", "3", "2"]
        memory.plans.undo()
        memory.archive(2)
        memory.archive(3)
        assert refs(memory, everything) == ["5", "4", "1"]


@pytest.mark.row("J12")
def test_a_change_after_an_undone_one_is_seen_at_once(memory: Recollect, clock: FixedClock) -> None:
    """Whatever the number of its version."""
    lesson = Finding(content="The vault seals itself after an hour of use.", importance=0.9, resolves=True)
    memory.promote_findings([lesson], session="s1")
    memory.update(1, triggers=["force push"])
    clock.move(days=2)
    assert memory.tend().penalised == 1
    assert refs(memory, ALL) == ["1"]
    memory.plans.undo()
    memory.update(1, triggers=["cherry-pick"])
    assert refs(memory, ALL) == []


@pytest.mark.row("J12")
def test_a_change_after_a_restored_backup_is_seen_at_once(tmp_path: Path, clock: FixedClock) -> None:
    """Though its version has the number of one that the backup did not have."""
    (tmp_path / "project").mkdir()
    with recollect.open(tmp_path / "project", home=tmp_path / "home", clock=clock, background=False) as memory:
        memory.remember(PUSH, kind="negative", triggers=["force push"])
        backup = memory.backup(tmp_path / "early.db")
        memory.update(1, triggers=["rebase it"])
        assert [each.pattern for each in memory.triggered(ALL)] == ["rebase it"]
        memory.restore_backup(backup)
        memory.update(1, triggers=["tag it"])
        assert [each.pattern for each in memory.triggered(ALL)] == ["tag it"]


@pytest.mark.row("J12")
@pytest.mark.parametrize("again", [PUSH, PUSH.upper()])
def test_what_is_remembered_again_with_a_trigger_has_it(memory: Recollect, again: str) -> None:
    """The user said it in passing; an agent stores it once more, with what brings it up."""
    memory.learn(f"{PUSH}.", session="s1")
    assert memory.remember(again, kind="negative", triggers=["force push"]).duplicate
    assert refs(memory, ALL) == ["1"]


@pytest.mark.row("J12")
def test_what_says_the_same_in_other_words_with_a_trigger_is_kept_for_it(memory: Recollect) -> None:
    """Beside the one that has none."""
    memory.learn(f"{PUSH}.", session="s1")
    assert not memory.remember(f"{PUSH}!", kind="negative", triggers=["force push"]).duplicate
    assert refs(memory, ALL) == ["2"]


@pytest.mark.row("J12")
def test_what_another_open_memory_writes_is_seen_at_once(tmp_path: Path, clock: FixedClock) -> None:
    """On the same files; its own and the global ones."""
    (tmp_path / "project").mkdir()

    def opened() -> Recollect:
        return recollect.open(tmp_path / "project", home=tmp_path / "home", clock=clock, background=False)

    with opened() as reading, opened() as writing:
        assert refs(reading, ALL) == []
        writing.remember(PUSH, kind="negative", triggers=["force push"])
        assert refs(reading, ALL) == ["1"]
        writing.remember("Everywhere", scope="global", importance=0.1, triggers=["tag it"])
        assert refs(reading, ALL) == ["1", "g1"]
        writing.update(1, triggers=["rebase it"])
        assert [each.pattern for each in reading.triggered(ALL)] == ["rebase it", "tag it"]
        writing.forget("g1")
        assert refs(reading, ALL) == ["1"]
        writing.archive(1)
        assert refs(reading, ALL) == []
        writing.restore(1)
        assert refs(reading, ALL) == ["1"]


@pytest.mark.row("J12")
def test_looking_changes_nothing(memory: Recollect) -> None:
    """It is counted as no use, and nothing is written."""
    memory.remember(PUSH, kind="negative", triggers=["force push"])
    store = memory._parts.project()
    before = memory.get(1), store.audit_head(), store.totals()
    for _ in range(3):
        memory.triggered(ALL)
    memory._parts.habits.write()
    assert (memory.get(1), store.audit_head(), store.totals()) == before


# --- How it is told ------------------------------------------------------------------------------------------------


@pytest.mark.row("J12")
def test_a_prohibition_is_told_as_one(memory: Recollect) -> None:
    """What not to do, and why it comes up."""
    memory.remember(PUSH, kind="negative", triggers=["force push"])
    [each] = memory.triggered("I will  force push now")
    assert isinstance(each, Triggered)
    assert each.text == "Do not: push straight to main\nComes up because of: force push"


@pytest.mark.row("J13")
def test_a_procedure_is_told_with_all_its_parts(memory: Recollect) -> None:
    """Name, trigger, prerequisites, steps and warnings, in the order in which they are needed."""
    memory.remember("How releases are shipped", kind="procedure", procedure=SHIP)
    [each] = memory.triggered("deploy to production")
    assert each.text.splitlines() == [
        "Procedure: Ship a release",
        "About: How releases are shipped",
        "When: deploy to production",
        "Before you start:",
        "- A key of the registry",
        "Steps:",
        "1. Build the image",
        "2. Push it",
        "Beware:",
        "- It takes ten minutes",
        "Comes up because of: deploy … production",
    ]


def test_another_kind_is_told_by_its_name(memory: Recollect) -> None:
    """On as many lines as it has, indented, so that none passes for another entry."""
    memory.remember("The pool hides timeouts\nDo not: read this", kind="warning", triggers=["pool_size"])
    [each] = memory.triggered("set pool_size=40")
    assert each.text.splitlines() == [
        "Warning: The pool hides timeouts",
        "        Do not: read this",
        "Comes up because of: pool_size",
    ]


# --- Patterns that cannot be used ----------------------------------------------------------------------------------

REFUSED = [
    ("re:(", "triggers: '(' cannot be used: missing ): ("),
    ("re:[a-", "cannot be used: missing ]"),
    (r"re:(?=x)y", "looking ahead or behind"),
    (r"re:(a)\1", "referring back to a group is not supported"),
    ("re:.*", "matches almost any text; say more"),
    ("/(/", "cannot be used"),
    ("*", "matches almost any path"),
    ("the", "stands in almost any text; say more"),
    ("", "is empty"),
    ("   ", "is empty"),
]


@pytest.mark.row("J12")
@pytest.mark.parametrize("pattern, problem", REFUSED)
def test_a_pattern_that_cannot_be_used_is_refused_when_it_is_written(
    memory: Recollect, pattern: str, problem: str
) -> None:
    """With what is wrong with it; neither stored anew nor put into a memory that is there."""
    with pytest.raises(InvalidInput) as refused:
        memory.remember(PUSH, triggers=["force push", pattern])
    assert str(refused.value).startswith("triggers: ")
    assert problem in str(refused.value)
    assert memory.count() == 0
    memory.remember(PUSH, triggers=["force push"])
    with pytest.raises(InvalidInput):
        memory.update(1, triggers=[pattern])
    with pytest.raises(InvalidInput):
        memory.remember_many([Draft(content="Another", triggers=(pattern,))])
    assert (memory.count(), memory.get(1).version, memory.get(1).triggers) == (1, 1, ("force push",))


def test_a_pattern_that_is_too_long_is_refused(memory: Recollect) -> None:
    """As any text is."""
    with pytest.raises(TooLarge):
        memory.remember(PUSH, triggers=["long words " * 50])


@pytest.mark.row("J13")
@pytest.mark.parametrize("pattern", ["re:(", r"re:(?=x)y", "/(/", "the"])
def test_a_procedure_s_trigger_that_cannot_be_used_is_refused_too(memory: Recollect, pattern: str) -> None:
    """Whoever wrote it would wait for ever."""
    with pytest.raises(InvalidInput):
        memory.remember("How to", kind="procedure", procedure=Procedure(name="Ship", trigger=pattern))


@pytest.mark.row("J12")
@pytest.mark.parametrize("pattern", ["re:(", r"re:(a)\1", "re:.*", "the", "x" * 5_000, "/(/"])
def test_an_old_pattern_that_cannot_be_used_breaks_nothing(tmp_path: Path, clock: FixedClock, pattern: str) -> None:
    """One that a file of our own brings in: it never matches, and everything else goes on."""
    (tmp_path / "project").mkdir()
    with temp_recollect(clock=clock, background=False) as elsewhere:
        elsewhere.remember("Old and odd", triggers=["placeholder pattern", "tag it"])
        escaped = pattern.replace("\\", "\\\\")
        lines = [line.replace("placeholder pattern", escaped) for line in elsewhere.export_lines()]
    with recollect.open(tmp_path / "project", home=tmp_path / "home", clock=clock, background=False) as memory:
        memory.remember(PUSH, kind="negative", triggers=["force push"])
        assert memory.import_lines(lines, trusted=True).added == 1
        odd = memory.list({"content": "Old and odd"})[0]
        assert pattern in odd.triggers
        assert refs(memory, f"force push {pattern}") == ["1"]
        assert refs(memory, "tag it") == [odd.ref]
        memory.update(odd.ref, "Old, odd, and put right")
        memory.promote(odd.ref, "global", confirmed=True)
        assert refs(memory, "tag it") == ["g1"]
        memory.update("g1", triggers=["tag it"])
        assert refs(memory, "tag it") == ["g1"]
        assert all(check.ok for check in memory.doctor())


@pytest.mark.row("J12")
def test_a_file_of_somebody_else_with_such_a_pattern_is_refused(clock: FixedClock) -> None:
    """It comes in by the same door as anything that is written; nothing of it is taken."""
    with temp_recollect(clock=clock, background=False) as elsewhere:
        elsewhere.remember("Fine")
        elsewhere.remember("Old and odd", triggers=["tag it"])
        lines = [line.replace('"tag it"', '"re:("') for line in elsewhere.export_lines()]
    with temp_recollect(clock=clock, background=False) as memory:
        with pytest.raises(recollect.BadFile, match="cannot be used"):
            memory.import_lines(lines)
        assert memory.count() == 0


def test_a_trigger_in_a_state_that_was_put_back_is_seen(memory: Recollect, clock: FixedClock) -> None:
    """As import, restore and undo bring a memory to exactly a state."""
    stored = memory.remember(PUSH, kind="negative", triggers=["force push"]).memory
    assert refs(memory, ALL) == ["1"]
    memory.update(1, triggers=["cherry-pick"])
    assert refs(memory, ALL) == []
    clock.move(days=-1)
    memory._parts.project().apply([Put(memory=stored)], actor="test", now=clock.now)
    assert refs(memory, ALL) == ["1"]


def test_what_was_learned_acts_once_it_is_given_a_trigger(memory: Recollect) -> None:
    """A prohibition of the user's, and a candidate."""
    memory.learn(f"{PUSH}.", session="s1")
    lesson = Finding(content="The vault seals itself after an hour of use.", importance=0.8, resolves=True)
    memory.promote_findings([lesson], session="s1")
    memory.update(1, triggers=["push to main"])
    memory.update(2, triggers=["open the vault"])
    assert refs(memory, "open the vault, then push to main") == ["1", "2"]
    assert memory.get(2).status is Status.CANDIDATE
