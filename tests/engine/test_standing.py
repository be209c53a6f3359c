"""How the code of memories stands: real folders, hostile ones, and an oracle that reads everything each time."""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.engine import standing
from recollect.engine.anchors import file_hash
from recollect.engine.standing import Checked, Standings, together
from recollect.model import Anchor, Memory, MemoryId, Scope, Standing, Uid

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
UNTIED, UNCHANGED, CHANGED, MOVED, GONE = Standing
PATIENT = 60.0
APP = "def start_app():\n    return 1\n"


def memory(*anchors: Anchor, id: int = 1, scope: Scope = Scope.PROJECT) -> Memory:
    return Memory(
        id=MemoryId(id), uid=Uid(f"m{id}"), content="x", anchors=anchors, scope=scope, created_at=NOW, updated_at=NOW
    )


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def checked(root: Path | None, *anchors: Anchor) -> Checked:
    return Standings(root, patience=PATIENT).of([memory(*anchors)])["1"]


def stands(root: Path | None, *anchors: Anchor) -> Standing:
    return checked(root, *anchors).standing


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with one file, and another folder beside it that must not be looked at."""
    write(tmp_path, {"tool/src/app.py": APP, "outside/secret.py": APP})
    return tmp_path / "tool"


# --- all of it --------------------------------------------------------------------------------------------------------


@pytest.mark.row("X1", "path", "symbol", "content-hash")
def test_memories_are_checked_as_the_code_moves_on(root: Path) -> None:
    """The same object is asked before and after, for memories tied to a path, to a symbol and to content."""
    files = {f"src/{name}.py": f"def {name}():\n    return '{name}'\n" for name in "abcdef"}
    write(root, files)
    tied = {
        "path": Anchor(path="src/a.py"),
        "content": Anchor(path="src/b.py", content_hash=file_hash(root / "src/b.py")),
        "symbol": Anchor(path="src/c.py", symbol="c", content_hash=file_hash(root / "src/c.py")),
        "lost symbol": Anchor(path="src/d.py", symbol="d"),
        "moved": Anchor(path="src/e.py", content_hash=file_hash(root / "src/e.py")),
        "kept": Anchor(path="src/f.py", symbol="f", content_hash=file_hash(root / "src/f.py")),
    }
    memories = [memory(anchor, id=number) for number, anchor in enumerate(tied.values())]
    standings = Standings(root, patience=PATIENT)
    assert {each.standing for each in standings.of(memories).values()} == {UNCHANGED}

    (root / "src/a.py").unlink()
    write(root, {"src/b.py": "def b(): ...\n", "src/c.py": "def c(): ...\n", "src/d.py": "def renamed(): ...\n"})
    (root / "lib").mkdir()
    (root / "src/e.py").rename(root / "lib/e.py")
    found = standings.of(memories)
    assert {name: found[str(number)] for number, name in enumerate(tied)} == {
        "path": Checked(standing=GONE, notes=("src/a.py is not there any more",)),
        "content": Checked(standing=CHANGED, notes=("src/b.py has changed since",)),
        "symbol": Checked(standing=CHANGED, notes=("src/c.py has changed since; c is still in it",)),
        "lost symbol": Checked(standing=GONE, notes=("d is not in src/d.py any more",)),
        "moved": Checked(standing=MOVED, notes=("src/e.py is not there any more; lib/e.py may be what it is now",)),
        "kept": Checked(standing=UNCHANGED),
    }


# --- files ------------------------------------------------------------------------------------------------------------

HERE, OTHER = hashed(APP), hashed("something else")


@pytest.mark.parametrize(
    "files, anchor, expected",
    [
        ({}, Anchor(path="src/app.py"), UNCHANGED),
        ({}, Anchor(path="./src//app.py:12"), UNCHANGED),
        ({}, Anchor(path="src/app.py#L3-L9", content_hash=HERE), UNCHANGED),
        ({}, Anchor(path="src/app.py", content_hash=HERE), UNCHANGED),
        ({}, Anchor(path="src/app.py", content_hash=OTHER), CHANGED),
        ({}, Anchor(path="src/app.py", content_hash=""), UNCHANGED),
        ({}, Anchor(path="src"), UNCHANGED),
        ({}, Anchor(path="src/"), UNCHANGED),
        ({}, Anchor(path="src", content_hash=HERE), CHANGED),
        ({}, Anchor(path="src", symbol="app"), UNTIED),
        ({}, Anchor(path="src/gone.py"), GONE),
        ({}, Anchor(path="src/app.py/gone.py"), GONE),
        ({}, Anchor(path="lib/app.py", content_hash=HERE), MOVED),
        ({}, Anchor(path="lib/app.py", content_hash=OTHER), GONE),
        ({}, Anchor(path="lib/app.py"), MOVED),
        ({}, Anchor(path="app.py", content_hash=OTHER), MOVED),
        ({}, Anchor(path="SRC/App.py", content_hash=HERE), MOVED),
        ({"lib/app.py": APP}, Anchor(path="old/app.py", content_hash=HERE), GONE),
        ({"lib/app.py": APP}, Anchor(path="old/app.py"), GONE),
        ({"lib/app.py": "x = 1\n"}, Anchor(path="old/app.py", content_hash=HERE), MOVED),
        ({"lib/app.py": "x = 1\n"}, Anchor(path="old/app.py", content_hash=OTHER, symbol="start_app"), MOVED),
        ({"lib/old/app.py": "x = 1\n"}, Anchor(path="old/app.py"), MOVED),
        ({"lib/auth/a.py": ""}, Anchor(path="src/auth"), MOVED),
        ({"lib/auth/a.py": ""}, Anchor(path="src/auth", content_hash=HERE), GONE),
        ({"node_modules/app.py": APP}, Anchor(path="old/app.py", content_hash=HERE), MOVED),
        ({"node_modules/only.js": APP}, Anchor(path="old/only.js", content_hash=HERE), GONE),
        ({}, Anchor(path="dist/bundle.js"), UNTIED),
        ({"dist/bundle.js": APP}, Anchor(path="dist/bundle.js", content_hash=HERE), UNCHANGED),
        ({}, Anchor(path="src/*.py"), UNTIED),
        ({}, Anchor(path="src/<name>.py"), UNTIED),
        ({"src/[id].tsx": ""}, Anchor(path="src/[id].tsx"), UNCHANGED),
    ],
)
@pytest.mark.row("X1", "path", "content-hash")
def test_files(root: Path, files: dict[str, str], anchor: Anchor, expected: Standing) -> None:
    """By whether a file is at its place, what it holds, and whether one other can be it."""
    write(root, files)
    assert stands(root, anchor) is expected


def test_an_absolute_path_inside_is_a_path_inside(root: Path) -> None:
    """Agents name files by their whole path."""
    assert stands(root, Anchor(path=str(root / "src/app.py"), content_hash=HERE)) is UNCHANGED
    assert stands(root, Anchor(path=str(root / "src/gone.py"))) is GONE


def test_nothing_to_tie_to(root: Path, tmp_path: Path) -> None:
    """No anchors, no folder, a folder that is none or goes away: nothing is held against a memory."""
    anchor = Anchor(path="src/gone.py")
    assert [stands(root), stands(None, anchor), stands(tmp_path / "none", anchor)] == [UNTIED] * 3
    assert stands(root / "src/app.py", anchor) is UNTIED
    standings = Standings(root)
    root.rename(tmp_path / "away")
    assert standings.of([memory(anchor)]) == {"1": Checked()}


def test_a_global_memory_is_tied_to_no_folder(root: Path) -> None:
    """Its files are those of the project it came from, and its name is another than that of a memory of the project."""
    anchor = Anchor(path="src/gone.py")
    found = Standings(root, patience=PATIENT).of([memory(anchor), memory(anchor, scope=Scope.GLOBAL)])
    assert {ref: each.standing for ref, each in found.items()} == {"1": GONE, "g1": UNTIED}


# --- symbols ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, symbol",
    [
        ("def renew():\n", "renew"),
        ("class Session:\n    async def renew(self):\n", "Session.renew"),
        ("LIMIT = 5\n", "LIMIT"),
        ("LIMIT: Final[int] = 5\n", "LIMIT"),
        ("export default function renew(a) {\n", "renew"),
        ("export const renew = async () => {}\n", "renew"),
        ("class Session {\n  async renew(a) {\n", "Session#renew"),
        ("public static String renew(int a) throws X {\n", "renew"),
        ("func (s *Session) Renew(a int) error {\n", "Session.Renew"),
        ("impl Session {\n    pub fn renew(&self) {}\n", "Session::renew"),
        ("pub(crate) struct Session;\n", "Session"),
        ("void Session::renew() {\n", "Session::renew"),
        ("#define RENEW(x) x\n", "RENEW"),
        ("type Session = { a: 1 }\n", "Session"),
        ("deploy: build\n", "deploy"),
        ('  "scripts": {\n', "scripts"),
        ("def größe():\n", "größe"),
    ],
)
@pytest.mark.row("X1", "symbol")
def test_where_a_symbol_is_defined(root: Path, text: str, symbol: str) -> None:
    """There it stands, however many others define that name, too; and from a file that only uses it, it is found."""
    write(root, {"one/a.x": text, "one/b.x": text, "two/a.x": f"use({symbol})", "two/b.x": text})
    assert stands(root, Anchor(path="one/a.x", symbol=symbol)) is UNCHANGED
    assert stands(root, Anchor(path="two/a.x", symbol=symbol)) is MOVED


@pytest.mark.parametrize(
    "text, beside, expected, note",
    [
        ("def f(): ...", "", CHANGED, "src/x.py has changed since; f is still in it"),
        ("f()", "", CHANGED, "src/x.py has changed since; f is still in it"),
        ("f()", "def f(): ...", MOVED, "f is not in src/x.py any more, but in src/y.py"),
        ("", "def f(): ...", MOVED, "f is not in src/x.py any more, but in src/y.py"),
        ("", "f()", GONE, "f is not in src/x.py any more"),
        ("def ff(): _f()", "", GONE, "f is not in src/x.py any more"),
        ("\0 def f(): ...", "", CHANGED, "src/x.py has changed since"),
    ],
)
def test_a_symbol_of_a_file_that_changed(root: Path, text: str, beside: str, expected: Standing, note: str) -> None:
    """A definition is looked for in the file, then in the files beside it."""
    write(root, {"src/x.py": text, "src/y.py": beside, "src/y.txt": "def f(): ..."})
    assert checked(root, Anchor(path="src/x.py", symbol="f", content_hash=OTHER)) == Checked(
        standing=expected, notes=(note,)
    )


def test_a_symbol_that_several_others_define_did_not_move(root: Path) -> None:
    """Which of them it would be cannot be said."""
    write(root, {"src/x.py": "", "src/y.py": "def f(): ...", "src/z.py": "def f(): ..."})
    assert stands(root, Anchor(path="src/x.py", symbol="f")) is GONE


def test_a_symbol_without_a_name_in_it(root: Path) -> None:
    """Nothing is looked for."""
    assert stands(root, Anchor(path="src/app.py", symbol="+")) is UNCHANGED


# --- several anchors --------------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(list(Standing)), max_size=4))
def test_several_anchors_together(found: list[Standing]) -> None:
    """Gone only when all are; nothing worse than the worst, nothing better than the best of what can be said."""
    whole = together(found)
    order = [UNTIED, UNCHANGED, MOVED, CHANGED, GONE]
    worst = max(found, key=order.index, default=UNTIED)
    assert (whole is GONE) == (bool(found) and set(found) == {GONE})
    assert whole is (CHANGED if worst is GONE and whole is not GONE else worst)


def test_what_is_gone_is_told_beside_what_is_there(root: Path) -> None:
    """A memory that is about two files is not withheld for one of them."""
    found = checked(root, Anchor(path="src/app.py"), Anchor(path="src/gone.py"), Anchor(path="lib/app.py"))
    assert found.standing is CHANGED
    assert found.notes == (
        "src/gone.py is not there any more",
        "lib/app.py is not there any more; src/app.py may be what it is now",
    )


# --- hostile ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        *("../outside/secret.py", "src/../../outside/secret.py", "/etc/passwd", "/", ".", "..", "", "~/x", "~root/x"),
        *("a\0b", "\0", "file:///etc/passwd", "C:\\x", "C:/x", "x" * 300, "/".join("a" * 5_000), "a/" * 100 + "b"),
        *("\ud800.py", "src/\udfff", "link/secret.py", "link", "file.py", "far/secret.py", "loop", "loop/x", "up/x"),
        *("pipe", "socket", "top/etc/passwd"),
    ],
)
@pytest.mark.parametrize("symbol", [None, "start_app"])
@pytest.mark.parametrize("held", [None, HERE, OTHER])
def test_paths_of_which_nothing_can_be_said(
    root: Path, tmp_path: Path, path: str, symbol: str | None, held: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What leads out of the folder, by name or by links, and what is no file: never an error, and never an answer."""
    links = {"link": "../outside", "file.py": "../outside/secret.py", "far": str(tmp_path / "outside"), "up": ".."}
    for name, target in {**links, "loop": "loop", "top": "/"}.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    assert checked(root, Anchor(path=path, symbol=symbol, content_hash=held)) == Checked()


@pytest.mark.parametrize(
    "links, path, expected",
    [
        ({"a": "src"}, "a/app.py", UNCHANGED),
        ({"a.py": "src/app.py"}, "a.py", UNCHANGED),
        ({"a": "b", "b": "src/../src"}, "a/app.py", UNCHANGED),
        ({"src/up": ".."}, "src/up/src/up/src/app.py", UNCHANGED),
        ({"a": "ROOT/src"}, "a/app.py", UNCHANGED),
        ({"a": "ROOT"}, "a/src/app.py", UNCHANGED),
        ({"a": "ROOT"}, "a", CHANGED),
        ({"a.py": "none.py"}, "a.py", GONE),
        ({"a": "none"}, "a/app.py", MOVED),
        ({"a": "ROOT-not"}, "a", UNTIED),
    ],
)
def test_links_that_stay_inside_are_followed(root: Path, links: dict[str, str], path: str, expected: Standing) -> None:
    """By hand, one after the other."""
    for name, target in links.items():
        (root / name).symlink_to(target.replace("ROOT", str(root)))
    assert stands(root, Anchor(path=path, content_hash=HERE)) is expected


def test_a_folder_that_becomes_a_link_out_is_not_followed(root: Path) -> None:
    """Between two calls as well: nothing that was known of a folder is relied on."""
    standings, tied = Standings(root, patience=PATIENT), memory(Anchor(path="src/secret.py", content_hash=HERE))
    write(root, {"src/secret.py": APP})
    assert standings.of([tied])["1"].standing is UNCHANGED
    (root / "src").rename(root / "lib")
    (root / "src").symlink_to("../outside")
    assert standings.of([tied])["1"].standing is UNTIED


def test_what_may_not_be_read(root: Path) -> None:
    """A file is there all the same; a folder that is closed says nothing."""
    write(root, {"closed/x.py": APP})
    (root / "src/app.py").chmod(0)
    if os.access(root / "src/app.py", os.R_OK):
        pytest.skip("nothing is closed to the superuser")
    assert stands(root, Anchor(path="src/app.py")) is UNCHANGED
    assert stands(root, Anchor(path="src/app.py", content_hash=OTHER)) is UNTIED
    assert stands(root, Anchor(path="src/app.py", symbol="none")) is UNTIED
    (root / "closed").chmod(0)
    assert stands(root, Anchor(path="closed/x.py")) is UNTIED
    (root / "closed").chmod(0o700)


def test_files_too_large_to_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are there, and no more is said of them; what is too much for one call is read by the next."""
    with open(root / "huge.py", "wb") as file:
        file.truncate(1 << 40)
    assert stands(root, Anchor(path="huge.py")) is UNCHANGED
    assert stands(root, Anchor(path="huge.py", content_hash=OTHER)) is UNTIED
    assert stands(root, Anchor(path="huge.py", symbol="f")) is UNTIED
    write(root, {"src/b.py": APP})
    both = [memory(Anchor(path=path, content_hash=HERE), id=id) for id, path in enumerate(("src/app.py", "src/b.py"))]
    monkeypatch.setattr(standing, "_MOST_READ", len(APP))
    monkeypatch.setattr(standing, "_SETTLED_NS", 0)
    standings = Standings(root)
    assert [[each.standing for each in standings.of(both).values()] for _ in range(2)] == [
        [UNCHANGED, UNTIED],
        [UNCHANGED, UNCHANGED],
    ]


def test_notes_can_be_printed(root: Path) -> None:
    """Names of files are others' to choose."""
    write(root, {"lib/a\n\x1b[31m/only.py": ""})
    found = checked(root, Anchor(path="src/only.py"))
    assert found.notes == ("src/only.py is not there any more; lib/a??[31m/only.py may be what it is now",)


# --- searching --------------------------------------------------------------------------------------------------------


def test_gone_is_said_only_after_the_whole_tree_was_searched(root: Path) -> None:
    """Without patience one folder is looked into a call; until all were, the file may be elsewhere."""
    write(root, {f"a{number}/b/x.py": "" for number in range(4)})
    standings, tied = Standings(root, patience=0), [memory(Anchor(path="src/gone.py"))]
    found = [standings.of(tied)["1"] for _ in range(12)]
    unsure = "src/gone.py is not there any more; whether it is elsewhere is not known"
    assert found[0] == Checked(standing=CHANGED, notes=(unsure,))
    assert [each.standing for each in found] == [CHANGED] * 9 + [GONE] * 3  # src, the root, four and four within


def test_a_file_that_moves_after_a_search_is_searched_anew(root: Path) -> None:
    """What was not found then says nothing of a file that was at its place then."""
    standings = Standings(root, patience=PATIENT)
    gone, moving = memory(Anchor(path="src/gone.py")), memory(Anchor(path="src/app.py"), id=2)
    assert [each.standing for each in standings.of([gone, moving]).values()] == [GONE, UNCHANGED]
    (root / "deep/er").mkdir(parents=True)
    (root / "src/app.py").rename(root / "deep/er/app.py")
    assert [each.standing for each in standings.of([gone, moving]).values()] == [GONE, MOVED]
    (root / "deep/er/app.py").rename(root / "src/app.py")
    assert standings.of([moving])["2"].standing is UNCHANGED
    (root / "src/app.py").rename(root / "deep/app.py")
    assert standings.of([moving])["2"].notes == ("src/app.py is not there any more; deep/app.py may be what it is now",)


def test_what_came_up_elsewhere_is_found_in_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that is old is made again, in short steps beside the calls."""
    standings, tied = Standings(root, patience=PATIENT), [memory(Anchor(path="src/gone.py"))]
    assert standings.of(tied)["1"].standing is GONE
    write(root, {"lib/gone.py": ""})
    assert standings.of(tied)["1"].standing is GONE
    monkeypatch.setattr(standing, "_FRESH_SECONDS", 0.0)
    assert standings.of(tied)["1"].standing is MOVED


@pytest.mark.parametrize("limit", ["_MOST_ALIKE", "_MOST_IN_FOLDER", "_MOST_SEARCHED"])
def test_a_tree_too_large_to_search(root: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """What was left out may be the file."""
    write(root, {f"lib/{number}/gone.py": str(number) for number in range(6)})
    anchor = Anchor(path="src/gone.py", content_hash=OTHER)
    assert stands(root, anchor) is GONE
    monkeypatch.setattr(standing, limit, 3)
    assert stands(root, anchor) is CHANGED


def test_threads_take_turns(root: Path) -> None:
    """Whoever asks gets the same answer."""
    write(root, {f"lib/{number}/x.py": "" for number in range(50)})
    standings = Standings(root, patience=PATIENT)
    tied = [memory(Anchor(path="src/gone.py")), memory(Anchor(path="src/app.py", content_hash=HERE), id=2)]
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda _: standings.of(tied), range(40))]
    assert all([each.standing for each in one.values()] == [GONE, UNCHANGED] for one in found)


# --- against an oracle ------------------------------------------------------------------------------------------------

PRESENCE = {"def f(): ...\n": "defined", "f()  # here\n": "named", "g = 10  # xx\n": "absent", "": "absent"}
PATHS = [f"{folder}{name}" for folder in ("", "a/", "a/b/", "c/", "dist/") for name in ("x.py", "y.py", "X.py")]
Step = Callable[[Path], None]


def _write(path: str, text: str) -> Step:
    return lambda root: write(root, {path: text})


def _move(old: str, new: str) -> Step:
    def move(root: Path) -> None:
        if (root / old).exists():
            (root / new).parent.mkdir(parents=True, exist_ok=True)
            (root / old).rename(root / new)

    return move


STEPS = st.one_of(
    st.builds(_write, st.sampled_from(PATHS), st.sampled_from(sorted(PRESENCE))),
    st.builds(_move, st.sampled_from(PATHS), st.sampled_from(PATHS)),
    st.builds(lambda path: lambda root: (root / path).unlink(missing_ok=True), st.sampled_from(PATHS)),
)
ANCHORS = st.builds(
    Anchor,
    path=st.sampled_from(PATHS),
    symbol=st.sampled_from([None, "f"]),
    content_hash=st.sampled_from([None, *map(hashed, PRESENCE)]),
)


def naive(root: Path, anchor: Anchor) -> Standing:
    """How an anchor stands, by reading all there is."""
    texts = {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}
    defining = {path for path, text in texts.items() if PRESENCE[text] == "defined"}
    if anchor.path not in texts:
        return UNTIED if "dist" in anchor.path.split("/") else naive_missing(texts, defining, anchor)
    text = texts[anchor.path]
    if anchor.content_hash == hashed(text):
        return UNCHANGED
    if anchor.symbol and PRESENCE[text] != "defined":
        folder = os.path.dirname(anchor.path)
        if sum(os.path.dirname(path) == folder for path in defining) == 1:
            return MOVED
        if PRESENCE[text] == "absent":
            return GONE
    return CHANGED if anchor.content_hash else UNCHANGED


def naive_missing(texts: dict[str, str], defining: set[str], anchor: Anchor) -> Standing:
    name = os.path.basename(anchor.path).lower()
    alike = [path for path in texts if path.lower().split("/")[-1] == name and not path.startswith("dist/")]
    fitting = [path for path in alike if path in defining or not anchor.symbol]
    longer = [path for path in fitting if f"/{path.lower()}".endswith(f"/{anchor.path.lower()}")]
    same = [path for path in alike if hashed(texts[path]) == anchor.content_hash]
    plain = fitting if anchor.symbol or anchor.content_hash is None else []
    return MOVED if any(len(each) == 1 for each in (same, longer, plain)) else GONE


@given(st.lists(ANCHORS, min_size=1, max_size=5), st.lists(STEPS, max_size=12))
def test_it_agrees_with_reading_everything_each_time(anchors: list[Anchor], steps: list[Step]) -> None:
    """After each step, although what was learned before it is kept."""
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        patched.setattr(standing, "_FRESH_SECONDS", 0.0)
        patched.setattr(standing, "_KNOWN_SECONDS", PATIENT)
        root = Path(name).resolve()
        standings = Standings(root, patience=PATIENT)
        tied = [memory(anchor, id=number) for number, anchor in enumerate(anchors)]
        for step in (lambda _: None, *steps):
            step(root)
            found = standings.of(tied)
            assert [each.standing for each in found.values()] == [naive(root, anchor) for anchor in anchors]


# --- what it touches --------------------------------------------------------------------------------------------------

_events: list[tuple[str, tuple[object, ...]]] | None = None


def _heard(event: str, arguments: tuple[object, ...]) -> None:
    if _events is not None and event.split(".")[0] in {"open", "os", "subprocess", "socket", "shutil"}:
        _events.append((event, arguments))


@pytest.fixture(scope="module")
def hook() -> None:
    """Once, as it cannot be taken out again."""
    sys.addaudithook(_heard)


@pytest.fixture
def events(hook: None) -> Iterator[list[tuple[str, tuple[object, ...]]]]:
    """What Python does that can be audited, as it happens."""
    global _events
    _events = []
    yield _events
    _events = None


def test_no_program_is_run_and_the_folder_is_not_left(
    root: Path, tmp_path: Path, events: list[tuple[str, tuple[object, ...]]]
) -> None:
    """Nothing but reading: from the root on one name at a time, without following links."""
    (root / "link").symlink_to("../outside")
    (root / "src/link.py").symlink_to(tmp_path / "outside/secret.py")
    (root / "in").symlink_to("src")
    write(root, {".git/config": "[core]\n\tfsmonitor = /bin/false\n", "src/b.py": "start_app()"})
    paths = ["src/app.py", "in/app.py", "link/secret.py", "src/link.py", "src/gone.py", "lib/app.py", "src/b.py"]
    outside = ["../outside/secret.py", str(tmp_path / "outside/secret.py"), "/etc/passwd", "link/../../x"]
    anchors = [Anchor(path=path, symbol="start_app", content_hash=OTHER) for path in (*paths, *outside)]
    events.clear()
    found = Standings(root, patience=PATIENT).of([memory(each, id=id) for id, each in enumerate(anchors)])
    heard = [*events]
    expected = [CHANGED, CHANGED, UNTIED, UNTIED, GONE, MOVED, MOVED, *[UNTIED] * 4]
    assert [each.standing for each in found.values()] == expected
    assert {event for event, _ in heard} == {"open", "os.scandir"}
    opened = [arguments for event, arguments in heard if event == "open"]
    assert {path for path, *_ in opened} >= {str(root), "src", "app.py"}
    assert {path for path, *_ in opened if "/" in str(path) or path == ".."} == {str(root)}
    # A file is heard of twice: as `open` asks for it, and as the opener that it is given then opens it.
    really = [(path, flags) for path, mode, flags in opened if mode is None and isinstance(flags, int)]
    assert {path for path, *_ in opened} == {path for path, _ in really}
    assert all(flags & os.O_NOFOLLOW and not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) for _, flags in really)
    assert all(isinstance(folder, int) for event, (folder, *_) in heard if event == "os.scandir")


def test_a_second_look_reads_no_file(
    root: Path, events: list[tuple[str, tuple[object, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only folders are opened, to see whether files look the same; and nothing is left open."""
    monkeypatch.setattr(standing, "_SETTLED_NS", 0)
    write(root, {"src/x.py": "", "src/y.py": "def f(): ..."})
    anchors = [Anchor(path="src/app.py", content_hash=each, symbol="start_app") for each in (HERE, OTHER)]
    anchors += [Anchor(path="src/x.py", symbol="f"), Anchor(path="lib/app.py", content_hash=HERE)]
    standings = Standings(root, patience=PATIENT)
    tied = [memory(each, id=id) for id, each in enumerate(anchors)]
    before = len(os.listdir("/dev/fd"))
    first = standings.of(tied)
    events.clear()
    assert standings.of(tied) == first
    assert {path for event, (path, *_) in events if event == "open"} == {str(root), "src", "lib"}
    assert [each.standing for each in first.values()] == [UNCHANGED, CHANGED, MOVED, MOVED]
    assert len(os.listdir("/dev/fd")) == before


def test_a_file_that_was_just_written_is_read_each_time(root: Path) -> None:
    """It may be written again, to the same length, before its times tell."""
    standings, tied = Standings(root), [memory(Anchor(path="src/app.py", content_hash=HERE))]
    for _ in range(50):
        assert standings.of(tied)["1"].standing is UNCHANGED
        (root / "src/app.py").write_text(APP.replace("1", "2"), encoding="utf-8")
        assert standings.of(tied)["1"].standing is CHANGED
        (root / "src/app.py").write_text(APP, encoding="utf-8")
