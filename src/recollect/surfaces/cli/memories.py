"""Commands that store, list and show memories."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import click

from ...codec import encode
from ...model import LIVE, Anchor, Draft, Json, Kind, Procedure, Scope, Source, Status
from .display import global_ref, lineage_json, memory_json, print_lineage, print_memory, print_versions, show_list
from .terminal import Terminal, command_options, one_line, text_argument, width

if TYPE_CHECKING:
    from ...engine.write import Remembered

KINDS = click.Choice([kind.value for kind in Kind])
NAME = 100
"""How much of a procedure's text is its name."""


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
@click.option("--trigger", "triggers", multiple=True, help="What brings it up: words, glob:PATTERN or re:EXPRESSION.")
@click.option("--step", "steps", multiple=True, help="A step of a procedure; give it again for the next.")
@click.option("--prerequisite", "prerequisites", multiple=True, help="What a procedure needs first.")
@click.option("--caution", "cautions", multiple=True, help="What to watch out for in a procedure.")
@click.option("--when", metavar="WORDS", help='What a procedure is for, as in "deploy to production".')
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
    triggers: tuple[str, ...],
    steps: tuple[str, ...],
    prerequisites: tuple[str, ...],
    cautions: tuple[str, ...],
    when: str | None,
    key: str | None,
    lines: bool,
) -> None:
    """Store a memory. `-` reads it from standard input.

    What is there already in these or other words is strengthened instead. What plainly replaces an older memory takes
    its place, and what contradicts one opens a conflict: `recollect conflicts`.

    \b
    Examples:
      recollect remember "Deploys go out from main" --kind decision --tag deploy
      recollect remember --global --kind preference "Answers in British English"
      git log -1 --format=%B | recollect remember -
      recollect remember --lines - < notes.txt
      recollect remember "Never commit .env files" --kind negative --trigger "git add" --trigger "glob:**/.env"
      recollect remember "Release" --when "cut a release" --step "make test" --step "git tag" --caution "not on Friday"
    """
    if terminal.shared and scope:
        raise click.UsageError("--global and --scope exclude each other.")
    procedure = Procedure(name="", trigger=when or "", steps=steps, prerequisites=prerequisites, warnings=cautions)
    acts = procedure != Procedure(name="")
    content = text_argument(text, "content")
    contents = [line for line in content.split("\n") if line.strip()] if lines else [content]
    drafts = [
        Draft(
            content=each,
            kind=Kind.PROCEDURE if acts and kind == "fact" else Kind(kind),
            scope=Scope("global" if terminal.shared else scope or "project"),
            tags=tags,
            anchors=tuple(Anchor(path=file) for file in files),
            importance=importance,
            source=Source.CONVERSATION,
            session_id=session,
            task_id=task,
            season=season,
            triggers=triggers,
            procedure=replace(procedure, name=one_line(each, NAME)) if acts else None,
        )
        for each in contents
    ]
    with terminal.memory() as memory:
        stored = memory.remember_many(drafts, key=key)
    data = [_remembered_json(each) for each in stored]
    terminal.show(data if lines else data[0], lambda: None)
    for each in stored:
        _say_remembered(terminal, each)


def _remembered_json(stored: Remembered) -> Json:
    return {
        **memory_json(stored.memory),
        "duplicate": stored.duplicate,
        "redacted": stored.redacted,
        "supersedes": list(stored.supersedes),
        "contradicts": list(stored.contradicts),
    }


def _say_remembered(terminal: Terminal, stored: Remembered) -> None:
    word = "Strengthened, it was there already" if stored.duplicate else "Remembered"
    secret = " (something secret was left out)" if stored.redacted else ""
    terminal.say(f"{word}: {one_line(str(stored), width() - len(word) - 2)}{secret}")
    for ref in stored.supersedes:
        undo = f"`recollect unlink {stored.ref} {ref} --kind supersedes`"
        terminal.say(f"  It takes the place of [id:{ref}]; {undo} undoes that.")
    for ref in stored.contradicts:
        terminal.say(f"  It contradicts [id:{ref}]; `recollect conflicts` shows both.")


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
        links, past, chain = memory.links(found.ref), memory.history(found.ref), memory.lineage(found.ref)
    data = {
        **memory_json(found),
        "links": [encode(link, complete=True) for link in links],
        "history": [encode(version, complete=True) for version in past],
        "lineage": lineage_json(chain),
    }

    def tell() -> None:
        print_memory(found, links)
        print_lineage(chain)
        print_versions(past, shown=history)

    terminal.show(cast("Json", data), tell)


COMMANDS = (remember, list_memories, show)
