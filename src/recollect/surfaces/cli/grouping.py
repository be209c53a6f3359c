"""Commands on the graph: clusters, and the whole of it as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from .display import show_list
from .terminal import Terminal, command_options, table

if TYPE_CHECKING:
    from ...model import Cluster, Json

_FORMATS = click.Choice(["json", "graphml", "dot", "mermaid"])


@click.command()
@click.option("--least", type=int, default=3, show_default=True, help="How many memories make a cluster.")
@command_options
def cluster(terminal: Terminal, least: int) -> None:
    """Find anew which memories lie close together, and give each group a label.

    With the extra `clusters` (`pip install "recollect[clusters]"`) HDBSCAN finds them.

    \b
    Examples:
      recollect cluster
      recollect cluster --least 5 --json
    """
    with terminal.memory() as memory, terminal.progress("Clustering"):
        found = memory.cluster(space=terminal.space, least=least)
    _show(terminal, found, nothing="No memories lie close enough together.")


@click.command()
@click.argument("number", type=int, required=False)
@command_options
def clusters(terminal: Terminal, number: int | None) -> None:
    """List the clusters, or the memories of one.

    \b
    Examples:
      recollect clusters
      recollect clusters 3
    """
    with terminal.memory() as memory:
        found = memory.clusters(space=terminal.space)
        if number is not None and all(each.id != number for each in found):
            from ...errors import NotFound

            raise NotFound("cluster", str(number))
        members = memory.members(number, space=terminal.space) if number is not None else ()
    if number is not None:
        show_list(terminal, members)
    else:
        _show(terminal, found, nothing="There are no clusters yet: `recollect cluster` finds them.")


def _show(terminal: Terminal, found: tuple[Cluster, ...], *, nothing: str) -> None:
    data: list[Json] = [{"id": each.id, "label": each.label, "size": each.size} for each in found]
    rows = [(str(each.id), str(each.size), each.label) for each in found]
    terminal.show(data, lambda: table(("id", "memories", "label"), rows, right=(0, 1)) if rows else print(nothing))


@click.command()
@click.option("--format", "form", type=_FORMATS, help="What to write it as [default: json, or as FILE ends].")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this file.")
@command_options
def graph(terminal: Terminal, form: str | None, out: Path | None) -> None:
    """Write the graph: memories, tags and clusters with everything that connects them.

    Forgotten memories are not in it, and none that belongs to a session or task.

    \b
    Examples:
      recollect graph --format mermaid
      recollect graph --format dot | dot -Tsvg > memory.svg
      recollect graph --out memory.graphml
    """
    chosen = form or _ENDINGS.get(out.suffix.lower() if out else "", "json")
    with terminal.memory() as memory:
        found = memory.graph(space=terminal.space)
    text = found.drawn(chosen)
    if out is None:
        print(text, end="")
        return
    from ...engine.transfer import write_file

    write_file(out, [text])
    told = {"file": str(out), "format": chosen, "nodes": len(found.nodes), "edges": len(found.edges)}
    terminal.show(
        cast("Json", told),
        lambda: print(f"Wrote {len(found.nodes):,} nodes and {len(found.edges):,} edges to {out}"),
    )


_ENDINGS = {".graphml": "graphml", ".xml": "graphml", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".md": "mermaid"}

COMMANDS = (cluster, clusters, graph)
