"""Commands that store, list and show memories."""

from __future__ import annotations

from typing import cast

import click

from ...codec import encode
from ...model import LIVE, Anchor, Draft, Json, Kind, Scope, Source, Status
from .display import global_ref, memory_json, print_memory, show_list
from .terminal import Terminal, command_options, one_line, text_argument, width

KINDS = click.Choice([kind.value for kind in Kind])


@click.command()
@click.argument("text", nargs=-1, required=True)
@click.option(
    "--kind",
    "-k",
    metavar="KIND",
    type=KINDS,
    default="fact",
    show_default=True,
    help="What sort of knowledge: fact, decision, preference, correction, warning, procedure …",
)
@click.option("--tag", "-t", "tags", multiple=True, help="A tag; give it again for more.")
@click.option("--file", "-f", "files", multiple=True, help="A file it is about; give it again for more.")
@click.option("--importance", type=float, help="From 0 to 1 [default: by kind].")
@click.option("--session", help="The session it comes from.")
@click.option("--task", help="The task it comes from.")
@click.option("--scope", type=click.Choice(["project", "session", "task"]), help="Where it holds [default: project].")
@click.option("--season", metavar="NAME", help="Recall it only while this season is on: `recollect season --help`.")
@click.option("--key", help="Idempotency key: the same request under the same key is done once.")
@click.option("--lines", is_flag=True, help="Store every line as a memory of its own, all in one go.")
@command_options
def remember(
    terminal: Terminal,
    text: tuple[str, ...],
    kind: str,
    tags: tuple[str, ...],
    files: tuple[str, ...],
    importance: float | None,
    session: str | None,
    task: str | None,
    scope: str | None,
    season: str | None,
    key: str | None,
    lines: bool,
) -> None:
    """Store a memory. `-` reads it from standard input.

    \b
    Examples:
      recollect remember "Deploys go out from main" --kind decision --tag deploy
      recollect remember --global --kind preference "Answers in British English"
      git log -1 --format=%B | recollect remember -
      recollect remember --lines - < notes.txt
    """
    if terminal.shared and scope:
        raise click.UsageError("--global and --scope exclude each other.")
    content = text_argument(text, "content")
    contents = [line for line in content.split("\n") if line.strip()] if lines else [content]
    drafts = [
        Draft(
            content=each,
            kind=Kind(kind),
            scope=Scope("global" if terminal.shared else scope or "project"),
            tags=tags,
            anchors=tuple(Anchor(path=file) for file in files),
            importance=importance,
            source=Source.CONVERSATION,
            session_id=session,
            task_id=task,
            season=season,
        )
        for each in contents
    ]
    with terminal.memory() as memory:
        stored = memory.remember_many(drafts, key=key)
    data = [{**memory_json(each.memory), "duplicate": each.duplicate, "redacted": each.redacted} for each in stored]
    terminal.show(cast("Json", data if lines else data[0]), lambda: None)
    for each in stored:
        word = "Strengthened, it was there already" if each.duplicate else "Remembered"
        secret = " (something secret was left out)" if each.redacted else ""
        terminal.say(f"{word}: {one_line(str(each), width() - len(word) - 2)}{secret}")


@click.command("list")
@click.option(
    "--kind", "-k", "kinds", metavar="KIND", type=KINDS, multiple=True, help="Only this kind; give it again for more."
)
@click.option("--tag", "-t", "tags", multiple=True, help="Only with this tag; give it again for any of several.")
@click.option("--status", "statuses", type=click.Choice([status.value for status in Status]), multiple=True)
@click.option("--session", help="Only of this session.")
@click.option("--all", "everything", is_flag=True, help="Also what is archived, superseded or forgotten.")
@click.option("--order", default="created_at", show_default=True, help="A field; a leading - reverses it.")
@click.option("--limit", "-n", type=int, default=50, show_default=True, help="How many at most.")
@click.option("--offset", type=int, default=0, help="How many to pass over first.")
@command_options
def list_memories(
    terminal: Terminal,
    kinds: tuple[str, ...],
    tags: tuple[str, ...],
    statuses: tuple[str, ...],
    session: str | None,
    everything: bool,
    order: str,
    limit: int,
    offset: int,
) -> None:
    """List memories, newest first.

    \b
    Examples:
      recollect list --kind decision
      recollect list --tag auth --order -importance
      recollect list --status forgotten
    """
    where: dict[str, object] = {"kind": kinds, "tags": tags, "status": statuses, "session_id": session}
    chosen = {name: value for name, value in where.items() if value}
    if not statuses:
        chosen["status"] = sorted(Status if everything else LIVE)
    with terminal.memory() as memory:
        found = memory.list(chosen, space=terminal.space, order_by=order, limit=limit, offset=offset)
    show_list(terminal, found)


@click.command()
@click.argument("ref")
@click.option("--history", is_flag=True, help="Also what it said before.")
@command_options
def show(terminal: Terminal, ref: str, history: bool) -> None:
    """Show everything about one memory.

    \b
    Examples:
      recollect show 42
      recollect show g7 --history
    """
    with terminal.memory() as memory:
        found = memory.get(global_ref(terminal, ref))
        links, past = memory.links(found.ref), memory.history(found.ref)
    data = {
        **memory_json(found),
        "links": [encode(link, complete=True) for link in links],
        "history": [encode(version, complete=True) for version in past],
    }
    terminal.show(cast("Json", data), lambda: print_memory(found, links, past if history else (), len(past)))


COMMANDS = (remember, list_memories, show)
