"""Commands on what waits for a decision, and on what acts: conflicts, review, archive, promotion, triggers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Cli, standing_in_a_project

import recollect
from recollect import Origin, Recollect
from recollect.model import Corpus, Finding, Kind, Passage
from recollect.testing import FixedClock

TABS, NO_TABS = "Use tabs for indentation in Go files", "Do not use tabs for indentation in Go files"
PORT, OTHER_PORT = "The API listens on port 8080", "The API listens on port 9090"
CONFLICT_KEYS = {"older", "newer", "since", "found_by"}
INBOX_KEYS = {"candidates", "proposed", "quarantined", "conflicts", "plans", "stale"}


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return standing_in_a_project(tmp_path, monkeypatch, capsys)


@contextmanager
def before(cli: Cli, days: float, **given: Any) -> Iterator[Recollect]:
    """The memory of the project as it was used some days ago."""
    clock = FixedClock(datetime.now(UTC) - timedelta(days=days))
    values: dict[str, Any] = {"origin": Origin.USER_STATED} | given
    with recollect.open(cli.folder, clock=clock, background=False, **values) as memory:
        yield memory


@pytest.fixture
def torn(cli: Cli) -> Cli:
    """With two memories that contradict each other."""
    cli.ok("remember", TABS)
    cli.ok("remember", NO_TABS)
    return cli


def shown(cli: Cli, ref: str) -> dict[str, Any]:
    told: dict[str, Any] = cli.ok("show", ref, "--json").json
    return told


def statuses(cli: Cli, *refs: str) -> list[str]:
    return [shown(cli, ref)["status"] for ref in refs]


# What remembering finds


@pytest.mark.row("P14", "detected")
def test_remember_tells_that_it_contradicts(cli: Cli) -> None:
    """Which memory, and where both can be seen; a program is told the same."""
    cli.ok("remember", TABS)
    assert cli.ok("remember", NO_TABS).out == (
        f"Remembered: [id:2] {NO_TABS}\n  It contradicts [id:1]; `recollect conflicts` shows both.\n"
    )
    cli.ok("remember", PORT)
    told = cli.ok("remember", OTHER_PORT, "--json").json
    assert (told["contradicts"], told["supersedes"], told["duplicate"]) == (["3"], [], False)


def test_remember_tells_whose_place_it_takes_and_how_to_undo_that(cli: Cli) -> None:
    """And what is told to type does undo it."""
    cli.ok("remember", PORT)
    out = cli.ok("remember", "The API now listens on port 9090, no longer on port 8080").out
    assert out.splitlines()[1:] == [
        "  It takes the place of [id:1]; `recollect unlink 2 1 --kind supersedes` undoes that."
    ]
    assert statuses(cli, "1", "2") == ["superseded", "confirmed"]
    cli.ok("unlink", "2", "1", "--kind", "supersedes")
    assert statuses(cli, "1", "2") == ["confirmed", "confirmed"]


def test_a_program_is_told_whose_place_it_takes(cli: Cli) -> None:
    """By reference, also in the global memory."""
    cli.ok("remember", "--global", PORT)
    told = cli.ok("remember", "--global", "The API now listens on port 9090, no longer on port 8080", "--json").json
    assert (told["ref"], told["supersedes"], told["contradicts"]) == ("g2", ["g1"], [])


def test_the_same_in_other_words_is_there_already(cli: Cli) -> None:
    """It is strengthened, and the text that is there is shown."""
    cli.ok("remember", "Deploys go out from the main branch on Tuesdays")
    again = cli.ok("remember", "On Tuesdays deploys go out from the main branch")
    assert again.out == "Strengthened, it was there already: [id:1] Deploys go out from the main branch on Tuesdays\n"


# Conflicts


@pytest.mark.row("P14", "detected", "resolved")
def test_conflicts_are_listed_with_what_settles_them(torn: Cli) -> None:
    """The older first, and a line to type."""
    assert torn.ok("conflicts").out.splitlines() == [
        f"[id:1] {TABS}",
        f"  contradicts [id:2] {NO_TABS}",
        "    `recollect conflicts resolve 1 2 --keep 2` (or both, or neither)",
    ]
    [told] = torn.ok("conflicts", "--json").json
    assert set(told) == CONFLICT_KEYS
    assert (told["older"]["ref"], told["newer"]["ref"], told["found_by"]) == ("1", "2", "user")
    assert told["since"].endswith("Z")


def test_where_there_are_none_that_is_said(cli: Cli) -> None:
    """To people and programs."""
    assert cli.ok("conflicts").out == "No conflicts.\n"
    assert cli.ok("conflicts", "--json").json == []


@pytest.mark.row("P14", "resolved")
@pytest.mark.parametrize(
    "keep, left",
    [
        ("1", ["confirmed", "superseded"]),
        ("2", ["superseded", "confirmed"]),
        ("[id:2]", ["superseded", "confirmed"]),
        ("both", ["confirmed", "confirmed"]),
        ("neither", ["archived", "archived"]),
    ],
)
def test_a_conflict_is_settled_and_opened_again(torn: Cli, keep: str, left: list[str]) -> None:
    """What is kept stays, nothing is deleted, and reopening brings everything back."""
    was = [shown(torn, "1"), shown(torn, "2")]
    out = torn.ok("conflicts", "resolve", "1", "2", "--keep", keep).out
    assert out == f"Settled: {keep} kept. `recollect conflicts reopen 1 2` undoes it.\n"
    assert statuses(torn, "1", "2") == left
    assert torn.ok("conflicts", "--json").json == []
    assert torn.ok("conflicts", "reopen", "1", "2").out == "Open again: 1 and 2.\n"
    assert [shown(torn, "1"), shown(torn, "2")] == was
    assert len(torn.ok("conflicts", "--json").json) == 1


def test_a_program_settles_a_conflict(torn: Cli) -> None:
    """It is told the plan that undoes it, and can do so by either way."""
    told = torn.ok("conflicts", "resolve", "2", "1", "--keep", "1", "--json").json
    assert told == {"plan": 1, "kept": "1"}
    assert torn.ok("conflicts", "reopen", "1", "2", "--json").json == {"reopened": ["1", "2"]}
    assert torn.ok("conflicts", "resolve", "2", "1", "--keep", "both", "--json").json["plan"] == 2
    assert torn.ok("garden", "undo", "2", "--yes", "--json").json["undone"] == 1
    assert len(torn.ok("conflicts", "--json").json) == 1


def test_two_that_were_both_kept_are_no_conflict_in_the_garden(torn: Cli) -> None:
    """Somebody has looked at them."""
    torn.ok("conflicts", "resolve", "1", "2", "--keep", "both")
    assert torn.ok("garden", "plan", "--no-clusters").out == "All is in order.\n"


def test_conflicts_of_the_global_memory(cli: Cli) -> None:
    """With --global a plain number is a global one; they are not those of the project."""
    cli.ok("remember", "--global", TABS)
    cli.ok("remember", "--global", NO_TABS)
    assert cli.ok("conflicts").out == "No conflicts.\n"
    assert "[id:g1]" in cli.ok("conflicts", "--global").out
    cli.ok("conflicts", "resolve", "--global", "1", "2", "--keep", "2")
    assert statuses(cli, "g1", "g2") == ["superseded", "confirmed"]
    cli.ok("conflicts", "reopen", "g1", "g2")
    assert statuses(cli, "g1", "g2") == ["confirmed", "confirmed"]


def test_what_somebody_changed_since_is_not_reopened(torn: Cli) -> None:
    """Their change would be lost."""
    torn.ok("conflicts", "resolve", "1", "2", "--keep", "2")
    torn.ok("tag", "1", "mine")
    done = torn("conflicts", "reopen", "1", "2")
    assert (done.status, "was changed since" in done.err) == (2, True)
    assert shown(torn, "1")["tags"] == ["mine"]


@pytest.mark.parametrize("keep", ["1", "neither"])
def test_what_has_left_recall_is_in_no_conflict(torn: Cli, keep: str) -> None:
    """Settling it all the same would leave nothing of the two in recall."""
    torn.ok("archive", "1")
    assert torn.ok("conflicts").out == "No conflicts.\n"
    assert torn("conflicts", "resolve", "1", "2", "--keep", keep).status == 3
    assert statuses(torn, "1", "2") == ["archived", "confirmed"]


@pytest.mark.parametrize(
    "words, status",
    [
        (["resolve", "1", "2"], 2),
        (["resolve", "1", "2", "--keep", "3"], 2),
        (["resolve", "1", "2", "--keep", "99"], 3),
        (["resolve", "1", "2", "--keep", "all"], 3),
        (["resolve", "1", "1", "--keep", "both"], 2),
        (["resolve", "1", "3", "--keep", "both"], 3),
        (["resolve", "1", "99", "--keep", "both"], 3),
        (["reopen", "1", "2"], 3),
        (["reopen", "1", "99"], 3),
        (["reopen", "1"], 2),
        (["settle"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_what_cannot_be_settled_has_its_status(torn: Cli, words: list[str], status: int) -> None:
    """And nothing has changed."""
    torn.ok("remember", "Lunch is at noon")
    done = torn("conflicts", *words)
    assert (done.status, done.out) == (status, "")
    assert "Error: " in done.err
    assert torn("conflicts", *words, "--json").error["message"]
    assert statuses(torn, "1", "2", "3") == ["confirmed"] * 3


# Review


@pytest.mark.row("B17", "offered", "last-reference")
def test_review_offers_what_nobody_has_referred_to(cli: Cli) -> None:
    """Since when; what was used or vouched for lately is not offered, and nothing is taken away."""
    with before(cli, 200) as memory:
        memory.remember("The staging server is called Otto")
        memory.remember("Lunch is at noon")
        memory.remember("Invoices are sent on Mondays")
        memory.pin(3)
        day = memory.get(1).created_at
    cli.ok("reinforce", "2")
    out = cli.ok("review").out
    assert "\n1 that may be out of date\n" in f"\n{out}"
    assert "[id:1] The staging server is called Otto\n" in out
    assert f"    nobody has referred to it since {day:%Y-%m-%d}\n" in out
    assert "[id:2]" not in out
    assert "[id:3]" not in out
    assert statuses(cli, "1", "2", "3") == ["confirmed", "confirmed", "pinned"]


@pytest.mark.row("B17", "prompted")
def test_review_makes_a_prompt_of_what_is_stale(cli: Cli) -> None:
    """What an agent is to do, and the memories it is to look at, with references and reasons."""
    with before(cli, 200) as memory:
        memory.remember("The staging server is called Otto")
    out = cli.ok("review", "--prompt").out
    assert out.startswith("These memories may be out of date.")
    for word in ("reinforce", "update", "forget"):
        assert word in out
    assert "- [id:1] The staging server is called Otto (nobody has referred to it since " in out
    assert cli.ok("review", "--prompt", "--json").json == {"prompt": out.removesuffix("\n")}
    cli.ok("forget", "1")
    assert cli.ok("review", "--prompt").out == "Nothing is stale.\n"
    assert cli.ok("review", "--prompt", "--json").json == {"prompt": ""}


@pytest.mark.row("B17", "relevance")
def test_what_recent_sessions_speak_of_is_not_stale(cli: Cli) -> None:
    """However long ago it was last used; sessions of long ago do not count."""
    with before(cli, 200) as memory:
        memory.remember("The staging server is called Otto")
        memory.remember("Invoices are sent on the first Monday")
        memory.file_passages(
            [
                turn("How do I reach the staging server called Otto?", position=0, days=2),
                turn("Are the invoices sent on the first Monday?", position=1, days=150),
            ]
        )
        memory.embed_pending()
    assert [each["memory"]["ref"] for each in cli.ok("review", "--json").json["stale"]] == ["2"]


def turn(text: str, *, position: int, days: float) -> Passage:
    """A turn of a session some days ago."""
    at = datetime.now(UTC) - timedelta(days=days)
    return Passage(corpus=Corpus.SESSIONS, document="s1", position=position, text=text, label="user", at=at)


def test_review_offers_what_the_working_tree_no_longer_has(cli: Cli) -> None:
    """Whatever its age, with what is wrong."""
    (cli.folder / "Makefile").write_text("test:\n\tpytest\n")
    cli.ok("remember", "Ship it with `make deploy`")
    [stale] = cli.ok("review", "--json").json["stale"]
    assert (stale["memory"]["ref"], stale["why"]) == ("1", "make deploy: Makefile has no deploy")


def test_review_tells_all_that_waits(torn: Cli) -> None:
    """Candidates, conflicts, plans; and to programs the same by name."""
    with before(torn, 0, origin=Origin.OBSERVED) as memory:
        finding = Finding(
            content="The flaky login test waits for the wrong selector", kind=Kind.ERROR, importance=0.9, resolves=True
        )
        [promoted] = memory.promote_findings([finding], session="s1", agent="one")
        assert promoted.remembered is not None
        candidate = promoted.remembered.ref
    torn.ok("remember", "Tests need a fresh database", "--tag", "test")
    torn.ok("remember", "Test data is made by factories", "--tag", "test")
    torn.ok("remember", "Flaky suites are retried once", "--tag", "tests")
    torn.ok("garden", "plan", "--no-clusters")
    out = torn.ok("review").out
    assert "1 candidates, waiting to prove themselves\n" in out
    assert f"[id:{candidate}] The flaky login test" in out
    assert f"\n1 conflicts\n[id:1] {TABS}\n" in out
    assert "\nplan 1 (garden): 1 steps wait; `recollect garden show 1`\n" in out
    told = torn.ok("review", "--json").json
    assert set(told) == INBOX_KEYS
    assert [each["ref"] for each in told["candidates"]] == [candidate]
    assert [each["id"] for each in told["plans"]] == [1]
    assert set(told["conflicts"][0]) == CONFLICT_KEYS
    assert (told["quarantined"], told["stale"]) == ([], [])


def test_where_nothing_waits_that_is_said(cli: Cli) -> None:
    """To people and programs, here and in the global memory."""
    cli.ok("remember", "Lunch is at noon")
    assert cli.ok("review").out == "Nothing waits for you.\n"
    assert cli.ok("review", "--global").out == "Nothing waits for you.\n"
    assert cli.ok("review", "--json").json == {name: [] for name in INBOX_KEYS}


# The archive


@pytest.fixture
def stocked(cli: Cli) -> Cli:
    for text in ("Lunch is at noon", "Invoices are sent on Mondays", "The staging server is called Otto"):
        cli.ok("remember", text)
    return cli


def test_archive_takes_out_of_recall_and_brings_back(stocked: Cli) -> None:
    """Several at once; search still finds what is archived, and without references the archive is listed."""
    assert stocked.ok("archive", "1", "2").out.splitlines() == [
        "Archived: [id:1] Lunch is at noon",
        "Archived: [id:2] Invoices are sent on Mondays",
    ]
    assert "[id:1]" not in stocked.ok("recall", "--no-gate", "lunch").out
    assert "[id:1]" in stocked.ok("search", "lunch").out
    assert [line.split("\t")[0] for line in stocked.ok("archive").out.splitlines()] == ["2", "1"]
    assert [each["ref"] for each in stocked.ok("archive", "--json").json] == ["2", "1"]
    assert stocked.ok("archive", "1", "--restore").out == "Restored: [id:1] Lunch is at noon\n"
    assert [each["ref"] for each in stocked.ok("archive", "--json").json] == ["2"]
    assert statuses(stocked, "1", "2", "3") == ["confirmed", "archived", "confirmed"]


def test_archive_for_programs(stocked: Cli) -> None:
    """One memory, or a list of several; a pinned one comes back pinned."""
    stocked.ok("pin", "1")
    assert stocked.ok("archive", "1", "--json").json["status"] == "archived"
    assert stocked.ok("archive", "1", "--restore", "--json").json["status"] == "pinned"
    assert [each["status"] for each in stocked.ok("archive", "2", "3", "--json").json] == ["archived", "archived"]


def test_what_is_forgotten_is_not_archived(stocked: Cli) -> None:
    """It would come into view again."""
    stocked.ok("forget", "1")
    assert stocked("archive", "1").status == 2
    assert statuses(stocked, "1") == ["forgotten"]


def test_archive_of_the_global_memory(cli: Cli) -> None:
    """With --global a plain number is a global one."""
    cli.ok("remember", "--global", "Answers in British English")
    assert cli.ok("archive", "--global", "1", "--json").json["ref"] == "g1"
    assert cli.ok("archive").out == ""
    assert "British" in cli.ok("archive", "--global").out


@pytest.mark.parametrize("words", [["archive", "1", "99"], ["confirm", "1", "99"]], ids=" ".join)
def test_a_reference_to_nothing_among_several_changes_none(stocked: Cli, words: list[str]) -> None:
    """As with all other commands that take several."""
    was = shown(stocked, "1")
    assert stocked(*words).status == 3
    assert shown(stocked, "1") == was


def test_tend_archives_what_has_had_its_time(cli: Cli) -> None:
    """As the settings say; the plan that undoes it is told."""
    with before(cli, 3, origin=Origin.EXTRACTED) as memory:
        memory.remember("The build was slow on that day")
    with before(cli, 2) as memory:
        memory.remember("Lunch is at noon")
    cli.ok("config", "set", "ttl.fact", "1")
    seen = cli.ok("archive", "--tend", "--json").json
    assert (seen["seen"], seen["expired"], seen["plan"]) == (1, 0, None)
    with before(cli, -2) as memory:
        tended = memory.tend()
    assert (tended.expired, tended.plan) == (1, 1)
    assert statuses(cli, "1", "2") == ["archived", "confirmed"]
    assert cli.ok("garden", "undo", "1", "--yes").out == "Plan 1: 1 steps undone.\n"
    assert statuses(cli, "1", "2") == ["confirmed", "confirmed"]


def test_tend_makes_room_and_tells_how_much(cli: Cli) -> None:
    """In a table for people, in numbers for programs."""
    with before(cli, 9) as memory:
        for number, text in enumerate(("Lunch is at noon", "The server is called Otto", "Invoices go out on Mondays")):
            memory.remember(text, importance=(number + 1) / 10)
    cli.ok("config", "set", "capacity.soft_limit", "2")
    cli.ok("config", "set", "capacity.evict_to", "1")
    rows = dict(line.split("\t") for line in cli.ok("archive", "--tend").out.splitlines())
    assert (rows["evicted"], rows["expired"], rows["plan"]) == ("2", "0", "1")
    assert statuses(cli, "1", "2", "3") == ["archived", "archived", "confirmed"]
    told = cli.ok("archive", "--tend", "--json").json
    assert set(told) == {"confirmed", "penalised", "expired", "evicted", "pruned", "seen", "plan"}
    assert (told["evicted"], told["plan"]) == (0, None)


# Confirming and promoting


def test_confirm_vouches_for_a_memory(cli: Cli) -> None:
    """A candidate is confirmed, trusted as the person is, and keeps who said so."""
    with before(cli, 1, origin=Origin.OBSERVED) as memory:
        finding = Finding(content="The flaky login test waits for a selector", kind=Kind.ERROR, resolves=True)
        [promoted] = memory.promote_findings([finding], session="s1")
        assert promoted.remembered is not None
    assert statuses(cli, "1") == ["candidate"]
    assert shown(cli, "1")["trust"] < 1
    assert cli.ok("confirm", "1").out == "Confirmed: [id:1] The flaky login test waits for a selector\n"
    told = shown(cli, "1")
    assert (told["status"], told["trust"]) == ("confirmed", 1.0)
    assert told["provenance"][-1]["reason"] == "confirmed by user"
    assert cli.ok("confirm", "1", "--json").json["status"] == "confirmed"


def test_what_is_archived_cannot_be_confirmed(stocked: Cli) -> None:
    """It has to be brought back first."""
    stocked.ok("archive", "1")
    done = stocked("confirm", "1")
    assert (done.status, "restore it first" in done.err) == (2, True)
    assert (stocked("confirm").status, stocked("confirm", "99").status) == (2, 3)


def test_promote_lets_a_memory_of_a_session_hold_in_the_project(cli: Cli) -> None:
    """Under a new reference that takes its place."""
    cli.ok("remember", "The staging server is called Otto", "--scope", "session", "--session", "s1")
    assert cli.ok("promote", "1").out == "Holds in project: [id:2] The staging server is called Otto\n"
    assert [(each["ref"], each["scope"]) for each in cli.ok("list", "--json").json] == [("2", "project")]
    assert statuses(cli, "1") == ["superseded"]


def test_promoting_to_everywhere_asks_first(stocked: Cli) -> None:
    """With the text of the memory; a no, or nobody to answer, leaves it as it is."""
    for answer in (b"n\n", b""):
        done = stocked.process("promote", "1", "--to", "global", stdin=answer)
        assert (done.returncode, done.stdout) == (130, b"")
        assert b"Known in every project from now on: Lunch is at noon\nIs that right?" in done.stderr
    assert stocked.ok("list", "--global", "--json").json == []
    done = stocked.process("promote", "1", "--to", "global", stdin=b"y\n")
    assert (done.returncode, done.stdout) == (0, b"Holds everywhere: [id:g1] Lunch is at noon\n")
    assert statuses(stocked, "1", "g1") == ["superseded", "confirmed"]


def test_promoting_to_everywhere_without_being_asked(stocked: Cli) -> None:
    """For whoever says so on the command line; a program gets the memory."""
    told = stocked.ok("promote", "1", "--to", "global", "--yes", "--json").json
    assert (told["ref"], told["scope"], told["content"]) == ("g1", "global", "Lunch is at noon")


@pytest.mark.parametrize(
    "words, status",
    [
        (["promote", "99"], 3),
        (["promote", "99", "--to", "global", "--yes"], 3),
        (["promote", "1"], 2),
        (["promote", "1", "--to", "session"], 2),
        (["promote"], 2),
        (["archive", "99"], 3),
        (["archive", "99", "--restore"], 3),
        (["learn", "We use pnpm"], 2),
        (["learn", "--session", "s1"], 2),
        (["learn", "--session", "s1", "--message", "first", "We use pnpm"], 2),
        (["triggered", "--file"], 2),
        (["remember", "x", "--trigger", "re:("], 2),
        (["remember", "x", "--trigger", "a"], 2),
        (["remember", "x", "--trigger", "glob:**"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_what_is_wrong_has_its_status(stocked: Cli, words: list[str], status: int) -> None:
    """With a line on standard error, or an error for programs; and nothing has changed."""
    done = stocked(*words)
    assert (done.status, done.out) == (status, "")
    assert "Error: " in done.err
    assert "unexpected" not in done.err
    assert stocked("--json", *words).error["message"]
    assert [each["version"] for each in stocked.ok("list", "--all", "--json").json] == [1, 1, 1]


# Learning


def test_learn_keeps_what_is_stated(cli: Cli) -> None:
    """And not what is asked for; where it was said is kept."""
    out = cli.ok("learn", "--session", "s1", "No, we use pnpm here, not npm. Now fix the build.").out
    assert out == "[id:1] correction: we use pnpm here, not npm\n"
    told = shown(cli, "1")
    assert (told["kind"], told["origin"], told["trust"]) == ("correction", "user_corrected", 1.0)
    assert (told["session_id"], told["scope"]) == ("s1", "project")
    assert cli.ok("learn", "--session", "s1", "Fix the build, please.").out == (
        "Nothing in it that would hold beyond the session.\n"
    )
    assert len(cli.ok("list", "--json").json) == 1


def test_learn_for_programs(cli: Cli) -> None:
    """What was found, what became of it and why, with the memory it is."""
    words = ["learn", "--session", "s1", "--agent", "builder", "--message", "7", "--json"]
    [told] = cli.ok(*words, "No, we use pnpm here, not npm.").json
    assert set(told) == {"content", "kind", "promoted", "reason", "memory"}
    assert (told["content"], told["kind"], told["promoted"]) == ("we use pnpm here, not npm", "correction", True)
    assert told["memory"]["message_range"] == [7, 7]
    assert told["memory"]["agent"] == "builder"
    assert cli.ok(*words, "Fix the build, please.").json == []


def test_what_is_learned_only_on_request_is_told_and_not_kept(cli: Cli) -> None:
    """Where the settings say so."""
    cli.ok("config", "set", "promotion.mode", "explicit")
    out = cli.ok("learn", "--session", "s1", "No, we use pnpm here, not npm.").out
    assert out.startswith("not kept (nobody asked for it, and nothing is promoted unasked): ")
    assert cli.ok("list", "--json").json == []


def test_learn_reads_standard_input(cli: Cli) -> None:
    """Whole turns are long."""
    done = cli.process("learn", "--session", "s1", "-", stdin=b"No, we use pnpm here, not npm.\nNow fix the build.\n")
    assert (done.returncode, done.stdout) == (0, b"[id:1] correction: we use pnpm here, not npm\n")


def test_nothing_is_learned_while_memory_is_off(cli: Cli) -> None:
    """It is refused, with the status for it."""
    cli.ok("off")
    assert cli("learn", "--session", "s1", "No, we use pnpm here, not npm.").status == 4


# What acts


@pytest.fixture
def acting(cli: Cli) -> Cli:
    """With a warning and a procedure."""
    cli.ok(
        *("remember", "Never commit .env files", "--kind", "negative"),
        *("--trigger", "git add", "--trigger", "glob:**/.env", "--trigger", r"re:push\s+-f\b"),
    )
    cli.ok(
        *("remember", "Release", "--when", "cut a release", "--step", "make test", "--step", "git tag"),
        *("--prerequisite", "a clean tree", "--caution", "not on Friday"),
    )
    return cli


@pytest.mark.row("J12")
@pytest.mark.parametrize(
    "words, reason",
    [
        (["git  add . && git commit"], "git add"),
        (["GIT", "ADD", "all"], "GIT ADD"),
        (["--file", "config/.env"], "config/.env"),
        (["-f", "src/app.py", "-f", ".env"], ".env"),
        (["then git push -f origin"], "push -f"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_warning_comes_up_when_its_trigger_is_met(acting: Cli, words: list[str], reason: str) -> None:
    """By words, by a file, by an expression; with what brought it up."""
    out = acting.ok("triggered", *words).out
    assert out == f"Do not: commit .env files\nComes up because of: {reason}\n"


@pytest.mark.row("J13")
def test_a_procedure_comes_up_when_it_is_about_to_be_needed(acting: Cli) -> None:
    """With what is needed first, its steps in order, and what to watch out for."""
    assert acting.ok("triggered", "let us cut a new release").out.splitlines() == [
        "Procedure: Release",
        "When: cut a release",
        "Before you start:",
        "- a clean tree",
        "Steps:",
        "1. make test",
        "2. git tag",
        "Beware:",
        "- not on Friday",
        "Comes up because of: cut … release",
    ]


@pytest.mark.row("J12")
def test_where_no_trigger_is_met_that_is_said(acting: Cli) -> None:
    """Nor does a part of a word meet one."""
    for words in (["git status"], ["legit added"], ["--file", "src/app.py"], []):
        assert acting.ok("triggered", *words).out == "Nothing is triggered.\n"
        assert acting.ok("triggered", *words, "--json").json == []


@pytest.mark.row("J12")
@pytest.mark.row("J13")
def test_what_is_triggered_for_programs(acting: Cli) -> None:
    """The pattern, what it found, how to read it, and the whole memory; the most important first."""
    told = acting.ok("triggered", "git add, then cut a release", "--json").json
    assert [set(each) for each in told] == [{"ref", "pattern", "found", "text", "memory"}] * 2
    assert [(each["ref"], each["pattern"], each["found"]) for each in told] == [
        ("1", "git add", "git add"),
        ("2", "words:cut a release", "cut … release"),
    ]
    assert told[1]["memory"]["procedure"]["steps"] == ["make test", "git tag"]


def test_triggered_reads_standard_input(acting: Cli) -> None:
    """A command with quotes need not be quoted."""
    done = acting.process("triggered", "-", stdin=b"git add 'a b'\n")
    assert done.stdout.startswith(b"Do not: commit .env files\n")


def test_what_is_of_a_session_is_triggered_there_alone(cli: Cli) -> None:
    """Or of a task."""
    cli.ok("remember", "Stop at noon", "--trigger", "git add", "--scope", "session", "--session", "s1")
    cli.ok("remember", "Ask Ana", "--trigger", "git add", "--scope", "task", "--task", "t1")
    assert cli.ok("triggered", "git add", "--json").json == []
    assert [each["ref"] for each in cli.ok("triggered", "git add", "--session", "s1", "--json").json] == ["1"]
    assert [each["ref"] for each in cli.ok("triggered", "git add", "--task", "t1", "--json").json] == ["2"]


def test_what_is_global_is_triggered_everywhere_and_what_left_recall_nowhere(cli: Cli) -> None:
    """As with recall."""
    cli.ok("remember", "--global", "Never force push", "--kind", "negative", "--trigger", "git push")
    assert [each["ref"] for each in cli.ok("triggered", "git push", "--json").json] == ["g1"]
    cli.ok("archive", "g1")
    assert cli.ok("triggered", "git push", "--json").json == []


def test_nothing_is_triggered_while_memory_is_off(acting: Cli) -> None:
    """Off is off: nothing is recalled nor injected."""
    acting.ok("off")
    assert acting.ok("recall", "--json", "--no-gate", "commit").json["hits"] == []
    assert acting.ok("triggered", "git add", "--json").json == []


# Remembering what acts


@pytest.mark.row("J12")
@pytest.mark.row("J13")
def test_remember_takes_triggers_and_procedures(acting: Cli) -> None:
    """What belongs to a procedure makes the memory one, named after its text."""
    warning, how = shown(acting, "1"), shown(acting, "2")
    assert (warning["kind"], warning["procedure"]) == ("negative", None)
    assert warning["triggers"] == ["git add", "glob:**/.env", r"re:push\s+-f\b"]
    assert (how["kind"], how["content"], how["triggers"]) == ("procedure", "Release", [])
    assert how["procedure"] == {
        "name": "Release",
        "trigger": "cut a release",
        "steps": ["make test", "git tag"],
        "prerequisites": ["a clean tree"],
        "warnings": ["not on Friday"],
    }


@pytest.mark.parametrize("option", ["--when", "--step", "--prerequisite", "--caution"])
def test_each_part_of_a_procedure_makes_one(cli: Cli, option: str) -> None:
    """Unless another kind is asked for."""
    told = cli.ok("remember", "Ship the shop", option, "make deploy", "--json").json
    assert (told["kind"], told["procedure"]["name"]) == ("procedure", "Ship the shop")
    told = cli.ok("remember", "Roll back the shop", option, "make rollback", "--kind", "pattern", "--json").json
    assert told["kind"] == "pattern"


def test_a_long_procedure_has_a_short_name(cli: Cli) -> None:
    """On one line."""
    text = "Ship the shop to production\nwhich takes a while " + "and more " * 40
    name = cli.ok("remember", text, "--step", "make deploy", "--json").json["procedure"]["name"]
    assert name.startswith("Ship the shop to production which takes a while")
    assert len(name) <= 100


@pytest.mark.parametrize(
    "words, context",
    [(["--trigger", "git push"], "git push"), (["--when", "ship the shop", "--step", "make deploy"], "ship the shop")],
    ids=["trigger", "procedure"],
)
def test_what_is_new_about_a_memory_that_is_there_is_not_lost(cli: Cli, words: list[str], context: str) -> None:
    """Whoever says it again with a trigger wants it to come up."""
    cli.ok("remember", "Ask Ana before shipping")
    cli.ok("remember", "Ask Ana before shipping", *words)
    assert len(cli.ok("triggered", context, "--json").json) == 1


@pytest.mark.parametrize(
    "command",
    [
        *(["conflicts"], ["conflicts", "resolve"], ["conflicts", "reopen"], ["review"], ["archive"]),
        *(["confirm"], ["promote"], ["learn"], ["triggered"], ["remember"]),
    ],
    ids=" ".join,
)
def test_every_command_has_an_example_that_can_be_typed(cli: Cli, command: list[str]) -> None:
    """In its help."""
    out = cli.ok(*command, "--help").out
    assert f"\n    recollect {' '.join(command)}" in out
