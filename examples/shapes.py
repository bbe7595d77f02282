"""A small C library of structs, from its header.

The program writes a header and a source file to a temporary folder, where they stand for a library of yours.
It calls the library with single structs, with arrays of structs, and with an object that only C knows. Each
result is compared with NumPy's.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import cwrapjit

HEADER = """
typedef struct { double x, y; } point;
typedef struct { point centre; double radius; char name[8]; } circle;

double circle_area(const circle *c);
void circle_move(circle *c, double dx, double dy);
int circle_contains(const circle *c, const point *p);
void points_middle(const point *points, int n, point *middle);

typedef struct path path; /* its members are known to C alone */
path *path_new(point start);
void path_go(path *p, double dx, double dy);
double path_length(const path *p);
void path_free(path *p);
"""

SOURCE = """
#include <math.h>
#include <stdlib.h>
#include "shapes.h"

double circle_area(const circle *c) { return M_PI * c->radius * c->radius; }
void circle_move(circle *c, double dx, double dy) { c->centre.x += dx; c->centre.y += dy; }
int circle_contains(const circle *c, const point *p)
{
    return hypot(p->x - c->centre.x, p->y - c->centre.y) <= c->radius;
}
void points_middle(const point *points, int n, point *middle)
{
    *middle = (point){0, 0};
    for(int i = 0; i < n; i++) {
        middle->x += points[i].x / n;
        middle->y += points[i].y / n;
    }
}

struct path { point end; double length; };
path *path_new(point start)
{
    path *p = malloc(sizeof *p);
    *p = (path){start, 0};
    return p;
}
void path_go(path *p, double dx, double dy)
{
    p->end.x += dx;
    p->end.y += dy;
    p->length += hypot(dx, dy);
}
double path_length(const path *p) { return p->length; }
void path_free(path *p) { free(p); }
"""


def bind(folder: str) -> cwrapjit.library:
    """The header says nearly all; a few lines say what C cannot."""
    lib = cwrapjit.library("shapes", sources=[Path(folder, "shapes.c")], include_dirs=[folder])
    lib.declare('#include "shapes.h"')
    lib.refine("points_middle", dims={"points": "n"}, out="middle", broadcast=True)
    lib.refine("circle_contains", broadcast=True)
    lib.handle("path *", init="path *path_new(point start)", free="path_free")
    return lib


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "shapes.h").write_text(HEADER)
        Path(folder, "shapes.c").write_text(SOURCE)
        start = time.perf_counter()
        lib = bind(folder)
        took = 1000 * (time.perf_counter() - start)

        c = lib.circle(centre=lib.point(1, 2), radius=2, name="round")
        lib.circle_move(c, 0.5, 0)
        assert np.allclose(lib.circle_area(c), np.pi * 4)
        print(f"bound in {took:.0f} ms: {c}")

        rng = np.random.default_rng(0)
        table = rng.normal(size=(1000, 4)).astype(np.float32)
        points = np.zeros(1000, lib.point)  # an array of structs
        points["x"], points["y"] = table[:, 1], table[:, 3]
        circles = np.zeros(3, lib.circle)
        circles["radius"] = [0.5, 1, 2]
        inside = lib.circle_contains(circles[:, None], points[::2])  # each circle with every second point
        r = np.hypot(table[::2, 1].astype(float), table[::2, 3].astype(float))
        assert np.array_equal(inside, r <= circles["radius"][:, None])
        middle = lib.points_middle(points[::-2].reshape(5, 100))
        assert np.allclose(middle["x"], table[::-2, 1].reshape(5, 100).mean(axis=1))
        print(f"{inside.sum(axis=1)} of {inside.shape[1]} points lie in circles of {circles['radius']}")

        with lib.path(lib.point(0, 0)) as path:  # freed at the end of the block
            for step in table:
                lib.path_go(path, step[0], step[2])
            length = lib.path_length(path)
        assert np.allclose(length, np.hypot(table[:, 0], table[:, 2]).sum())
        print(f"a walk of {len(table)} steps is {length:.1f} long")
    return 0


if __name__ == "__main__":
    sys.exit(main())
