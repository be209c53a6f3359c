"""Roles: a skill reaches no memory by any call, a project agent changes nothing that holds everywhere."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from test_isolation import CANARY, fill

import recollect
from recollect import AccessDenied, Recollect, RecollectError, Refused, Situation
from recollect.engine.context import Context, Prepared
from recollect.engine.events import Search
from recollect.engine.guard import guarded
from recollect.engine.places import Places
from recollect.engine.tiers import ContextItem, RecollectBackend
from recollect.model import Draft, Finding, Scope
from recollect.policy.access import PROPOSED, Right, Role, may, require
from recollect.policy.identity import state_hash
from recollect.store import Store
from recollect.surfaces.cli import main

EVERYWHERE = f"{CANARY}99 is the port of every project"


@dataclass(frozen=True)
class Filled:
    """A home in which every sort of thing that can be kept is kept, and the memory that keeps it."""

    admin: Recollect
    folder: Path
    home: Path

    def open(self, role: str) -> Recollect:
        return recollect.open(self.folder, home=self.home, role=role, background=False)


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Filled]:
    """Memories, transcripts, tasks, items, MEMORY.md, exports and backups, in both spaces."""
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("RECOLLECT_HOME", str(home))
    monkeypatch.chdir(folder)
    (folder / "CLAUDE.md").write_text(f"- Always use {CANARY}98 for the ledger.\n")
    with recollect.open(folder, home=home, background=False) as admin:
        fill(admin)
        admin.remember(EVERYWHERE, scope="global", tags=["deploy"])
        admin.remember("Another that holds everywhere: deploy on Mondays.", scope="global", kind="warning")
        admin.aliases.define("deploy", f"{CANARY}97", space="global")
        admin.backup()
        admin.backup(space="global")
        admin.files.write()
        yield Filled(admin, folder, home)


# --- Every call ------------------------------------------------------------------------------------------------------


def given(filled: Filled, ref: str, space: str) -> dict[str, Any]:
    """A value for each parameter that a public call has no default for, and for those that widen what it reaches."""
    return {
        **dict.fromkeys(("ref", "target", "other", "key", "id"), ref),
        **dict.fromkeys(("query", "context", "prompt", "about", "text", "message", "action"), "deploy"),
        **dict.fromkeys(("content", "description", "title", "summary", "result"), "A new port is 4000."),
        **dict.fromkeys(("name", "session", "session_id", "task", "owner", "skill", "milestone"), "s1"),
        "word": "deploy",
        "document": "s1",
        "corpus": "sessions",
        "role": "user",
        "status": "completed",
        "space": space,
        "scope": space,
        "to": space,
        "confirmed": True,
        "helpful": True,
        "keep": "first",
        "cluster": 1,
        "everywhere": space == "global",
        "rebuild": True,
        "asked": True,
        "start": True,
        "memories": [Draft(content="Many ports are 4000.", scope=Scope(space))],
        "turns": [],
        "paths": [filled.folder],
        "findings": [Finding(content="It was found that the port is 4000.", importance=0.9, resolves=True)],
        "lines": list(filled.admin.export_lines()),
        "pieces": [],
        "trusted": True,
        "home": filled.home,
        "path": filled.folder / "copy.out",
        "migration": "none",
        "idle": timedelta(0),
        "force": True,
        "filters": {"tags": ["deploy"]},
        "memory": Draft(content="kept"),
        "input": {},
        "rule": "12-15..01-05",
        "turn": "Never deploy the ledger on Fridays.",
        "reply": "The port is 4000.",
        "most": 1,
        "item": ContextItem(context_item_id="one", kind="fact", payload={"content": "The port is 4000."}),
        "item_id": filled.admin.get(ref).uid,
        "situation": Situation(prompt="deploy", session="s1", asked=True, start=True),
        "prepared": Prepared(context=Context()),
        "now": datetime.now(UTC),
        "seconds": 0.1,
        "told": None,
        "take": lambda event: None,
        "event": Search(query="deploy", results=()),
        "subscription": filled.admin.events.subscribe(lambda event: None),
    }


_START = inspect.Parameter.empty
_WIDENING = ("space", "scope", "to", "confirmed", "everywhere", "rebuild", "asked", "trusted", "idle", "force", "rule")


def calls(thing: object, values: dict[str, Any], way: str = "") -> Iterator[tuple[str, Callable[[], object]]]:
    """Every public member of an object, as a call that has all it needs; one that nobody thought of fails."""
    for name in sorted(dir(type(thing))):
        held = inspect.getattr_static(type(thing), name)
        if name.startswith("_") or isinstance(held, classmethod | staticmethod) or name in _ENDS:
            continue
        if isinstance(held, property):
            yield f"{way}{name}", lambda name=name: getattr(thing, name)  # type: ignore[misc]
        elif callable(held):
            asked = list(inspect.signature(held).parameters.values())[1:]
            needed = [each for each in asked if each.default is _START and each.kind is not each.VAR_POSITIONAL]
            missing = [each.name for each in needed if each.name not in values and each.kind is not each.VAR_KEYWORD]
            assert not missing, f"{way}{name} takes {missing}; say with what it is to be called"
            wide = [each for each in asked if each.name in _WIDENING]
            own = {"to": thing} if type(thing) is RecollectBackend else {}
            bound = {each.name: {**values, **own}[each.name] for each in (*needed, *wide) if each.name in values}
            yield f"{way}{name}", lambda name=name, asked=asked, bound=bound: _call(thing, name, asked, bound)  # type: ignore[misc]


_ENDS = {"close", "watch"}


def _call(thing: object, name: str, asked: list[inspect.Parameter], bound: dict[str, Any]) -> object:
    placed = [bound[each.name] for each in asked if each.kind is each.POSITIONAL_OR_KEYWORD and each.name in bound]
    named = {each.name: bound[each.name] for each in asked if each.kind is each.KEYWORD_ONLY and each.name in bound}
    more = ["added"] if any(each.kind is each.VAR_POSITIONAL for each in asked) else []
    result = getattr(thing, name)(*placed, *more, **named)
    return list(result) if isinstance(result, Iterator) else result


def tried(thing: object, values: dict[str, Any], way: str = "", depth: int = 2) -> Iterator[tuple[str, object]]:
    """Every public member called, and those of every object that it gives; the results, or the refusals."""
    for name, call in calls(thing, values, way):
        try:
            result = call()
        except RecollectError as error:
            yield name, error
            continue
        yield name, result
        ours = type(result).__module__.startswith("recollect.engine") and not is_dataclass(result)
        if ours and depth:
            yield from tried(result, values, f"{name}.", depth - 1)


def on_disk(*folders: Path) -> dict[str, str]:
    """A hash of every file below some folders."""
    files = (path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): hashlib.blake2b(path.read_bytes()).hexdigest() for path in files}


# --- A skill ---------------------------------------------------------------------------------------------------------


@pytest.mark.row("B9", "skill")
@pytest.mark.row("B14", "scoped")
@pytest.mark.parametrize("space", ["project", "global"])
def test_a_skill_reaches_no_memory_by_any_call(filled: Filled, space: str) -> None:
    """Whatever it calls is refused or says nothing, and nothing on disk is other than before."""
    values = given(filled, "1" if space == "project" else "g1", space)
    before = on_disk(filled.home, filled.folder)
    reached = {}
    with filled.open("skill") as skill:
        for name, result in tried(skill, values):
            reached[name] = result
            assert CANARY not in repr(result), name
            assert CANARY not in str(getattr(result, "hint", "")), name
    assert on_disk(filled.home, filled.folder) == before
    public = {name for name, _ in inspect.getmembers(Recollect) if not name.startswith("_")}
    assert public - reached.keys() <= _ENDS
    assert {name for name, result in reached.items() if isinstance(result, AccessDenied)} >= {
        *("remember", "recall", "search", "get", "list", "export_lines", "import_lines", "backup", "restore_backup"),
        *("salvage", "doctor", "embed_pending", "status", "session", "sessions", "plans", "items", "learn", "review"),
        *("tasks.list", "tasks.create", "narratives.list", "files.migrate", "note_gap", "gaps", "confirm", "promote"),
    }


@pytest.mark.row("B9", "skill")
def test_a_skill_has_neither_a_home_nor_a_project(filled: Filled) -> None:
    """So that there is nothing to reach by a path; a project that it stands in is not even registered."""
    elsewhere = filled.folder.parent / "new"
    elsewhere.mkdir()
    before = on_disk(filled.home)
    with recollect.open(elsewhere, home=filled.home, role="skill") as skill:
        assert (skill.home, skill.identity, skill.notes) == (None, None, ())
        assert not skill.context(f"deploy {CANARY}1", asked=True, start=True, session="s1", task="t1")
        with pytest.raises(Refused):
            skill.turn_off(everywhere=True)
        with pytest.raises(Refused):
            skill.turn_on()
    assert on_disk(filled.home) == before


@pytest.mark.row("B9", "skill")
def test_a_store_handed_to_a_skill_is_no_way_in(filled: Filled) -> None:
    """Neither one that is open nor one it names."""
    path = filled.folder / "own.db"
    with recollect.open(filled.folder, store=str(path), home=filled.home, background=False) as owner:
        owner.remember(f"{CANARY}1 in a store of its own")
    with (
        recollect.open(filled.folder, store=str(path), home=filled.home, role="skill") as skill,
        pytest.raises(AccessDenied),
    ):
        skill.list({})


# --- A project agent -------------------------------------------------------------------------------------------------


def content(memory: Recollect, space: Any) -> tuple[object, ...]:
    """What a space says: its memories, links, definitions, plans and audit."""
    held = memory.list({"status": list(recollect.Status)}, space=space, limit=1_000)
    known = sorted(state_hash(each) for each in held)
    named = memory.aliases.list(space=space), memory.seasons.list(space=space)
    return known, *named, memory.audit(space=space, limit=None)


@pytest.mark.row("B9", "project")
@pytest.mark.row("B14", "scoped")
def test_a_project_agent_changes_nothing_that_holds_everywhere_by_any_call(filled: Filled) -> None:
    """Every call there is, each with the global space, a global memory and every consent it can claim."""
    before = content(filled.admin, "global")
    tally = {}
    with filled.open("project") as agent:
        for name, result in tried(agent, given(filled, "g1", "global")):
            tally[name] = result
            for everywhere in (True, False):
                filled.admin.turn_on(everywhere=everywhere)
            assert content(filled.admin, "global") == before, name
    assert {name for name, result in tally.items() if isinstance(result, AccessDenied)} >= {
        *("update", "reinforce", "demote", "feedback", "forget", "pin", "tag", "untag", "archive", "confirm"),
        *("aliases.define", "aliases.remove", "seasons.define", "restore_backup", "import_lines"),
    }


@pytest.mark.row("B9", "project")
def test_a_project_agent_reads_its_own_and_the_global_memory_and_writes_its_own(filled: Filled) -> None:
    """What it is for."""
    with filled.open("project") as agent:
        assert agent.recall("port of every project", gate=False).hits[0].memory.content == EVERYWHERE
        assert agent.get("g1").content == EVERYWHERE
        kept = agent.remember("The own port is 4001.")
        assert agent.update(kept.ref, "The own port is 4002.").content == "The own port is 4002."
        assert agent.pin(kept.ref).ref == kept.ref
        agent.session("s9").append("user", "We always deploy at noon.")
        assert agent.session("s9").finalise().session == "s9"
        assert agent.tasks.create("write it down").description == "write it down"


@pytest.mark.row("B9", "project")
def test_what_should_hold_everywhere_is_proposed_and_a_person_decides(
    filled: Filled, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kept in the project with a tag, shown by review, carried over by a command that takes the tag away."""
    with filled.open("project") as agent:
        one = agent.remember("Every project is formatted with ruff.", scope="global", tags=["style"])
        (other,) = agent.remember_many([Draft(content="Every project has a changelog.", scope=Scope.GLOBAL)])
        assert [each.memory.scope for each in (one, other)] == [Scope.PROJECT, Scope.PROJECT]
        assert one.memory.tags == ("style", PROPOSED)
        assert {each.ref for each in agent.review().proposed} == {one.ref, other.ref}
        with pytest.raises(AccessDenied):
            agent.promote(one.ref, "global", confirmed=True)
    assert "proposed to hold everywhere" in command(capsys, filled, "review")
    assert one.memory.content in command(capsys, filled, "review")
    command(capsys, filled, "promote", one.ref, "--to", "global", "--yes")
    (carried,) = (each for each in filled.admin.list({}, space="global") if each.content == one.memory.content)
    assert carried.tags == ("style",)
    assert filled.admin.get(one.ref).superseded_by == carried.uid
    assert {each.ref for each in filled.admin.review().proposed} == {other.ref}


def command(capsys: pytest.CaptureFixture[str], filled: Filled, *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["--project", str(filled.folder), *words])
    shown = capsys.readouterr()
    assert ended.value.code in (0, None), shown.err
    return shown.out


@pytest.mark.row("B9", "admin")
def test_an_admin_may_do_everything_everywhere(filled: Filled) -> None:
    """Writing, changing, confirming and taking back in both spaces."""
    with filled.open("admin") as admin:
        for scope, space in (("project", "project"), ("global", "global")):
            made = admin.remember(f"A rule that is {scope}.", scope=scope)
            assert made.memory.scope == scope
            assert admin.update(made.ref, f"A better rule that is {scope}.").version == 2
            assert admin.confirm(made.ref).active
            assert admin.aliases.define("rule", f"law-{scope}", space=space).word == "rule"  # type: ignore[arg-type]
            assert admin.forget(made.ref).status == "forgotten"


# --- The table and the one place -------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("right", Right)
@pytest.mark.parametrize("space", ["project", "global", "elsewhere"])
def test_the_table_of_rights(role: Role, right: Right, space: str) -> None:
    """Exactly these; a space that is none belongs to nobody."""
    allowed = space != "elsewhere" and (
        role is Role.ADMIN or (role is Role.PROJECT and (space == "project" or right is Right.READ))
    )
    assert may(role, right, space) is allowed
    if allowed:
        require(role, right, space)
    else:
        with pytest.raises(AccessDenied) as refused:
            require(role, right, space)
        assert (refused.value.role, refused.value.right, refused.value.space) == (role, right, space)


CHANGES = {"apply", "restore"}
DERIVED = {"keep_vectors", "forget_vectors", "note_uses", "note_given", "rebuild"}
"""What a store keeps besides its content, and can make anew or do without."""


def test_every_call_of_a_store_is_known_to_change_content_or_not(filled: Filled) -> None:
    """A new one has to be put among those that are refused, those that leave what is derived, or those that read."""
    reads = {
        *(
            "url",
            "notes",
            "snapshot",
            "get",
            "by_uid",
            "query",
            "twin",
            "count",
            "totals",
            "tally",
            "find",
            "statistics",
        ),
        *(
            "spellings",
            "entries",
            "texts",
            "vocabulary",
            "positions",
            "nearest",
            "similarities",
            "vectors",
            "unembedded",
        ),
        *(
            "embedded",
            "held_at",
            "together",
            "given",
            "definitions",
            "plans",
            "steps",
            "step_keys",
            "sightings",
            "seen",
        ),
        "pinned",
        *("acting", "acting_mark", "links", "links_of", "group", "tags", "clusters", "members", "history", "feedback"),
        *("audit", "audit_head", "verify_audit", "check", "backup", "size", "close"),
    }
    assert {name for name in dir(Store) if not name.startswith("_")} == CHANGES | DERIVED | reads
    store = filled.admin._parts.shared()
    held = guarded(store, Role.PROJECT, "global")
    assert guarded(store, Role.ADMIN, "global") is store
    for refused in (
        lambda: held.apply([], actor="agent", now=filled.admin._parts.clock()),
        lambda: held.restore(filled.folder / "none.db"),
        lambda: guarded(store, Role.SKILL, "global"),
    ):
        with pytest.raises(AccessDenied):
            refused()
    assert held.count() == store.count()


def test_a_skill_is_given_no_place(filled: Filled) -> None:
    """Even where there is a home, no folder and no key of it is named."""
    places = Places(identity=filled.admin.identity, home=filled.home, role=Role.SKILL)
    for asked in (
        lambda: places.backups("project"),
        lambda: places.backups("global"),
        lambda: places.store_file("project"),
        lambda: places.tree("project"),
        lambda: places.sessions(None),
        lambda: places.sessions("/tmp"),
        places.key,
    ):
        with pytest.raises(AccessDenied):
            asked()
