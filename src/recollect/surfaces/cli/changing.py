"""Commands that change memories: edit, forget, pin, link, tag, weigh."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import click

from ...codec import encode
from ...disk import private_folder, write_private
from ...engine import Recollect
from ...errors import InvalidInput, InvalidText, RecollectError
from ...model import LinkKind, Memory
from .display import global_ref, memory_json, show_done
from .memories import KINDS
from .terminal import Terminal, command_options, one_line, standard_input, table, width


@click.command()
@click.argument("ref")
@click.option("--content", "-c", help="The new text; without it, your editor opens. `-` reads standard input.")
@click.option("--kind", "-k", metavar="KIND", type=KINDS, help="The new kind.")
@click.option("--tags", help="The new tags, separated by commas; an empty text removes them all.")
@click.option("--importance", type=float, help="From 0 to 1.")
@click.option("--season", metavar="NAME", help="Recall it only while this season is on; an empty text lifts that.")
@click.option("--expected-version", type=int, help="Refuse if it is not at this version any more.")
@command_options
def edit(
    terminal: Terminal,
    ref: str,
    content: str | None,
    kind: str | None,
    tags: str | None,
    importance: float | None,
    season: str | None,
    expected_version: int | None,
) -> None:
    """Change a memory in place; its score and history stay.

    \b
    Examples:
      recollect edit 42                          opens $EDITOR
      recollect edit 42 --content "Use port 9090"
      recollect edit 42 --tags api,ports --kind decision
    """
    wanted = None if tags is None else [tag for tag in tags.split(",") if tag.strip()]
    with terminal.memory() as memory:
        found = memory.get(global_ref(terminal, ref))
        text = standard_input("content") if content == "-" else content
        if text is None and kind is None and wanted is None and importance is None and season is None:
            changed = _edited_in_editor(memory, found)
        else:
            changed = memory.update(
                found.ref,
                text,
                kind=kind,
                tags=wanted,
                importance=importance,
                season=season or None,
                clear=["season"] if season == "" else (),
                expected_version=expected_version,
            )
    terminal.show(memory_json(changed), lambda: None)
    word = "Unchanged" if changed.version == found.version else "Updated"
    terminal.say(f"{word}: {one_line(f'[id:{changed.ref}] {changed.content}', width() - 12)}")


def _edited_in_editor(memory: Recollect, found: Memory) -> Memory:
    """Let the person edit the text; what they wrote is never lost, whatever happens afterwards."""
    assert memory.home is not None
    draft = private_folder(memory.home / "run") / f"edit-{found.ref}-{os.getpid()}.md"
    write_private(draft, [found.content, "\n"])
    try:
        _run_editor(draft)
    except InvalidInput:
        draft.unlink()
        raise
    try:
        text = draft.read_text(encoding="utf-8").rstrip("\n")
        changed = found if text == found.content else memory.update(found.ref, text, expected_version=found.version)
    except UnicodeDecodeError as error:
        raise InvalidText("content", f"is not UTF-8; your text is kept in {draft}") from error
    except RecollectError as error:
        error.hint = f"{error.hint} Your text is kept in {draft}.".strip()
        raise
    draft.unlink()
    return changed


def _run_editor(draft: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        finished = subprocess.run([*shlex.split(editor), str(draft)], check=False)
    except (OSError, ValueError) as error:
        raise InvalidInput("EDITOR", f"{editor!r} cannot be started ({error}); nothing was changed") from error
    if finished.returncode:
        raise InvalidInput("EDITOR", f"{editor!r} ended with status {finished.returncode}; nothing was changed")


def on_each(terminal: Terminal, memory: Recollect, refs: tuple[str, ...], act: Callable[[str], Memory]) -> list[Memory]:
    """Do the same to several memories, but only if all of them are there."""
    found = [memory.get(global_ref(terminal, ref)) for ref in refs]
    return [act(each.ref) for each in found]


@click.command()
@click.argument("refs", nargs=-1, required=True)
@click.option("--undo", is_flag=True, help="Bring back what was forgotten, archived or superseded.")
@command_options
def forget(terminal: Terminal, refs: tuple[str, ...], undo: bool) -> None:
    """Hide memories from everything. `--undo` brings them back.

    \b
    Examples:
      recollect forget 42
      recollect forget 42 --undo
    """
    with terminal.memory() as memory:
        done = on_each(terminal, memory, refs, memory.restore if undo else memory.forget)
    show_done(terminal, done, "Restored" if undo else "Forgotten, and hidden until `forget --undo`")


@click.command()
@click.argument("refs", nargs=-1, required=True)
@command_options
def pin(terminal: Terminal, refs: tuple[str, ...]) -> None:
    """Keep memories always at hand.

    \b
    Example:
      recollect pin 42
    """
    with terminal.memory() as memory:
        done = on_each(terminal, memory, refs, memory.pin)
    show_done(terminal, done, "Pinned")


@click.command()
@click.argument("refs", nargs=-1, required=True)
@command_options
def unpin(terminal: Terminal, refs: tuple[str, ...]) -> None:
    """Let pinned memories be ordinary ones again.

    \b
    Example:
      recollect unpin 42
    """
    with terminal.memory() as memory:
        done = on_each(terminal, memory, refs, memory.unpin)
    show_done(terminal, done, "Unpinned")


_RELATIONS = click.Choice(["relates-to", "supersedes", "contradicts", "derived-from"])


@click.command()
@click.argument("ref")
@click.argument("target")
@click.option("--kind", "-k", type=_RELATIONS, default="relates-to", show_default=True, help="How they are related.")
@click.option("--weight", type=float, default=1.0, show_default=True, help="How closely, from 0 to 1.")
@command_options
def link(terminal: Terminal, ref: str, target: str, kind: str, weight: float) -> None:
    """Connect a memory to another. What is superseded leaves recall.

    \b
    Examples:
      recollect link 42 17
      recollect link 42 17 --kind supersedes
    """
    with terminal.memory() as memory:
        made = memory.link(global_ref(terminal, ref), global_ref(terminal, target), kind=kind, weight=weight)
    terminal.show(encode(made, complete=True), lambda: None)
    terminal.say(f"Linked: {ref} {made.kind} {target}")


@click.command()
@click.argument("ref")
@click.argument("target")
@click.option("--kind", "-k", type=_RELATIONS, default="relates-to", show_default=True, help="How they are related.")
@command_options
def unlink(terminal: Terminal, ref: str, target: str, kind: str) -> None:
    """Take a connection away. What was superseded by it comes back.

    \b
    Example:
      recollect unlink 42 17 --kind supersedes
    """
    with terminal.memory() as memory:
        memory.unlink(global_ref(terminal, ref), global_ref(terminal, target), kind=LinkKind(kind))
    terminal.show({"unlinked": [ref, kind, target]}, lambda: None)
    terminal.say(f"Unlinked: {ref} {kind} {target}")


@click.command()
@click.argument("ref", required=False)
@click.argument("tags", nargs=-1)
@click.option("--remove", "-r", "removed", multiple=True, help="A tag to take away; give it again for more.")
@command_options
def tag(terminal: Terminal, ref: str | None, tags: tuple[str, ...], removed: tuple[str, ...]) -> None:
    """Add and remove tags; without a memory, list the tags in use.

    \b
    Examples:
      recollect tag 42 auth security
      recollect tag 42 --remove draft
      recollect tag
    """
    with terminal.memory() as memory:
        if ref is None:
            used = memory.tags(space=terminal.space)
            terminal.show(
                [{"name": each.name, "count": each.count} for each in used],
                lambda: table(("tag", "memories"), [(each.name, str(each.count)) for each in used], right=(1,)),
            )
            return
        if not tags and not removed:
            raise click.UsageError("Name a tag to add, or one to --remove.")
        changed = memory.get(global_ref(terminal, ref))
        if tags:
            changed = memory.tag(changed.ref, *tags)
        if removed:
            changed = memory.untag(changed.ref, *removed)
    show_done(terminal, [changed], f"Tagged {', '.join(changed.tags) or 'with nothing'}")


@click.command()
@click.argument("refs", nargs=-1, required=True)
@command_options
def reinforce(terminal: Terminal, refs: tuple[str, ...]) -> None:
    """These memories were useful: raise their score.

    \b
    Example:
      recollect reinforce 42
    """
    with terminal.memory() as memory:
        done = on_each(terminal, memory, refs, memory.reinforce)
    show_done(terminal, done, "Reinforced")


@click.command()
@click.argument("refs", nargs=-1, required=True)
@command_options
def demote(terminal: Terminal, refs: tuple[str, ...]) -> None:
    """These memories are stale or wrong: lower their score.

    \b
    Example:
      recollect demote 42
    """
    with terminal.memory() as memory:
        done = on_each(terminal, memory, refs, memory.demote)
    show_done(terminal, done, "Demoted")


@click.command()
@click.argument("ref")
@click.argument("verdict", type=click.Choice(["helpful", "unhelpful"]))
@click.option("--note", default="", help="Why.")
@command_options
def feedback(terminal: Terminal, ref: str, verdict: str, note: str) -> None:
    """Say whether a memory helped; it grows stronger or less sure.

    \b
    Examples:
      recollect feedback 42 helpful
      recollect feedback 42 unhelpful --note "the port has changed"
    """
    with terminal.memory() as memory:
        changed = memory.feedback(global_ref(terminal, ref), helpful=verdict == "helpful", note=note)
    show_done(terminal, [changed], f"Noted as {verdict}, confidence {changed.confidence:.2f}")


COMMANDS = (edit, forget, pin, unpin, link, unlink, tag, reinforce, demote, feedback)
