"""Commands on memories: write, find, read, change."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING, cast

import click

from ...codec import encode, to_iso
from ...engine.home import make_home
from ...errors import InvalidInput, StaleVersion
from ...model import Draft, Kind, LinkKind, Memory, Recall, Scope, Source, Status
from .terminal import Terminal, command_options, one_line, standard_input, table, text_argument, visible, width

if TYPE_CHECKING:
    from pathlib import Path

    from ...engine import Recollect
    from ...model import Json, Link, Version

KINDS = click.Choice([kind.value for kind in Kind])


@click.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--kind", "-k", type=KINDS, default="fact", show_default=True, help="What sort of knowledge it is.")
@click.option("--tag", "-t", "tags", multiple=True, help="A tag; give it again for more.")
@click.option("--file", "-f", "files", multiple=True, help="A file it is about; give it again for more.")
@click.option("--importance", type=float, help="From 0 to 1 [default: by kind].")
@click.option("--session", help="The session it comes from.")
@click.option("--task", help="The task it comes from.")
@click.option("--scope", type=click.Choice(["project", "session", "task"]), help="Where it holds [default: project].")
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
    from ...model import Anchor

    content = text_argument(text, "content")
    contents = [line for line in content.splitlines() if line.strip()] if lines else [content]
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
        )
        for each in contents
    ]
    with terminal.memory() as memory:
        stored = memory.remember_many(drafts, key=key)
    data = [{**_memory_json(each.memory), "duplicate": each.duplicate, "redacted": each.redacted} for each in stored]
    terminal.show(cast("Json", data if lines else data[0]), lambda: None)
    for each in stored:
        word = "Strengthened, it was there already" if each.duplicate else "Remembered"
        secret = " (something secret was left out)" if each.redacted else ""
        terminal.say(f"{word}: {one_line(str(each), width() - len(word) - 2)}{secret}")


@click.command()
@click.argument("question", nargs=-1, required=True)
@click.option("--limit", "-n", type=int, help="How many results at most.")
@click.option("--kind", "-k", "kinds", type=KINDS, multiple=True, help="Only this kind; give it again for more.")
@click.option("--tag", "-t", "tags", multiple=True, help="Only with this tag; give it again for any of several.")
@click.option("--file", "-f", "files", multiple=True, help="Only about this file.")
@click.option("--session", help="The session that asks; its own memories count too.")
@click.option("--task", help="The task that asks; its own memories count too.")
@click.option("--why", is_flag=True, help="Show what put each result where it is.")
@command_options
def recall(
    terminal: Terminal,
    question: tuple[str, ...],
    limit: int | None,
    kinds: tuple[str, ...],
    tags: tuple[str, ...],
    files: tuple[str, ...],
    session: str | None,
    task: str | None,
    why: bool,
) -> None:
    """Ask memory a question.

    \b
    Examples:
      recollect recall "where do deploys come from?"
      recollect recall --why --kind decision database
      recollect recall --json "release steps" | jq -r '.hits[].memory.content'
    """
    asked = text_argument(question, "question")
    with terminal.memory() as memory:
        found = memory.recall(asked, limit=limit, kinds=kinds, tags=tags, files=files, session=session, task=task)
    _show_recall(terminal, found, why=why)


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", "-n", type=int, help="How many results at most.")
@click.option("--kind", "-k", "kinds", type=KINDS, multiple=True, help="Only this kind.")
@click.option("--tag", "-t", "tags", multiple=True, help="Only with this tag.")
@click.option("--status", "statuses", type=click.Choice([status.value for status in Status]), multiple=True)
@click.option("--why", is_flag=True, help="Show what put each result where it is.")
@command_options
def search(
    terminal: Terminal,
    words: tuple[str, ...],
    limit: int | None,
    kinds: tuple[str, ...],
    tags: tuple[str, ...],
    statuses: tuple[str, ...],
    why: bool,
) -> None:
    """Search everything that was not forgotten, archived and superseded memories too.

    \b
    Examples:
      recollect search parseHTTPResponse
      recollect search --status archived migration
    """
    wanted = {"kind": kinds, "tags": tags, "status": statuses}
    with terminal.memory() as memory:
        found = memory.search(
            text_argument(words, "words"),
            where={name: values for name, values in wanted.items() if values},
            limit=limit,
        )
    _show_recall(terminal, found, why=why)


@click.command("list")
@click.option("--kind", "-k", "kinds", type=KINDS, multiple=True, help="Only this kind; give it again for more.")
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
    if not statuses and not everything:
        chosen["status"] = ["candidate", "confirmed", "pinned"]
    with terminal.memory() as memory:
        found = memory.list(chosen, space=terminal.space, order_by=order, limit=limit, offset=offset)
    _show_list(terminal, found)


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
        found = memory.get(_ref(terminal, ref))
        links, past = memory.links(found.ref), memory.history(found.ref)
    data = {
        **_memory_json(found),
        "links": [encode(link, complete=True) for link in links],
        "history": [encode(version, complete=True) for version in past],
    }
    terminal.show(cast("Json", data), lambda: _print_memory(found, links, past if history else (), len(past)))


@click.command()
@click.argument("ref")
@click.option("--content", "-c", help="The new text; without it, your editor opens. `-` reads standard input.")
@click.option("--kind", "-k", type=KINDS, help="The new kind.")
@click.option("--tags", help="The new tags, separated by commas; an empty text removes them all.")
@click.option("--importance", type=float, help="From 0 to 1.")
@click.option("--expected-version", type=int, help="Refuse if it is not at this version any more.")
@command_options
def edit(
    terminal: Terminal,
    ref: str,
    content: str | None,
    kind: str | None,
    tags: str | None,
    importance: float | None,
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
        found = memory.get(_ref(terminal, ref))
        text = standard_input("content") if content == "-" else content
        if text is None and kind is None and wanted is None and importance is None:
            changed = _edited_in_editor(memory, found)
        else:
            changed = memory.update(
                found.ref, text, kind=kind, tags=wanted, importance=importance, expected_version=expected_version
            )
    terminal.show(_memory_json(changed), lambda: None)
    word = "Unchanged" if changed.version == found.version else "Updated"
    terminal.say(f"{word}: {one_line(f'[id:{changed.ref}] {changed.content}', width() - 12)}")


def _edited_in_editor(memory: Recollect, found: Memory) -> Memory:
    """Let the person edit the text; what they wrote is never lost, whatever happens afterwards."""
    assert memory.home is not None
    draft = make_home(memory.home / "run") / f"edit-{found.ref}-{os.getpid()}.md"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(found.content + "\n")
    try:
        text = _run_editor(draft)
        changed = found if text == found.content else memory.update(found.ref, text, expected_version=found.version)
    except StaleVersion as error:
        error.hint = f"Somebody else changed it meanwhile. Your text is kept in {draft}."
        raise
    except (InvalidInput, UnicodeDecodeError) as error:
        raise InvalidInput("content", f"{error}; your text is kept in {draft}") from error
    draft.unlink()
    return changed


def _run_editor(draft: Path) -> str:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        finished = subprocess.run([*shlex.split(editor), str(draft)], check=False)
    except (FileNotFoundError, PermissionError) as error:
        draft.unlink()
        raise InvalidInput("EDITOR", f"{editor!r} cannot be started") from error
    if finished.returncode:
        draft.unlink()
        raise InvalidInput("EDITOR", f"{editor!r} ended with status {finished.returncode}; nothing was changed")
    return draft.read_text(encoding="utf-8").rstrip("\n")


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
        act = memory.restore if undo else memory.forget
        done = [act(_ref(terminal, ref)) for ref in refs]
    _show_done(terminal, done, "Restored" if undo else "Forgotten, and hidden until `forget --undo`")


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
        done = [memory.pin(_ref(terminal, ref)) for ref in refs]
    _show_done(terminal, done, "Pinned")


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
        done = [memory.unpin(_ref(terminal, ref)) for ref in refs]
    _show_done(terminal, done, "Unpinned")


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
        made = memory.link(_ref(terminal, ref), _ref(terminal, target), kind=kind, weight=weight)
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
        memory.unlink(_ref(terminal, ref), _ref(terminal, target), kind=LinkKind(kind))
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
        changed = memory.get(_ref(terminal, ref))
        if tags:
            changed = memory.tag(changed.ref, *tags)
        if removed:
            changed = memory.untag(changed.ref, *removed)
    _show_done(terminal, [changed], f"Tagged {', '.join(changed.tags) or 'with nothing'}")


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
        done = [memory.reinforce(_ref(terminal, ref)) for ref in refs]
    _show_done(terminal, done, "Reinforced")


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
        done = [memory.demote(_ref(terminal, ref)) for ref in refs]
    _show_done(terminal, done, "Demoted")


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
        changed = memory.feedback(_ref(terminal, ref), helpful=verdict == "helpful", note=note)
    _show_done(terminal, [changed], f"Noted as {verdict}, confidence {changed.confidence:.2f}")


COMMANDS = (
    *(remember, recall, search, list_memories, show, edit, forget, pin, unpin, link, unlink, tag, reinforce),
    *(demote, feedback),
)


# --- Showing -------------------------------------------------------------------------------------------------------


def _ref(terminal: Terminal, ref: str) -> str:
    """A reference as typed; with `--global`, a bare number is a global one."""
    return f"g{ref}" if terminal.shared and ref.isdecimal() else ref


def _memory_json(memory: Memory) -> dict[str, Json]:
    state = encode(memory, complete=True)
    assert isinstance(state, dict)
    return {"ref": memory.ref, **state}


def _show_recall(terminal: Terminal, found: Recall, *, why: bool) -> None:
    data: Json = {
        "query": found.query,
        "hits": [
            {
                "ref": hit.memory.ref,
                "score": hit.score,
                "why": [encode(each, complete=True) for each in hit.why],
                "memory": _memory_json(hit.memory),
            }
            for hit in found
        ],
        "notes": list(found.notes),
    }
    terminal.show(data, lambda: _print_recall(found, why=why))


def _print_recall(found: Recall, *, why: bool) -> None:
    for hit in found:
        tags = f"  #{' #'.join(hit.memory.tags)}" if hit.memory.tags else ""
        marks = "" if hit.memory.status is Status.CONFIRMED else f", {hit.memory.status}"
        print(visible(f"[id:{hit.memory.ref}] {hit.memory.content}"))
        print(visible(f"    {hit.memory.kind}{marks}, {hit.memory.created_at:%Y-%m-%d}{tags}"))
        if why:
            print(visible(f"    score {hit.score:.3f} = " + " × ".join(f"{e.factor} {e.value:.3f}" for e in hit.why)))
            for each in hit.why:
                print(visible(f"      {each.factor}: {each.detail}"))
    if not found:
        print("Nothing found.")
    if why or not found:
        for note in found.notes:
            print(visible(f"({note})"))


def _show_list(terminal: Terminal, found: tuple[Memory, ...]) -> None:
    rows = [
        (each.ref, each.kind, each.status, f"{each.created_at:%Y-%m-%d}", ",".join(each.tags), _short(each))
        for each in found
    ]
    terminal.show(
        [_memory_json(each) for each in found],
        lambda: table(("id", "kind", "status", "created", "tags", "content"), rows, right=(0,)),
    )


def _short(memory: Memory) -> str:
    return one_line(memory.content, max(40, width() - 60))


def _show_done(terminal: Terminal, done: list[Memory], word: str) -> None:
    terminal.show([_memory_json(each) for each in done] if len(done) != 1 else _memory_json(done[0]), lambda: None)
    for each in done:
        terminal.say(f"{word}: {one_line(f'[id:{each.ref}] {each.content}', width() - len(word) - 2)}")


def _print_memory(memory: Memory, links: tuple[Link, ...], past: tuple[Version, ...], versions: int) -> None:
    print(visible(f"[id:{memory.ref}] {memory.content}\n"))
    rows = [(name, value) for name, value in _described(memory) if value]
    table(("", ""), rows)
    if memory.provenance:
        print("\nWhere it came from")
        for step in memory.provenance:
            told = ", ".join(part for part in (step.session_id and f"session {step.session_id}", step.reason) if part)
            print(visible(f"  {to_iso(step.at)[:16]}  {step.origin}{': ' + told if told else ''}"))
            if step.snippet:
                print(visible(f"      “{one_line(step.snippet, 90)}”"))
    if links:
        print("\nLinks")
        for each in links:
            print(visible(f"  {each.memory} {each.kind} {each.target}  ({each.weight:g})"))
    for version in past:
        print(visible(f"\nVersion {version.memory.version}, until {to_iso(version.recorded_to)[:16]}"))
        print(visible(f"  {version.memory.status}, score {version.memory.score:+d}: {version.memory.content}"))
    if versions and not past:
        print(f"\n{versions} earlier version{'s' if versions != 1 else ''}; --history shows them.")


def _described(memory: Memory) -> list[tuple[str, str]]:
    times = {
        "created": memory.created_at,
        "updated": memory.updated_at,
        "last hit": memory.last_hit_at,
        "accessed": memory.accessed_at,
        "confirmed": memory.confirmed_at,
        "valid from": memory.valid_from,
        "valid to": memory.valid_to,
    }
    return [
        ("kind", memory.kind.value),
        ("scope", memory.scope.value),
        ("status", memory.status.value),
        ("tags", ", ".join(memory.tags)),
        ("files", ", ".join(memory.files)),
        ("importance", f"{memory.importance:.2f}"),
        ("confidence", f"{memory.confidence:.2f}"),
        ("trust", f"{memory.trust:.2f}, {memory.origin}"),
        ("score", f"{memory.score:+d}"),
        ("strength", f"{memory.strength}, accessed {memory.access_count} times"),
        ("session", memory.session_id or ""),
        ("task", memory.task_id or ""),
        ("agent", " on ".join(part for part in (memory.agent, memory.host) if part)),
        ("superseded by", memory.superseded_by or ""),
        ("version", str(memory.version)),
        ("uid", memory.uid),
        *((name, to_iso(moment)[:19].replace("T", " ")) for name, moment in times.items() if moment),
    ]
