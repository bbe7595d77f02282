"""Checks the functions of tinyjit/maths: errors, special cases, the same bits for all instruction sets.

    python tools/maths_check.py                 all of it (an hour); writes docs/accuracy.md
    python tools/maths_check.py --quick         a thousandth of it, writes nothing
    python tools/maths_check.py --times         the times alone, of all rows of docs/accuracy.md
    python tools/maths_check.py pow powf        only these functions, and their rows of docs/accuracy.md

Random and structured arguments are compared with MPFR (Debian: libmpfr-dev), all floats with the function
of doubles. Each instruction set that this processor has is a program of its own, made of tools/maths_check.c;
their results must have the same bits.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import timeit

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
SETS = {
    "sse2": ["-DTJV_LANES=2", "-mtune=amdfam10"],
    "one": ["-DTJV_LANES=1", "-mavx2", "-mfma"],
    "fma": ["-DTJV_LANES=2", "-mavx2", "-mfma", "-mtune=amdfam10"],
    "avx2": ["-DTJV_LANES=4", "-mavx2", "-mfma"],
    "avx512": ["-DTJV_LANES=8", "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma"],
}
NUMPY = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "pow": "power",
}
# libmvec's letter, the doubles of a vector, and SLEEF's ending.
PEERS = {"avx2": ("d", 4, "avx2"), "avx512": ("e", 8, "avx512f")}
LIMIT = 1.0
TWO = ("atan2", "pow", "hypot")
NAMES = re.findall(r"^TJV_FUNCTION\((\w+),", (ROOT / "tinyjit/maths/functions.def").read_text(), re.M)
FOUND = re.compile(
    r"(\w+): ([\d.]+) ulp at (\S+)( \S+)? is (\S+) not (\S+); (\d+) arguments, ([\d.]+)% not the nearest, "
    r"(\d+) chunks with wrong flags"
)


def sets_here() -> list[str]:
    """Returns the instruction sets of this processor, from the lowest to the highest."""
    if platform.machine() != "x86_64":
        return ["one", "sse2"]  # two lanes, by NEON
    flags = set(
        re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M).group(1).split()
    )
    needs = {
        "sse2": set(),
        "one": {"avx2", "fma"},
        "fma": {"fma"},
        "avx2": {"avx2", "fma"},
        "avx512": {"avx512dq", "avx512vl", "avx512bw"},
    }
    return [name for name in SETS if needs[name] <= flags]


def build(folder: pathlib.Path, name: str) -> pathlib.Path:
    program = folder / name
    command = [os.environ.get("CC", "cc"), "-O3", "-std=gnu11", "-ffp-contract=off", "-fno-math-errno"]
    command += [*SETS[name], "-Wno-psabi", f"-I{ROOT}/tinyjit"]
    command += [str(ROOT / "tools/maths_check.c"), str(ROOT / "tinyjit/unit/mathematics.c")]
    command += ["-o", str(program)]
    libraries = ["-lmpfr", "-lgmp", "-lm"]
    if name in PEERS:
        (folder / "peers.h").write_text(peers(name))
        beside = [f'-DPEERS="{folder}/peers.h"', *libraries, "-lmvec", "-lsleef"]
        if subprocess.run([*command, *beside], check=False, stderr=subprocess.DEVNULL).returncode == 0:
            return program
    subprocess.run([*command, *libraries], check=True)
    return program


PEER = """
LANES_{kind} {symbol}({types});
static void {library}_{name}(const void *x, const void *y, void *r, long n)
{{
    (void)y;
    for (long i = 0; i < n; i += {lanes})
        *(LOOSE_{kind} *)(({kind} *)r + i) = {symbol}({values});
}}
"""


def peers(name: str) -> str:
    """Returns a C text that calls libmvec's and SLEEF's functions on vectors of that instruction set."""
    letter, doubles, ending = PEERS[name]
    text, rows = "", []
    for each in NAMES:
        single = each.endswith("f") and each != "erf"
        kind, lanes, base = ("float", 2 * doubles, each[:-1]) if single else ("double", doubles, each)
        arity = 2 if base in TWO else 1
        error = {"hypot": "u05", "erfc": "u15"}.get(base, "u10")
        values = ", ".join(f"*(const LOOSE_{kind} *)((const {kind} *){v} + i)" for v in "xy"[:arity])
        symbols = {
            "libmvec": f"_ZGV{letter}N{lanes}{'v' * arity}_{each}",
            "SLEEF": f"Sleef_{base}{'f' if single else 'd'}{lanes}_{error}{ending}",
        }
        for library, symbol in symbols.items():
            types = ", ".join([f"LANES_{kind}"] * arity)
            text += PEER.format(
                kind=kind, symbol=symbol, types=types, library=library, name=each, lanes=lanes, values=values
            )
            rows.append(f'{{"{each}", "{library}", {library}_{each}}}')
    return text + f"static const peer peers[] = {{{', '.join(rows)}}};\n"


def output(command: list[str | pathlib.Path]) -> str:
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


class Check:
    """What one run found: lines of the table, and failures."""

    def __init__(self, program: pathlib.Path, names: list[str], quick: bool, jobs: int) -> None:
        self.program, self.names, self.quick = program, names, quick
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.failures: list[str] = []
        self.worst: dict[str, tuple[float, str, int]] = {}

    def ask(self, *arguments: str | int) -> str:
        return subprocess.run(
            [self.program, *map(str, arguments)], check=True, text=True, stdout=subprocess.PIPE
        ).stdout

    def note(self, text: str) -> None:
        """Keeps the larger error of a function; errors above the limit and wrong flags are failures."""
        found = FOUND.search(text)
        if found is not None and found[7] == "0":
            return  # negative numbers of a function that is even or odd: done with the positive ones
        if found is None:
            self.failures.append(text)
            return
        name, error, x, y = found[1], float(found[2]), found[3], found[4] or ""
        if error > LIMIT or found[9] != "0":
            self.failures.append(text)
        old = self.worst.get(name, (0.0, "", 0))
        largest = max(old[:2], (error, x + y))
        self.worst[name] = (*largest, old[2] + int(found[7]))

    def accuracy(self) -> None:
        """Random and structured arguments against MPFR; then all floats against the function of doubles."""
        wanted = []
        for name in self.names:
            parts, count = (1, 10_000) if self.quick else (4, 2_500_000)
            wanted += [("double", name, count, seed) for seed in range(1, parts + 1)]
            if name.endswith("f") and name[:-1] in NAMES and name[:-1] not in TWO:
                edges = range(0, 65536, 1024) if self.quick else range(0, 65536, 4096)
                wanted += [("float", name, at, at + (1 if self.quick else 4096)) for at in edges]
        for text in self.pool.map(lambda each: self.ask(*each), wanted):
            self.note(text)

    def special(self, programs: dict[str, pathlib.Path]) -> None:
        for program, name in itertools.product(programs.values(), self.names):
            text = output([program, "special", name])
            if not text.endswith(": 0 differences at special arguments\n"):
                self.failures.append(text)

    def times(self, one: pathlib.Path) -> dict[str, list[float]]:
        """Nanoseconds for an element: ours, libmvec, SLEEF, NumPy; for a call: ours, libm.

        NaN means that there is none. `one` has the functions of one number."""
        found = {}
        for name in self.names:
            text = self.ask("time", name)
            others = [re.search(rf"{each} ([\d.]+)", text) for each in ("libmvec", "SLEEF")]
            ours, libm = map(float, re.findall(r"[\d.]+(?= ns)|(?<=libm )[\d.]+", text))
            call = float(re.findall(r"[\d.]+(?= ns)", output([one, "time", name]))[0])
            found[name] = [ours, *(float(each[1]) if each else float("nan") for each in others)]
            found[name] += [numpy_time(name), call, libm]
        return found


def numpy_time(name: str) -> float:
    """Returns NumPy's nanoseconds for each element, or NaN where it has no such function."""
    single = name.endswith("f") and name != "erf"
    base = name[:-1] if single else name
    function = getattr(np, NUMPY.get(base, base), None)
    if function is None:
        return float("nan")
    low, high = (1.1, 9) if base == "acosh" else (-0.9, 0.9) if base.startswith("a") else (0.1, 9)
    x = np.random.default_rng(1).uniform(low, high, 1024).astype(np.float32 if single else np.float64)
    arguments = (x, x[::-1].copy()) if function.nin == 2 else (x,)
    result = np.empty_like(x)
    return (
        min(timeit.repeat(lambda: function(*arguments, out=result), number=20, repeat=20)) / 20 / 1024 * 1e9
    )


def same_bits(programs: dict[str, pathlib.Path], names: list[str], count: int) -> list[str]:
    """Returns a line for each function whose results differ between the instruction sets."""
    lines = ([output([each, "digest", name, str(count)]) for each in programs.values()] for name in names)
    return [f"{', '.join(programs)} differ: {each[0]}" for each in lines if len(set(each)) > 1]


def table(check: Check, times: dict[str, list[float]], best: str) -> str:
    def cell(number: float) -> str:
        return "" if number != number else f"{number:.2f}"

    text = (ROOT / "tools/maths_check.md").read_text().replace("SET", best)
    before = (ROOT / "docs/accuracy.md").read_text()
    for name in NAMES:
        if name not in check.names:
            text += re.search(rf"^\| `{name}` .*\n", before, re.M)[0]
            continue
        if name in check.worst:
            error, where, count = check.worst[name]
            arguments = "all" if count >= 2**32 else f"{count / 1e6:.0f} million"
            text += f"| `{name}` | {error:.3f} | `{where}` | {arguments} | "
        else:
            text += re.search(rf"^\| `{name}` (\|[^|]*){{3}}\| ", before, re.M)[0]
        text += " | ".join(cell(each) for each in times[name]) + " |\n"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="functions; none: all")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--times", action="store_true", help="the times alone; the table's errors stay")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if not set(options.names) <= set(NAMES):
        parser.error(f"functions are {', '.join(NAMES)}")
    names = options.names or NAMES
    with tempfile.TemporaryDirectory() as folder:
        programs = {name: build(pathlib.Path(folder), name) for name in sets_here()}
        best = list(programs)[-1]
        check = Check(programs[best], names, options.quick, options.jobs)
        check.failures += same_bits(programs, names, 10_000 if options.quick else 1_000_000)
        check.special(programs)
        times = {} if options.quick else check.times(programs.get("one", programs[best]))
        if not options.times:
            check.accuracy()
        if not options.quick:
            (ROOT / "docs/accuracy.md").write_text(table(check, times, best))
    for name, (error, where, count) in check.worst.items():
        print(f"{name:8} {error:.3f} ulp at {where} ({count} arguments)")
    for each in check.failures:
        print("FAILED:", each.strip())
    print(f"{', '.join(programs)}: {len(check.failures)} failures")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
