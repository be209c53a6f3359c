"""Commands on sessions: transcripts as they happen, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from ...codec import encode
from .display import memory_json, show_list
from .terminal import Terminal, command_options, indented, one_line, table, text_argument, visible, width

if TYPE_CHECKING:
    from ...engine.promotion import Promoted
    from ...engine.session import Finalised, Turn
    from ...model import Json

_ROLES = click.Choice(["user", "assistant", "system", "tool_call", "tool_result"])


@click.group()
def session() -> None:
    """Sessions: what agents lived through, as plain files that can be searched and become memories at the end.

    \b
    Examples:
      recollect session list
      recollect session show s1
      recollect session finalise s1
      recollect session recover
    """


@session.command("list")
@command_options
def _list_sessions(terminal: Terminal) -> None:
    """List sessions, the latest first.

    \b
    Example:
      recollect session list
    """
    with terminal.memory() as memory:
        found = memory.sessions.list()
    rows = [
        (
            each.id,
            f"{each.updated:%Y-%m-%d %H:%M}",
            f"{each.turns:,}",
            "archived" if each.archived else "finalised" if each.finalised else "",
            one_line(each.title, width()),
        )
        for each in found
    ]
    terminal.show(
        [encode(each, complete=True) for each in found],
        lambda: table(("session", "used", "turns", "", ""), rows, right=(2,)) if rows else print("No sessions."),
    )


@session.command("show")
@click.argument("name")
@click.option("--all", "everything", is_flag=True, help="Every turn, not the compacted view.")
@command_options
def _show_session(terminal: Terminal, name: str, everything: bool) -> None:
    """Show a session as an agent would read it, and the memories that it produced.

    \b
    Examples:
      recollect session show s1
      recollect session show s1 --all
    """
    with terminal.memory() as memory:
        memory.sessions.listed(name)
        opened = memory.session(name)
        turns = opened.turns() if everything else opened.view()
        made = memory.list({"session_id": name}, limit=1_000)
    data: dict[str, Json] = {
        "session": name,
        "turns": [encode(each, complete=True) for each in turns],
        "memories": [memory_json(each) for each in made],
    }
    terminal.show(data, lambda: _print_turns(turns))
    if not terminal.as_json and made:
        print(f"\n{len(made)} memories")
        show_list(terminal, made)


def _print_turns(turns: list[Turn]) -> None:
    for turn in turns:
        text = "(erased)" if turn.content is None else turn.content
        name = f" {turn.name}" if turn.name else ""
        print(indented(f"{turn.timestamp:%H:%M:%S} {turn.role}{name}: {text}"))


@session.command("append")
@click.argument("name")
@click.argument("role", type=_ROLES)
@click.argument("text", nargs=-1, required=True)
@click.option("--agent", default="", help="The agent that takes part.")
@click.option("--host", default="", help="The program that runs it.")
@click.option("--tool", default="", help="The tool, for a call or a result.")
@command_options
def _append_turn(
    terminal: Terminal, name: str, role: str, text: tuple[str, ...], agent: str, host: str, tool: str
) -> None:
    """Add a turn to a session. `-` reads it from standard input.

    \b
    Example:
      recollect session append s1 user "We deploy from main, always."
    """
    with terminal.memory() as memory:
        turn = memory.session(name, agent=agent, host=host).append(role, text_argument(text, "content"), name=tool)
    terminal.show(encode(turn, complete=True), lambda: print(visible(f"{turn.id} in {name}")))


@session.command("compact")
@click.argument("name")
@click.option("--force", is_flag=True, help="However short it is.")
@command_options
def _compact(terminal: Terminal, name: str, force: bool) -> None:
    """Let a summary stand for the older turns of a long session. Every turn stays in the transcript.

    \b
    Example:
      recollect session compact s1 --force
    """
    with terminal.memory() as memory:
        memory.sessions.listed(name)
        done = memory.session(name).compact(force=force)
    text = (
        f"{done.turns_before:,} turns ({done.tokens_before:,} tokens) before, "
        f"{done.turns_after:,} ({done.tokens_after:,}) now."
        if done.summary
        else f"Nothing to compact: {done.turns_before:,} turns, about {done.tokens_before:,} tokens."
    )
    data: dict[str, Json] = {
        "summary": done.summary.content if done.summary else None,
        "turns_before": done.turns_before,
        "turns_after": done.turns_after,
        "tokens_before": done.tokens_before,
        "tokens_after": done.tokens_after,
        "promoted": [_promoted_json(each) for each in done.promoted],
    }
    terminal.show(data, lambda: print(text))


@session.command("fork")
@click.argument("name")
@click.argument("new")
@click.option("--at", type=int, help="After how many turns [default: after all].")
@command_options
def _fork(terminal: Terminal, name: str, new: str, at: int | None) -> None:
    """Begin another session that shares the past of one. Both can go on.

    \b
    Example:
      recollect session fork s1 s2 --at 12
    """
    with terminal.memory() as memory:
        memory.sessions.listed(name)
        memory.session(name).fork(new, at=at)
    terminal.show({"session": new, "parent": name}, lambda: print(visible(f"{new} goes on from {name}.")))


@session.command("finalise")
@click.argument("name")
@click.option("--fast", is_flag=True, help="Only note that it has ended; `session recover` does the rest.")
@command_options
def _finalise(terminal: Terminal, name: str, fast: bool) -> None:
    """End a session: what it taught becomes memories, and what it came to is stored.

    \b
    Example:
      recollect session finalise s1
    """
    with terminal.memory() as memory:
        memory.sessions.listed(name)
        done = memory.session(name).finalise(fast=fast)
    _show_finalised(terminal, (done,))


@session.command("recover")
@click.option("--now", "at_once", is_flag=True, help="Also sessions that somebody may still be adding to.")
@command_options
def _recover(terminal: Terminal, at_once: bool) -> None:
    """Finish what a crash left: records half written, turns not indexed, sessions not finalised.

    \b
    Example:
      recollect session recover
    """
    from datetime import timedelta

    from ...engine.session import IDLE

    with terminal.memory() as memory:
        sessions = memory.sessions
        done = sessions.recover(idle=timedelta(0) if at_once else IDLE)
        archived = sessions.archive()
        notes = sessions.transcripts.notes
    for note in notes:
        click.echo(f"Note: {visible(note)}", err=True)
    _show_finalised(terminal, done)
    if archived:
        terminal.say(f"Archived: {', '.join(map(visible, archived))}")


@session.command("verify")
@click.argument("name")
@command_options
def _verify(terminal: Terminal, name: str) -> int:
    """Check that no line of a transcript was changed, removed or added.

    \b
    Example:
      recollect session verify s1
    """
    with terminal.memory() as memory:
        memory.sessions.listed(name)
        faults = memory.sessions.transcripts.verify(name)
    terminal.show(
        {"ok": not faults, "faults": list(faults)},
        lambda: print("\n".join(map(visible, faults)) if faults else "The transcript is whole and unaltered."),
    )
    return 1 if faults else 0


def _show_finalised(terminal: Terminal, done: tuple[Finalised, ...]) -> None:
    data: list[Json] = [
        {
            "session": each.session,
            "findings": each.findings,
            "promoted": [_promoted_json(one) for one in each.promoted],
            "summary": each.summary,
            "gaps": each.gaps,
            "pending": each.pending,
        }
        for each in done
    ]
    terminal.show(data, lambda: None)
    for each in done:
        kept = [one for one in each.promoted if one.remembered]
        told = "noted as ended" if each.pending else f"{each.findings} findings, {len(kept)} kept"
        terminal.say(f"{visible(each.session)}: {told}")
        for one in kept:
            assert one.remembered is not None
            terminal.say(indented(f"  [id:{one.remembered.ref}] {one.finding.kind}: {one.finding.content}"))
    if not done:
        terminal.say("Nothing to do.")


def _promoted_json(each: Promoted) -> Json:
    made = each.remembered
    data = {
        "content": each.finding.content,
        "kind": each.finding.kind.value,
        "reason": each.judged.reason,
        "ref": made.ref if made else None,
    }
    return cast("Json", data)


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also those that a memory answers by now.")
@command_options
def gaps(terminal: Terminal, everything: bool) -> None:
    """What was asked and nothing answered.

    \b
    Example:
      recollect gaps
    """
    with terminal.memory() as memory:
        found = memory.gaps(answered=everything)
    rows = [(f"{each.at:%Y-%m-%d}", f"{each.times}×", one_line(each.context, width() - 20)) for each in found]
    terminal.show(
        [encode(each, complete=True) for each in found],
        lambda: table(("", "", ""), rows) if rows else print("No gaps."),
    )


COMMANDS = (session, gaps)
