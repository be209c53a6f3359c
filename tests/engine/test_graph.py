"""The graph: what is in it, and what other tools read of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import InvalidInput, Recollect
from recollect.engine.graph import FORMATS, Edge, Graph, Node
from recollect.testing import temp_recollect

XML = "{http://graphml.graphdrawing.org/xmlns}"


@pytest.fixture
def memory() -> Iterator[Recollect]:
    with temp_recollect(background=False) as opened:
        yield opened


def edges(graph: Graph) -> set[tuple[str, str, str]]:
    return {(edge.source, edge.kind, edge.target) for edge in graph.edges}


# What is in it


@pytest.mark.row("J2", "memory", "tag", "cluster")
@pytest.mark.row("J3", "has-tag", "in-cluster", "relates-to", "supersedes", "contradicts", "derived-from")
def test_the_graph_holds_every_sort_of_node_and_every_kind_of_link(memory: Recollect) -> None:
    """With their weights."""
    memory.remember_many([f"The deploy number {number} went out from main" for number in range(4)])
    memory.tag(1, "ops")
    [cluster] = memory.cluster()
    memory.link(1, 2, weight=0.25)
    memory.link(2, 3, kind="contradicts")
    memory.link(3, 4, kind="derived-from")
    memory.link(4, 1, kind="supersedes")
    graph = memory.graph()
    assert {(node.id, node.sort) for node in graph.nodes} == {
        *((str(number), "memory") for number in range(1, 5)),
        *(("tag:ops", "tag"), (f"cluster:{cluster.id}", "cluster")),
    }
    assert edges(graph) == {
        *((str(number), "in-cluster", f"cluster:{cluster.id}") for number in range(1, 5)),
        *(("1", "has-tag", "tag:ops"), ("1", "relates-to", "2"), ("2", "contradicts", "3")),
        *(("3", "derived-from", "4"), ("4", "supersedes", "1")),
    }
    by_id = {node.id: node for node in graph.nodes}
    assert (by_id["1"].label, by_id["1"].kind, by_id["1"].status) == (
        "The deploy number 0 went out from main",
        "fact",
        "superseded",
    )
    assert by_id["cluster:1"].label == cluster.label
    assert next(edge.weight for edge in graph.edges if edge.kind == "relates-to") == 0.25


def test_what_was_recalled_together_is_connected_once(tmp_path: Path) -> None:
    """By how often that was."""
    (tmp_path / "project").mkdir()
    with recollect.open(tmp_path / "project", home=tmp_path / "home", background=False) as opened:
        opened.remember_many(["Deploys go out from main", "Deploys go out on Tuesdays"])
        for _ in range(3):
            assert len(opened.recall("deploys go out")) == 2
    with recollect.open(tmp_path / "project", home=tmp_path / "home", background=False) as opened:
        [edge] = opened.graph().edges
    assert (edge.source, edge.kind, edge.target, edge.weight) == ("1", "together", "2", 3.0)


def test_what_is_hidden_is_not_in_the_graph(memory: Recollect) -> None:
    """Neither a forgotten memory nor its tags and links, nor what belongs to a session or task."""
    memory.remember("Deploys go out from main", tags=["ops"])
    memory.remember("wombatquartz", tags=["secret-tag"])
    memory.link(1, 2)
    memory.forget(2)
    memory.remember("wombatquartz of a session", scope="session", session="s1", tags=["passing"])
    memory.remember("wombatquartz of a task", scope="task", task="t1")
    memory.link(1, 3)
    graph = memory.graph()
    assert [node.id for node in graph.nodes] == ["1", "tag:ops"]
    assert edges(graph) == {("1", "has-tag", "tag:ops")}
    for form in FORMATS:
        assert not re.search("wombat|secret|passing", graph.drawn(form))


def test_each_space_has_its_graph(memory: Recollect) -> None:
    """With references that tell them apart."""
    memory.remember("Deploys go out from main")
    memory.remember("Answers in British English", scope="global", tags=["language"])
    assert [node.id for node in memory.graph().nodes] == ["1"]
    assert [node.id for node in memory.graph(space="global").nodes] == ["g1", "tag:language"]
    with pytest.raises(InvalidInput, match="space"):
        memory.graph(space="elsewhere")  # type: ignore[arg-type]


def test_where_nothing_is_stored_the_graph_is_empty(memory: Recollect) -> None:
    """And can be written all the same."""
    assert memory.graph() == Graph(space="project", nodes=(), edges=())
    assert all(memory.graph().drawn(form) for form in FORMATS)


def test_a_long_memory_is_cut_to_a_label(memory: Recollect) -> None:
    """On one line."""
    memory.remember("first line\nsecond\tline " + "x" * 500)
    [node] = memory.graph().nodes
    assert node.label.startswith("first line second line xxx")
    assert (len(node.label), node.label[-1]) == (80, "…")


# As text


HOSTILE = (
    'says "quoted" and \\backslash\\',
    "ends with a backslash \\",
    "<script>alert('x')</script> & ]]> &amp;",
    'a"]; evil -> "b',
    'n1"] --> n2["x',
    "control \x07 bell and \x1b[31m",
    "percent %% comment, #quot; and `ticks`",
    "数据 🚀 עברית",
    "}} ]) |pipe| ; end\\n",
)
GRAPH = Graph(
    space="project",
    nodes=(
        *(Node(id=str(number), sort="memory", label=text, kind="fact") for number, text in enumerate(HOSTILE)),
        Node(id='tag:a"b', sort="tag", label='a"b'),
    ),
    edges=(
        Edge(source="0", target="1", kind="relates-to", weight=0.5),
        Edge(source="1", target="2", kind="together", weight=3.0),
        Edge(source="0", target='tag:a"b', kind="has-tag", weight=1.0),
    ),
)


def test_as_json_nothing_is_lost() -> None:
    """Every label as it is."""
    told = json.loads(GRAPH.drawn("json"))
    assert told["space"] == "project"
    assert [node["label"] for node in told["nodes"]] == [*HOSTILE, 'a"b']
    assert told["edges"][0] == {"source": "0", "target": "1", "kind": "relates-to", "weight": 0.5}


def test_as_graphml_it_is_well_formed_xml() -> None:
    """With declared keys, every node and every edge; what no XML can hold is replaced."""
    root = ElementTree.fromstring(GRAPH.drawn("graphml"))
    declared = {key.get("id") for key in root.iter(f"{XML}key")}
    nodes = list(root.iter(f"{XML}node"))
    assert [node.get("id") for node in nodes] == [*map(str, range(len(HOSTILE))), 'tag:a"b']
    labels = [node.findtext(f"{XML}data[@key='label']") for node in nodes]
    assert labels[:5] == [*HOSTILE[:5]]
    assert labels[5] == "control \ufffd bell and \ufffd[31m"
    assert {data.get("key") for data in root.iter(f"{XML}data")} <= declared
    assert [edge.get("directed") for edge in root.iter(f"{XML}edge")] == [None, "false", None]
    assert [edge.findtext(f"{XML}data[@key='weight']") for edge in root.iter(f"{XML}edge")] == ["0.5", "3.0", "1.0"]


_STRING = r'"(?:[^"\\]|\\.)*"'


def test_as_dot_every_label_is_one_string() -> None:
    """Whatever quotes and backslashes it holds."""
    head, *body, tail = GRAPH.drawn("dot").splitlines()
    assert (head, tail) == ('digraph "project" {', "}")
    for line in body:
        assert re.fullmatch(rf"  {_STRING}( -> {_STRING})? \[(\w+=({_STRING}|\w+)(, )?)+\];", line), line
    assert len(body) == len(GRAPH.nodes) + len(GRAPH.edges)
    assert '"1" -> "2" [label="together", weight=30, dir=none];' in GRAPH.drawn("dot")


def test_as_mermaid_no_label_means_anything() -> None:
    """Each line is a node or an arrow, and labels hold no character of the language."""
    head, *body = GRAPH.drawn("mermaid").splitlines()
    assert head == "flowchart LR"
    label = r'"(?:[^"<>&\[\]{}|`\\;#]|#\d+;)*"'
    for line in body:
        assert re.fullmatch(rf"  n\d+(\[{label}\]|\(\[{label}\]\)| (-->|---)\|{label}\| n\d+)", line), line
    assert '  n1 -->|"relates-to 0.50"| n2' in body
    assert '  n2 ---|"together 3.00"| n3' in body


@given(st.text(max_size=60), st.text(min_size=1, max_size=20))
def test_any_label_can_be_written(label: str, name: str) -> None:
    """In every form: JSON and XML can be read, DOT and Mermaid have as many lines as there are things."""
    graph = Graph(
        space="project",
        nodes=(Node(id="1", sort="memory", label=label), Node(id=f"tag:{name}", sort="tag", label=name)),
        edges=(Edge(source="1", target=f"tag:{name}", kind="has-tag", weight=1.0),),
    )
    assert json.loads(graph.drawn("json"))["nodes"][0]["label"] == label
    assert len(ElementTree.fromstring(graph.drawn("graphml").encode("utf-8"))[-1]) == 3
    assert graph.drawn("dot").count("\n") == 5
    assert graph.drawn("mermaid").count("\n") == 4


def test_a_format_that_does_not_exist_is_refused() -> None:
    """And those that do are named."""
    with pytest.raises(InvalidInput, match="json, graphml, dot, mermaid"):
        GRAPH.drawn("svg")
