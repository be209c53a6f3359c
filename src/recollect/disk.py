"""Files and folders that only their owner can read, written whole or not at all."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from .errors import StoreReadOnly


def private_folder(folder: Path) -> Path:
    """The folder, made with those above it if it is not there; what is made only its owner can enter."""
    if not folder.is_dir():
        private_folder(folder.parent)
        try:
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)  # whatever the umask
        except FileExistsError as error:
            if not folder.is_dir():
                raise StoreReadOnly(str(folder), "is a file where a folder should be") from error
        except OSError as error:
            raise StoreReadOnly(str(folder), f"cannot be made ({error.strerror})") from error
    return folder


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _sync(descriptor)
    finally:
        os.close(descriptor)


def _sync(descriptor: int) -> None:
    """Wait until the disk itself has it; on macOS `fsync` waits only for the disk's own memory."""
    if sys.platform == "darwin":
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def write_private(path: Path, chunks: Iterable[str]) -> None:
    """Write a file in one step: whoever opens it, now or after a power cut, sees the old text or the new."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            os.fchmod(file.fileno(), 0o600)
            file.writelines(chunks)
            file.flush()
            _sync(file.fileno())
        os.replace(unfinished, path)
        sync_folder(path.parent)
    finally:
        with suppress(OSError):
            unfinished.unlink()
