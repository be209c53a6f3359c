"""Commands that ask: recall, search, similar, context."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import click

from ...codec import encode, from_iso
from ...errors import InvalidInput
from ...model import Corpus, Json, Status
from ...policy.rank import PROFILES
from ...policy.written import HOSTS, Style
from .display import global_ref, print_context, show_absence, show_excerpts, show_recall
from .memories import KINDS
from .terminal import Terminal, command_options, text_argument

if TYPE_CHECKING:
    from ...engine import Recollect
    from ...model import Recall

_PROFILES = click.Choice(list(PROFILES))
_CORPORA = click.Choice([corpus.value for corpus in Corpus])


def moment(context: click.Context, option: click.Parameter, text: str | None) -> datetime | None:
    """The moment that an option names. A day, a month or a year is its end; without an offset, times are UTC."""
    if text is None:
        return None
    found = _DATE.fullmatch(text.strip())
    try:
        return _end_of(*map(int, found.groups("0"))) if found else from_iso(text.strip())
    except (ValueError, InvalidInput) as error:
        told = f"{text!r} is no date; write 2026-03-14, 2026-03, 2026 or 2026-03-14T09:30"
        raise click.BadParameter(told, context, option) from error


_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")


def _end_of(year: int, month: int, day: int) -> datetime:
    last = month or 12
    end = datetime(year, last, 1, 23, 59, 59, 999_999, tzinfo=UTC)
    return end.replace(day=day or monthrange(year, last)[1])


@click.command()
@click.argument("question", nargs=-1, required=True)
@click.option("--limit", "-n", type=int, help="How many results at most.")
@click.option(
    "--kind", "-k", "kinds", metavar="KIND", type=KINDS, multiple=True, help="Only this kind; give it again for more."
)
@click.option("--tag", "-t", "tags", multiple=True, help="Only with this tag; give it again for any of several.")
@click.option("--file", "-f", "files", multiple=True, help="Only about this file.")
@click.option("--near", metavar="FILE", multiple=True, help="A file you are at work on; what is about it comes first.")
@click.option("--session", help="The session that asks; its own memories count too.")
@click.option("--task", help="The task that asks; its own memories count too.")
@click.option(
    "--as-of", metavar="DATE", callback=moment, help="Answer from what was remembered then: 2026-03-14, or 2026-03."
)
@click.option("--profile", metavar="NAME", type=_PROFILES, help=f"The ranking: {', '.join(PROFILES)}.")
@click.option("--no-gate", "--all", "ungated", is_flag=True, help="Also what is hardly relevant.")
@click.option("--why", is_flag=True, help="Show what put each result where it is.")
@click.option("--why-not", metavar="ID", help="Say instead why this memory is not among the results.")
@command_options
def recall(
    terminal: Terminal,
    question: tuple[str, ...],
    limit: int | None,
    kinds: tuple[str, ...],
    tags: tuple[str, ...],
    files: tuple[str, ...],
    near: tuple[str, ...],
    session: str | None,
    task: str | None,
    as_of: datetime | None,
    profile: str | None,
    ungated: bool,
    why: bool,
    why_not: str | None,
) -> None:
    """Ask memory a question.

    \b
    Examples:
      recollect recall "where do deploys come from?"
      recollect recall --why --kind decision database
      recollect recall --why-not 42 "where do deploys come from?"
      recollect recall --as-of 2026-03 "which database do we use?"
      recollect recall --json "release steps" | jq -r '.hits[].memory.content'
    """
    if why_not is not None and as_of is not None:
        raise click.UsageError("--why-not and --as-of exclude each other.")
    asked = text_argument(question, "question")
    asking: dict[str, Any] = {"limit": limit, "kinds": kinds, "tags": tags, "files": files, "near": near}
    asking |= {"session": session, "task": task, "space": "global" if terminal.shared else None}
    asking |= {"profile": profile, "gate": False if ungated else None}
    with terminal.memory() as memory:
        if why_not is not None:
            show_absence(terminal, asked, memory.why_not(asked, global_ref(terminal, why_not), **asking))
            return
        found = memory.recall(asked, as_of=as_of, **asking)
        gated = not ungated and PROFILES[profile or memory.settings.recall.profile].gated
        nothing = _nothing(terminal, memory, found, gated=gated, narrowed=bool(kinds or tags or files), then=as_of)
    show_recall(terminal, found, why=why, nothing=nothing)


def _nothing(
    terminal: Terminal, memory: Recollect, found: Recall, *, gated: bool, narrowed: bool, then: datetime | None
) -> str:
    """Why a question was not answered, and what can be done about it."""
    if found or (found.notes and then is None):
        return ""
    if then is not None:
        return "nothing that was stored then is relevant"
    if not memory.count(space="global") and (terminal.shared or not memory.count()):
        return "nothing is stored here yet; `recollect remember` stores something"
    which = "relevant that fits --kind, --tag and --file" if narrowed else "relevant"
    return f"nothing {which} is stored" + ("; --no-gate shows what came closest" if gated else "")


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--in", "corpus", type=_CORPORA, default="memory", show_default=True, help="What to search.")
@click.option("--limit", "-n", type=int, help="How many results at most.")
@click.option("--kind", "-k", "kinds", metavar="KIND", type=KINDS, multiple=True, help="Only memories of this kind.")
@click.option("--tag", "-t", "tags", multiple=True, help="Only memories with this tag.")
@click.option("--status", "statuses", type=click.Choice([status.value for status in Status]), multiple=True)
@click.option("--document", help="Only this document: a session's id, a file's path.")
@click.option("--profile", metavar="NAME", type=_PROFILES, help=f"The ranking: {', '.join(PROFILES)}.")
@click.option("--why", is_flag=True, help="Show what put each result where it is.")
@command_options
def search(
    terminal: Terminal,
    words: tuple[str, ...],
    corpus: str,
    limit: int | None,
    kinds: tuple[str, ...],
    tags: tuple[str, ...],
    statuses: tuple[str, ...],
    document: str | None,
    profile: str | None,
    why: bool,
) -> None:
    """Search everything that was not forgotten, archived and superseded memories too.

    `--in` searches what lies beside the memories: items found in files, turns of sessions, chunks of sources. A passage
    is shown with its neighbours.

    \b
    Examples:
      recollect search parseHTTPResponse
      recollect search --status archived migration
      recollect search --in sessions "what did we say about the port?"
    """
    asked = text_argument(words, "words")
    wanted = {"kind": kinds, "tags": tags, "status": statuses}
    where = {name: values for name, values in wanted.items() if values}
    if corpus == Corpus.MEMORY:
        if document is not None:
            raise click.UsageError("--document needs --in items, sessions or sources; memories have --file in recall.")
        with terminal.memory() as memory:
            found = memory.search(
                asked, where=where, limit=limit, space="global" if terminal.shared else None, profile=profile
            )
        show_recall(terminal, found, why=why)
        return
    if where or terminal.shared:
        raise click.UsageError("--kind, --tag, --status and --global are about memories; --in searches passages.")
    with terminal.memory() as memory:
        passages = memory.search_passages(asked, corpus=corpus, document=document, limit=limit, profile=profile)
    show_excerpts(terminal, passages, why=why, nothing=f"no passage of the {corpus} that are indexed answers this")


@click.command()
@click.argument("ref")
@click.option("--limit", "-n", type=int, help="How many results at most.")
@command_options
def similar(terminal: Terminal, ref: str, limit: int | None) -> None:
    """Find the memories closest in meaning to one, closest first, and say how close they are.

    \b
    Examples:
      recollect similar 42
      recollect similar g7 --limit 3
    """
    with terminal.memory() as memory:
        found = memory.similar(global_ref(terminal, ref), limit=limit)
    show_recall(terminal, found, why=True, nothing="" if found.notes else "there is no other memory to compare with")


@click.command()
@click.argument("prompt", nargs=-1)
@click.option("--file", "-f", "files", multiple=True, help="A file you are at work on; give it again for more.")
@click.option(
    "--previous", default="", metavar="TEXT", help="The turn before, for a prompt that only points back at it."
)
@click.option("--session", default="", help="The session it is for; nothing is said to it twice on one topic.")
@click.option("--task", default="", help="The task it is for; its own memories count too.")
@click.option("--agent", default="", help="Who asks; what other agents of the session found is given too.")
@click.option("--host", default="", help=f"Write it for this host: {', '.join(HOSTS)}.")
@click.option("--style", type=click.Choice([style.value for style in Style]), help="Write it so, whatever the host.")
@click.option("--remaining", type=int, metavar="TOKENS", help="How much of the context window is left.")
@click.option("--start", is_flag=True, help="A session begins: what holds in any case is given.")
@click.option("--asked", is_flag=True, help="Also what nobody vouches for, as quotations, and what was given before.")
@click.option("--why", is_flag=True, help="Show what was given, what was withheld, and the reasons.")
@command_options
def context(terminal: Terminal, prompt: tuple[str, ...], why: bool, **given: Any) -> None:
    """Show what an agent would be told for a prompt. Nothing is printed when nothing would help.

    \b
    Examples:
      recollect context "install the dependencies"
      recollect context --host claude-code --file src/app.py "add a retry"
      recollect context --why "why does the build fail?"
      recollect context --start --session s1
    """
    asked = text_argument(prompt, "prompt") if prompt else ""
    with terminal.memory() as memory:
        found = memory.context(asked, **given)
    told = {"text": found.text, **cast("dict[str, Json]", encode(found.recollection))}
    terminal.show(told, lambda: print_context(found, why=why))


COMMANDS = (context, recall, search, similar)
