"""Projects kept apart: no call and no command of one project touches the memory of another."""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Anchor, NotFound, Procedure, Recollect, RecollectError, Situation
from recollect.engine.graph import FORMATS
from recollect.model import Corpus, Finding, Passage
from recollect.policy.rank import PROFILES
from recollect.surfaces.cli import main

CANARY = "wombatquartz"
"""Stands in every field of the one project, each time with a number of its own."""
PASSAGES = (Corpus.SESSIONS, Corpus.ITEMS, Corpus.SOURCES)
WORDS = ("deploy", "database", "password", "branch", "release", "invoice", "ledger", "cache", "port", "user")


@dataclass(frozen=True)
class Two:
    """Two projects in one home, open at once: the one that has something to hide, and the one that asks."""

    hides: Recollect
    asks: Recollect
    folder: Path

    @property
    def refs(self) -> list[str | int]:
        """Every way to name a memory of the one that hides, and much that looks like one."""
        uids = [each.uid for each in self.hides.list({}, limit=1_000)]
        crafted = ["[id:1]", "g1", "[id:g1]", "../../hides/1", "%", "*", "' OR 1=1 --", "0", "-1", str(self.hides.home)]
        shifted = [uid.upper() for uid in uids] + [f" {uid} " for uid in uids] + [uid.replace("-", "") for uid in uids]
        return [*uids, *shifted, *crafted, *range(-2, 20), *map(str, range(20))]


def canary(number: int) -> str:
    return f"{CANARY}{number}"


def fill(memory: Recollect) -> None:
    """Every field that can hold text holds a canary, beside words that anybody might ask for."""
    procedure = Procedure(
        name=canary(11),
        trigger=canary(12),
        steps=(canary(13),),
        prerequisites=(canary(14),),
        warnings=(canary(15),),
    )
    memory.remember(
        f"{canary(1)} {' '.join(WORDS)}",
        tags=[canary(2), "deploy"],
        files=[Anchor(path=f"src/{canary(3)}.py", symbol=canary(4), content_hash=canary(5))],
        session=canary(6),
        task=canary(7),
        narrative=canary(8),
        agent=canary(9),
        host=canary(10),
        procedure=procedure,
        triggers=[canary(16)],
        season=canary(17),
        stage=canary(18),
        payload={canary(19): [canary(20)]},
        snippet=canary(21),
        reason=canary(22),
        key=canary(23),
    )
    memory.remember(f"{canary(24)} of a session: {' '.join(WORDS)}", scope="session", session="s1")
    memory.remember(f"{canary(25)} of a task: {' '.join(WORDS)}", scope="task", task="t1")
    memory.remember(f"{canary(26)} to be changed: {' '.join(WORDS)}")
    memory.update(4, f"{canary(27)} changed: {' '.join(WORDS)}")
    memory.remember(f"{canary(28)} forgotten: {' '.join(WORDS)}")
    memory.forget(5)
    memory.remember(f"{canary(29)} superseded: {' '.join(WORDS)}")
    memory.link(1, 6, kind="supersedes")
    memory.link(1, 4, weight=0.5)
    memory.feedback(1, helpful=True, note=canary(30))
    memory.pin(1)
    memory.remember_many([f"{canary(31)} {number}: {' '.join(WORDS)}" for number in range(3)])
    memory.cluster()
    memory.aliases.define("deploy", canary(32))
    memory.seasons.define(canary(17), on=True)
    turn = f"{canary(33)} was said: {' '.join(WORDS)}"
    memory.file_passages(
        Passage(corpus=corpus, document=canary(34), position=0, text=turn, label=canary(35)) for corpus in PASSAGES
    )
    memory.remember(f"{canary(36)} speaks up: {' '.join(WORDS)}", kind="negative", triggers=["deploy", "*.py"])
    memory.link(7, 8, kind="contradicts")
    memory.learn(f"Never deploy {canary(37)} to the ledger.", session=canary(38), agent=canary(39))
    lesson = f"{canary(40)} was found: {' '.join(WORDS)}"
    memory.promote_findings([Finding(content=lesson, importance=0.9, resolves=True)], session=canary(38))
    memory.plans.make()
    memory.tasks.create(
        f"{canary(41)} to do: {' '.join(WORDS)}", name="t1", milestone=canary(42), criteria=[canary(43)]
    )
    lived = memory.session("s1", agent=canary(44), host=canary(45))
    lived.append("user", f"We always deploy {canary(46)} from the main branch: {' '.join(WORDS)}.")
    memory.note_gap(f"{canary(47)} was asked: {' '.join(WORDS)}", session="s1")
    lived.finalise()
    memory.narratives.start(f"{canary(48)} goes on")
    memory.narratives.tell("N-001", f"{canary(49)} so far")
    assert memory.identity
    (Path(memory.identity.root) / "NOTES.md").write_text(f"# Notes\n\nDecision: use {canary(50)} for the ledger.\n")
    memory.items.extract()


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Two]:
    """The asking project has a memory of its own with the same ids and the same ordinary words."""
    for name in ("hides", "asks"):
        (tmp_path / name).mkdir()
    home = tmp_path / "home"
    monkeypatch.setenv("RECOLLECT_HOME", str(home))
    with recollect.open(tmp_path / "hides", home=home) as hides, recollect.open(tmp_path / "asks", home=home) as asks:
        fill(hides)
        asks.remember(f"own note: {' '.join(WORDS)}", tags=["deploy"], session="s1", task="t1")
        asks.remember("another own note")
        asks.remember(f"global note: {' '.join(WORDS)}", scope="global")
        hides.backup()
        yield Two(hides, asks, tmp_path)


def questions(two: Two, count: int) -> list[str]:
    """Random and adversarial questions, none of which holds a canary."""
    chance = random.Random(5)
    pieces = [
        *WORDS,
        *(
            "own",
            "note",
            "NOT note",
            "*",
            '"',
            "content:*",
            "tags:deploy",
            "OR",
            "NEAR(deploy database)",
            "rowid:1",
            "^deploy",
        ),
        *(
            "' UNION SELECT content FROM memories --",
            "../../hides/memory.db",
            "%",
            "wombat",
            "quartz",
            "wombat*",
            "conversation",
        ),
        *("fact", "agent", "s1", "t1", "\x00", "\ud800", "数据库", *map(str, two.refs[:6])),
    ]
    return [" ".join(chance.choices(pieces, k=chance.randint(1, 6))) for _ in range(count)]


# Every reading call


Read = Callable[[Recollect, str, Any], object]
"""A reading call, given a question and a reference."""

READS: dict[str, list[Read]] = {
    "agent": [
        lambda m, q, r: m.agent.take("s1"),
        lambda m, q, r: m.agent.ask(Situation(prompt=q, session="s1"), deadline=5),
    ],
    "aliases": [lambda m, q, r: m.aliases.list(built_in=True), lambda m, q, r: m.aliases.list(space="global")],
    "audit": [lambda m, q, r: m.audit(limit=None), lambda m, q, r: m.audit(space="global", limit=None)],
    "cluster_of": [lambda m, q, r: m.cluster_of(r)],
    "clusters": [lambda m, q, r: m.clusters(), lambda m, q, r: m.clusters(space="global")],
    "conflicts": [lambda m, q, r: m.conflicts(), lambda m, q, r: m.conflicts(space="global")],
    "context": [
        lambda m, q, r: m.context(q, asked=True),
        lambda m, q, r: m.context(q, session="s1", task="t1", files=["src/app.py"], start=True),
    ],
    "count": [
        lambda m, q, r: m.count({}),
        lambda m, q, r: m.count({"content": q.replace("\x00", "").replace("\ud800", "")}),
    ],
    "doctor": [lambda m, q, r: m.doctor()],
    "events": [lambda m, q, r: m.events],
    "export_lines": [lambda m, q, r: list(m.export_lines()), lambda m, q, r: list(m.export_lines(space="global"))],
    "gaps": [lambda m, q, r: m.gaps(), lambda m, q, r: m.gaps(answered=True)],
    "get": [lambda m, q, r: m.get(r)],
    "graph": [
        *((lambda m, q, r, form=form: m.graph().drawn(form)) for form in FORMATS),
        lambda m, q, r: m.graph(space="global"),
    ],
    "history": [lambda m, q, r: m.history(r)],
    "home": [lambda m, q, r: m.home],
    "identity": [lambda m, q, r: m.identity],
    "files": [lambda m, q, r: m.files.migrations()],
    "items": [lambda m, q, r: m.items.list()],
    "lineage": [lambda m, q, r: m.lineage(r)],
    "links": [lambda m, q, r: m.links(r)],
    "loop": [
        lambda m, q, r: m.loop("s1").context(task="t1"),
        lambda m, q, r: m.loop(str(r)).context(),
        lambda m, q, r: m.loop("s1").handover("skill", "act", about=q),
    ],
    "list": [
        lambda m, q, r: m.list({}, limit=1_000),
        lambda m, q, r: m.list({}, space="global", limit=1_000),
        lambda m, q, r: m.list({"uid": str(r).strip("\x00")}),
        lambda m, q, r: m.list({"status": ["forgotten", "superseded", "pinned"]}),
        lambda m, q, r: m.list({"owner": ["session:s1", "task:t1"]}),
        lambda m, q, r: m.list({"tags": {"$gte": ""}}),
        lambda m, q, r: m.list({"files": {"$gte": ""}}),
    ],
    "members": [lambda m, q, r: m.members(1)],
    "narratives": [
        lambda m, q, r: m.narratives.list(),
        lambda m, q, r: m.narratives.get(str(r)),
        lambda m, q, r: m.narratives.get("N-001"),
        lambda m, q, r: m.narratives.memories("N-001"),
    ],
    "notes": [lambda m, q, r: m.notes],
    "plans": [
        lambda m, q, r: m.plans.list(limit=1_000),
        lambda m, q, r: m.plans.list(space="global"),
        lambda m, q, r: m.plans.describe(),
        lambda m, q, r: m.plans.describe(1),
        lambda m, q, r: m.plans.describe(1, space="global"),
    ],
    "recall": [
        lambda m, q, r: m.recall(q, limit=1_000),
        lambda m, q, r: m.recall(q, limit=1_000, session="s1", task="t1"),
        lambda m, q, r: m.recall(q, tags=["deploy"], kinds=["fact"]),
        lambda m, q, r: m.recall(q, limit=1_000, gate=False, near=["src"]),
        *(
            (lambda m, q, r, name=name: m.recall(q, limit=1_000, gate=False, profile=name))
            for name in PROFILES
            if name != "default"
        ),
        lambda m, q, r: m.recall(q, limit=1_000, gate=False, as_of=datetime(2100, 1, 1, tzinfo=UTC)),
    ],
    "review": [
        lambda m, q, r: m.review(),
        lambda m, q, r: m.review().prompt,
        lambda m, q, r: m.review(space="global"),
    ],
    "schedule": [lambda m, q, r: m.schedule.due(datetime.now(UTC))],
    "search": [
        lambda m, q, r: m.search(q, limit=1_000),
        lambda m, q, r: m.search(
            q, limit=1_000, session="s1", task="t1", where={"status": ["superseded", "forgotten"]}
        ),
    ],
    "search_passages": [
        *((lambda m, q, r, corpus=corpus: m.search_passages(q, corpus=corpus)) for corpus in PASSAGES),
        lambda m, q, r: m.search_passages(q, document=str(r)),
    ],
    "seasons": [lambda m, q, r: m.seasons.list(), lambda m, q, r: m.seasons.list(space="global")],
    "session": [
        *((lambda m, q, r, name=name: m.session(name).turns()) for name in ("s1", "../../hides/sessions/s1")),
        lambda m, q, r: m.session("s1").view(),
        lambda m, q, r: m.session("s1").memory,
        lambda m, q, r: m.session(str(r)).turns(),
    ],
    "sessions": [
        lambda m, q, r: m.sessions.list(),
        lambda m, q, r: m.sessions.listed("s1"),
        lambda m, q, r: m.sessions.listed(str(r)),
    ],
    "similar": [lambda m, q, r: m.similar(r, limit=1_000)],
    "settings": [lambda m, q, r: m.settings],
    "status": [lambda m, q, r: m.status()],
    "tags": [lambda m, q, r: m.tags(), lambda m, q, r: m.tags(space="global")],
    "tasks": [
        lambda m, q, r: m.tasks.list(archived=True),
        lambda m, q, r: m.tasks.get("t1"),
        lambda m, q, r: m.tasks.get(str(r)),
        lambda m, q, r: m.tasks.next(),
        lambda m, q, r: m.tasks.take_edits(),
    ],
    "tier": [
        lambda m, q, r: m.tier("project").list_all(),
        lambda m, q, r: [m.tier(scope, "t1").get(str(r)) for scope in ("task", "global")],
        lambda m, q, r: m.tier("task", str(r)).list_all(),
        lambda m, q, r: m.tier("project", "hides").list_all(),
        lambda m, q, r: m.tier("project").query({"tags": [q]}),
    ],
    "triggered": [
        lambda m, q, r: m.triggered(q, files=["src/app.py"]),
        lambda m, q, r: m.triggered(str(r), session="s1", task="t1"),
    ],
    "why_not": [lambda m, q, r: m.why_not(q, r)],
    "verify_audit": [lambda m, q, r: m.verify_audit(), lambda m, q, r: m.verify_audit(head="1:b2:00")],
}


def told(read: Read, memory: Recollect, question: str = "deploy", ref: object = 1) -> str:
    """All that a reading call gives away, by its result or by its error."""
    try:
        return repr(read(memory, question, ref))
    except RecollectError as error:
        return f"{error!r} {error.hint}"


WRITES: dict[str, list[Callable[[Recollect, Any], object]]] = {
    "archive": [lambda m, r: m.archive(r)],
    "confirm": [lambda m, r: m.confirm(r)],
    "demote": [lambda m, r: m.demote(r)],
    "feedback": [lambda m, r: m.feedback(r, helpful=True)],
    "forget": [lambda m, r: m.forget(r)],
    "link": [lambda m, r: m.link(r, 1), lambda m, r: m.link(1, r, kind="supersedes")],
    "pin": [lambda m, r: m.pin(r)],
    "promote": [lambda m, r: m.promote(r), lambda m, r: m.promote(r, "global", confirmed=True)],
    "reinforce": [lambda m, r: m.reinforce(r)],
    "reopen": [lambda m, r: m.reopen(r, 1), lambda m, r: m.reopen(1, r)],
    "resolve": [lambda m, r: m.resolve(r, 1, keep="second"), lambda m, r: m.resolve(1, r, keep="first")],
    "restore": [lambda m, r: m.restore(r)],
    "tag": [lambda m, r: m.tag(r, "stolen")],
    "unlink": [lambda m, r: m.unlink(r, 1), lambda m, r: m.unlink(1, r)],
    "unpin": [lambda m, r: m.unpin(r)],
    "untag": [lambda m, r: m.untag(r, "deploy")],
    "update": [lambda m, r: m.update(r, "overwritten")],
}
WITHOUT_A_REFERENCE = {
    *("backup", "close", "cluster", "embed_pending", "export_file", "file_passages"),
    *("import_lines", "learn", "note_gap", "promote_findings"),
    *("remember", "remember_many", "restore_backup", "salvage", "tend"),
    *("turn_off", "turn_on", "unfile"),
}
"""Calls that take no reference and give nothing back but what they were given; what they leave behind is looked at
below. A plan is known by its number in its own space."""


def test_every_call_of_the_library_has_its_case_here() -> None:
    """So that a new one cannot be forgotten."""
    public = {name for name, _ in inspect.getmembers(Recollect) if not name.startswith("_")}
    assert public == READS.keys() | WRITES.keys() | WITHOUT_A_REFERENCE


@pytest.mark.row("E8", "search")
def test_no_question_finds_a_memory_of_another_project(two: Two) -> None:
    """Two hundred questions, random and crafted, in every call that takes one."""
    for question in questions(two, 200):
        asked = (READS[name] for name in ("recall", "search", "count", "search_passages", "triggered"))
        for read in chain.from_iterable(asked):
            assert CANARY not in told(read, two.asks, question)


@pytest.mark.row("E8", "search")
def test_asking_for_its_very_words_finds_nothing(two: Two) -> None:
    """Nor is there a hint that another project knows them."""
    for number in range(1, 51):
        assert two.asks.recall(canary(number), profile="koshi").hits == ()
        found = two.asks.search(canary(number), session="s1", task="t1")
        assert CANARY not in repr(found.hits)
        assert found.notes == ()
        for corpus in PASSAGES:
            assert two.asks.search_passages(canary(number), corpus=corpus).excerpts == ()
    assert [each.name for each in two.asks.tags()] == ["deploy"]


@pytest.mark.row("E8", "lookup")
def test_no_reference_leads_into_another_project(two: Two) -> None:
    """Every reading call, for every reference of the other project and many that look like one."""
    for ref in two.refs:
        for reads in READS.values():
            for read in reads:
                assert CANARY not in told(read, two.asks, ref=ref)
    for uid in [each.uid for each in two.hides.list({}, limit=1_000)]:
        with pytest.raises(NotFound):
            two.asks.get(uid)


@pytest.mark.row("E8", "write")
def test_no_write_reaches_another_project(two: Two) -> None:
    """By the uids of its memories every change is refused as not found, and nothing there or here changes."""
    before = list(two.hides.export_lines()), two.hides.audit(limit=None)
    own = two.asks.audit(limit=None)
    for uid in [each.uid for each in two.hides.list({}, limit=1_000)]:
        for writes in WRITES.values():
            for write in writes:
                with pytest.raises(NotFound):
                    write(two.asks, uid)
    assert two.asks.audit(limit=None) == own
    assert (list(two.hides.export_lines()), two.hides.audit(limit=None)) == before


def live(memory: Recollect) -> None:
    """Sessions, tasks, narratives, gaps and items by the names that the other project uses too."""
    session = memory.session("s1")
    session.append("user", "We never deploy on Fridays.")
    session.fork("s2")
    session.compact(force=True)
    session.finalise()
    memory.sessions.recover()
    memory.sessions.archive()
    memory.tasks.create("own", name="t1")
    memory.tasks.move("t1", "completed")
    memory.note_gap("own question", session="s1")
    memory.narratives.start("own")
    memory.narratives.close("N-001")
    memory.items.extract()


def worked(memory: Recollect) -> tuple[object, ...]:
    """What a project has of sessions, tasks, narratives, gaps and items."""
    session = memory.session("s1")
    lived = session.turns(), session.memory, memory.sessions.list()
    return *lived, memory.tasks.list(archived=True), memory.narratives.list(), memory.gaps(), memory.items.list()


@pytest.mark.row("E8", "write")
def test_what_one_project_does_to_itself_leaves_the_other_as_it_was(two: Two) -> None:
    """Writing the same words, forgetting, importing, restoring, repairing, switching off: none of it is felt there."""
    before = list(two.hides.export_lines()), two.hides.audit(limit=None)
    waiting = two.hides.plans.list(), two.hides.conflicts(), two.hides.triggered("deploy")
    work = worked(two.hides)
    lines = [line.encode() for line in two.asks.export_lines()]
    for memory in two.hides.list({}, limit=1_000):
        with suppress(RecollectError):
            two.asks.remember(memory.content, scope=memory.scope, session="s1", task="t1", key=canary(23))
    for ref in range(1, 20):
        for writes in WRITES.values():
            for write in writes:
                with suppress(RecollectError):
                    write(two.asks, ref)
    backup = two.asks.backup()
    two.asks.import_lines(lines)
    two.asks.doctor(rebuild=True)
    two.asks.cluster()
    two.asks.learn("Never deploy to the ledger.", session=canary(38))
    two.asks.promote_findings([Finding(content="own " * 10, importance=0.9, resolves=True)], session=canary(38))
    two.asks.tend()
    two.asks.plans.make()
    for decide in (two.asks.plans.apply, two.asks.plans.refuse, two.asks.plans.undo):
        for number in (None, *range(1, 4)):
            with suppress(RecollectError):
                decide(number)
    two.asks.aliases.generate()
    two.asks.aliases.define("deploy", "own")
    two.asks.seasons.define(canary(17), on=False)
    two.asks.embed_pending()
    two.asks.file_passages([Passage(corpus=Corpus.SESSIONS, document=canary(34), position=0, text="own")])
    two.asks.unfile("sessions", canary(34))
    two.asks.seasons.remove(canary(17))
    two.asks.aliases.remove("deploy")
    live(two.asks)
    assert [each.active for each in two.hides.seasons.list()] == [True]
    assert [each.word for each in two.hides.aliases.list()] == ["deploy"]
    assert {each.passage.document for each in two.hides.search_passages("deploy").excerpts} == {canary(34), "s1"}
    two.asks.restore_backup(backup)
    with suppress(RecollectError):
        two.asks.salvage()
    two.asks.turn_off()
    assert two.hides.status().on
    assert worked(two.hides) == work
    assert (two.hides.plans.list(), two.hides.conflicts(), two.hides.triggered("deploy")) == waiting
    assert (list(two.hides.export_lines()), two.hides.audit(limit=None)) == before


@pytest.mark.row("E8", "lookup")
def test_what_a_project_writes_to_disk_holds_nothing_of_another(two: Two) -> None:
    """Its folder, its backups and its exports."""
    two.asks.backup(two.folder / "copy.db")
    two.asks.export_file(two.folder / "copy.jsonl")
    assert two.asks.identity
    files = [two.folder / "copy.db", two.folder / "copy.jsonl", *two.asks.identity.folder.rglob("*")]
    for path in files:
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path


def test_the_canary_would_have_been_seen(two: Two) -> None:
    """The project that hides it shows it in each of these ways, so the tests above look in the right places."""
    seen = {name for name, reads in READS.items() for read in reads if CANARY in told(read, two.hides)}
    assert seen >= {"export_lines", "get", "history", "links", "list", "recall", "search", "tags"}
    assert seen >= {"aliases", "graph", "search_passages", "seasons", "similar", "why_not"}
    assert seen >= {"conflicts", "loop", "plans", "review", "tier", "triggered"}
    assert seen >= {"gaps", "items", "narratives", "session", "sessions", "tasks"}
    assert {number for number in range(1, 31) if canary(number) in "".join(two.hides.export_lines())} >= {1, 30}


# Every reading command


COMMANDS: list[list[str]] = [
    *(["recall", "{question}"], ["recall", "{question}", "--why", "--session", "s1", "--task", "t1"]),
    *(["search", "{question}"], ["search", "{question}", "--status", "superseded"], ["list"], ["list", "--all"]),
    *(["list", "--status", "forgotten"], ["list", "--session", "s1"], ["list", "--global"], ["show", "{ref}"]),
    *(["show", "{ref}", "--history"], ["show", "{ref}", "--json"], ["tag"], ["status"], ["export"], ["audit"]),
    *(["audit", "verify"], ["audit", "head"], ["doctor"], ["project"], ["config"], ["completion", "bash"]),
    *(["recall", "{question}", "--no-gate"], ["recall", "{question}", "--as-of", "2100", "--no-gate"]),
    *(["recall", "{question}", "--why-not", "1"], ["search", "{question}", "--in", "sessions"], ["similar", "{ref}"]),
    *(["clusters"], ["cluster"], ["graph"], ["graph", "--format", "dot"], ["alias"], ["season"], ["models", "embed"]),
    *(["conflicts"], ["review"], ["review", "--prompt"], ["archive"], ["triggered", "{question}"], ["garden", "list"]),
    *(["garden", "plan"], ["garden", "show"], ["session", "list"], ["session", "show", "s1"], ["gaps", "--all"]),
    *(["session", "verify", "s1"], ["task", "list", "--all"], ["task", "show", "t1"], ["task", "next"]),
    *(["narrative", "list"], ["narrative", "show", "N-001"], ["items", "list"], ["items", "extract"]),
]


@pytest.mark.row("E8", "search", "lookup")
@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
def test_no_command_shows_a_memory_of_another_project(
    two: Two, as_json: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is asked, by whatever reference, standing in the other project's folder or not."""
    refs, asked = [str(ref).replace("\x00", "") for ref in two.refs], questions(two, 12)
    for command in COMMANDS:
        fills = refs if "{ref}" in command else asked if "{question}" in command else [""]
        for fill_ in fills:
            words = [word.format(ref=fill_, question=fill_) for word in command]
            given = [words[0], *words[2:], "--", words[1]] if fill_ else words
            with pytest.raises(SystemExit):
                main(["--project", str(two.folder / "asks"), *as_json, *given])
            shown = capsys.readouterr()
            assert CANARY not in shown.out + shown.err, words


def test_the_commands_would_have_shown_the_canary(two: Two, capsys: pytest.CaptureFixture[str]) -> None:
    """In the project that hides it they do."""
    for words in (
        *(["recall", "deploy", "--no-gate"], ["list"], ["show", "1"], ["tag"], ["export"], ["similar", "1"]),
        *(["graph"], ["alias"], ["season"], ["search", "deploy", "--in", "sessions"]),
        *(["conflicts"], ["review"], ["triggered", "deploy"], ["garden", "show"], ["items", "list"]),
        ["gaps", "--all"],
        *(["session", "list"], ["session", "show", "s1"], ["task", "list"], ["task", "show", "t1"]),
        ["narrative", "list"],
    ):
        with pytest.raises(SystemExit):
            main(["--project", str(two.folder / "hides"), *words])
        assert CANARY in capsys.readouterr().out


def test_the_registry_of_projects_holds_names_and_places_only(two: Two) -> None:
    """What all projects share on disk besides the global space says nothing about memories."""
    assert two.asks.home
    for path in two.asks.home.glob("projects/*/project.json"):
        assert CANARY not in json.dumps(json.loads(path.read_bytes()))
