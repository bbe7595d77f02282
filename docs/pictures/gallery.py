"""Draws the pictures of docs/gallery.md: runs its programs, and writes their arrays of pixels as PNG files.

    python docs/pictures/gallery.py FOLDER

docs/conf.py does this for the site, and puts each picture below its program.
"""

from __future__ import annotations

import contextlib
import html
import io
import re
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "gallery.md"
PROGRAM = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
# A program that makes a picture, its name, and the paragraph below that describes it.
PICTURE = re.compile(
    r'^```python\n(?:(?!```).*\n)*?pictures\["(\w+)"\] = (?:(?!```).*\n)*?```\n\n((?:.+\n)+)', re.MULTILINE
)


def png(pixels: Any) -> bytes:
    """Returns the PNG file of pixels (height, width, 3) of red, green and blue, uint8."""
    height, width, colours = pixels.shape
    if pixels.dtype.name != "uint8" or colours != 3:
        raise ValueError(f"wanted uint8 pixels of three colours, got {pixels.dtype} of {colours}")

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows, 9)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def draw(folder: Path) -> list[str]:
    """Writes the pictures into a folder, and returns their names."""
    folder.mkdir(parents=True, exist_ok=True)
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        page = PAGE.read_text(encoding="utf-8")
        for program in PROGRAM.finditer(page):
            above = "\n" * page.count("\n", 0, program.start(1))  # for the page's line numbers in errors
            exec(compile(above + program[1], str(PAGE), "exec"), names)
    for name, pixels in names["pictures"].items():
        (folder / f"{name}.png").write_bytes(png(pixels))
    return [*names["pictures"]]


def with_pictures(page: str, folder: str) -> str:
    """Puts the picture of each program between the program and its description."""

    def insert(found: re.Match[str]) -> str:
        name, words = found[1], " ".join(found[2].split())
        image = f'<img src="{folder}/{name}.png" alt="{html.escape(words)}">\n\n'
        return found[0].removesuffix(found[2]) + image + found[2]

    return PICTURE.sub(insert, page)


if __name__ == "__main__":
    print(*draw(Path(sys.argv[1])))
