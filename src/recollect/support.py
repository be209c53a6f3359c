"""Which platforms Recollect runs on, checked before anything that needs them is imported."""

from __future__ import annotations

import sys

from .errors import Unsupported


def require_platform(platform: str = sys.platform) -> None:
    """Refuse platforms without the file locks that keep many writers apart."""
    if not (platform.startswith("linux") or platform == "darwin"):
        raise Unsupported(f"Recollect runs on Linux and macOS; this is {platform!r}")
