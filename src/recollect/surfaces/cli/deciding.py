"""Commands on what waits for a decision: conflicts, the review inbox, the archive, promotion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import click

from ...codec import encode
from .changing import on_each
from .display import global_ref, memory_json, show_done, show_list
from .terminal import Terminal, command_options, indented, table, text_argument, visible

if TYPE_CHECKING:
    from ...engine import Recollect
    from ...engine.conflicts import Conflict
    from ...engine.promotion import Promoted
    from ...engine.review import Inbox
    from ...model import Json, Memory


@click.group(invoke_without_command=True)
@command_options
def conflicts(terminal: Terminal) -> None:
    """List the memories that contradict each other, or settle one.

    \b
    Examples:
      recollect conflicts
      recollect conflicts resolve 12 17 --keep 17
      recollect conflicts reopen 12 17
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    with terminal.memory() as memory:
        found = memory.conflicts(space=terminal.space)
    terminal.show([_conflict_json(each) for each in found], lambda: _print_conflicts(found))


def _conflict_json(conflict: Conflict) -> Json:
    return {
        "older": memory_json(conflict.older),
        "newer": memory_json(conflict.newer),
        "since": encode(conflict.since),
        "found_by": conflict.found_by,
    }


def _print_conflicts(found: tuple[Conflict, ...]) -> None:
    for each in found:
        print(indented(f"[id:{each.older.ref}] {each.older.content}"))
        print(indented(f"  contradicts [id:{each.newer.ref}] {each.newer.content}"))
        pair = f"{each.older.ref} {each.newer.ref}"
        print(visible(f"    `recollect conflicts resolve {pair} --keep {each.newer.ref}` (or both, or neither)"))
    if not found:
        print("No conflicts.")


@conflicts.command()
@click.argument("ref")
@click.argument("other")
@click.option("--keep", required=True, metavar="ID|both|neither", help="Which of the two holds.")
@command_options
def resolve(terminal: Terminal, ref: str, other: str, keep: str) -> None:
    """Settle a conflict: what is kept takes the other's place; nothing is deleted.

    \b
    Examples:
      recollect conflicts resolve 12 17 --keep 17
      recollect conflicts resolve 12 17 --keep both
    """
    one, two = global_ref(terminal, ref), global_ref(terminal, other)
    with terminal.memory() as memory:
        chosen = _kept(memory, one, two, global_ref(terminal, keep))
        plan = memory.resolve(one, two, keep=chosen)
    terminal.show({"plan": plan, "kept": keep}, lambda: None)
    terminal.say(f"Settled: {keep} kept. `recollect conflicts reopen {ref} {other}` undoes it.")


def _kept(memory: Recollect, one: str, two: str, keep: str) -> Literal["first", "second", "both", "neither"]:
    if keep == "both":
        return "both"
    if keep == "neither":
        return "neither"
    uid = memory.get(keep).uid
    if uid == memory.get(one).uid:
        return "first"
    if uid == memory.get(two).uid:
        return "second"
    raise click.UsageError(f"--keep is one of the two, both or neither; {keep} is none of these.")


@conflicts.command()
@click.argument("ref")
@click.argument("other")
@command_options
def reopen(terminal: Terminal, ref: str, other: str) -> None:
    """Undo how a conflict was settled: both memories are as they were.

    \b
    Example:
      recollect conflicts reopen 12 17
    """
    with terminal.memory() as memory:
        memory.reopen(global_ref(terminal, ref), global_ref(terminal, other))
    terminal.show({"reopened": [ref, other]}, lambda: None)
    terminal.say(f"Open again: {ref} and {other}.")


@click.command()
@click.option("--prompt", is_flag=True, help="Only what an agent is to be told about stale memories.")
@command_options
def review(terminal: Terminal, prompt: bool) -> None:
    """What waits for you: candidates, conflicts, garden plans, and memories that may be out of date.

    Nothing here is done by itself. `recollect confirm`, `archive`, `conflicts resolve` and `garden apply` decide.

    \b
    Examples:
      recollect review
      recollect review --prompt
    """
    with terminal.memory() as memory:
        found = memory.review(space=terminal.space)
    if prompt:
        terminal.show({"prompt": found.prompt}, lambda: print(visible(found.prompt or "Nothing is stale.")))
        return
    terminal.show(_inbox_json(found), lambda: _print_inbox(found))


def _inbox_json(found: Inbox) -> Json:
    return {
        "candidates": [memory_json(each) for each in found.candidates],
        "proposed": [memory_json(each) for each in found.proposed],
        "quarantined": [memory_json(each) for each in found.quarantined],
        "conflicts": [_conflict_json(each) for each in found.conflicts],
        "plans": [encode(each, complete=True) for each in found.plans],
        "stale": [{"memory": memory_json(each.memory), "why": each.why} for each in found.stale],
    }


def _print_inbox(found: Inbox) -> None:
    _print_some("candidates, waiting to prove themselves", found.candidates)
    _print_some("proposed to hold everywhere: `recollect promote ID --to global`", found.proposed)
    _print_quarantined(found.quarantined)
    if found.conflicts:
        print(f"\n{len(found.conflicts)} conflicts")
        _print_conflicts(found.conflicts)
    for plan in found.plans:
        waiting = plan.states.get("proposed", 0)
        print(f"\nplan {plan.id} ({plan.sort}): {waiting} steps wait; `recollect garden show {plan.id}`")
    if found.stale:
        print(f"\n{len(found.stale)} that may be out of date")
        for each in found.stale:
            print(indented(f"[id:{each.memory.ref}] {each.memory.content}"))
            print(visible(f"    {each.why}"))
    waits = (found.candidates, found.proposed, found.quarantined, found.conflicts, found.plans, found.stale)
    if not any(waits):
        print("Nothing waits for you.")


def _print_some(title: str, memories: tuple[Memory, ...]) -> None:
    if memories:
        print(f"{len(memories)} {title}")
        for memory in memories:
            print(indented(f"[id:{memory.ref}] {memory.content}"))


def _print_quarantined(memories: tuple[Memory, ...]) -> None:
    if memories:
        print(f"{len(memories)} quarantined, not trusted: `recollect confirm ID` releases one, `forget` takes it away")
        for memory in memories:
            print(indented(f"[id:{memory.ref}] {memory.content}"))
            print(visible(f"    {memory.provenance[-1].reason}"))


@click.command()
@click.argument("refs", nargs=-1)
@click.option("--restore", is_flag=True, help="Bring these back instead.")
@click.option("--tend", is_flag=True, help="Archive what has had its time or has to make room, as the settings say.")
@command_options
def archive(terminal: Terminal, refs: tuple[str, ...], restore: bool, tend: bool) -> None:
    """Take memories out of recall; without any, list the archive. `recollect search` still finds what is in it.

    \b
    Examples:
      recollect archive 42 43
      recollect archive
      recollect archive 42 --restore
      recollect archive --tend
    """
    if tend and refs:
        raise click.UsageError("--tend decides by itself what to archive; leave the memories out.")
    with terminal.memory() as memory:
        if tend:
            done = memory.tend(space=terminal.space)
            told = cast("dict[str, int | None]", encode(done, complete=True))
            rows = [(name, str(count)) for name, count in told.items() if count is not None]
            terminal.show(encode(done, complete=True), lambda: table(("", ""), rows))
            return
        if not refs:
            show_list(terminal, memory.list({"status": ["archived"]}, space=terminal.space, limit=_LISTED))
            return
        done_to = on_each(terminal, memory, refs, memory.restore if restore else memory.archive)
    show_done(terminal, done_to, "Restored" if restore else "Archived")


_LISTED = 1_000


@click.command()
@click.argument("refs", nargs=-1, required=True)
@command_options
def confirm(terminal: Terminal, refs: tuple[str, ...]) -> None:
    """Vouch for memories: candidates are confirmed, and they are trusted as you are.

    \b
    Example:
      recollect confirm 42
    """
    with terminal.memory() as memory:
        done = on_each(terminal, memory, refs, memory.confirm)
    show_done(terminal, done, "Confirmed")


@click.command()
@click.argument("ref")
@click.option("--to", type=click.Choice(["project", "global"]), default="project", show_default=True)
@click.option("--yes", "-y", is_flag=True, help="Do not ask before it is known in every project.")
@command_options
def promote(terminal: Terminal, ref: str, to: str, yes: bool) -> None:
    """Let a memory of a task or session hold in its project, or one of a project everywhere.

    \b
    Examples:
      recollect promote 42
      recollect promote 42 --to global
    """
    with terminal.memory() as memory:
        if to == "global" and not yes:
            shown = memory.get(ref).content
            click.confirm(f"Known in every project from now on: {visible(shown)}\nIs that right?", abort=True, err=True)
        promoted = memory.promote(ref, to, confirmed=True)
    show_done(terminal, [promoted], f"Holds in {to}" if to == "project" else "Holds everywhere")


@click.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--session", required=True, help="The session it was said in.")
@click.option("--agent", default="", help="The agent it was said to.")
@click.option("--message", type=int, help="Which message of the session it is.")
@command_options
def learn(terminal: Terminal, text: tuple[str, ...], session: str, agent: str, message: int | None) -> None:
    """Keep what you state in a message: corrections, decisions, standing instructions. `-` reads standard input.

    \b
    Example:
      recollect learn --session s1 "No, we use pnpm here, not npm. Now fix the build."
    """
    turn = text_argument(text, "turn")
    with terminal.memory() as memory:
        found = memory.learn(turn, session=session, agent=agent, message=message)
    terminal.show([_promoted_json(each) for each in found], lambda: _print_promoted(found))


def _promoted_json(each: Promoted) -> Json:
    made = each.remembered
    return {
        "content": each.finding.content,
        "kind": each.finding.kind.value,
        "promoted": made is not None,
        "reason": each.judged.reason,
        "memory": memory_json(made.memory) if made else None,
    }


def _print_promoted(found: tuple[Promoted, ...]) -> None:
    for each in found:
        made = each.remembered
        told = f"[id:{made.ref}] {each.finding.kind}" if made else f"not kept ({each.judged.reason})"
        print(indented(f"{told}: {each.finding.content}"))
    if not found:
        print("Nothing in it that would hold beyond the session.")


@click.command()
@click.argument("text", nargs=-1)
@click.option("--file", "-f", "files", multiple=True, help="A file at work on; give it again for more.")
@click.option("--session", help="The session it is about.")
@click.option("--task", help="The task it is about.")
@command_options
def triggered(
    terminal: Terminal, text: tuple[str, ...], files: tuple[str, ...], session: str | None, task: str | None
) -> None:
    """The warnings and procedures that a text, or files at work on, bring up. `-` reads standard input.

    \b
    Examples:
      recollect triggered "git add . && git commit"
      recollect triggered --file config/.env
    """
    context = text_argument(text, "context") if text else ""
    with terminal.memory() as memory:
        found = memory.triggered(context, files=files, session=session, task=task)
    data: list[Json] = [
        {
            "ref": each.memory.ref,
            "pattern": each.pattern,
            "found": each.found,
            "text": each.text,
            "memory": memory_json(each.memory),
        }
        for each in found
    ]
    terminal.show(data, lambda: print("\n\n".join(visible(each.text) for each in found) or "Nothing is triggered."))


COMMANDS = (conflicts, review, archive, confirm, promote, learn, triggered)
