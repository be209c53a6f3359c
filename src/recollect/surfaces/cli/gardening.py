"""The garden: plans for the whole memory, looked at, carried out, refused, undone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...codec import encode
from .terminal import Terminal, command_options, indented, table, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...engine.plans import Carried
    from ...model import Json, Plan
    from ...policy.described import Described


@click.group()
def garden() -> None:
    """Tend the whole memory: merge, resolve, check, prune, link. Always a plan first, and always to be undone.

    \b
    Examples:
      recollect garden plan
      recollect garden show
      recollect garden apply
      recollect garden undo
    """


@garden.command()
@click.option("--clusters/--no-clusters", default=True, show_default=True, help="Also find clusters anew.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Also write the plan to this file.")
@command_options
def plan(terminal: Terminal, clusters: bool, out: Path | None) -> None:
    """Look the whole memory over and write down what to tidy. Nothing is changed yet.

    \b
    Examples:
      recollect garden plan
      recollect garden plan --no-clusters --out plan.md
    """
    with terminal.memory() as memory, terminal.progress("Looking it over") as progress:
        made = memory.plans.make(space=terminal.space, clusters=clusters, progress=progress)
        steps = memory.plans.describe(made.id, space=terminal.space) if made else ()
    if out is not None:
        from ...engine.transfer import write_file

        write_file(out, [f"{line}\n" for line in _readable(made, steps)])
    terminal.show(_plan_json(made, steps), lambda: _print_plan(made, steps, _where(terminal), all_of_it=False))


def _plan_json(plan: Plan | None, steps: tuple[Described, ...]) -> Json:
    return {
        "plan": encode(plan, complete=True) if plan else None,
        "steps": [encode(each, complete=True) for each in steps],
    }


def _where(terminal: Terminal) -> str:
    """What a hint must add for the same space to be meant."""
    return " --global" if terminal.shared else ""


def _print_plan(plan: Plan | None, steps: tuple[Described, ...], where: str, *, all_of_it: bool) -> None:
    if plan is None:
        print("All is in order.")
        return
    counts: dict[str, int] = {}
    for each in steps:
        counts[each.sort] = counts.get(each.sort, 0) + 1
    told = ", ".join(f"{_SORTS.get(sort, sort)} {count}" for sort, count in counts.items())
    print(f"Plan {plan.id}: {len(steps)} steps ({told}); {plan.retires} memories would leave recall.")
    shown = steps if all_of_it else steps[:_SHOWN]
    for each in shown:
        _print_step(each)
    if len(steps) > len(shown):
        print(f"… and {len(steps) - len(shown)} more: `recollect garden show {plan.id}{where}`")
    if plan.states.get("proposed"):
        print(f"`recollect garden apply{where}` carries it out; what would leave recall waits for your yes.")


_SHOWN = 10
_SORTS = {"merge": "merges", "redundant": "redundant", "conflict": "contradictions", "weak": "faded", "tags": "tags"}


def _print_step(step: Described) -> None:
    mark = "" if step.state == "proposed" else f" [{step.state}]"
    print(visible(f"\n{step.number}. {step.sort}{mark}: {step.why}"))
    for line in step.before:
        print(indented(f"    - {line}"))
    for line in step.after:
        print(indented(f"    + {line}"))


def _readable(plan: Plan | None, steps: tuple[Described, ...]) -> Iterator[str]:
    """The whole plan as a file that a person reads."""
    if plan is None:
        yield "All is in order."
        return
    yield f"# Garden plan {plan.id}"
    yield ""
    yield f"{len(steps)} steps; {plan.retires} of {plan.live} live memories would leave recall, none is deleted."
    for step in steps:
        yield ""
        yield visible(f"## {step.number}. {step.sort}: {' '.join(step.why.split())}")
        yield ""
        for title, lines in (("before", step.before), ("after", step.after)):
            for line in lines:
                yield visible(f"- {title}: {' '.join(line.split())}")


@garden.command()
@click.argument("number", type=int, required=False)
@command_options
def show(terminal: Terminal, number: int | None) -> None:
    """Show a plan step by step, by default the newest: what, why, before and after.

    \b
    Examples:
      recollect garden show
      recollect garden show 3 --json
    """
    with terminal.memory() as memory:
        found = [each for each in memory.plans.list(space=terminal.space, limit=1_000) if number in (None, each.id)]
        chosen = next((each for each in found if number is not None or each.sort == "garden"), None)
        steps = memory.plans.describe(chosen.id if chosen else number, space=terminal.space)
    terminal.show(_plan_json(chosen, steps), lambda: _print_plan(chosen, steps, _where(terminal), all_of_it=True))


@garden.command("list")
@command_options
def list_plans(terminal: Terminal) -> None:
    """List the plans there are, newest first.

    \b
    Example:
      recollect garden list
    """
    with terminal.memory() as memory:
        found = memory.plans.list(space=terminal.space)
    rows = [
        (
            str(each.id),
            each.sort,
            f"{each.made_at:%Y-%m-%d %H:%M}",
            each.made_by,
            ", ".join(f"{state} {count}" for state, count in each.states.items()),
        )
        for each in found
    ]
    terminal.show(
        [encode(each, complete=True) for each in found],
        lambda: table(("plan", "sort", "made", "by", "steps"), rows, right=(0,)) if rows else print("No plans yet."),
    )


@garden.command()
@click.argument("number", type=int, required=False)
@click.option("--step", "steps", type=int, multiple=True, help="Only this step; give it again for more.")
@click.option("--yes", "-y", is_flag=True, help="Also do the steps by which memories leave recall, without asking.")
@click.option("--allow-loss", type=float, help="Retire up to this share of the live memories [default: the setting].")
@command_options
def apply(terminal: Terminal, number: int | None, steps: tuple[int, ...], yes: bool, allow_loss: float | None) -> None:
    """Carry out a plan, by default the newest that has steps to do.

    Steps by which memories leave recall wait for your yes. Interrupted, it goes on where it was when called again.

    \b
    Examples:
      recollect garden apply
      recollect garden apply --yes
      recollect garden apply 3 --step 1 --step 4
    """
    with terminal.memory() as memory:
        retiring = True if yes else _agreed(terminal, memory.plans.list(space=terminal.space, limit=1_000), number)
        with terminal.progress("Tending") as progress:
            done = memory.plans.apply(
                number,
                retiring=retiring,
                steps=steps,
                allow_loss=allow_loss,
                space=terminal.space,
                progress=progress,
            )
    terminal.show(encode(done, complete=True), lambda: _print_carried(done, _where(terminal)))


def _agreed(terminal: Terminal, plans: tuple[Plan, ...], number: int | None) -> bool | None:
    """Ask the person, where there is one; None leaves it to the settings."""
    waiting = [each for each in plans if each.states.get("proposed") and number in (None, each.id)]
    if not waiting or not waiting[0].retires or terminal.as_json or not sys.stdin.isatty():
        return None
    chosen = waiting[0]
    question = f"By plan {chosen.id}, {chosen.retires} of {chosen.live} memories leave recall (none is deleted). Go on?"
    return click.confirm(question, err=True)


def _print_carried(done: Carried, where: str) -> None:
    parts = [f"{done.done} steps done"]
    if done.outdated:
        parts.append(f"{done.outdated} were out of date and not done")
    if done.waiting:
        parts.append(f"{done.waiting} wait for your yes: `recollect garden apply --yes{where}`")
    for fault in done.faults:
        print(visible(f"NOT AS PLANNED: {fault}"))
    print(f"Plan {done.plan}: {'; '.join(parts)}. `recollect garden undo {done.plan}{where}` undoes it.")


@garden.command()
@click.argument("number", type=int, required=False)
@click.option("--step", "steps", type=int, multiple=True, help="Only this step; give it again for more.")
@command_options
def refuse(terminal: Terminal, number: int | None, steps: tuple[int, ...]) -> None:
    """Let steps of a plan, or all that are left of it, not be done, nor proposed again.

    \b
    Example:
      recollect garden refuse --step 4
    """
    with terminal.memory() as memory:
        count = memory.plans.refuse(number, steps=steps, space=terminal.space)
    terminal.show({"refused": count}, lambda: print(f"{count} steps refused."))


@garden.command()
@click.argument("number", type=int, required=False)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@command_options
def undo(terminal: Terminal, number: int | None, yes: bool) -> None:
    """Undo what a plan did, exactly; by default the newest that did anything.

    What somebody has changed since stays as they left it.

    \b
    Examples:
      recollect garden undo
      recollect garden undo 3 --yes
    """
    if not yes:
        click.confirm(
            f"Undo {f'plan {number}' if number else 'the newest plan that did anything'}?", abort=True, err=True
        )
    with terminal.memory() as memory, terminal.progress("Undoing") as progress:
        done = memory.plans.undo(number, space=terminal.space, progress=progress)
    kept = f"; {done.kept} were changed since and stay" if done.kept else ""
    terminal.show(encode(done, complete=True), lambda: print(f"Plan {done.plan}: {done.undone} steps undone{kept}."))
