"""The command tree."""

from __future__ import annotations

import click

from ...version import __version__
from . import (
    asking,
    changing,
    checks,
    chores,
    deciding,
    defining,
    evaluation,
    filing,
    gardening,
    grouping,
    memories,
    models,
    projects,
    sessions,
    settings,
    tour,
    upkeep,
    working,
)
from .terminal import Terminal


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="recollect %(version)s")
@click.option("--project", metavar="FOLDER", help="Work on the project of this folder [default: here].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@click.pass_context
def app(context: click.Context, project: str | None, as_json: bool) -> None:
    """Recollect: long-term memory for AI agents, on your own machine.

    \b
    Examples:
      recollect remember "Deploys go out from main" --kind decision
      recollect recall "where do deploys come from?"
      recollect tour

    Exit status: 0 done; 1 a check found something; 2 wrong command or value; 3 not found; 4 refused; 5 store trouble.
    """
    context.obj = Terminal(project=project or ".", shared=False, as_json=as_json)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell.

    \b
    Examples:
      recollect completion bash >> ~/.bashrc
      recollect completion zsh > "${fpath[1]}/_recollect"
      recollect completion fish > ~/.config/fish/completions/recollect.fish
    """
    from click.shell_completion import get_completion_class

    source = get_completion_class(shell)
    assert source is not None
    print(source(app, {}, "recollect", "_RECOLLECT_COMPLETE").source())


for _command in (
    *(*memories.COMMANDS, *asking.COMMANDS, *changing.COMMANDS, *grouping.COMMANDS, *defining.COMMANDS),
    *(*sessions.COMMANDS, *working.COMMANDS, *filing.COMMANDS),
    *(*deciding.COMMANDS, *upkeep.COMMANDS, *checks.COMMANDS, *chores.COMMANDS),
    *(gardening.garden, settings.config, models.models, projects.project, evaluation.evaluation, tour.tour, completion),
):
    app.add_command(_command)
