"""The graph of a space as a value, and as text that other tools read: JSON, GraphML, DOT and Mermaid."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Literal

from ..codec import encode
from ..errors import InvalidInput
from ..model import Condition, Json, Link, LinkKind, MemoryId, Op, Order, Status, Where
from ..store import Store

LABEL = 80
"""How much of a memory its label shows."""
SHOWN = frozenset(Status) - {Status.FORGOTTEN, Status.QUARANTINED}
_PAGE = 2_000
_TOGETHER = "together"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A memory by its reference, `tag:NAME` or `cluster:NUMBER`. Only memories have a kind and a status."""

    id: str
    sort: Literal["memory", "tag", "cluster"]
    label: str
    kind: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A link by the ids of its nodes. Its kind is one of the six, or `together`: recalled together, from either end."""

    source: str
    target: str
    kind: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Memories, tags and clusters, and what connects them."""

    space: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def drawn(self, form: str) -> str:
        """The graph as text: `json`, `graphml`, `dot` or `mermaid`. Whatever a label holds, it is only a label."""
        if form not in _WRITERS:
            raise InvalidInput("format", f"{form!r} is not one of {', '.join(_WRITERS)}")
        return "".join(f"{line}\n" for line in _WRITERS[form](self))


def graph(store: Store, space: str) -> Graph:
    """Every memory of a space that is neither forgotten nor withheld nor of a session or task, with all its links."""
    with store.snapshot():
        memories = dict(_memories(store, space))
        labels = {each.id: each.label for each in store.clusters()}
        links = [link for link in store.links() if link.memory in memories]
        company = _company(store, memories)
    edges = [edge for link in links if (edge := _edge(link, memories)) is not None]
    tags = sorted({str(link.target) for link in links if link.kind is LinkKind.HAS_TAG})
    clusters = sorted({int(link.target) for link in links if link.kind is LinkKind.IN_CLUSTER})
    nodes = (
        *memories.values(),
        *(Node(id=f"tag:{name}", sort="tag", label=name) for name in tags),
        *(Node(id=f"cluster:{number}", sort="cluster", label=labels.get(number, "")) for number in clusters),
    )
    return Graph(space=space, nodes=nodes, edges=(*edges, *company))


def _memories(store: Store, space: str) -> Iterator[tuple[MemoryId, Node]]:
    shown: Where = (Condition("status", Op.IN, tuple(sorted(SHOWN))), Condition("owner", Op.EQ, ""))
    beyond: Where = ()
    while page := store.query((*shown, *beyond), order=Order(field="id", newest_first=False), limit=_PAGE):
        for memory in page:
            line = " ".join(memory.content.split())
            label = line if len(line) <= LABEL else line[: LABEL - 1] + "…"
            yield (
                memory.id,
                Node(id=memory.ref, sort="memory", label=label, kind=memory.kind.value, status=memory.status.value),
            )
        beyond = (Condition("id", Op.GT, page[-1].id),)


def _edge(link: Link, memories: dict[MemoryId, Node]) -> Edge | None:
    match link.kind:
        case LinkKind.HAS_TAG:
            target = f"tag:{link.target}"
        case LinkKind.IN_CLUSTER:
            target = f"cluster:{link.target}"
        case _:
            other = memories.get(MemoryId(int(link.target)))
            if other is None:
                return None
            target = other.id
    return Edge(source=memories[link.memory].id, target=target, kind=link.kind.value, weight=link.weight)


def _company(store: Store, memories: dict[MemoryId, Node]) -> list[Edge]:
    """What was recalled together, each pair once."""
    pairs: dict[tuple[MemoryId, MemoryId], float] = {}
    for each in store.together(list(memories)):
        if each.other in memories:
            pair = (min(each.memory, each.other), max(each.memory, each.other))
            pairs[pair] = max(pairs.get(pair, 0.0), each.strength)
    return [
        Edge(source=memories[one].id, target=memories[other].id, kind=_TOGETHER, weight=strength)
        for (one, other), strength in sorted(pairs.items())
    ]


# --- Writing it down ------------------------------------------------------------------------------------------------


def _json(drawn: Graph) -> Iterator[str]:
    data: Json = encode(drawn)
    yield json.dumps(data, ensure_ascii=False, indent=2)


_KEYS = (
    ("node", "sort", "string"),
    ("node", "label", "string"),
    ("node", "kind", "string"),
    ("node", "status", "string"),
    ("edge", "link", "string"),
    ("edge", "weight", "double"),
)
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold, however they are written."""


def _graphml(drawn: Graph) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for of, name, kind in _KEYS:
        yield f'  <key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>'
    yield f'  <graph id={_attribute(drawn.space)} edgedefault="directed">'
    for node in drawn.nodes:
        held = {"sort": node.sort, "label": node.label, "kind": node.kind, "status": node.status}
        yield f"    <node id={_attribute(node.id)}>{_data(held)}</node>"
    for edge in drawn.edges:
        directed = ' directed="false"' if edge.kind == _TOGETHER else ""
        ends = f"source={_attribute(edge.source)} target={_attribute(edge.target)}{directed}"
        yield f"    <edge {ends}>{_data({'link': edge.kind, 'weight': repr(edge.weight)})}</edge>"
    yield "  </graph>"
    yield "</graphml>"


def _attribute(text: str) -> str:
    # A line break in an attribute would be read back as a space.
    spelled = escape(_NOT_XML.sub("\ufffd", text)).translate({9: "&#9;", 10: "&#10;", 13: "&#13;"})
    return f'"{spelled}"'


def _data(held: dict[str, str | None]) -> str:
    return "".join(
        f'<data key="{name}">{escape(_NOT_XML.sub(chr(0xFFFD), value))}</data>'
        for name, value in held.items()
        if value is not None
    )


_SHAPES = {"memory": "box", "tag": "ellipse", "cluster": "hexagon"}


def _dot(drawn: Graph) -> Iterator[str]:
    yield f"digraph {_quoted(drawn.space)} {{"
    for node in drawn.nodes:
        yield f"  {_quoted(node.id)} [label={_quoted(node.label)}, shape={_SHAPES[node.sort]}];"
    for edge in drawn.edges:
        free = ", dir=none" if edge.kind == _TOGETHER else ""
        held = f"label={_quoted(edge.kind)}, weight={max(1, round(10 * edge.weight))}{free}"
        yield f"  {_quoted(edge.source)} -> {_quoted(edge.target)} [{held}];"
    yield "}"


def _quoted(text: str) -> str:
    """A text as DOT writes one. Backslashes are doubled, or they would be read as its escapes."""
    plain = "".join(character if character.isprintable() else " " for character in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


_BRACKETS = {"memory": ("[", "]"), "tag": ("([", "])"), "cluster": ("{{", "}}")}


def _mermaid(drawn: Graph) -> Iterator[str]:
    yield "flowchart LR"
    names = {node.id: f"n{number}" for number, node in enumerate(drawn.nodes, start=1)}
    for node in drawn.nodes:
        opening, closing = _BRACKETS[node.sort]
        yield f'  {names[node.id]}{opening}"{_entities(node.label)}"{closing}'
    for edge in drawn.edges:
        arrow = "---" if edge.kind == _TOGETHER else "-->"
        yield f'  {names[edge.source]} {arrow}|"{_entities(edge.kind)} {edge.weight:.2f}"| {names[edge.target]}'


_PLAIN = re.compile(r"[^\w ,.:!?()/+=%@~^…–—-]")


def _entities(text: str) -> str:
    """A text in which nothing means anything to Mermaid: what is not plain is written as `#number;`."""
    return _PLAIN.sub(lambda found: f"#{ord(found[0])};" if found[0].isprintable() else " ", text)


_Writer = Callable[[Graph], Iterable[str]]
_WRITERS: dict[str, _Writer] = {"json": _json, "graphml": _graphml, "dot": _dot, "mermaid": _mermaid}
FORMATS = tuple(_WRITERS)
