"""How memories are shown: as JSON to programs, as text to people."""

from __future__ import annotations

from ...codec import encode, to_iso
from ...model import Json, Link, Memory, Recall, Status, Version
from .terminal import Terminal, indented, one_line, table, visible, width


def global_ref(terminal: Terminal, ref: str) -> str:
    """A reference as typed; with `--global`, a bare number is a global one."""
    return f"g{ref}" if terminal.shared and ref.isdecimal() else ref


def memory_json(memory: Memory) -> dict[str, Json]:
    state = encode(memory, complete=True)
    assert isinstance(state, dict)
    return {"ref": memory.ref, **state}


def show_recall(terminal: Terminal, found: Recall, *, why: bool) -> None:
    data: Json = {
        "query": found.query,
        "hits": [
            {
                "ref": hit.memory.ref,
                "score": hit.score,
                "why": [encode(each, complete=True) for each in hit.why],
                "memory": memory_json(hit.memory),
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
        print(indented(f"[id:{hit.memory.ref}] {hit.memory.content}"))
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


def show_list(terminal: Terminal, found: tuple[Memory, ...]) -> None:
    rows = [
        (each.ref, each.kind, each.status, f"{each.created_at:%Y-%m-%d}", ",".join(each.tags), _short(each))
        for each in found
    ]
    terminal.show(
        [memory_json(each) for each in found],
        lambda: table(("id", "kind", "status", "created", "tags", "content"), rows, right=(0,)),
    )


def _short(memory: Memory) -> str:
    return one_line(memory.content, max(40, width() - 60))


def show_done(terminal: Terminal, done: list[Memory], word: str) -> None:
    terminal.show([memory_json(each) for each in done] if len(done) != 1 else memory_json(done[0]), lambda: None)
    for each in done:
        terminal.say(f"{word}: {one_line(f'[id:{each.ref}] {each.content}', width() - len(word) - 2)}")


def print_memory(memory: Memory, links: tuple[Link, ...], past: tuple[Version, ...], versions: int) -> None:
    print(indented(f"[id:{memory.ref}] {memory.content}") + "\n")
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
