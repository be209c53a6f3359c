"""`chores`: what Recollect does by itself at its time, and doing now what is due."""

from __future__ import annotations

import click

from .terminal import Terminal, command_options, table


@click.command()
@click.option("--run", "run", is_flag=True, help="Do now what is due.")
@command_options
def chores(terminal: Terminal, run: bool) -> None:
    """Show what is due by the schedules: the garden, pruning, retention, backups. With --run, do it.

    Each chore runs in one process at a time, and one that was missed is caught up once. To have them done without
    anything else running, let cron call `recollect chores --run`.

    \b
    Examples:
      recollect chores
      recollect chores --run
      recollect config set backup.schedule "0 3 * * *"
    """
    from ...opening import utc_now

    with terminal.memory() as memory:
        plan, now = memory.schedule, utc_now()
        if run:
            done = plan.run_due(now)
            terminal.show(
                [{"name": each.name, "why": each.why, "outcome": each.outcome, "detail": each.detail} for each in done],
                lambda: table(("chore", "why", "outcome"), [(each.name, each.why, each.outcome) for each in done]),
            )
            if not done:
                terminal.say("Nothing is due.")
            return
        due, following = plan.due(now), plan.next(now)
    told = f"{following:%Y-%m-%d %H:%M} UTC" if following else "never"
    terminal.show(
        {"due": [{"name": name, "why": why} for name, why in due], "next": told if following else None},
        lambda: table(("", ""), [*((name, f"due: {why}") for name, why in due), ("next", told)]),
    )


COMMANDS = (chores,)
