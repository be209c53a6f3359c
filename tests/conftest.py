"""Every test runs in a world of its own: no home, settings, git identity or terminal of the person who runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every run, so that a failure can be repeated; `deep` explores, on purpose and by hand.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=40, database=None)
settings.register_profile("deep", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

FOREIGN_PREFIXES = ("RECOLLECT_", "GIT_", "XDG_")
FOREIGN = ("CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR")


@pytest.fixture(autouse=True)
def own_world(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh home for this test alone, with `RECOLLECT_HOME` inside it."""
    for name in [name for name in os.environ if name.startswith(FOREIGN_PREFIXES) or name in FOREIGN]:
        monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    world = {
        "HOME": str(home),
        "RECOLLECT_HOME": str(home / "recollect"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "GIT_AUTHOR_EMAIL": "test@example.invalid",
        "GIT_AUTHOR_NAME": "Test",
        "GIT_COMMITTER_EMAIL": "test@example.invalid",
        "GIT_COMMITTER_NAME": "Test",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    for name, value in world.items():
        monkeypatch.setenv(name, value)
    return home
