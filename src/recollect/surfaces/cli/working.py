"""Commands on work: tasks, narratives, and what the project's own files say."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from ...codec import encode
from .display import memory_json, show_list
from .terminal import Terminal, command_options, indented, one_line, table, text_argument, visible, width

if TYPE_CHECKING:
    from ...engine.narratives import Narrative
    from ...engine.sources import Cited
    from ...model import Json
    from ...policy.tasks import Task


@click.group()
def task() -> None:
    """Tasks of the project: what is to be done, in which order. `tasks.json` shows them and takes edits back.

    \b
    Examples:
      recollect task add "Implement session locking" --priority 1 --milestone M1
      recollect task next
      recollect task start TASK-001
      recollect task done TASK-001
    """


@task.command("add")
@click.argument("text", nargs=-1, required=True)
@click.option("--name", help="What to call it [default: the next TASK-number].")
@click.option("--milestone", "-m", help="What it is a part of.")
@click.option("--priority", "-p", type=int, default=3, show_default=True, help="1 comes first.")
@click.option("--criterion", "-c", "criteria", multiple=True, help="When it is done; give it again for more.")
@click.option("--blocked-by", "-b", "blockers", multiple=True, help="A task that must be done first.")
@command_options
def _add_task(
    terminal: Terminal,
    text: tuple[str, ...],
    name: str | None,
    milestone: str | None,
    priority: int,
    criteria: tuple[str, ...],
    blockers: tuple[str, ...],
) -> None:
    """Make a task.

    \b
    Example:
      recollect task add "Write the docs" --blocked-by TASK-001 --criterion "make docs is green"
    """
    with terminal.memory(tasks=True) as memory:
        made = memory.tasks.create(
            text_argument(text, "description"),
            name=name,
            milestone=milestone,
            priority=priority,
            criteria=criteria,
            blocked_by=blockers,
        )
    _told_task(terminal, made, "Made")


@task.command("list")
@click.option("--milestone", "-m", help="Only of this milestone.")
@click.option("--all", "everything", is_flag=True, help="Also what is archived.")
@command_options
def _list_tasks(terminal: Terminal, milestone: str | None, everything: bool) -> None:
    """List tasks in the order in which they can be worked on.

    \b
    Example:
      recollect task list --milestone M1
    """
    with terminal.memory(tasks=True) as memory:
        found = memory.tasks.list(milestone=milestone, archived=everything)
    rows = [
        (each.id, each.status.value, str(each.priority), each.milestone or "", one_line(each.description, width()))
        for each in found
    ]
    terminal.show(
        [_task_json(each) for each in found],
        lambda: table(("task", "status", "priority", "milestone", ""), rows) if rows else print("No tasks."),
    )


@task.command("show")
@click.argument("name")
@command_options
def _show_task(terminal: Terminal, name: str) -> None:
    """Show one task, and the memories that it produced.

    \b
    Example:
      recollect task show TASK-001
    """
    with terminal.memory(tasks=True) as memory:
        found = memory.tasks.get(name)
        made = memory.list({"task_id": name}, limit=1_000)
    data = {**cast("dict[str, Json]", _task_json(found)), "memories": [memory_json(each) for each in made]}
    terminal.show(cast("Json", data), lambda: _print_task(found))
    if not terminal.as_json and made:
        show_list(terminal, made)


@task.command("next")
@command_options
def _next_task(terminal: Terminal) -> None:
    """The task to begin next: the most pressing one that nothing holds up.

    \b
    Example:
      recollect task next
    """
    with terminal.memory(tasks=True) as memory:
        found = memory.tasks.next()
    terminal.show(
        _task_json(found) if found else None, lambda: _print_task(found) if found else print("Nothing is ready.")
    )


def _moving(word: str, status: str, told: str) -> click.Command:
    @click.argument("names", nargs=-1, required=True)
    @command_options
    def move(terminal: Terminal, names: tuple[str, ...]) -> None:
        with terminal.memory(tasks=True) as memory:
            for name in names:
                memory.tasks.get(name)
            moved = [memory.tasks.move(name, status) for name in names]
        terminal.show([_task_json(each) for each in moved], lambda: None)
        for each in moved:
            terminal.say(f"{told}: {each.id} {one_line(each.description, width() - 30)}")

    move.__doc__ = f"{told} tasks.\n\n\b\nExample:\n  recollect task {word} TASK-001"
    return click.command(word, help=move.__doc__)(move)


for _word, _status, _told in (
    ("start", "in_progress", "Started"),
    ("done", "completed", "Completed"),
    ("block", "blocked", "Blocked"),
    ("reopen", "pending", "Open again"),
    ("archive", "archived", "Archived"),
):
    task.add_command(_moving(_word, _status, _told))


def _task_json(task: Task) -> Json:
    from ...engine.tasks import as_json

    return as_json(task)


def _told_task(terminal: Terminal, task: Task, word: str) -> None:
    terminal.show(_task_json(task), lambda: None)
    terminal.say(f"{word}: {task.id} {one_line(task.description, width() - 30)}")


def _print_task(task: Task) -> None:
    print(
        visible(f"{task.id}  {task.status}, priority {task.priority}{f', {task.milestone}' if task.milestone else ''}")
    )
    print(indented(f"  {task.description}"))
    for each in task.acceptance_criteria:
        print(indented(f"  - {each}"))
    if task.blocked_by:
        print(visible(f"  after {', '.join(task.blocked_by)}"))


@click.group()
def narrative() -> None:
    """Threads of work across sessions. What is remembered while one is open belongs to it.

    \b
    Examples:
      recollect narrative start "Move billing to PostgreSQL"
      recollect narrative list
      recollect narrative close N-001 --summary "Done in May"
    """


@narrative.command("start")
@click.argument("title", nargs=-1, required=True)
@command_options
def _start_narrative(terminal: Terminal, title: tuple[str, ...]) -> None:
    """Begin a narrative.

    \b
    Example:
      recollect narrative start "Move billing to PostgreSQL"
    """
    with terminal.memory() as memory:
        made = memory.narratives.start(text_argument(title, "title"))
    _told_narrative(terminal, made, "Open")


@narrative.command("list")
@command_options
def _list_narratives(terminal: Terminal) -> None:
    """List narratives, the latest first.

    \b
    Example:
      recollect narrative list
    """
    with terminal.memory() as memory:
        found = memory.narratives.list()
    rows = [(each.id, "closed" if each.closed else "open", f"{each.started:%Y-%m-%d}", each.title) for each in found]
    terminal.show(
        [encode(each, complete=True) for each in found],
        lambda: table(("narrative", "", "since", ""), rows) if rows else print("No narratives."),
    )


@narrative.command("show")
@click.argument("name")
@command_options
def _show_narrative(terminal: Terminal, name: str) -> None:
    """Show a narrative and the memories that belong to it.

    \b
    Example:
      recollect narrative show N-001
    """
    with terminal.memory() as memory:
        found = memory.narratives.get(name)
        members = memory.narratives.memories(name)
    data = {
        **cast("dict[str, Json]", encode(found, complete=True)),
        "memories": [memory_json(each) for each in members],
    }
    terminal.show(cast("Json", data), lambda: _print_narrative(found))
    if not terminal.as_json and members:
        show_list(terminal, members)


@narrative.command("tell")
@click.argument("name")
@click.argument("summary", nargs=-1, required=True)
@command_options
def _tell_narrative(terminal: Terminal, name: str, summary: tuple[str, ...]) -> None:
    """Say what a narrative has come to so far. `-` reads standard input.

    \b
    Example:
      recollect narrative tell N-001 "The schema is migrated; the data is next."
    """
    with terminal.memory() as memory:
        told = memory.narratives.tell(name, text_argument(summary, "summary"))
    _told_narrative(terminal, told, "Told")


@narrative.command("close")
@click.argument("name")
@click.option("--summary", help="What it came to.")
@command_options
def _close_narrative(terminal: Terminal, name: str, summary: str | None) -> None:
    """End a narrative.

    \b
    Example:
      recollect narrative close N-001 --summary "Billing runs on PostgreSQL since May"
    """
    with terminal.memory() as memory:
        closed = memory.narratives.close(name, summary=summary)
    _told_narrative(terminal, closed, "Closed")


def _told_narrative(terminal: Terminal, narrative: Narrative, word: str) -> None:
    terminal.show(encode(narrative, complete=True), lambda: None)
    terminal.say(f"{word}: {narrative.id} {one_line(narrative.title, width() - 20)}")


def _print_narrative(narrative: Narrative) -> None:
    state = f"closed {narrative.closed:%Y-%m-%d}" if narrative.closed else "open"
    print(visible(f"{narrative.id}  {narrative.title}  ({state}, since {narrative.started:%Y-%m-%d})"))
    if narrative.summary:
        print(indented(f"  {narrative.summary}"))


@click.group()
def items() -> None:
    """What the project's own documents and code comments say: entities, claims, tasks, decisions, notes.

    \b
    Examples:
      recollect items extract
      recollect items list --type decision
      recollect search "session locking" --in items
    """


@items.command("extract")
@click.argument("paths", nargs=-1)
@click.option("--only", type=click.Choice(["items", "sources"]), help="Only items, or only chunks to search.")
@command_options
def _extract_items(terminal: Terminal, paths: tuple[str, ...], only: str | None) -> None:
    """Read the files that have changed since the last time, or those under PATHS.

    Ignored files, secrets and what git does not list are not read. What deleted files said expires.

    \b
    Examples:
      recollect items extract
      recollect items extract docs/ --only items
    """
    what = (only,) if only else ("items", "sources")
    with terminal.memory() as memory, terminal.progress("Reading") as progress:
        done = memory.items.extract(paths, what=what, progress=progress)  # type: ignore[arg-type]
    text = (
        f"{done.read:,} files read, {done.unchanged:,} unchanged, {len(done.skipped):,} skipped: "
        f"{done.items:,} items, {done.chunks:,} chunks; {done.expired:,} files expired."
    )
    terminal.show(encode(done, complete=True), lambda: print("\n".join(map(visible, (text, *done.notes)))))


@items.command("list")
@click.option("--type", "sort", help="Only entities, claims, tasks, decisions or notes.")
@click.option("--file", "path", help="Only of this file.")
@command_options
def _list_items(terminal: Terminal, sort: str | None, path: str | None) -> None:
    """List items with the file and line that they are from.

    \b
    Example:
      recollect items list --type decision
    """
    with terminal.memory() as memory:
        every = memory.items.list()
    found = [each for each in every if sort in (None, each.item.type.value) and path in (None, each.file)]
    rows = [
        (each.item.type.value, f"{each.file}:{each.item.line}", one_line(each.item.content, width())) for each in found
    ]
    terminal.show(
        [_item_json(each) for each in found],
        lambda: (
            table(("type", "where", ""), rows) if rows else print("No items: `recollect items extract` finds them.")
        ),
    )


def _item_json(cited: Cited) -> Json:
    from ...engine.sources import as_json

    return as_json(cited)


COMMANDS = (task, narrative, items)
