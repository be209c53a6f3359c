"""What memories say about code: what is a mention and what only looks like one, and whether versions agree."""

from __future__ import annotations

from datetime import UTC, datetime
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import Anchor, Memory, Procedure, Uid
from recollect.policy.mentions import Mention, admits, mentions, plain_name

NOW = datetime(2026, 3, 18, 14, 30, tzinfo=UTC)


def memory(content: str, *, anchors: tuple[Anchor, ...] = (), steps: tuple[str, ...] = ()) -> Memory:
    procedure = Procedure(name="how", steps=steps) if steps else None
    return Memory(uid=Uid("m"), content=content, anchors=anchors, procedure=procedure, created_at=NOW, updated_at=NOW)


def told(content: str) -> list[str]:
    """The mentions of a text as a table shows them."""
    return [
        " ".join(filter(None, (found.sort, found.of if found.sort == "version" else "", found.text)))
        for found in mentions(memory(content))
    ]


FOUND = {
    # paths
    "The login lives in src/auth/login.py.": ["path src/auth/login.py"],
    "See `src/auth/login.py:42` for the check": ["path src/auth/login.py"],
    "see [the guide](docs/guide.md#setup)": ["path docs/guide.md"],
    "Targets are in the Makefile": ["path Makefile"],
    "Start it with docker-compose.yml": ["path docker-compose.yml"],
    "Settings: (config/app.toml), and more": ["path config/app.toml"],
    "Handlers stay under `src/handlers/`": ["path src/handlers"],
    "**src/main.rs** starts everything": ["path src/main.rs"],
    "Workflows are in .github/workflows/ci.yml": ["path .github/workflows/ci.yml"],
    "The ignore rules in `.gitignore` are generated": ["path .gitignore"],
    "Hooks are set up by `.pre-commit-config.yaml`": ["path .pre-commit-config.yaml"],
    "./src/app.ts wires it": ["path src/app.ts"],
    "`old_login()` is in src/old/legacy.py": ["symbol old_login", "path src/old/legacy.py"],
    "NEVER edit `src/gen/api.py` by hand": ["path src/gen/api.py"],
    "Reports go under src/reports/<name>/daily.csv": ["path src/reports"],
    # symbols
    "`parse_config` reads the settings": ["symbol parse_config"],
    "parse_config() does not validate": ["symbol parse_config"],
    "The retry_count limits it": ["symbol retry_count"],
    "UserStore keeps them in memory": ["symbol UserStore"],
    "UserStore.find is slow": ["symbol UserStore.find"],
    "`Store::open` takes a lock": ["symbol Store::open"],
    "`getUserById(id)` hits the cache": ["symbol getUserById"],
    "it calls login() first": ["symbol login"],
    "the `Store` class is frozen": ["symbol Store"],
    "Use the function `tokenize` for that": ["symbol tokenize"],
    "`@cached_result` wraps them": ["symbol cached_result"],
    "handled by PaymentRetryLoop": ["symbol PaymentRetryLoop"],
    "pass userId along": ["symbol userId"],
    "MAX_RETRIES is 5": ["symbol MAX_RETRIES"],
    # versions
    "We are on Python 3.11": ["version python 3.11"],
    "needs pydantic 2.5": ["version pydantic 2.5"],
    "node >= 20 is required": ["version node >=20"],
    "uses React 18": ["version react 18"],
    "Node.js v24+ only": ["version node >=24"],
    "TypeScript 5.x in strict mode": ["version typescript 5"],
    "pinned to `httpx==0.27.2`": ["version httpx 0.27.2"],
    "uses structlog 24.1 for logs": ["version structlog 24.1"],
    "runs under python3.12": ["version python 3.12"],
    "Next.js 14.2 is in use": ["version next 14.2"],
    # commands
    "Deploy with make deploy.": ["command make deploy"],
    "`make -C docs html` builds them": ["command make html"],
    "run `make lint test` first": ["command make lint", "command make test"],
    "make deploy": ["command make deploy"],
    "npm run lint before each commit": ["command npm run lint"],
    "CI calls pnpm build and then yarn test": ["command pnpm build", "command yarn test"],
    "`cd web && npm run build:css`": ["command npm run build:css"],
    "uv run pytest is the way to test": ["command uv run pytest"],
    "poetry run migrate after each pull": ["command poetry run migrate"],
    "`just release` cuts a version": ["command just release"],
    "cargo xtask does the rest": ["command cargo xtask"],
    "tox -e lint checks style": ["command tox -e lint"],
    "`./scripts/foo.sh` seeds it": ["command ./scripts/foo.sh"],
    "```\n$ npm test  # all of them\n```": ["command npm test"],
    "`CI=1 npm run e2e` in pipelines": ["command npm run e2e"],
}

NOTHING = (
    # addresses, dates and numbers
    "Docs: https://example.com/docs/login.py and http://localhost:8000/index.html",
    "see example.com/guide/setup.html",
    "written on 2026-03-10, or 03/10/2026",
    "the host is 10.0.0.12 and the net 10.0.0.0/24",
    "mail ops@example.org about it",
    "about 1/2 of it, 24/7, or 3.5 of 10",
    "version 2.5 came out",
    "scored 0.95 in section 4.2",
    "it took 3.5 seconds and 2.5 GB",
    "step 3 of phase 2",
    "HTTP/1.1 and TLS 1.3 under Apache 2.0",
    "in June 2025 there were 12 of them",
    "the next 14 days go by; node 3 of 5 nodes",
    "listens on port 8080",
    "vitest 845 passed",
    # words with slashes
    "and/or, he/she, TCP/IP, CI/CD, read/write, client/server",
    "accepts application/json and text/html",
    "branch feature/login from origin/main",
    "install @scope/pkg and react/jsx-runtime",
    "package.json/yarn.lock style alternatives",
    # words that look like code
    "We use GitHub, TypeScript and PostgreSQL on macOS",
    "Node.js and Next.js in e.g. production, i.e. live",
    "names are snake_case or camelCase",
    "the `main` branch and the `staging` host",
    "set `--verbose` and `key: value`",
    "the function(s) that handle it",
    "all `.py` files and `*.test.ts`",
    "Done.Next we deploy",
    "see [[socket_permissions]]",
    "`Foo.Bar` as an example",
    "DigitalOcean and LangChain are services",
    "it has no `e2e/` in it",
    # paths that no tree is asked for
    "/etc/hosts, ~/.bashrc and ../other/main.py",
    "`node_modules/x/index.js` and `dist/app.js`",
    "edit path/to/file.py or src/a_<name>.py or memory/YYYY-MM-DD.md",
    "secrets are in `.env`",
    "`src/foo_{a,b}.py`",
    # English that sounds like a command
    "make sure it works, make it fast, just run it",
    "use make to build, with just one file",
    "`npm install` and `pnpm add zod` and `yarn`",
    "`cargo build` and `go test`",
    # what is no longer claimed to be there
    "We removed `old_login()` from src/auth/old.py",
    "`parse_config` was renamed to something better",
    "Upgraded from Python 3.10 to Python 3.12",
    "never call `eval_unsafe()`",
    "do not use make deploy or yarn test",
    "there is no src/legacy.py",
    "src/a.py no longer exists",
    "",
)


@pytest.mark.parametrize("content", FOUND)
def test_what_is_mentioned(content: str) -> None:
    """Paths, symbols, versions and commands as people write them."""
    assert told(content) == FOUND[content]


@pytest.mark.parametrize("content", NOTHING)
def test_what_is_no_mention(content: str) -> None:
    """What only looks like code, and what nobody claims to be there."""
    assert told(content) == []


def test_anchors_come_first_and_are_not_told_twice() -> None:
    """An anchor has its hash and its file with it; the same path in the content adds nothing."""
    anchors = (
        Anchor(path="./src/a.py", symbol="load", content_hash="ab12"),
        Anchor(path="src/b.py:12"),
    )
    assert mentions(memory("`load()` in src/a.py reads src/c.py", anchors=anchors)) == (
        Mention(sort="path", text="src/a.py", of="ab12", path="src/a.py"),
        Mention(sort="symbol", text="load", path="src/a.py"),
        Mention(sort="path", text="src/b.py", path="src/b.py"),
        Mention(sort="path", text="src/c.py"),
    )


def test_the_steps_of_a_procedure_are_read() -> None:
    """How-to knowledge names its commands in its steps."""
    found = mentions(memory("How to release", steps=("`make dist`", "edit CHANGELOG.md")))
    assert [mention.text for mention in found] == ["make dist", "CHANGELOG.md"]


def test_each_is_told_once_in_the_order_it_stands() -> None:
    """A sentence may say a name twice, and code and prose interleave."""
    content = "src/a.py calls `run_all`; src/a.py needs `make check`, and `run_all` is slow"
    assert told(content) == ["path src/a.py", "symbol run_all", "command make check"]


def test_what_is_over_holds_for_its_sentence_only() -> None:
    """The sentence beside it still counts."""
    content = "We removed src/old.py. The code is in src/new.py.\n\n- deleted: src/x.py\n- kept: src/y.py"
    assert told(content) == ["path src/new.py", "path src/y.py"]


WORDS = st.sampled_from(
    [*FOUND, *NOTHING, "`", "``", "```\n", "src/", "/", ".", "_", "(", ")", "**", "::", "#", "\n", " ", "3.", "é", "文"]
)


@given(st.one_of(st.text(), st.lists(WORDS, max_size=12).map("".join)))
def test_any_text_is_read_and_only_what_it_says_is_told(content: str) -> None:
    """No text raises; every mention is in the text, and no path leads out of the tree."""
    for found in mentions(memory(content)):
        assert all(word.lstrip("<>=~^") in content for word in found.text.split() if word not in {"run", "-s"})
        if found.sort == "path":
            assert not found.text.startswith(("/", "~"))
            assert ".." not in found.text.split("/")


@pytest.mark.parametrize(
    "bad", ["a/" * 10_000, "`" * 20_000, "a_" * 10_000, "x " * 10_000, "1." * 10_000, "(" * 20_000]
)
def test_hostile_text_takes_no_time(bad: str) -> None:
    """Repetition that makes a careless pattern try everything twice."""
    before = process_time()
    mentions(memory(bad))
    assert process_time() - before < 1


# --- versions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "declared, claimed, fits",
    [
        (">=3.11", "3.11", True),
        (">=3.11", "3.12", True),
        (">=3.11", "3.10", False),
        (">=3.11,<3.13", "3.13", False),
        (">=3.11", "3", True),
        (">=3.11", "2", False),
        ("^18.2.0", "18", True),
        ("^18.2.0", "18.1", False),
        ("^18.2.0", "19", False),
        ("^0.27.1", "0.27", True),
        ("^0.27.1", "0.28", False),
        ("~1.2.3", "1.2", True),
        ("~1.2.3", "1.3", False),
        ("~=2.5", "2.9", True),
        ("~=2.5", "3.0", False),
        ("~=2.5.1", "2.6", False),
        ("==2.5.1", "2.5", True),
        ("==2.5.*", "2.5", True),
        ("2.5.9", "2.5.1", True),
        ("20", ">=18", True),
        ("16", ">=18", False),
        ("16 || 18 || 20", "18", True),
        ("16 || 18 || 20", "17", False),
        ("1.2 - 1.5", "1.4", True),
        ("1.2 - 1.5", "1.6", False),
        ("<=2.4", "2.4", True),
        ("!=2.5", "2.5", True),
        ("18.x", "18.4", True),
        ("*", "7", True),
        ("", "7", True),
        ("latest", "7.1", True),
        ("v20.11.0", "20", True),
    ],
)
def test_whether_a_declared_version_leaves_room(declared: str, claimed: str, fits: bool) -> None:
    """Ranges admit what lies in them, at the precision that is claimed; a patch contradicts nothing."""
    assert admits(declared, claimed) is fits


def test_a_number_without_a_sign_may_mean_any_compatible_one() -> None:
    """As Cargo reads `1.2`."""
    assert admits("1.2", "1.9", caret=True)
    assert not admits("1.2", "1.9")
    assert not admits("1.2", "2.0", caret=True)


PARTS = st.lists(st.integers(0, 99), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))


@given(PARTS)
def test_every_sign_that_includes_a_version_admits_it(version: str) -> None:
    """At any precision, and so do a wider precision and anything without a number."""
    for sign in ("", "==", ">=", "<=", "^", "~", "~="):
        assert admits(sign + version, version)
    assert admits(version, version.partition(".")[0])
    assert admits(f">={version} || <0", version)


@given(PARTS, PARTS)
def test_exact_versions_agree_when_one_begins_with_the_other(one: str, other: str) -> None:
    """Two exact versions agree just when their common parts do, up to the minor one."""
    common = min(len(one.split(".")), len(other.split(".")), 2)
    agree = one.split(".")[:common] == other.split(".")[:common]
    assert admits(one, other) is agree


def test_names_have_one_form() -> None:
    """Spellings of the same package and language."""
    names = ("Node.js", "nodejs", "Next.js", "My_Pkg", "ruamel.yaml", "Golang", "PyTorch")
    assert [*map(plain_name, names)] == ["node", "node", "next", "my-pkg", "ruamel-yaml", "go", "torch"]
