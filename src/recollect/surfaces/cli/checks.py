"""Commands that verify: the audit, and the doctor."""

from __future__ import annotations

import click

from ...codec import encode, to_iso
from ...model import Json
from .terminal import Terminal, command_options, table, visible


@click.group(invoke_without_command=True)
@click.option("--limit", "-n", type=int, default=20, show_default=True, help="How many entries, newest first.")
@command_options
def audit(terminal: Terminal, limit: int) -> None:
    """Who did what and when.

    \b
    Examples:
      recollect audit
      recollect audit verify
      recollect audit head
    """
    context = click.get_current_context()
    if context.invoked_subcommand:
        return
    with terminal.memory() as memory:
        entries = memory.audit(space=terminal.space, limit=limit, newest_first=True)
    rows = [
        (str(entry.seq), to_iso(entry.at)[:19].replace("T", " "), entry.actor, entry.action, entry.uid)
        for entry in entries
    ]
    terminal.show(
        [encode(entry, complete=True) for entry in entries],
        lambda: table(("seq", "time (UTC)", "actor", "action", "memory"), rows, right=(0,)),
    )


@audit.command()
@click.option("--head", help="A head noted down earlier, as `audit head` prints it; the audit must still hold it.")
@command_options
def verify(terminal: Terminal, head: str | None) -> int:
    """Find any edit, removal or reordering in the audit, and any memory changed behind its back.

    \b
    Examples:
      recollect audit verify
      recollect audit verify --head 12:b2:9f86d0…
    """
    with terminal.memory() as memory:
        faults = memory.verify_audit(space=terminal.space, head=head)
        told = memory.status()
    here = next(space for space in told.spaces if space.name == terminal.space)
    text = [f"The audit is not sound: {len(faults)} fault{'s' if len(faults) != 1 else ''}.", *faults]
    if not faults:
        text = [f"The audit is sound: {here.audit_entries:,} entries, head {here.audit_head}"]
    terminal.show(
        {"sound": not faults, "faults": list(faults), "entries": here.audit_entries, "head": here.audit_head},
        lambda: print("\n".join(visible(line) for line in text)),
    )
    return 1 if faults else 0


@audit.command()
@command_options
def head(terminal: Terminal) -> None:
    """Print the head of the audit, to be kept elsewhere and given to `audit verify --head` later.

    \b
    Example:
      recollect audit head
    """
    with terminal.memory() as memory:
        memory.count(space=terminal.space)  # a store that cannot be used says so itself
        told = memory.status()
    here = next(space for space in told.spaces if space.name == terminal.space)
    terminal.show({"head": here.audit_head}, lambda: print(here.audit_head))


@click.command()
@click.option("--rebuild", is_flag=True, help="Make every index anew and put file modes right, then check.")
@click.option("--salvage", is_flag=True, help="Read what can be read from a damaged store into a new one.")
@command_options
def doctor(terminal: Terminal, rebuild: bool, salvage: bool) -> int:
    """Check everything: each memory by its hash, the audit, the indexes, the files.

    \b
    Examples:
      recollect doctor
      recollect doctor --rebuild
    """
    salvaged: Json = None
    with terminal.memory() as memory:
        if salvage:
            kept, lost, aside = memory.salvage(space=terminal.space)
            salvaged = {"kept": kept, "lost": lost, "damaged_file": str(aside)}
            terminal.say(f"Salvaged {kept} memories ({lost} could not be read). The damaged file is kept as {aside}.")
        checks = memory.doctor(rebuild=rebuild)
    rows = [("ok" if check.ok else "WRONG", check.name, check.detail) for check in checks]
    told = [encode(check, complete=True) for check in checks]
    data: Json = {"salvaged": salvaged, "checks": told} if salvage else told
    terminal.show(data, lambda: table(("", "what", ""), rows))
    wrong = [check for check in checks if not check.ok]
    if wrong and all(check.fixable for check in wrong):
        terminal.say("\nNothing of yours is lost: `recollect doctor --rebuild` puts this right.")
    elif wrong:
        terminal.say("\nSome of it cannot be recomputed: `recollect restore` brings back a backup.")
    return 1 if wrong else 0


COMMANDS = (audit, doctor)
