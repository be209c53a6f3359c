"""Commands that ask and define: recall and its reasons, search beside memories, similar, graph, aliases, seasons."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli_kit import Cli, standing_in_a_project

import recollect
from recollect.engine.graph import FORMATS
from recollect.model import Corpus, Passage
from recollect.surfaces.cli.app import app
from recollect.testing import FixedClock


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return standing_in_a_project(tmp_path, monkeypatch, capsys)


@pytest.fixture
def stocked(cli: Cli) -> Cli:
    """With some memories of the project and a global one."""
    cli.ok("remember", "Deploys go out from main", "--kind", "decision", "--tag", "ops", "--file", "deploy.sh")
    cli.ok("remember", "Rollbacks take the previous image", "--tag", "ops")
    cli.ok("remember", "The gateway listens on port 9000")
    cli.ok("remember", "--global", "--kind", "preference", "Answers in British English")
    return cli


def refs(cli: Cli, *words: str) -> list[str]:
    """What a question finds, best first."""
    return [hit["ref"] for hit in cli.ok("recall", "--json", *words).json["hits"]]


# Why


@pytest.mark.row("X14", "presence")
def test_why_shows_each_factor_in_a_table(stocked: Cli) -> None:
    """Whether it adds or multiplies, its value, and what that came from."""
    first, second, score, *factors = stocked.ok("recall", "--why", "-n", "1", "where do deploys go?").out.splitlines()
    assert first == "[id:1] Deploys go out from main"
    assert second.startswith("    decision, 20")
    assert score.startswith("    score 0.")
    assert ", relevance 0." in score
    rows = [line.split(maxsplit=3) for line in factors]
    assert [row[:2] for row in rows[:2]] == [["words", "+"], ["meaning", "+"]]
    assert {row[1] for row in rows[2:]} == {"×"}
    assert "deploys" in rows[0][3]
    assert rows[1][3].startswith("cosine 0.")
    assert len({line.index("+" if "+" in line[:24] else "×") for line in factors}) == 1


@pytest.mark.row("X14", "presence")
def test_a_program_gets_every_reason_and_how_relevant_each_result_is(stocked: Cli) -> None:
    """The reasons come to the score."""
    told = stocked.ok("recall", "--json", "where do deploys go?").json
    [hit, *_] = told["hits"]
    added = sum(why["value"] for why in hit["why"] if why["adds"])
    for why in hit["why"]:
        assert set(why) == {"factor", "value", "detail", "adds"}
        added *= 1 if why["adds"] else why["value"]
    assert added == pytest.approx(hit["score"])
    assert 0 < hit["relevance"] <= 1
    assert (told["pinned"], told["conflicts"]) == ([], [])


def test_a_profile_can_be_chosen(stocked: Cli) -> None:
    """One that gives pinned memories beside the results too; one that does not exist is refused."""
    stocked.ok("pin", "2")
    told = stocked.ok("recall", "--json", "--profile", "koshi", "deploys").json
    assert [why["factor"] for why in told["hits"][0]["why"]] == ["words", "score", "recency"]
    told = stocked.ok("recall", "--json", "--profile", "praxis", "deploys").json
    assert [each["ref"] for each in told["pinned"]] == ["2"]
    assert "[id:2]" in stocked.ok("recall", "--profile", "praxis", "deploys").out
    assert stocked("recall", "--profile", "nonsense", "deploys").status == 2


def test_contradictions_are_told_where_the_profile_looks_for_them(stocked: Cli) -> None:
    """As pairs of references."""
    stocked.ok("link", "1", "2", "--kind", "contradicts")
    assert stocked.ok("recall", "--json", "--profile", "praxis", "deploys").json["conflicts"] == [["1", "2"]]
    assert "(conflict: [id:1] contradicts [id:2])" in stocked.ok("recall", "--profile", "praxis", "deploys").out


def test_what_is_near_the_files_at_hand_comes_first(stocked: Cli) -> None:
    """Without leaving the others out, and the reason names the file."""
    stocked.ok("remember", "Deploys go out from trunk", "--file", "trunk.sh")
    for near, first in (("deploy.sh", "1"), ("trunk.sh", "4")):
        told = stocked.ok(
            "recall", "--json", "--profile", "praxis", "--near", near, "where do deploys go out from?"
        ).json
        assert told["hits"][0]["ref"] == first
        assert {hit["ref"] for hit in told["hits"]} == {"1", "4"}
        [why] = [why for why in told["hits"][0]["why"] if why["factor"] == "files"]
        assert (why["value"], why["detail"]) == (1.5, near)


# Why not


@pytest.mark.row("X14", "absence")
def test_why_not_names_the_step_and_by_how_much(stocked: Cli) -> None:
    """The gate, the limit, the filter, the session, the season, the status, the space; or that it is there."""
    stocked.ok("remember", "Deploys go out from main at noon")
    stocked.ok("remember", "Deploys go out of season", "--season", "release-week")
    stocked.ok("remember", "Deploys of this session", "--scope", "session", "--session", "s1")
    stocked.ok("remember", "Deploys that nobody needs")
    stocked.ok("forget", "7")
    asked = ("where do deploys go?",)

    def why_not(*words: str) -> tuple[str, str]:
        told = stocked.ok("recall", "--json", "--why-not", *words, *asked).json
        assert set(told) == {"query", "ref", "step", "detail", "place", "why", "memory"}
        return told["step"], told["detail"]

    assert why_not("1")[0] == "returned"
    step, detail = why_not("2")
    assert (step, " is below 0." in detail) == ("gate", True)
    assert "limit" in {why_not(ref, "-n", "1")[0] for ref in ("1", "4")}
    assert why_not("1", "--tag", "other") == ("filter", "tags does not fit")
    assert why_not("5") == ("season", "release-week is not on")
    assert why_not("6") == ("reach", "it belongs to session:s1 alone")
    assert why_not("7") == ("status", "it is forgotten")
    assert why_not("1", "--global") != why_not("1")
    assert why_not("g1")[0] in {"gate", "search"}


@pytest.mark.row("X14", "absence")
def test_why_not_is_told_to_people(stocked: Cli) -> None:
    """The memory, the step, its place, and its factors."""
    out = stocked.ok("recall", "--why-not", "2", "--no-gate", "-n", "1", "where do deploys go?").out
    assert out.startswith("[id:2] Rollbacks take the previous image\n")
    assert "    Left out at the step 'limit': place " in out
    assert "    Its place among all that was ranked: " in out
    assert "\n      words " in out
    assert "It is among the results: it is result 1." in stocked.ok("recall", "--why-not", "1", "deploys").out


def test_why_not_of_nothing_is_not_found(stocked: Cli) -> None:
    """And it cannot be asked of the past."""
    assert stocked("recall", "--why-not", "99", "deploys").status == 3
    assert stocked("recall", "--why-not", "1", "--as-of", "2026-03", "deploys").status == 2


# Nothing found


def test_an_empty_answer_says_why_and_what_to_do(cli: Cli) -> None:
    """Nothing stored, nothing relevant, nothing that fits, nothing at all."""
    assert "(nothing is stored here yet; `recollect remember` stores something)" in cli.ok("recall", "zebra").out
    cli.ok("remember", "Deploys go out from main")
    out = cli.ok("recall", "zebra quartz").out
    assert out == "Nothing found.\n(nothing relevant is stored; --no-gate shows what came closest)\n"
    told = cli.ok("recall", "--json", "zebra quartz").json
    assert (told["hits"], told["notes"]) == ([], ["nothing relevant is stored; --no-gate shows what came closest"])
    assert "fits --kind, --tag and --file" in cli.ok("recall", "--tag", "none", "deploys").out
    assert cli.ok("recall", "--profile", "koshi", "zebra").out == "Nothing found.\n(nothing relevant is stored)\n"
    cli.ok("off")
    assert cli.ok("recall", "deploys").out.startswith("Nothing found.\n(memory is switched off")


@pytest.mark.parametrize("option", ["--no-gate", "--all"])
def test_without_the_gate_what_came_closest_is_shown(stocked: Cli, option: str) -> None:
    """However far away it is."""
    assert refs(stocked, "quarterly zebra budget") == []
    assert refs(stocked, option, "quarterly zebra budget")


# As of


@pytest.mark.row("X15")
def test_memory_answers_as_of_a_date(cli: Cli) -> None:
    """From what was stored then, as it said then: before a change, before it was forgotten, before it was there."""
    clock = FixedClock(datetime(2026, 3, 10, 9, tzinfo=UTC))
    with recollect.open(cli.folder, clock=clock, background=False) as memory:
        memory.remember("The database is MySQL")
        clock.now = datetime(2026, 4, 10, 9, tzinfo=UTC)
        memory.update(1, "The database is PostgreSQL")
        clock.now = datetime(2026, 5, 10, 9, tzinfo=UTC)
        memory.remember("The database has a replica")
        memory.forget(1)

    def then(date: str) -> set[str]:
        told = cli.ok("recall", "--json", "--no-gate", "--as-of", date, "which database?").json
        assert told["notes"][0].startswith("as of 2026-")
        return {hit["memory"]["content"] for hit in told["hits"]}

    assert then("2026-03-09") == set()
    assert then("2026-03-10") == {"The database is MySQL"}
    assert then("2026-03-10T08:59") == set()
    assert then("2026-03-10T10:59+02:00") == set()
    assert then("2026-03") == {"The database is MySQL"}
    assert then("2026-04") == {"The database is PostgreSQL"}
    assert then("2026-05-10T08:00:00Z") == {"The database is PostgreSQL"}
    assert then("2026") == {"The database has a replica"}
    out = cli.ok("recall", "--as-of", "2026-02", "which database?").out
    assert out == "Nothing found.\n(as of 2026-02-28 23:59 UTC)\n(nothing that was stored then is relevant)\n"


@pytest.mark.parametrize("date", ["yesterday", "2026-13", "2026-02-30", "14.3.2026", "", "2026-03-14T25:00"])
def test_what_is_no_date_is_refused(cli: Cli, date: str) -> None:
    """And the error shows what is."""
    done = cli("recall", "--as-of", date, "deploys")
    assert (done.status, done.out) == (2, "")
    assert "write 2026-03-14, 2026-03" in " ".join(done.err.split())


# Beside the memories


@pytest.fixture
def talked(cli: Cli) -> Cli:
    """With a session and a source file that are indexed."""
    turns = [
        ("Tom", "Which port does the gateway use?"),
        ("Ines", "It is 9000, since the move."),
        ("Tom", "And the metrics?"),
        ("Ines", "On 9001, only from inside."),
    ]
    at = datetime(2026, 3, 10, tzinfo=UTC)
    with recollect.open(cli.folder, background=False) as memory:
        memory.file_passages(
            Passage(corpus=Corpus.SESSIONS, document="s1", position=place, label=who, text=text, at=at)
            for place, (who, text) in enumerate(turns)
        )
        memory.file_passages(
            [Passage(corpus=Corpus.SOURCES, document="src/gateway.py", position=0, text="def listen(port): ...")]
        )
    return cli


@pytest.mark.row("B10", "sessions", "sources", "memory", "items")
def test_search_covers_what_lies_beside_the_memories(talked: Cli) -> None:
    """Each passage with its neighbours; a corpus that holds nothing says so."""
    talked.ok("remember", "The gateway moved in March")
    out = talked.ok("search", "--in", "sessions", "-n", "1", "gateway port").out
    assert out.splitlines()[:2] == [
        "[sessions: s1, 0]",
        "  > 10 March 2026 Tom: Which port does the gateway use?",
    ]
    assert "    10 March 2026 Ines: It is 9000, since the move." in out
    assert "[sources: src/gateway.py, 0]" in talked.ok("search", "--in", "sources", "listen").out
    assert "(no passage of the items that are indexed answers this)" in talked.ok("search", "--in", "items", "port").out
    assert talked.ok("search", "--in", "memory", "gateway").out.startswith("[id:1]")


def test_passages_for_programs_carry_their_reasons_and_neighbours(talked: Cli) -> None:
    """And one document can be asked for."""
    told = talked.ok("search", "--json", "--in", "sessions", "gateway port").json
    assert set(told) == {"query", "excerpts", "notes"}
    [first, *_] = told["excerpts"]
    assert set(first) == {"passage", "score", "why", "relevance", "before", "after"}
    assert (first["passage"]["document"], first["passage"]["position"]) == ("s1", 0)
    assert [each["position"] for each in first["after"]] == [1, 2]
    assert first["why"][0]["factor"]
    assert talked.ok("search", "--json", "--in", "sessions", "--document", "s2", "port").json["excerpts"] == []
    assert "      words " in talked.ok("search", "--why", "--in", "sessions", "gateway port").out


@pytest.mark.parametrize(
    "words", [["--in", "sessions", "--tag", "x"], ["--in", "items", "--global"], ["--document", "s1"], ["--in", "moon"]]
)
def test_what_passages_cannot_be_narrowed_by_is_refused(talked: Cli, words: list[str]) -> None:
    """Rather than ignored."""
    assert talked("search", *words, "port").status == 2


# Similar


@pytest.mark.row("J5", "find-similar")
def test_similar_shows_what_is_close_and_how_close(stocked: Cli) -> None:
    """By reference, global ones too."""
    stocked.ok("remember", "The main branch is what gets deployed")
    out = stocked.ok("similar", "1", "-n", "1").out
    assert out.startswith("[id:4] The main branch is what gets deployed\n")
    assert "meaning  ×  0." in out
    told = stocked.ok("similar", "--json", "--global", "1").json
    assert told["query"] == "similar to [id:g1]"
    assert "g1" not in {hit["ref"] for hit in told["hits"]}
    assert stocked("similar", "99").status == 3


def test_a_memory_that_is_alone_has_none_like_it(cli: Cli) -> None:
    """Which is said."""
    cli.ok("remember", "Deploys go out from main")
    assert cli.ok("similar", "1").out == "Nothing found.\n(there is no other memory to compare with)\n"


# Clusters and the graph


@pytest.fixture
def clustered(cli: Cli) -> Cli:
    days = "Mondays Tuesdays Wednesdays Thursdays".split()
    for day in days:
        cli.ok("remember", f"Deploys go out from main on {day}", "--tag", "ops")
    cli.ok("remember", "The office plant is called Gerald")
    return cli


@pytest.mark.row("J5", "discovery")
def test_cluster_finds_groups_and_clusters_lists_them(clustered: Cli) -> None:
    """With a label, a size, and their members."""
    assert clustered.ok("clusters").out == "There are no clusters yet: `recollect cluster` finds them.\n"
    [row] = [line.split("\t") for line in clustered.ok("cluster").out.splitlines()]
    assert row[:2] == ["1", "4"]
    assert "deploys" in row[2]
    assert clustered.ok("clusters").out == "\t".join(row) + "\n"
    assert clustered.ok("clusters", "--json").json == [{"id": 1, "label": row[2], "size": 4}]
    assert [each["ref"] for each in clustered.ok("clusters", "1", "--json").json] == ["1", "2", "3", "4"]
    assert clustered.ok("cluster", "--least", "5").out == "No memories lie close enough together.\n"
    assert clustered("clusters", "7").status == 3
    assert clustered("cluster", "--least", "1").status == 2
    assert clustered.process("cluster", env={"RECOLLECT_RECALL_SEARCH": "fts5"}).returncode == 4


def test_the_graph_is_written_in_every_form(clustered: Cli) -> None:
    """To standard output, or to a file whose name says which."""
    clustered.ok("cluster")
    clustered.ok("link", "1", "2", "--weight", "0.5")
    told = clustered.ok("graph").json
    assert {node["sort"] for node in told["nodes"]} == {"memory", "tag", "cluster"}
    assert {"source": "1", "target": "2", "kind": "relates-to", "weight": 0.5} in told["edges"]
    assert clustered.ok("graph", "--format", "dot").out.startswith('digraph "project" {\n')
    assert clustered.ok("graph", "--format", "mermaid").out.startswith("flowchart LR\n")
    done = clustered.ok("graph", "--out", "memory.graphml")
    assert done.out == f"Wrote 7 nodes and {len(told['edges'])} edges to memory.graphml\n"
    root = ElementTree.parse(clustered.folder / "memory.graphml").getroot()
    assert root.tag.endswith("graphml")
    told = clustered.ok("graph", "--json", "--out", "graph.json", "--global").json
    assert told == {"file": "graph.json", "format": "json", "nodes": 0, "edges": 0}
    assert json.loads((clustered.folder / "graph.json").read_text(encoding="utf-8"))["space"] == "global"
    assert clustered("graph", "--format", "svg").status == 2
    assert clustered("graph", "--out", "gone/memory.dot").status != 0


def test_the_command_knows_every_form_of_the_graph() -> None:
    """A new one is offered too."""
    [option] = [each for each in app.commands["graph"].params if each.name == "form"]
    assert tuple(option.type.choices) == FORMATS  # type: ignore[attr-defined]


# Aliases


@pytest.mark.row("P8", "manual", "expansion")
def test_an_alias_added_by_hand_finds_what_says_the_other(stocked: Cli) -> None:
    """And the reason names the word; it is listed, added to, and removed."""
    assert stocked.ok("alias").out == "No aliases of your own yet; --all shows those that are built in.\n"
    assert stocked.ok("alias", "add", "grpc-gw", "gateway").out == "Added: grpc-gw means the same as gateway\n"
    told = stocked.ok("recall", "--json", "grpc-gw").json
    assert told["hits"][0]["ref"] == "3"
    assert told["hits"][0]["why"][0]["detail"].startswith("grpc (")
    stocked.ok("alias", "add", "grpc-gw", "edge proxy")
    assert stocked.ok("alias", "list").out == "grpc-gw\tgateway, edge proxy\town\n"
    assert stocked.ok("alias", "list", "--json").json == [
        {"word": "grpc-gw", "same": ["gateway", "edge proxy"], "source": "own"}
    ]
    assert "db\tdatabase\tbuilt-in\n" in stocked.ok("alias", "list", "--all").out
    assert stocked.ok("alias", "remove", "grpc-gw").out.startswith("Removed: grpc-gw meant the same as gateway")
    assert stocked("alias", "remove", "grpc-gw").status == 3
    assert stocked("alias", "add", "grpc-gw").status == 2
    assert stocked("alias", "add", "grpc-gw", "!!!").status == 2


@pytest.mark.row("P8", "generated")
def test_aliases_are_generated_from_the_names_in_memory(stocked: Cli) -> None:
    """And shown as such."""
    assert stocked.ok("alias", "generate").out == "The names here say nothing about abbreviations.\n"
    stocked.ok("remember", "Retries are counted", "--file", "src/order_routing_engine.py")
    assert stocked.ok("alias", "generate").out == "order routing engine\tore\tgenerated\n"
    assert stocked.ok("alias", "--json").json[0]["source"] == "generated"
    assert refs(stocked, "--no-gate", "--profile", "default", "-n", "1", "ore") == ["4"]


# Seasons


@pytest.mark.row("J10", "seasons")
def test_a_memory_of_a_season_is_recalled_only_while_it_is_on(cli: Cli) -> None:
    """Switched on and off, left to its rule, removed."""
    cli.ok("remember", "Freeze the branch on Monday", "--season", "Release Week")
    asked = ("recall", "when do we freeze the branch?")
    assert cli.ok(*asked).out.startswith("Nothing found.\n")
    assert "Left out at the step 'season': release-week is not on." in cli.ok(*asked, "--why-not", "1").out
    assert cli.ok("season").out == "release-week\toff\tnobody: `recollect season on` or `define` says when it is\t1\n"
    assert cli.ok("season", "on", "release-week").out == "release-week is on, by hand; 1 memory\n"
    assert cli.ok(*asked).out.startswith("[id:1] ")
    assert cli.ok("season", "off", "Release Week").out == "release-week is off, by hand; 1 memory\n"
    assert cli.ok(*asked).out.startswith("Nothing found.\n")
    cli.ok("season", "define", "release-week", "months", "1..12")
    assert cli.ok(*asked).out.startswith("[id:1] ")
    assert cli.ok("season", "list").out == "release-week\ton\trule: months 1..12\t1\n"
    told = cli.ok("season", "on", "release-week", "--until", "2999-03", "--json").json
    assert (told["active"], told["until"][:10], told["rule"]) == (True, "2999-03-31", "months 1..12")
    assert cli.ok("season", "auto", "release-week", "--json").json["switched"] is None
    assert cli.ok("season", "remove", "release-week").out == "Removed: release-week\n"
    assert cli.ok(*asked).out.startswith("Nothing found.\n")
    assert "season\trelease-week" in cli.ok("show", "1").out
    cli.ok("edit", "1", "--season", "")
    assert cli.ok(*asked).out.startswith("[id:1] ")
    cli.ok("edit", "1", "--season", "next week")
    assert cli.ok("show", "1", "--json").json["season"] == "next-week"


@pytest.mark.parametrize(
    "words, status",
    [
        (["on", ""], 2),
        (["on", "release", "--until", "2001-01-01"], 2),
        (["on", "release", "--until", "soon"], 2),
        (["define", "release", "every", "blue", "moon"], 2),
        (["define", "release"], 2),
        (["auto", "release"], 3),
        (["remove", "release"], 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_no_season_is_told(cli: Cli, words: list[str], status: int) -> None:
    """With the status that says what was wrong."""
    done = cli("season", *words)
    assert (done.status, done.out) == (status, "")
    assert done.err


# Vectors


@pytest.mark.row("X10", "model-id")
def test_status_and_models_embed_tell_how_far_the_vectors_are(cli: Cli) -> None:
    """Which model, how many of how many, and what is missing is made."""
    with recollect.open(cli.folder, settings={"recall.search": "fts5"}) as memory:
        memory.remember_many([f"note number {number}" for number in range(40)])
    assert "vectors\tstatic-1: 0 of 40 memories; `recollect models embed` makes the rest" in cli.ok("status").out
    assert cli.ok("models", "embed").out == "Made 40 vectors.\n"
    assert cli.ok("models", "embed").out == "No vector is missing.\n"
    assert "vectors\tstatic-1: 40 of 40 memories\n" in cli.ok("status").out
    told = cli.ok("status", "--json").json
    assert told["vectors"] == [
        {"corpus": "memory", "model": "static-1", "done": 40, "total": 40, "serving": "static-1"}
    ]
    assert cli.ok("models", "embed", "--json").json["missing"] == 0


def test_trouble_with_the_model_is_told(cli: Cli) -> None:
    """By status and by whoever asks for vectors; recall goes on by words."""
    cli.ok("remember", "Deploys go out from main")
    cli.ok("config", "set", "embed.model", "minilm")
    assert "TROUBLE: embedding model 'minilm'" in cli.ok("status").out
    done = cli("models", "embed")
    assert done.status == 1
    assert "1 are still missing" in done.out
    assert "models install minilm" in done.out
    assert cli.ok("recall", "deploys go out from main").out.startswith("[id:1]")
    cli.ok("config", "set", "recall.search", "fts5")
    assert cli.ok("models", "embed").out == "The setting recall.search is fts5: no vectors are made.\n"
    assert "search by\twords alone (fts5)" in cli.ok("status").out


def test_no_thread_outlives_a_command(stocked: Cli) -> None:
    """Commands do their work and end."""
    before = threading.active_count()
    stocked.ok("remember", "Deploys need an approval")
    stocked.ok("recall", "deploys")
    assert threading.active_count() == before
