"""Turns a C file into a C string: build helper for setup.py, and a command line.

The extension embeds several texts: the prelude of every compiled unit, the functions that the cc tier
inlines, and the call path and functions of mathematics that m.write() copies into standalone modules. All are
ordinary C files. This tool inlines the headers that they include, and writes the self-contained text as a C
source file. It also writes the functions that the small <numpy/arrayobject.h> declares.

    python tools/embed.py -I cwrapjit/include --strip --function \\
        --line "<cwrapjit prelude>" --name tj_prelude -o embedded_prelude.c tinyjit/prelude.h

A header is inlined where it is first included, and skipped afterwards. An #include inside #if is therefore
only right if its branch is the one taken first."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]')
# A comment, or a literal, in which // and /* mean nothing.
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def find_include(name: str, quoted: bool, folder: Path, search_dirs: Iterable[Path]) -> Path | None:
    """Return the file that an #include line of a file in `folder` names, if it is one of ours."""
    for directory in [folder, *search_dirs] if quoted else search_dirs:
        candidate = (directory / name).resolve()
        if candidate.is_file():
            return candidate
    return None


def flatten(path: Path | str, search_dirs: Iterable[Path | str] = ()) -> str:
    """Return the text of a C file with its local #includes inlined; others stay as they are."""
    directories = [Path(directory) for directory in search_dirs]
    seen: set[Path] = set()

    def lines_of(file: Path) -> list[str]:
        seen.add(file)
        lines: list[str] = []
        for line in file.read_text(encoding="utf-8").splitlines():
            match = INCLUDE.match(line)
            found = match and find_include(match[2], match[1] == '"', file.parent, directories)
            if found:
                lines.extend(lines_of(found) if found not in seen else [])
            elif line != "#pragma once":  # no file includes the resulting text
                lines.append(line)
        return lines

    return "\n".join(lines_of(Path(path).resolve())) + "\n"


def dependencies(path: Path | str, search_dirs: Iterable[Path | str] = ()) -> list[str]:
    """Return the files whose text flatten() uses, for a build's list of dependencies."""
    directories = [Path(directory) for directory in search_dirs]
    pending, seen = [Path(path).resolve()], set()
    while pending:
        file = pending.pop()
        if file in seen:
            continue
        seen.add(file)
        for line in file.read_text(encoding="utf-8").splitlines():
            match = INCLUDE.match(line)
            found = match and find_include(match[2], match[1] == '"', file.parent, directories)
            if found:
                pending.append(found)
    return sorted(map(str, seen))


def strip(text: str) -> str:
    """Return C text without comments, indentation and empty lines, to save bytes in each compilation."""

    def shorten(match: re.Match[str]) -> str:
        return " " if match[0].startswith("/") else match[0]

    lines = (line.strip() for line in TOKEN.sub(shorten, text).split("\n"))
    return "\n".join(line for line in lines if line) + "\n"


def to_c_literal(text: str) -> str:
    """Return a C string literal, one source line for each line of text."""
    escapes = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "?": "\\?"}

    def quote(line: str) -> str:
        return "".join(
            escapes.get(c) or (c if " " <= c <= "~" else "".join(f"\\{b:03o}" for b in c.encode()))
            for c in line
        )

    return "\n".join(f'    "{quote(line)}\\n"' for line in text.splitlines())


def to_c_file(name: str, text: str, as_function: bool = False) -> str:
    """Return a C file that defines `name`: an array of char, or a function that returns the text."""
    literal = to_c_literal(text)
    if as_function:
        return (
            f"const char *{name}(void);\n\nstatic const char text[] =\n{literal};\n\n"
            f"const char *{name}(void)\n{{\n    return text;\n}}\n"
        )
    return f"extern const char {name}[];\n\nconst char {name}[] =\n{literal};\n"


def embed(
    source: Path | str,
    output: Path | str,
    name: str,
    *,
    search_dirs: Sequence[Path | str] = (),
    as_function: bool = False,
    stripped: bool = False,
    line_name: str | None = None,
) -> None:
    """Write `output`, a C file that defines the flattened text of `source`, unless it is up to date. With
    `line_name` the text begins with a #line directive of that name, and no #include may be left."""
    text = flatten(source, search_dirs)
    if stripped:
        text = strip(text)
    if line_name is not None:
        left = [line for line in text.splitlines() if INCLUDE.match(line)]
        if left:
            raise SystemExit(f"{source}: not found: {', '.join(left)}")
        text = f'#line 1 "{line_name}"\n{text}'
    write(output, source, to_c_file(name, text, as_function))


def write(output: Path | str, source: Path | str, text: str) -> None:
    """Write the C text that was made from `source`, unless the file has it already."""
    content = f"/* Made from {Path(source).name} by tools/embed.py. */\n{text}"
    target = Path(output)
    if not target.is_file() or target.read_text(encoding="utf-8") != content:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")


def embed_prelude(root: Path | str, output: Path | str) -> list[str]:
    """Write the C file that defines tj_prelude(), and return the files that it was made from."""
    source, search_dirs = Path(root, "tinyjit", "prelude.h"), [Path(root, "cwrapjit", "include")]
    embed(
        source,
        output,
        "tj_prelude",
        search_dirs=search_dirs,
        as_function=True,
        stripped=True,
        line_name="<cwrapjit prelude>",
    )
    return dependencies(source, search_dirs)


def embed_mathematics(root: Path | str, output: Path | str) -> None:
    """Write the C file that defines tj_mathematics()."""
    source = Path(root, "tinyjit", "mathematics.h")
    embed(source, output, "tj_mathematics", as_function=True, stripped=True)


def embed_complex(root: Path | str, output: Path | str) -> None:
    """Write the C file that defines tj_complex()."""
    embed(
        Path(root, "cwrapjit", "include", "complex.h"), output, "tj_complex", as_function=True, stripped=True
    )


def embed_half(root: Path | str, output: Path | str) -> None:
    """Write the C file that defines tj_half()."""
    embed(Path(root, "cwrapjit", "include", "cwj_half.h"), output, "tj_half", as_function=True, stripped=True)


def embed_extremes(root: Path | str, output: Path | str) -> None:
    """Write the C file that defines tj_extremes()."""
    source = Path(root, "cwrapjit", "include", "cwj_extremes.h")
    embed(source, output, "tj_extremes", as_function=True, stripped=True)


def embed_call_path(root: Path | str, output: Path | str) -> list[str]:
    """Write the C file that defines cwj_call_path_text[], and return the files that it was made from."""
    source = Path(root, "csrc", "function", "call", "call.c")
    search_dirs = [Path(root, "csrc"), Path(root, "tinyjit")]
    embed(source, output, "cwj_call_path_text", search_dirs=search_dirs)
    return dependencies(source, search_dirs)


# ---- the functions of mathematics ------------------------------------------------------------------------

FUNCTION = re.compile(r"^TJV_FUNCTION\((\w+), ", re.MULTILINE)
NAME = re.compile(r"\b(?:tjv_|TJV_)\w+")
OF_LANES = {"#ifndef TJV_LANES": False, "#if TJV_LANES == 1": True, "#if TJV_LANES > 1": False}


def one_lane(text: str) -> str:
    """Return stripped text without what is for several lanes, and without the system's headers."""
    lines: list[str] = []
    taken: list[bool | None] = []  # for each open condition; None: it does not ask for lanes
    for line in text.split("\n"):
        if line.startswith("#if"):
            taken.append(OF_LANES.get(line))
        of_lanes = line.startswith(("#if", "#else", "#endif")) and taken[-1] is not None
        if of_lanes and line == "#else":
            taken[-1] = not taken[-1]
        if not of_lanes and False not in taken and not line.startswith("#include <"):
            lines.append(line)
        if line == "#endif":
            taken.pop()
    return "\n".join(lines)


def cut(text: str) -> list[str]:
    """Return the definitions, directives and conditions at file scope of stripped text."""
    pieces, begun, depth = [], "", 0
    for line in text.split("\n"):
        begun += f"{line}\n"
        if begun.startswith("#if"):
            ends = begun.count("\n#if") + 1 == begun.count("\n#endif")
        elif begun.startswith("#"):
            ends = not line.endswith("\\")
        else:
            depth += sum(line.count(each) for each in "({") - sum(line.count(each) for each in ")}")
            ends = depth == 0 and (line.endswith((";", "}")) or re.match(r"TJV_\w+\(", begun) is not None)
        if ends:
            pieces.append(begun)
            begun = ""
    return pieces


def expand(piece: str, macros: dict[str, tuple[list[str], str]]) -> str:
    """Return the piece, or what it makes if it is a call of a macro that defines functions."""
    call = re.match(r"(TJV_\w+)\((.*)\)\n$", piece)
    if not call or call[1] not in macros:
        return piece
    parameters, body = macros[call[1]]
    arguments = re.split(r", (?![^()]*\))", call[2])
    for parameter, argument in zip(parameters, arguments, strict=True):
        body = re.sub(rf"\b{parameter}\b", argument, body)
    return strip(body.replace("##", ""))


def embed_maths(root: Path | str, output: Path | str) -> None:
    """Write the C file that defines cwj_maths_pieces[]: the text of tinyjit/maths for one lane in pieces
    with the functions that need it: bit i stands for the i-th of functions.def."""
    folder = Path(root, "tinyjit", "maths")
    functions = FUNCTION.findall((folder / "functions.def").read_text(encoding="utf-8"))
    text = "#define TJV_LANES 1\n" + one_lane(strip(flatten(folder / "functions.h")))
    macros: dict[str, tuple[list[str], str]] = {}
    pieces: list[str] = []
    definer: dict[str, int] = {}  # the piece of each name
    for given in cut(text):
        piece = expand(given, macros)
        macro = re.match(r"#define (\w+)(?:\(([^)]*)\))?", piece)
        if macro and macro[2]:
            macros[macro[1]] = macro[2].split(", "), piece[macro.end() :].replace("\\\n", "\n")
        elif macro and macro[1] in definer:
            raise SystemExit(f"{folder}: {macro[1]} is defined twice")
        if piece.startswith("#undef"):
            continue
        for name in [macro[1]] if macro else NAME.findall(piece):
            definer.setdefault(name, len(pieces))  # C declares names before their use
        pieces.append(piece)
    users = [0] * len(pieces)
    for bit, function in enumerate(functions):
        pending, seen = [definer[f"tjv_{function}"]], set()
        while pending:
            number = pending.pop()
            if number not in seen:
                seen.add(number)
                users[number] |= 1 << bit
                pending += [definer[name] for name in NAME.findall(pieces[number])]
    rows = [
        f"    {{{set_of:#x},\n{to_c_literal(piece)}}},\n"
        for set_of, piece in zip(users, pieces, strict=True)
        if set_of
    ]
    begin = '#include "tinyjit.h"\n\nextern const tj_maths_piece cwj_maths_pieces[];\n\n'
    text = f"{begin}const tj_maths_piece cwj_maths_pieces[] = {{\n{''.join(rows)}    {{0, NULL}}}};\n"
    write(output, folder / "functions.h", text)


def embed_numpy(root: Path | str, output: Path | str) -> None:
    """Write the C file that defines cwj_numpy_symbols(), for the declarations in the small
    <numpy/arrayobject.h>. NumPy's macros, and the functions of its table, become functions."""
    source = Path(root, "cwrapjit", "include", "numpy", "arrayobject.h")
    functions, symbols = "", ""
    declarations = re.findall(r"^((?:\w+ )+)([^;{}]+);", source.read_text(encoding="utf-8"), re.MULTILINE)
    for base, declared in declarations:
        for stars, name, types in re.findall(r"(\**)(\w+)\(([^()]*)\)", declared):
            types = types.replace("const PyArrayObject", "PyArrayObject")  # NumPy 1 lacks const there
            parameters = [f"{each} {chr(97 + k)}" for k, each in enumerate(types.split(","))]
            given = ", ".join(each[-1] for each in parameters)
            functions += f"static {base}{stars}cwj_{name}({','.join(parameters)})\n"
            functions += f"{{\n    return {name}({given});\n}}\n\n"
            symbols += f'        {{"{name}", (const void *)cwj_{name}, false}},\n'
        if base == "extern PyTypeObject ":
            for name in re.findall(r"\w+", declared):
                symbols += f'        {{"{name}", &{name}, false}},\n'
    text = f"""\
#include "base/symbols.h"

#include "base/numbers.h"

{functions}const cwj_symbols *cwj_numpy_symbols(void)
{{
    const tj_symbol found[] = {{
{symbols}    }};
    static tj_symbol kept[sizeof found / sizeof *found];
    static const cwj_symbols all = {{kept, sizeof kept / sizeof *kept}};
    memcpy(kept, found, sizeof found);
    return &all;
}}
"""
    write(output, source, text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Write a C file that holds another C file as a string.")
    parser.add_argument("source")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("-n", "--name", required=True, help="of the array, or of the function")
    parser.add_argument("-I", "--include", action="append", default=[], help="folder of headers to inline")
    parser.add_argument("--function", action="store_true", help="define a function that returns the text")
    parser.add_argument("--strip", action="store_true", help="leave comments and indentation out")
    parser.add_argument("--line", help="begin with this #line name; an #include left over is an error")
    options = parser.parse_args(arguments)
    embed(
        options.source,
        options.output,
        options.name,
        search_dirs=options.include,
        as_function=options.function,
        stripped=options.strip,
        line_name=options.line,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
