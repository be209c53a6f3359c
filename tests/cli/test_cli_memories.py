"""Commands on memories: what they do, what they show to people, and what they print for programs."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from cli_kit import Cli, new_project, standing_in_a_project

from recollect import Memory


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return standing_in_a_project(tmp_path, monkeypatch, capsys)


@pytest.fixture
def stocked(cli: Cli) -> Cli:
    """With three memories of the project and a global one."""
    cli.ok("remember", "Deploys go out from main", "--kind", "decision", "--tag", "ops", "--file", "deploy.sh")
    cli.ok("remember", "Rollbacks take the previous image", "--tag", "ops")
    cli.ok("remember", "Tests run on two cores")
    cli.ok("remember", "--global", "--kind", "preference", "Answers in British English")
    return cli


FIELDS = {"ref"} | {each.name for each in fields(Memory)}


# Remembering


@pytest.mark.row("K3", "store")
def test_remember_stores_a_memory_and_shows_its_reference(cli: Cli) -> None:
    """A second time it is strengthened."""
    assert cli.ok("remember", "Deploys go out from main").out == "Remembered: [id:1] Deploys go out from main\n"
    again = cli.ok("remember", "deploys", "GO", "out", "from", "main")
    assert again.out == "Strengthened, it was there already: [id:1] Deploys go out from main\n"
    assert cli.ok("remember", "--global", "Answers in British English").out.startswith("Remembered: [id:g1] ")


def test_remember_takes_everything_about_a_memory(cli: Cli) -> None:
    """And a program gets all of it back."""
    told = cli.ok(
        *(
            "remember",
            "Warm the cache",
            "--json",
            "-k",
            "procedure",
            "-t",
            "A b",
            "-t",
            "c",
            "-f",
            "x.py",
            "-f",
            "y.py",
        ),
        *("--importance", "0.25", "--session", "s1", "--task", "t1", "--scope", "session", "--key", "k1"),
    ).json
    assert set(told) == FIELDS | {"duplicate", "redacted", "supersedes", "contradicts"}
    assert (told["ref"], told["kind"], told["scope"], told["tags"]) == ("1", "procedure", "session", ["a-b", "c"])
    assert (told["importance"], told["session_id"], told["task_id"]) == (0.25, "s1", "t1")
    assert [anchor["path"] for anchor in told["anchors"]] == ["x.py", "y.py"]
    assert (told["duplicate"], told["redacted"]) == (False, False)


@pytest.mark.row("X5", "origin")
def test_what_a_person_types_is_what_the_user_stated(cli: Cli) -> None:
    """It is trusted fully, and the audit names the user."""
    told = cli.ok("remember", "--json", "Deploys go out from main").json
    assert (told["origin"], told["trust"], told["source"]) == ("user_stated", 1.0, "conversation")
    assert cli.ok("audit", "--json").json[0]["actor"] == "user"


def test_remember_reads_standard_input(cli: Cli) -> None:
    """As one memory, or one for each line."""
    done = cli.process("remember", "-", stdin=b"first line\nsecond line\n\n")
    assert (done.returncode, done.stderr) == (0, b"")
    assert cli.ok("show", "1", "--json").json["content"] == "first line\nsecond line"
    done = cli.process("remember", "--lines", "--json", "-", stdin="eins\n\n  \nzwei\r\ndrei\u2028vier".encode())
    assert done.returncode == 0, done
    assert {each["content"].strip() for each in cli.ok("list", "--json").json} >= {"eins", "zwei"}
    assert cli.process("remember", "--lines", "-", stdin=b"\n\n").returncode == 0


def test_a_line_of_standard_input_is_what_a_line_feed_ends(cli: Cli) -> None:
    """Other separators of lines and forms are part of the text, as they are for every other tool that reads lines."""
    cli.process("remember", "--lines", "-", stdin="one\x0cpage\ntwo\u2028parts\nthree\x85cells\n".encode())
    assert [each["content"] for each in cli.ok("list", "--json", "--order", "-id").json] == [
        "one\x0cpage",
        "two\u2028parts",
        "three\x85cells",
    ]


def test_a_byte_order_mark_is_no_part_of_the_text(cli: Cli) -> None:
    """Editors of another system put it there."""
    cli.process("remember", "-", stdin=b"\xef\xbb\xbfDeploys go out from main\n")
    assert cli.ok("show", "1", "--json").json["content"] == "Deploys go out from main"


def test_a_secret_is_left_out_and_that_is_said(cli: Cli) -> None:
    """The person learns that something was not stored."""
    token = "ghp_" + "a1B2" * 9
    told = cli.ok("remember", f"the token is {token}")
    assert "something secret was left out" in told.out
    assert token not in told.out + cli.ok("export").out


def test_the_same_key_is_the_same_request(cli: Cli) -> None:
    """Another request under it is refused."""
    cli.ok("remember", "--key", "k1", "Deploys go out from main")
    assert cli.ok("remember", "--key", "k1", "--json", "Deploys go out from main").json["version"] == 1
    assert cli("remember", "--key", "k1", "Something else").status == 4


# Asking


@pytest.mark.row("K3", "query")
def test_recall_answers_a_question(stocked: Cli) -> None:
    """Best first, with references, kinds, days and tags."""
    lines = stocked.ok("recall", "where do deploys come from?").out.splitlines()
    assert lines[0] == "[id:1] Deploys go out from main"
    assert lines[1].startswith("    decision, 20")
    assert lines[1].endswith("#ops")
    assert stocked.ok("recall", "zebra").out.startswith("Nothing found.\n")


@pytest.mark.parametrize("command", ["recall", "search"])
def test_hits_for_programs(stocked: Cli, command: str) -> None:
    """The question, each hit with its reasons and its whole memory, and notes."""
    everything = ["--no-gate"] if command == "recall" else []
    told = stocked.ok(command, "--json", *everything, "deploys", "image", "english").json
    assert set(told) == {"query", "hits", "notes", "pinned", "conflicts"}
    assert told["query"] == "deploys image english"
    assert {hit["ref"] for hit in told["hits"]} >= {"1", "2", "g1"}
    for hit in told["hits"]:
        assert set(hit) == {"ref", "score", "relevance", "why", "memory"}
        assert set(hit["memory"]) == FIELDS
        assert all(set(each) == {"factor", "value", "detail", "adds"} for each in hit["why"])


@pytest.mark.parametrize(
    "words, found",
    [
        (["--kind", "decision"], {"1"}),
        (["--kind", "decision", "--kind", "preference"], {"1", "g1"}),
        (["--tag", "ops"], {"1", "2"}),
        (["--tag", "Ops"], {"1", "2"}),
        (["--file", "deploy.sh"], {"1"}),
        (["-n", "0"], set()),
        (["--global"], {"g1"}),
    ],
)
def test_recall_is_narrowed(stocked: Cli, words: list[str], found: set[str]) -> None:
    """By kind, tag, file, number, and to the global memory."""
    told = stocked.ok("recall", "--json", "--no-gate", *words, "deploys deploys image english").json
    assert {hit["ref"] for hit in told["hits"]} == found


@pytest.mark.parametrize("limit", [1, 2, 50])
def test_there_are_as_many_results_as_asked_for(stocked: Cli, limit: int) -> None:
    """Where there are so many."""
    told = stocked.ok("search", "--json", "--limit", str(limit), "deploys image english cores").json
    assert len(told["hits"]) == min(limit, 4)


def test_passing_memories_are_found_in_their_session_and_task(cli: Cli) -> None:
    """And nowhere else."""
    cli.ok("remember", "--scope", "session", "--session", "s1", "deploy note of the session")
    cli.ok("remember", "--scope", "task", "--task", "t1", "deploy note of the task")
    assert cli.ok("recall", "deploy").out.startswith("Nothing found.\n")
    assert "[id:1]" in cli.ok("recall", "--session", "s1", "deploy").out
    assert "[id:2]" in cli.ok("recall", "--task", "t1", "deploy").out


def test_a_question_can_come_from_standard_input(stocked: Cli) -> None:
    """For recall and search."""
    for command in ("recall", "search"):
        done = stocked.process(command, "-", stdin=b"where do deploys come from?\n")
        assert done.stdout.startswith(b"[id:1] Deploys go out from main\n")


def test_words_that_look_like_options_are_asked_after_two_hyphens(stocked: Cli) -> None:
    """As everywhere."""
    assert stocked.ok("recall", "--", "--deploys", "-x").out.startswith("[id:1]")


def test_search_finds_what_is_no_longer_live(stocked: Cli) -> None:
    """And what is forgotten not."""
    stocked.ok("link", "2", "1", "--kind", "supersedes")
    assert "[id:1]" not in stocked.ok("recall", "--no-gate", "deploys").out
    assert "[id:1] Deploys go out from main\n    decision, superseded, " in stocked.ok("search", "deploys").out
    assert "[id:1]" in stocked.ok("search", "--status", "superseded", "deploys").out
    assert "[id:1]" in stocked.ok("search", "--tag", "Ops", "deploys").out
    assert "[id:1]" not in stocked.ok("search", "--status", "confirmed", "deploys").out
    stocked.ok("forget", "1")
    assert "[id:1]" not in stocked.ok("search", "deploys").out


# Looking


@pytest.mark.row("J24", "view")
def test_list_shows_memories_newest_first(stocked: Cli) -> None:
    """In columns that tools can cut."""
    rows = [line.split("\t") for line in stocked.ok("list").out.splitlines()]
    assert [row[0] for row in rows] == ["3", "2", "1"]
    assert rows[2][1:3] + rows[2][4:] == ["decision", "confirmed", "ops", "Deploys go out from main"]


@pytest.mark.parametrize(
    "words, refs",
    [
        ([], ["3", "2", "1"]),
        (["--order", "-created_at"], ["1", "2", "3"]),
        (["--order", "importance"], ["1", "3", "2"]),
        (["--kind", "decision"], ["1"]),
        (["--tag", "ops"], ["2", "1"]),
        (["--tag", "Ops"], ["2", "1"]),
        (["--limit", "2"], ["3", "2"]),
        (["--limit", "2", "--offset", "2"], ["1"]),
        (["--global"], ["g1"]),
        (["--status", "pinned"], []),
        (["--session", "s1"], []),
        (["--all"], ["4", "3", "2", "1"]),
        (["--status", "forgotten"], ["4"]),
    ],
)
def test_a_list_is_narrowed_and_ordered(stocked: Cli, words: list[str], refs: list[str]) -> None:
    """The same for people and programs."""
    stocked.ok("remember", "Nobody needs this")
    stocked.ok("forget", "4")
    told = stocked.ok("list", "--json", *words).json
    assert [each["ref"] for each in told] == refs
    assert all(set(each) == FIELDS for each in told)
    assert [line.split("\t")[0] for line in stocked.ok("list", *words).out.splitlines()] == refs


@pytest.mark.row("J24", "view")
def test_show_tells_everything_about_a_memory(stocked: Cli) -> None:
    """Its text, its standing, where it came from, its links, and on request its past."""
    stocked.ok("edit", "1", "--content", "Deploys go out on Mondays")
    stocked.ok("link", "1", "2", "--weight", "0.5")
    out = stocked.ok("show", "1").out
    assert out.startswith("[id:1] Deploys go out on Mondays\n\n")
    for line in ("kind\tdecision", "tags\tops", "files\tdeploy.sh", "trust\t1.00, user_stated", "version\t2"):
        assert line in out.splitlines()
    assert "user_stated: edited by user" in out
    assert "  1 relates-to 2  (0.5)" in out
    assert "1 earlier version; --history shows them." in out
    assert "confirmed, score +0: Deploys go out from main" in stocked.ok("show", "1", "--history").out


@pytest.mark.row("J27", "readable")
def test_a_memory_for_programs_is_readable_json(stocked: Cli) -> None:
    """With its links and its past, and names a person understands."""
    stocked.ok("link", "1", "2")
    told = stocked.ok("show", "1", "--json")
    assert set(told.json) == FIELDS | {"links", "history", "lineage"}
    assert '"content": "Deploys go out from main"' in told.out
    assert told.json["created_at"].endswith("Z")
    assert {link["kind"] for link in told.json["links"]} == {"relates-to", "has-tag"}


@pytest.mark.parametrize("ref", ["g1", "[id:g1]", "uid"])
def test_a_memory_is_named_as_it_was_shown(stocked: Cli, ref: str) -> None:
    """By number, in brackets, by uid; with --global a plain number is a global one."""
    uid = stocked.ok("show", "g1", "--json").json["uid"]
    assert stocked.ok("show", uid if ref == "uid" else ref, "--json").json["uid"] == uid
    assert stocked.ok("show", "--global", "1", "--json").json["uid"] == uid


# Changing


@pytest.mark.row("J24", "delete")
def test_forget_hides_memories_and_brings_them_back(stocked: Cli) -> None:
    """Several at once."""
    out = stocked.ok("forget", "1", "[id:2]").out
    assert out.splitlines() == [
        "Forgotten, and hidden until `forget --undo`: [id:1] Deploys go out from main",
        "Forgotten, and hidden until `forget --undo`: [id:2] Rollbacks take the previous image",
    ]
    assert [each["status"] for each in stocked.ok("list", "--all", "--json", "--order", "-id").json] == [
        *("forgotten", "forgotten", "confirmed"),
    ]
    assert stocked.ok("forget", "1", "--undo").out == "Restored: [id:1] Deploys go out from main\n"
    assert stocked.ok("forget", "--global", "1", "--json").json["ref"] == "g1"


def test_a_reference_to_nothing_among_several_changes_none_of_them(stocked: Cli) -> None:
    """Whoever typed it can correct the line and repeat it."""
    for command in ("forget", "pin", "reinforce", "demote"):
        assert stocked(command, "1", "99").status == 3
    told = stocked.ok("show", "1", "--json").json
    assert (told["status"], told["score"], told["version"]) == ("confirmed", 0, 1)


def test_pin_and_unpin(stocked: Cli) -> None:
    """And a program is told the whole memory."""
    assert stocked.ok("pin", "1").out == "Pinned: [id:1] Deploys go out from main\n"
    assert "decision, pinned, " in stocked.ok("recall", "deploys").out
    told = stocked.ok("unpin", "1", "2", "--json").json
    assert [(each["ref"], each["status"]) for each in told] == [("1", "confirmed"), ("2", "confirmed")]


@pytest.mark.row("K3", "reinforce", "demote")
def test_reinforce_and_demote(stocked: Cli) -> None:
    """The score rises by three and falls by one."""
    assert stocked.ok("reinforce", "1").out == "Reinforced: [id:1] Deploys go out from main\n"
    assert stocked.ok("demote", "1", "--json").json["score"] == 2
    assert [each["score"] for each in stocked.ok("reinforce", "1", "2", "--json").json] == [5, 3]


@pytest.mark.row("J14", "helpful", "unhelpful")
def test_feedback(stocked: Cli) -> None:
    """With a note that is kept."""
    out = stocked.ok("feedback", "1", "unhelpful", "--note", "the branch has changed").out
    assert out == "Noted as unhelpful, confidence 0.90: [id:1] Deploys go out from main\n"
    told = stocked.ok("feedback", "1", "helpful", "--json").json
    assert (told["strength"], told["confidence"]) == (2, 0.95)
    assert "the branch has changed" in stocked.ok("export").out
    assert stocked("feedback", "1", "perhaps").status == 2


def test_link_and_unlink(stocked: Cli) -> None:
    """Of each kind, by the references that were typed."""
    assert stocked.ok("link", "1", "2").out == "Linked: 1 relates-to 2\n"
    told = stocked.ok("link", "2", "3", "--kind", "contradicts", "--weight", "0.5", "--json").json
    assert (told["memory"], told["kind"], told["target"], told["weight"], told["made_by"]) == (
        2,
        "contradicts",
        3,
        0.5,
        "user",
    )
    assert stocked.ok("unlink", "1", "2").out == "Unlinked: 1 relates-to 2\n"
    assert stocked.ok("unlink", "2", "3", "-k", "contradicts", "--json").json == {"unlinked": ["2", "contradicts", "3"]}
    assert stocked("unlink", "1", "2").status == 3
    assert stocked("link", "1", "g1").status == 2


@pytest.mark.row("J4", "given")
def test_tag(stocked: Cli) -> None:
    """Adds, removes, and lists what is in use."""
    assert stocked.ok("tag", "1", "Release Train", "--remove", "ops").out.startswith("Tagged release-train: [id:1]")
    assert stocked.ok("tag").out.splitlines() == ["ops\t1", "release-train\t1"]
    assert stocked.ok("tag", "--json").json == [{"name": "ops", "count": 1}, {"name": "release-train", "count": 1}]
    assert stocked.ok("tag", "1", "-r", "release-train", "--json").json["tags"] == []
    assert stocked.ok("tag", "--global", "1", "language", "--json").json["ref"] == "g1"
    assert stocked("tag", "1").status == 2


# Elsewhere


def test_another_project_is_named_by_its_folder(stocked: Cli, tmp_path: Path) -> None:
    """Before the command or after it, from any folder inside it."""
    other = new_project(tmp_path, "other")
    (other / "src").mkdir()
    stocked.ok("remember", "--project", str(other), "only in the other")
    assert stocked.ok("--project", str(other / "src"), "list").out.endswith("only in the other\n")
    assert stocked.ok("list", "--project", "../other", "--json").json[0]["content"] == "only in the other"
    assert "only in the other" not in stocked.ok("list").out


@pytest.mark.parametrize("as_json", [["--json", "recall", "deploys"], ["recall", "--json", "deploys"]])
def test_json_is_asked_for_before_the_command_or_after_it(stocked: Cli, as_json: list[str]) -> None:
    """As one likes."""
    assert stocked.ok(*as_json).json["hits"][0]["ref"] == "1"
