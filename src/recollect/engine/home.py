"""The home folder: where everything lies, and the key that signs what leaves it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ..disk import private_folder
from ..errors import BadFile

KEY_BYTES = 32


def signing_key(home: Path) -> bytes:
    """The home's key, made on first use. Whoever comes first makes it; everybody gets the same."""
    path = private_folder(home) / "key"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _read_key(path)
    # Written under another name first, the key could be lost to a crash; written here, a crash leaves a short file,
    # which is refused below instead of being used.
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(os.urandom(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    return _read_key(path)


def _read_key(path: Path) -> bytes:
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise BadFile(
            str(path), "is not a key", hint="Move it away; a new one is made, and older exports count as unsigned."
        )
    return key


def loose_files(home: Path) -> Iterator[Path]:
    """Files and folders under the home that somebody other than the owner can read or enter."""
    for path in (home, *home.rglob("*")) if home.exists() else ():
        if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield path
