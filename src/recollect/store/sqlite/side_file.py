"""Vectors in a file beside the store, so that a process can search a million of them without reading them first.

A file is derived from the rows of the store and holds nothing else. It is written whole, mapped into memory, and never
trusted: it names the epoch of the store, the model and the corpus it was made of, what is read of it always is verified
by a checksum and what is read now and then is compared while it is read. One that is missing, cut off, damaged or of
another store is as good as none.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
import struct
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ...disk import private_folder, sync_folder
from ...model import Corpus
from .sketch import Rows, Sketched

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAGIC = b"RECOVEC1"
"""What it is, and the version of the format."""
_HEADER = struct.Struct("<8s32s32sIQQqI")
_SEAL = struct.Struct("<I")
_PAGE = 4_096
_ALIGNED = 64
_FINISHED, _UNFINISHED = ".bin", ".tmp"
_PATIENCE = 600
"""How many seconds a file may take to be written before it counts as abandoned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What the vectors of a file were made of."""

    epoch: str
    model: str
    corpus: Corpus
    dimension: int

    @property
    def whose(self) -> bytes:
        """What a file must say to be the one that is meant, beside the epoch."""
        return hashlib.blake2b(f"{self.corpus}\n{self.dimension}\n{self.model}".encode(), digest_size=32).digest()


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds: rows, up to which number the store was read for them, and how many more they are than the
    store had counted."""

    sketched: Sketched
    seen: int
    surplus: int


def side_file(database: Path, corpus: Corpus, model_id: int) -> Path:
    """The file for the vectors of one model and corpus of a store."""
    return _folder(database) / f"{corpus}-{model_id}{_FINISHED}"


def _folder(database: Path) -> Path:
    return database.with_name(f"{database.name}-vectors")


def discard_side_files(database: Path) -> None:
    """Overwrite and remove all files of a store. It makes them anew when it needs them."""
    folder = _folder(database)
    for path in _files(folder):
        discard(path)
    with suppress(OSError):
        folder.rmdir()


def discard_others(database: Path, epoch: str) -> None:
    """Overwrite and remove the files of a store that are not of this epoch, and what was never finished."""
    for path in _files(_folder(database)):
        with suppress(OSError):
            with _opened(path, os.O_RDONLY) as file:
                header = _read_header(file.read(_PAGE))
                age = time.time() - os.fstat(file.fileno()).st_mtime
            useless = age > _PATIENCE if path.suffix == _UNFINISHED else header is None
            if useless or (header is not None and header[1] != epoch.encode()):
                discard(path)


def discard(path: Path) -> None:
    """Overwrite and remove one file, as far as that can be done.

    It is not made shorter first: another process may have it mapped, and what it reads beyond the end would kill it.
    """
    with suppress(OSError), _opened(path, os.O_WRONLY) as file:
        left = os.fstat(file.fileno()).st_size
        while left > 0:
            left -= file.write(bytes(min(left, 1 << 20)))
        file.flush()
        os.fsync(file.fileno())
    with suppress(OSError):
        path.unlink()


def _files(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.suffix in {_FINISHED, _UNFINISHED} and not path.is_dir()]
    except OSError:
        return []


def write_side_file(path: Path, label: Label, content: Content) -> None:
    """Write a file in one step, readable only for its owner. Raises OSError or StoreReadOnly."""
    sketched, rows = content.sketched, content.sketched.rows
    verified = (rows.seqs, rows.items, rows.squares, sketched.centre, sketched.sketches)
    checksum = 0
    for data in _stored(verified):
        checksum = zlib.crc32(data, checksum)
    header = _HEADER.pack(
        *(_MAGIC, label.epoch.encode(), label.whose, label.dimension),
        *(len(rows), content.seen, content.surplus, checksum),
    )
    private_folder(path.parent)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}{_UNFINISHED}")
    try:
        with _opened(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
            os.fchmod(file.fileno(), 0o600)
            file.write((header + _SEAL.pack(zlib.crc32(header))).ljust(_PAGE, b"\0"))
            for data in _stored((*verified, rows.codes)):
                file.write(data)
            file.flush()
            # A power cut must not leave the name of a whole file on half of one.
            os.fsync(file.fileno())
        os.replace(unfinished, path)
        sync_folder(path.parent)
    finally:
        with suppress(OSError):
            unfinished.unlink()


def read_side_file(path: Path, label: Label) -> Content | None:
    """What a file holds, mapped and not copied; None if it is not whole or not of this label."""
    try:
        with _opened(path, os.O_RDONLY) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # a file of no bytes cannot be mapped
        return None
    header = _read_header(mapped[:_PAGE])
    if header is None or header[1:4] != (label.epoch.encode(), label.whose, label.dimension):
        return None
    count, seen, surplus, checksum = header[4:]
    layout, end = _layout(count, label.dimension)
    if count < 1 or len(mapped) != end:
        return None
    with memoryview(mapped) as view, view[_PAGE : layout[-1][2]] as verified:
        if zlib.crc32(verified) != checksum:
            return None
    seqs, items, squares, centre, sketches, codes = (_array(mapped, *place) for place in layout)
    rows = Rows(seqs, items, squares, codes)
    return Content(Sketched(rows, centre, sketches, checked=True), seen, surplus)


def _opened(path: Path, flags: int) -> IO[bytes]:
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return os.fdopen(descriptor, "rb" if flags == os.O_RDONLY else "wb", buffering=1 << 20)


def _read_header(page: bytes) -> tuple[Any, ...] | None:
    """The fields of a header, if it is one and is whole."""
    header = page[: _HEADER.size]
    seal = page[_HEADER.size : _HEADER.size + _SEAL.size]
    if len(page) < _PAGE or not header.startswith(_MAGIC) or seal != _SEAL.pack(zlib.crc32(header)):
        return None
    magic, epoch, *others = _HEADER.unpack(header)
    return magic, epoch.rstrip(b"\0"), *others


def _layout(count: int, dimension: int) -> tuple[list[tuple[str, tuple[int, ...], int]], int]:
    """The type, shape and place of each array, the codes last; and where the file ends."""
    shapes: tuple[tuple[str, int, tuple[int, ...]], ...] = (
        ("<i8", 8, (count,)),
        ("<i8", 8, (count,)),
        ("<f4", 4, (count,)),
        ("<f4", 4, (dimension,)),
        ("=u8", 8, (-(-dimension // 64), count)),
        ("i1", 1, (count, dimension)),
    )
    layout = []
    place = _PAGE
    for kind, size, shape in shapes:
        layout.append((kind, shape, place))
        for length in shape:
            size *= length
        place += size + -size % _ALIGNED
    return layout, place


def _stored(arrays: Sequence[NDArray[Any]]) -> Iterator[bytes | memoryview]:
    """The bytes of arrays, each filled up to where the next begins."""
    import numpy as np

    for array in arrays:
        data = np.ascontiguousarray(array).data.cast("B")
        yield data
        yield bytes(-len(data) % _ALIGNED)


def _array(mapped: mmap.mmap, kind: str, shape: tuple[int, ...], place: int) -> NDArray[Any]:
    import numpy as np

    size = 1
    for length in shape:
        size *= length
    return np.frombuffer(mapped, dtype=kind, count=size, offset=place).reshape(shape)
