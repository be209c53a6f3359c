"""Commands on the memory as a whole: status, copies in and out, checks, the switch, settings, the tour."""

from __future__ import annotations

import json
import os
from pathlib import Path

import apsw
import pytest
from cli_kit import Cli, new_project, standing_in_a_project

from recollect.config import declared


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return standing_in_a_project(tmp_path, monkeypatch, capsys)


@pytest.fixture
def stocked(cli: Cli) -> Cli:
    """With two memories of the project and a global one."""
    cli.ok("remember", "Deploys go out from main", "--kind", "decision", "--tag", "ops")
    cli.ok("remember", "Rollbacks take the previous image")
    cli.ok("remember", "--global", "Answers in British English")
    return cli


def store_file(cli: Cli) -> Path:
    [path] = cli.home.glob("projects/*/memory.db")
    return path


def spoil(path: Path, statement: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(statement)
    connection.close()


# Status


def test_status_tells_how_memory_stands(stocked: Cli) -> None:
    """To a person."""
    out = stocked.ok("status").out
    assert "memory\ton" in out
    assert f"project\tproject ({stocked.folder})" in out.replace("  (", " (")
    assert "project: 2 live memories" in out
    assert "global: 1 live memories" in out
    assert "none yet: `recollect backup`" in out


def test_status_for_programs(stocked: Cli) -> None:
    """With everything that is counted."""
    told = stocked.ok("status", "--json").json
    assert {"project", "project_id", "root", "home", "on", "off_where", "search", "spaces", "notes"} <= set(told)
    here, shared = told["spaces"]
    assert (here["name"], here["live"], here["by_kind"]) == ("project", 2, {"decision": 1, "fact": 1})
    assert (shared["name"], shared["live"], shared["backups"], shared["newest_backup"]) == ("global", 1, 0, None)


# Export and import


@pytest.mark.row("K10")
@pytest.mark.row("J24", "export")
def test_export_writes_everything_out(stocked: Cli, tmp_path: Path) -> None:
    """To standard output or to a file, as lines of JSON."""
    records = [json.loads(line) for line in stocked.ok("export").out.splitlines()]
    assert [record["record"] for record in records] == ["header", "memory", "memory", "audit_head"]
    assert records[1]["content"] == "Deploys go out from main"
    path = tmp_path / "memories.jsonl"
    assert stocked.ok("export", str(path)).out == f"Exported to {path}\n"
    assert path.read_text() == stocked.ok("export", "-").out
    assert stocked.ok("export", str(path), "--global", "--json").json == {"file": str(path)}
    assert "Answers in British English" in path.read_text()


@pytest.mark.row("J24", "import")
def test_import_takes_an_export_over(stocked: Cli, tmp_path: Path) -> None:
    """Looking first if one likes; again it changes nothing."""
    path = tmp_path / "memories.jsonl"
    stocked.ok("export", str(path))
    other = ("--project", str(new_project(tmp_path, "other")))
    would = stocked.ok("import", str(path), "--dry-run", *other).out
    assert would == "Would import: 2 new, 0 updated, 0 unchanged, 0 already said by others, 0 links.\n"
    assert stocked.ok("list", *other).out == ""
    assert stocked.ok("import", str(path), *other).out.startswith("Imported: 2 new, ")
    told = stocked.ok("import", str(path), "--json", *other).json
    assert set(told) == {
        *("added", "updated", "unchanged", "duplicates", "links", "definitions", "signed", "dropped", "dry_run"),
    }
    assert (told["unchanged"], told["added"], told["signed"], told["dry_run"]) == (2, 0, True, False)


def test_an_import_that_nobody_signed_is_taken_with_care(stocked: Cli, tmp_path: Path) -> None:
    """It says so; `--trust` takes it at its word."""
    lines = stocked.ok("export").out.replace("from main", "from a branch")
    path = tmp_path / "memories.jsonl"
    path.write_text(lines)
    done = stocked.ok("import", str(path), "--project", str(new_project(tmp_path, "a")))
    assert "not signed by this home, so it is trusted as an import." in done.out
    assert {each["status"] for each in stocked.ok("list", "--json", "--project", str(tmp_path / "a")).json} == {
        "candidate"
    }
    assert "claims origin user_stated" in stocked.ok("show", "1", "--project", str(tmp_path / "a")).out
    path.write_text("\n".join(lines.splitlines()[:-1]).replace("from a branch", "from main") + "\n")
    done = stocked.ok("import", str(path), "--trust", "--project", str(new_project(tmp_path, "b")))
    assert "not signed" not in done.out
    assert {each["status"] for each in stocked.ok("list", "--json", "--project", str(tmp_path / "b")).json} == {
        "confirmed"
    }


def test_an_export_flows_through_a_pipe(stocked: Cli, tmp_path: Path) -> None:
    """Out of one command into another, into the global memory for instance."""
    lines = stocked.process("export").stdout
    done = stocked.process("import", "-", "--global", "--json", stdin=lines)
    assert (done.returncode, json.loads(done.stdout)["added"]) == (0, 2)
    assert {each["scope"] for each in stocked.ok("list", "--global", "--json").json} == {"global"}


@pytest.mark.parametrize(
    "content, problem",
    [(None, "cannot be read"), (b"", "is empty"), (b"not json\n", "line 1"), (b'{"record": "memory"}\n', "line 1")],
)
def test_a_file_that_is_no_export_is_refused(stocked: Cli, tmp_path: Path, content: bytes | None, problem: str) -> None:
    """By its name and line."""
    path = tmp_path / "memories.jsonl"
    if content is not None:
        path.write_bytes(content)
    done = stocked("import", str(path))
    assert done.status == 2
    assert str(path) in done.err
    assert problem in done.err


@pytest.mark.parametrize("place", ["", "{}/nowhere/x.jsonl", "{}"])
def test_an_export_that_cannot_be_written_is_refused(stocked: Cli, tmp_path: Path, place: str) -> None:
    """As the mistake it is."""
    done = stocked("export", place.format(tmp_path))
    assert (done.status, "unexpected" in done.err) == (2, False)


# Backups


def test_backup_and_restore(stocked: Cli) -> None:
    """What was there before restoring is kept too."""
    out = stocked.ok("backup").out
    path = out.removeprefix("Backed up to ").strip()
    assert Path(path).is_file()
    stocked.ok("forget", "1")
    restored = stocked.ok("restore", "--yes").out.splitlines()
    assert restored[0] == f"Restored {path}"
    assert restored[1].startswith("What was there before is ")
    assert len(stocked.ok("list", "--json").json) == 2
    told = stocked.ok("restore", path, "-y", "--json").json
    assert told["restored"] == path
    assert Path(told["before"]).is_file()
    assert stocked.ok("backup", "--global", "--json").json["file"].startswith(str(stocked.home / "global"))


@pytest.mark.parametrize("answer", [b"n\n", b"", b"\n"], ids=["no", "nobody there", "just return"])
def test_restore_asks_first(stocked: Cli, answer: bytes) -> None:
    """And does nothing unless the answer is yes."""
    stocked.ok("backup")
    stocked.ok("forget", "1")
    done = stocked.process("restore", stdin=answer)
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr
    assert len(stocked.ok("list", "--json").json) == 1
    assert stocked.process("restore", stdin=b"y\n").returncode == 0
    assert len(stocked.ok("list", "--json").json) == 2


@pytest.mark.parametrize("words", [["restore", "--yes"], ["restore", "--yes", "nowhere.db"], ["restore", "-y", "."]])
def test_there_must_be_something_to_restore(stocked: Cli, words: list[str]) -> None:
    """And it must be a backup."""
    assert stocked(*words).status == 2
    assert len(stocked.ok("list", "--json").json) == 2


# The audit


def test_audit_tells_who_did_what(stocked: Cli) -> None:
    """Newest first."""
    stocked.ok("forget", "1")
    rows = [line.split("\t") for line in stocked.ok("audit").out.splitlines()]
    assert [(row[0], row[2], row[3]) for row in rows] == [
        ("3", "user", "remove"),
        ("2", "user", "add"),
        ("1", "user", "add"),
    ]
    assert [entry["seq"] for entry in stocked.ok("audit", "--json", "--limit", "2").json] == [3, 2]
    assert len(stocked.ok("audit", "--global").out.splitlines()) == 1
    assert stocked("audit", "--limit", "-1").status == 2


@pytest.mark.row("P20", "tamper-evident")
def test_audit_verify_finds_what_was_changed_behind_its_back(stocked: Cli) -> None:
    """It ends with status 1 then; a head noted down earlier shows what was cut off."""
    head = stocked.ok("audit", "head").out.strip()
    assert head == stocked.ok("audit", "head", "--json").json["head"]
    assert stocked.ok("audit", "verify", "--head", head).out == f"The audit is sound: 2 entries, head {head}\n"
    stocked.ok("pin", "1")
    told = stocked.ok("audit", "verify", "--head", head, "--json").json
    assert (told["sound"], told["faults"], told["entries"]) == (True, [], 3)
    spoil(store_file(stocked), "UPDATE audit SET actor = 'somebody' WHERE seq = 1")
    done = stocked("audit", "verify")
    assert (done.status, "The audit is not sound: " in done.out) == (1, True)
    assert stocked("audit", "verify", "--json").json["sound"] is False
    assert stocked("audit", "verify", "--head", "3:b2:00").status == 1
    assert stocked("audit", "verify", "--head", "nonsense").status == 2


@pytest.mark.parametrize(
    "words", [["audit", "--global", "head"], ["audit", "head", "--global"]], ids=["before", "after"]
)
def test_options_of_a_group_hold_for_its_commands(stocked: Cli, words: list[str]) -> None:
    """Wherever they are typed, a command works on what was named and not silently on something else."""
    told = stocked.ok("status", "--json").json["spaces"][1]
    assert stocked.ok(*words).out.strip() == told["audit_head"]


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "--json", "verify"],
        ["config", "--json", "get", "recall.limit"],
        ["project", "--json", "list"],
        ["--json", "audit", "verify"],
    ],
    ids=" ".join,
)
def test_json_asked_of_a_group_is_given_by_its_commands(stocked: Cli, words: list[str]) -> None:
    """And nothing else."""
    assert isinstance(stocked.ok(*words).json, dict | list)


# The doctor


def test_doctor_finds_nothing_wrong(stocked: Cli) -> None:
    """And says what it looked at."""
    out = stocked.ok("doctor").out
    assert out.count("ok\t") == len(out.splitlines())
    assert "every memory is as it was stored" in out
    told = stocked.ok("doctor", "--json").json
    assert all(set(check) == {"name", "ok", "detail", "fixable"} and check["ok"] for check in told)


def test_doctor_finds_what_can_be_put_right_and_puts_it_right(stocked: Cli) -> None:
    """It says that nothing is lost."""
    spoil(store_file(stocked), "DELETE FROM memory_tags")
    done = stocked("doctor")
    assert done.status == 1
    assert "WRONG\tproject: tags and files" in done.out
    assert "`recollect doctor --rebuild` puts this right." in done.out
    assert [check["name"] for check in stocked("doctor", "--json").json if not check["ok"]] == [
        "project: tags and files"
    ]
    stocked.ok("doctor", "--rebuild")
    stocked.ok("doctor")


def test_doctor_finds_what_only_a_backup_can_put_right(stocked: Cli) -> None:
    """And says so; what can be read can be salvaged."""
    spoil(store_file(stocked), "UPDATE memories SET content = 'from hell' WHERE id = 1")
    done = stocked("doctor", "--rebuild")
    assert (done.status, "`recollect restore` brings back a backup." in done.out) == (1, True)
    out = stocked.ok("doctor", "--salvage").out
    assert out.startswith("Salvaged 1 memories (1 could not be read).")
    assert [each["content"] for each in stocked.ok("list", "--json").json] == ["Rollbacks take the previous image"]


def test_what_was_salvaged_is_told_to_programs_too(stocked: Cli) -> None:
    """Where the damaged file is, and how much of it was saved, with what the checks found then."""
    spoil(store_file(stocked), "UPDATE memories SET content = 'from hell' WHERE id = 1")
    told = stocked.ok("doctor", "--salvage", "--json")
    assert "memory.db.damaged-" in told.out
    assert json.loads(told.out)


# The switch


@pytest.mark.row("J24", "off")
def test_off_and_on(stocked: Cli) -> None:
    """For this project."""
    assert stocked.ok("off").out == "Memory is off for this project. `recollect on` resumes it.\n"
    done = stocked("remember", "something new")
    assert (done.status, "switched off for this project" in done.err, "`recollect on`" in done.err) == (4, True, True)
    assert stocked.ok("recall", "deploys").out == "Nothing found.\n(memory is switched off for this project)\n"
    assert "OFF for this project" in stocked.ok("status").out
    assert stocked.ok("on").out == "Memory is on.\n"
    assert stocked.ok("remember", "something new").out.startswith("Remembered: ")


@pytest.mark.row("J24", "off")
def test_off_everywhere(stocked: Cli, tmp_path: Path) -> None:
    """In every project, until it is switched on everywhere."""
    other = ("--project", str(new_project(tmp_path, "other")))
    assert stocked.ok("off", "--global", "--json").json == {"on": False, "off_where": "everywhere"}
    assert stocked("remember", "something new", *other).status == 4
    told = stocked.ok("on")
    assert "still off everywhere; `recollect on --global`" in told.out
    assert stocked.ok("on", "--json").json == {"on": False, "off_where": "everywhere"}
    assert stocked.ok("on", "--global", "--json").json == {"on": True, "off_where": None}
    stocked.ok("remember", "something new", *other)


# Settings


def config_file(cli: Cli, text: str) -> Path:
    path = cli.home / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_config_lists_every_setting(cli: Cli) -> None:
    """With its value, its meaning and where it was set."""
    out = cli.ok("config").out
    assert all(f"{each.key} = " in out and each.meaning in out for each in declared())
    told = cli.ok("config", "--json").json
    assert [each["key"] for each in told] == [each.key for each in declared()]
    assert all(set(each) == {"key", "value", "default", "source", "meaning", "type", "allowed", "env"} for each in told)


def test_config_shows_what_was_changed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whom, and what the default is."""
    assert cli.ok("config", "--changed").out == ""
    cli.ok("config", "set", "recall.limit", "20")
    monkeypatch.setenv("RECOLLECT_FLUSH_ENABLED", "no")
    lines = cli.ok("config", "--changed").out.splitlines()
    assert lines[0] == "recall.limit = 20  (set by config.toml; default 10)"
    assert lines[2] == "flush.enabled = false  (set by RECOLLECT_FLUSH_ENABLED; default true)"


def test_config_get_set_and_unset(cli: Cli) -> None:
    """A setting takes effect at once, and is gone without a trace."""
    assert cli.ok("config", "get", "recall.limit").out == "10\n"
    assert cli.ok("config", "set", "recall.limit", "1").out == "recall.limit = 1\n"
    assert cli.ok("config", "get", "recall.limit", "--json").json == {
        "key": "recall.limit",
        "value": 1,
        "source": "config.toml",
    }
    for number in range(3):
        cli.ok("remember", f"deploy number {number}")
    assert len(cli.ok("recall", "deploy", "--json").json["hits"]) == 1
    cli.ok("config", "unset", "recall.limit")
    assert cli.ok("config", "get", "recall.limit").out == "10\n"
    assert cli.ok("config", "unset", "recall.limit", "--json").json["key"] == "recall.limit"
    assert oct((cli.home / "config.toml").stat().st_mode & 0o777) == "0o600"


def test_setting_one_key_leaves_the_rest_of_the_file_as_it_is(cli: Cli) -> None:
    """Comments, order and spacing too."""
    text = "# mine\n\n[recall]\nlimit = 20  # enough\n# why not\nquery_limit=500\n\n[write]\nreinforce = 4\n"
    path = config_file(cli, text)
    cli.ok("config", "set", "recall.limit", "30")
    assert path.read_text() == text.replace("limit = 20 ", "limit = 30 ")
    cli.ok("config", "set", "recall.limit", "20")
    cli.ok("config", "set", "flush.enabled", "no")
    assert path.read_text().startswith(text)
    cli.ok("config", "unset", "write.reinforce")
    assert "# why not" in path.read_text()
    assert "reinforce" not in path.read_text()


@pytest.mark.parametrize(
    "words, hint",
    [
        (["get", "recall.limt"], "recall.limit"),
        (["set", "recall.limt", "5"], "recall.limit"),
        (["unset", "recall.limt"], "recall.limit"),
        (["set", "query_limit", "5"], "recall.query_limit"),
        (["set", "recall.search", "hybrd"], "hybrid"),
        (["set", "recall.limit", "many"], "recall.limit"),
        (["set", "recall.limit", "0"], "recall.limit"),
        (["set", "slo.healthy_ms", "400"], "slo.degrade_ms"),
        (["set", "budget.share", "nan"], "budget.share"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else each,
)
def test_a_mistake_in_a_setting_names_the_nearest_and_changes_nothing(cli: Cli, words: list[str], hint: str) -> None:
    """The file stays as it was."""
    path = config_file(cli, "# mine\n[recall]\nlimit = 20\n")
    done = cli("config", *words)
    assert done.status == 2
    assert hint in done.err
    assert path.read_text() == "# mine\n[recall]\nlimit = 20\n"


BROKEN = {
    "no TOML": "[recall\nlimit = 20\n",
    "an unknown key": "[recall]\nlimt = 20\n",
    "a wrong value": "[recall]\nlimit = -5\n",
    "a section that is none": "recall = 5\n",
    "no UTF-8": "[recall]\n# caf\udce9\nlimit = 20\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_settings_file_is_named_by_every_command(cli: Cli, name: str) -> None:
    """With the file and what is wrong; none goes on with half of it, and none falls over."""
    path = config_file(cli, "")
    path.write_bytes(BROKEN[name].encode("utf-8", "surrogateescape"))
    for words in (["list"], ["remember", "x"], ["config"], ["config", "get", "recall.limit"], ["status"]):
        done = cli(*words)
        assert (done.status, "unexpected" in done.err) == (2, False), words
        assert str(path) in done.err
    assert json.loads(cli("list", "--json").err)["error"]["type"] == "ConfigError"


@pytest.mark.parametrize("name", BROKEN)
def test_no_setting_is_written_into_a_file_that_cannot_be_read(cli: Cli, name: str) -> None:
    """What a person wrote there is not thrown away; only a wrong value can be corrected this way."""
    path = config_file(cli, "")
    path.write_bytes(BROKEN[name].encode("utf-8", "surrogateescape"))
    done = cli("config", "set", "recall.limit", "5")
    assert "unexpected" not in done.err
    if name == "a wrong value":
        assert (done.status, path.read_text()) == (0, "[recall]\nlimit = 5\n")
    else:
        assert done.status == 2
        assert path.read_bytes() == BROKEN[name].encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("name, key", [("a wrong value", "recall.limit"), ("an unknown key", "recall.limt")])
def test_a_setting_that_stops_everything_can_be_unset(cli: Cli, name: str, key: str) -> None:
    """The way out of a mistake does not need the mistake to be gone first."""
    config_file(cli, BROKEN[name])
    assert cli("config", "unset", key).status == 0
    cli.ok("list")


def test_settings_need_no_project(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They belong to the home; asking for them makes no project of a folder."""
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    cli.ok("config", "get", "recall.limit")
    assert not cli.home.exists() or not list(cli.home.glob("projects/*"))


# The tour


def test_the_tour_shows_how_it_works_and_touches_nothing(cli: Cli) -> None:
    """A question is answered with reasons, and no home is made."""
    out = cli.ok("tour").out
    assert "recollect remember --kind decision" in out
    assert "PostgreSQL" in out.split("recollect recall --why")[1]
    assert "Why it was found" in out
    assert not cli.home.exists()
    assert os.listdir(cli.folder) == [".git"]
