"""How memories are shown: as JSON to programs, as text to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...codec import encode, to_iso
from ...model import Absence, Excerpts, Json, Link, Memory, Recall, Status, Version, Why
from .terminal import Terminal, indented, one_line, table, visible, width

if TYPE_CHECKING:
    from ...engine.context import Context
    from ...engine.lineage import Lineage


def global_ref(terminal: Terminal, ref: str) -> str:
    """A reference as typed; with `--global`, a bare number is a global one."""
    return f"g{ref}" if terminal.shared and ref.isdecimal() else ref


def memory_json(memory: Memory) -> dict[str, Json]:
    state = encode(memory, complete=True)
    assert isinstance(state, dict)
    return {"ref": memory.ref, **state}


def show_recall(terminal: Terminal, found: Recall, *, why: bool, nothing: str = "") -> None:
    """Show hits; `nothing` is why there is none, if there is none."""
    told = (*found.notes, *((nothing,) if nothing and not found else ()))
    data: dict[str, Json] = {
        "query": found.query,
        "hits": [
            {
                "ref": hit.memory.ref,
                "score": hit.score,
                "relevance": hit.relevance,
                "why": [encode(each, complete=True) for each in hit.why],
                "memory": memory_json(hit.memory),
            }
            for hit in found
        ],
        "notes": list(told),
        "pinned": [memory_json(each) for each in found.pinned],
        "conflicts": [list(pair) for pair in found.conflicts],
    }
    terminal.show(data, lambda: _print_recall(found, told, why=why))


def _print_recall(found: Recall, notes: tuple[str, ...], *, why: bool) -> None:
    for memory in found.pinned:
        _print_found(memory)
    for hit in found:
        _print_found(hit.memory)
        if why:
            print(f"    score {hit.score:.3f}, relevance {hit.relevance:.2f}")
            _print_why(hit.why)
    for one, other in found.conflicts:
        print(visible(f"(conflict: [id:{one}] contradicts [id:{other}])"))
    if not found and not found.pinned:
        print("Nothing found.")
    if why or not found:
        for note in notes:
            print(visible(f"({note})"))


def _print_found(memory: Memory) -> None:
    tags = f"  #{' #'.join(memory.tags)}" if memory.tags else ""
    marks = "" if memory.status is Status.CONFIRMED else f", {memory.status}"
    print(indented(f"[id:{memory.ref}] {memory.content}"))
    print(visible(f"    {memory.kind}{marks}, {memory.created_at:%Y-%m-%d}{tags}"))


def _print_why(why: tuple[Why, ...]) -> None:
    """The factors in columns: what adds up is marked +, what multiplies ×."""
    longest = max((len(each.factor) for each in why), default=0)
    for each in why:
        line = f"      {each.factor:{longest}}  {'+' if each.adds else '×'} {each.value:6.3f}  {each.detail}"
        print(visible(line.rstrip()))


def show_absence(terminal: Terminal, query: str, absence: Absence) -> None:
    """Show at which step a memory left, by how much, and how far it came."""
    data: dict[str, Json] = {
        "query": query,
        "ref": absence.memory.ref,
        "step": absence.step,
        "detail": absence.detail,
        "place": absence.place,
        "why": [encode(each, complete=True) for each in absence.why],
        "memory": memory_json(absence.memory),
    }
    terminal.show(data, lambda: _print_absence(absence))


def _print_absence(absence: Absence) -> None:
    _print_found(absence.memory)
    if absence.step == "returned":
        print(visible(f"    It is among the results: {absence.detail}."))
    else:
        print(visible(f"    Left out at the step {absence.step!r}: {absence.detail}."))
        if absence.place is not None:
            print(f"    Its place among all that was ranked: {absence.place}.")
    _print_why(absence.why)


def show_excerpts(terminal: Terminal, found: Excerpts, *, why: bool, nothing: str) -> None:
    """Show passages, each with what stands around it."""
    told = (*found.notes, *((nothing,) if not found else ()))
    data: dict[str, Json] = {
        "query": found.query,
        "excerpts": [encode(each, complete=True) for each in found],
        "notes": list(told),
    }
    terminal.show(data, lambda: _print_excerpts(found, told, why=why))


def _print_excerpts(found: Excerpts, notes: tuple[str, ...], *, why: bool) -> None:
    for each in found:
        print(visible(f"[{each.passage.corpus}: {each.passage.document}, {each.passage.position}]"))
        for passage in each.before:
            print("    " + one_line(passage.reading, max(40, width() - 4)))
        print(indented(f"  > {each.passage.reading}"))
        for passage in each.after:
            print("    " + one_line(passage.reading, max(40, width() - 4)))
        if why:
            print(f"    score {each.score:.3f}, relevance {each.relevance:.2f}")
            _print_why(each.why)
    if not found:
        print("Nothing found.")
    if why or not found:
        for note in notes:
            print(visible(f"({note})"))


def print_context(found: Context, *, why: bool) -> None:
    """What an agent would be told; and, for those who ask, the reasons, what was withheld, and what it costs."""
    if found.text:
        print(visible(found.text))
    if not why:
        return
    told = found.recollection
    for item in told:
        print(visible(f"\n{item.tier} [id:{item.ref}] {item.tokens} tokens, sure to {item.relevance:.2f}"))
        _print_why(item.why)
    for each in told.withheld:
        print(visible(f"\nwithheld: {each.tier} [id:{each.ref}], {each.reason}"))
    if told.allocation:
        print(
            f"\n{told.tokens} of {told.allocation.total} tokens; {told.compression:.0%} of what might have been said."
        )
    for note in told.notes or (() if told else ("Nothing that is sure to help.",)):
        print(visible(note))


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


def print_memory(memory: Memory, links: tuple[Link, ...]) -> None:
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


def print_versions(past: tuple[Version, ...], *, shown: bool) -> None:
    """What it was before, or how to see that."""
    for version in past if shown else ():
        print(visible(f"\nVersion {version.memory.version}, until {to_iso(version.recorded_to)[:16]}"))
        print(visible(f"  {version.memory.status}, score {version.memory.score:+d}: {version.memory.content}"))
    if past and not shown:
        print(f"\n{len(past)} earlier version{'s' if len(past) != 1 else ''}; --history shows them.")


def print_lineage(chain: Lineage) -> None:
    """The chain of a memory in both directions."""
    for turn in chain.turns:
        print(visible(f"\nSaid in session {chain.memory.session_id}, turn {turn.seq}"))
        print(visible(f"  {turn.role}: {one_line(turn.content or '', width() - 14)}"))
    for made in chain.made_in:
        others = f", with {len(made.memories)} other memories" if made.memories else ""
        print(visible(f"\nMade in {made.sort} {made.name}{f' ({made.title})' if made.title else ''}{others}"))
        for other in made.memories[:_OTHERS]:
            print(visible(f"  {one_line(f'[id:{other.ref}] {other.content}', width() - 4)}"))
    for heading, kin in (("Before it", chain.before), ("After it", chain.after)):
        if kin:
            print(f"\n{heading}")
        for each in kin:
            told = f"{each.relation} [id:{each.memory.ref}] {each.memory.content}"
            print(visible(f"  {'  ' * (each.steps - 1)}{one_line(told, width() - 4)}"))


_OTHERS = 5


def lineage_json(chain: Lineage) -> Json:
    """The chain for programs."""
    return {
        "made_in": [
            {"sort": each.sort, "name": each.name, "title": each.title, "memories": [one.ref for one in each.memories]}
            for each in chain.made_in
        ],
        "turns": [{"seq": turn.seq, "role": str(turn.role), "content": turn.content} for turn in chain.turns],
        "before": [{"ref": each.memory.ref, "relation": each.relation, "steps": each.steps} for each in chain.before],
        "after": [{"ref": each.memory.ref, "relation": each.relation, "steps": each.steps} for each in chain.after],
    }


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
        ("season", memory.season or ""),
        ("agent", " on ".join(part for part in (memory.agent, memory.host) if part)),
        ("superseded by", memory.superseded_by or ""),
        ("version", str(memory.version)),
        ("uid", memory.uid),
        *((name, to_iso(moment)[:19].replace("T", " ")) for name, moment in times.items() if moment),
    ]
