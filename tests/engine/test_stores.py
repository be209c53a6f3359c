"""Every store through the whole engine, and what is still there after opening it again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recollect
from recollect import InvalidInput, ProjectError, Recollect, Settings, Status, StoreDamaged, StoreInUse
from recollect.codec import canonical, encode
from recollect.engine.parts import SpaceName
from recollect.model import Link, Memory
from recollect.store import open_store
from recollect.testing import FixedClock, temp_recollect

START = datetime(2026, 1, 1, tzinfo=UTC)
Opener = Callable[[], Recollect]


def opener(folder: Path, kind: str) -> Opener:
    """How to open the same memory again and again, in each of the ways there are."""
    (folder / "project").mkdir()
    given: dict[str, Any] = {"home": folder / "home", "clock": FixedClock(START)}
    places: dict[str, dict[str, Any]] = {
        "project": {},
        "json format": {"settings": {"store.format": "json"}},
        "memory": {"store": "memory:"},
        "json": {"store": f"json:{folder / 'kept' / 'memory.json'}"},
        "path": {"store": str(folder / "kept" / "memory.db")},
        "sqlite": {"store": f"sqlite:{folder / 'kept' / 'memory.db'}"},
    }
    return lambda: recollect.open(folder / "project", **given, **places[kind])


KINDS = ["project", "json format", "memory", "json", "path", "sqlite"]


@pytest.fixture(params=KINDS)
def each(tmp_path: Path, request: pytest.FixtureRequest) -> Opener:
    return opener(tmp_path, request.param)


@pytest.fixture(params=[kind for kind in KINDS if kind != "memory"])
def lasting(tmp_path: Path, request: pytest.FixtureRequest) -> Opener:
    return opener(tmp_path, request.param)


def live(memory: Recollect) -> None:
    """A life in which everything happens once."""
    memory.remember(
        "Deploys go out from main", kind="decision", tags=["ops"], files=["deploy.sh"], payload={"n": [1.5]}
    )
    memory.remember_many(["Rollbacks take the previous image", "Old way to deploy", "Nobody needs this"])
    memory.remember("only for a session", scope="session", session="s1")
    memory.remember("Answers in British English", scope="global", kind="preference")
    memory.remember("deploys GO out from main", session="s2", key="k1")
    memory.update(2, "Rollbacks take the image before", tags=["Ops", "images"])
    memory.reinforce(1)
    memory.demote("g1")
    memory.feedback(1, helpful=True, note="it was")
    memory.link(1, 2, weight=0.5)
    memory.link(1, 3, kind="supersedes")
    memory.pin(2)
    memory.forget(4)
    memory.untag(2, "images")


def told(memory: Recollect) -> dict[str, Any]:
    """All that a memory says of itself, without what differs from one life to the next."""

    def plain(link: Link) -> Link:
        return replace(link, created_at=None, updated_at=None)

    spaces: dict[str, Any] = {}
    names: tuple[SpaceName, ...] = ("project", "global")
    for space in names:
        held = memory.list({}, space=space, limit=100, order_by="-id")
        spaces[space] = {
            "memories": [unused(replace(each, uid=memory_uid(each.id), superseded_by=None)) for each in held],
            "history": [[(v.memory.version, v.memory.content) for v in memory.history(each.ref)] for each in held],
            "links": [[plain(link) for link in memory.links(each.ref)] for each in held],
            "tags": memory.tags(space=space),
            "audit": [(e.seq, e.actor, e.action, e.at) for e in memory.audit(space=space, limit=None)],
        }
    found = {
        question: [(hit.memory.ref, hit.score) for hit in memory.recall(question, profile="koshi")]
        for question in ("deploys", "image")
    }
    return {
        "spaces": spaces,
        "found": found,
        "searched": sorted(hit.memory.ref for hit in memory.search("deploy image")),
    }


def unused(memory: Memory) -> Memory:
    """Without the traces of having been recalled, which are written when it suits."""
    return replace(memory, access_count=0, accessed_at=None)


def exported(memory: Recollect) -> list[Any]:
    """An export but for its signature and the traces of having been recalled."""
    records = [json.loads(line) for line in memory.export_lines()][:-1]
    return [
        {name: held for name, held in each.items() if name not in ("access_count", "accessed_at")} for each in records
    ]


def memory_uid(number: int) -> Any:
    return f"{number:08x}-0000-4000-8000-000000000000"


def test_every_store_lives_the_same_life(each: Opener) -> None:
    """What is stored, found, linked and audited does not depend on how it is kept; and all is sound."""
    with temp_recollect(clock=FixedClock(START)) as model, each() as memory:
        live(model)
        live(memory)
        assert told(memory) == told(model)
        assert memory.verify_audit() == memory.verify_audit(space="global") == ()
        assert all(check.ok for check in memory.doctor())
        assert all(check.ok for check in memory.doctor(rebuild=True))


@pytest.mark.row("J27", "persistent")
def test_everything_is_there_after_opening_again(lasting: Opener) -> None:
    """Memories with their past, their links and their audit; the next memory gets the next number."""
    with lasting() as memory:
        live(memory)
        before = told(memory), exported(memory)
    with lasting() as memory:
        assert (told(memory), exported(memory)) == before
        assert memory.remember("deploys GO out from main", session="s2", key="k1").memory.importance == 1.0
        assert memory.remember("the next one").ref == "6"
        assert memory.restore(4).status is Status.CONFIRMED
    with lasting() as memory:
        assert memory.count() == 5


def test_what_is_kept_in_memory_ends_with_it(tmp_path: Path) -> None:
    """The global space too, and nothing is written to the home."""
    open_again = opener(tmp_path, "memory")
    with open_again() as memory:
        live(memory)
        assert (memory.identity, memory.status().project) == (None, "")
    with open_again() as memory:
        assert memory.count({}) == memory.count({}, space="global") == 0
    assert not list((tmp_path / "home").rglob("memory*"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_store_can_be_exported_and_imported(tmp_path: Path, kind: str) -> None:
    """Into another kind and back, without loss."""
    with opener(tmp_path, kind)() as memory:
        live(memory)
        lines = [line.encode() for line in memory.export_lines()]
        with recollect.open(store="memory:", home=tmp_path / "home") as other:
            assert other.import_lines(lines).signed
            assert [line.encode() for line in other.export_lines()][:-1] == lines[:-1]


@pytest.mark.parametrize("kind", KINDS)
def test_every_store_can_be_backed_up_and_restored(tmp_path: Path, kind: str) -> None:
    """To a file that any of them takes."""
    with opener(tmp_path, kind)() as memory:
        live(memory)
        before = told(memory)
        path = memory.backup(tmp_path / "copy.db")
        memory.remember("written after the backup")
        memory.restore_backup(path)
        assert told(memory) == before
        assert memory.remember("and on it goes").ref == "6"


numbers = st.sampled_from([-0.0, 0.0, 5e-324, 1e-300, 0.1, 1 / 3, 0.5, 1 - 2**-53, 1.0])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(-1e308, 1e308)
    | numbers
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
texts = st.text(min_size=1, max_size=20)


described = st.fixed_dictionaries(
    {
        "content": texts,
        "importance": st.none() | numbers,
        "confidence": numbers,
        "payload": values,
        "tags": st.lists(texts, max_size=2),
        "files": st.lists(texts, max_size=2),
        "session": st.none() | texts,
        "triggers": st.lists(texts, max_size=2),
        "snippet": texts,
    }
)


@pytest.mark.parametrize("kind", ["project", "memory", "json"])
@settings(max_examples=20)
@given(given_=described, weight=numbers, helpful=st.booleans())
def test_whatever_is_taken_is_kept_to_the_last_bit(
    kind: str, given_: dict[str, Any], weight: float, helpful: bool
) -> None:
    """It is read back equal, also after opening again, and every check finds it as it was stored."""
    with TemporaryDirectory() as folder:
        open_again = opener(Path(folder), kind)
        with open_again() as memory:
            try:
                stored = memory.remember(**given_).memory
            except InvalidInput:
                return
            assert canonical(encode(memory.get(1))) == canonical(encode(stored))
            memory.link(1, memory.remember("quite another thing").ref, weight=weight)
            weighed = memory.feedback(1, helpful=helpful)
            assert [check for check in memory.doctor() if not check.ok] == []
        if kind != "memory":
            with open_again() as memory:
                assert canonical(encode(memory.get(1))) == canonical(encode(weighed))
                assert [check for check in memory.doctor() if not check.ok] == []


# One JSON file


@pytest.mark.row("J27", "readable")
def test_a_json_store_is_a_file_that_a_person_can_read_and_edit(tmp_path: Path) -> None:
    """Its text is there as it was written; an edit made in an editor is what is remembered next time."""
    open_again = opener(tmp_path, "json")
    path = tmp_path / "kept" / "memory.json"
    with open_again() as memory:
        memory.remember("Deploys go out from Café 数据")
    text = path.read_text(encoding="utf-8")
    assert '"content": "Deploys go out from Café 数据"' in text
    assert len(json.loads(text)["memories"]) == 1
    path.write_text(text.replace("go out from Café", "come out of Café"), encoding="utf-8")
    with open_again() as memory:
        assert [hit.memory.content for hit in memory.recall("come")] == ["Deploys come out of Café 数据"]


def test_a_json_store_belongs_to_one_program_at_a_time(tmp_path: Path) -> None:
    """The second is told so, and gets it when the first lets go."""
    open_again = opener(tmp_path, "json")
    with open_again() as memory:
        memory.remember("Deploys go out from main")
        with pytest.raises(StoreInUse) as caught:
            open_again()
        assert caught.value.hint
    with open_again() as memory:
        assert memory.count() == 1


def test_a_json_store_that_cannot_be_read_gives_way_to_the_one_before(tmp_path: Path) -> None:
    """And says so; without one before, it is refused as damaged."""
    open_again = opener(tmp_path, "json")
    path = tmp_path / "kept" / "memory.json"
    with open_again() as memory:
        memory.remember("Deploys go out from main")
        memory.remember("Rollbacks take the previous image")
    path.write_text("{ half a file")
    with open_again() as memory:
        assert memory.count() == 1
        assert any("could not be read" in note for note in memory.notes)
    for each_file in path.parent.glob("memory.json*"):
        each_file.unlink()
    path.write_text("{ half a file")
    with pytest.raises(StoreDamaged):
        open_again()


# Opening


def test_settings_can_be_overridden_one_by_one_or_replaced(tmp_path: Path) -> None:
    """By key, or all at once; the memory shows what it was opened with."""
    with recollect.open(store="memory:", home=tmp_path, settings={"recall.limit": 3}) as memory:
        assert (memory.settings.recall.limit, memory.settings.write.reinforce) == (3, 3)
    chosen = Settings(recall=Settings.Recall(limit=4))
    with recollect.open(store="memory:", home=tmp_path, settings=chosen) as memory:
        assert memory.settings is chosen
    with pytest.raises(recollect.ConfigError):
        recollect.open(store="memory:", home=tmp_path, settings={"recall.limt": 3})


def test_settings_of_the_home_and_the_environment_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's before the environment's before the file's."""
    (tmp_path / "config.toml").write_text("[recall]\nlimit = 3\n[write]\nreinforce = 5\n")
    monkeypatch.setenv("RECOLLECT_RECALL_LIMIT", "4")
    with recollect.open(store="memory:", home=tmp_path, settings={"write.demote": 2}) as memory:
        told_ = memory.settings
    assert (told_.recall.limit, told_.write.reinforce, told_.write.demote) == (4, 5, 2)


def test_a_store_that_is_open_already_can_be_used(tmp_path: Path) -> None:
    """It closes with the memory."""
    store = open_store("memory:")
    with recollect.open(store=store, home=tmp_path) as memory:
        memory.remember("Deploys go out from main")
        assert store.count() == 1
    with pytest.raises(recollect.StoreError):
        store.count()


@pytest.mark.parametrize("url", ["postgres://host/db", "https://example.com", "redis://x"])
def test_a_store_of_an_unknown_kind_is_refused(tmp_path: Path, url: str) -> None:
    """At the latest when it is first used, with the kinds there are."""
    with pytest.raises(InvalidInput, match="memory:, json:PATH"), recollect.open(store=url, home=tmp_path) as memory:
        memory.count()


def test_a_folder_that_is_not_there_is_no_project(tmp_path: Path) -> None:
    """Nothing is made for it."""
    with pytest.raises(ProjectError):
        recollect.open(tmp_path / "nowhere", home=tmp_path / "home")
    assert not list((tmp_path / "home").rglob("memory*"))


def test_opening_alone_makes_no_store(tmp_path: Path) -> None:
    """Asking which project a folder is leaves no database behind."""
    with recollect.open(tmp_path, home=tmp_path / "home") as memory:
        assert memory.identity
    assert not list((tmp_path / "home").rglob("*.db"))


def test_the_memory_for_tests_leaves_nothing_behind(tmp_path: Path, own_world: Path) -> None:
    """Neither in the home of whoever runs it nor in a folder of its own."""
    with temp_recollect() as memory:
        memory.remember("Deploys go out from main")
        assert memory.home
        folder = memory.home.parent
    assert not folder.exists()
    assert not (own_world / "recollect").exists()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test stands in the folder of the project itself."""
    monkeypatch.chdir(tmp_path)
