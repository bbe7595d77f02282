"""Measures what `import cwrapjit` adds to `import numpy`, in fresh processes, in turn."""

import subprocess
import sys

import _common as common

IMPORTS = {
    "import numpy": "import numpy",
    "import numpy, cwrapjit": "import numpy, cwrapjit",
    "... and one function": (
        "import numpy, cwrapjit; cwrapjit.function('f', signature='a() -> b()',"
        " Ccode_slice_eval={float: 'item__b() = item__a(); return true;'})(1.0)"
    ),
    "... and one function of a library": (
        "import numpy, cwrapjit; lib = cwrapjit.library('m', libraries=['m']);"
        " lib.function('double cbrt(double x)')(8.0)"
    ),
}
ALLOWED_MS = 20.0


def main() -> int:
    given = common.arguments("Time of the import.")
    quick = given.quick
    actions = {
        name: (lambda c=code: subprocess.run([sys.executable, "-c", c], check=True))
        for name, code in IMPORTS.items()
    }
    for action in actions.values():  # byte code and page cache
        action()
    times = common.interleaved(actions, 2 if quick else 40)
    medians = {name: 1e3 * common.median(values) for name, values in times.items()}
    fastest = {name: 1e3 * min(values) for name, values in times.items()}
    base = medians["import numpy"], fastest["import numpy"]
    common.table(
        f"a whole process (allowed beyond numpy: {ALLOWED_MS:g} ms)",
        ("", "median ms", "beyond numpy", "fastest ms", "beyond numpy"),
        (
            (
                name,
                f"{medians[name]:.1f}",
                f"{medians[name] - base[0]:+.1f}",
                f"{fastest[name]:.1f}",
                f"{fastest[name] - base[1]:+.1f}",
            )
            for name in IMPORTS
        ),
    )
    common.save("importtime", {"median_ms": medians, "fastest_ms": fastest}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
