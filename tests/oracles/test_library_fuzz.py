"""Tests random structs that point to and contain each other: no freed object is visible, nothing leaks. A
model in Python knows where every pointer leads. C overwrites what it frees, and counts.
CWRAPJIT_LIBRARY_STEPS makes the short usual run long, best under AddressSanitizer."""

from __future__ import annotations

import gc
import os
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from helpers import figure
from library_tools import from_c

STEPS = int(os.environ.get("CWRAPJIT_LIBRARY_STEPS", "400"))
SEEDS = range(int(os.environ.get("CWRAPJIT_LIBRARY_SEEDS", "2")))

TEXT = """
#include <string.h>
int live = 0, faults = 0;
struct leaf { double id; int64_t n; double *data; };
struct inner { double w[2]; struct leaf *p; };
struct node { double id; struct node *next, *other; struct inner one, two; int64_t n; double *data; };
struct crate { double id; struct node *p; struct inner one; struct node two; };
struct crate world = {1e6};
struct crate *get_world(void) { return &world; }

static double *ramp(int64_t n, double id)
{
    double *data = malloc((n + 1) * sizeof *data);
    for (int64_t i = 0; i < n; i++) data[i] = id;
    return data;
}
static void wipe(int64_t n, double *data)
{
    for (int64_t i = 0; i < n; i++) data[i] = -1;
    free(data);
}
int leaf_init(struct leaf *s, double id, int64_t n)
{
    if (n < 0) return 1;
    s->id = id; s->n = n; s->data = ramp(n, id); live++;
    return 0;
}
void leaf_clear(struct leaf *s)
{
    faults += s->id <= 0;
    wipe(s->n, s->data);
    s->data = 0; s->id = -1; live--;
}
void leaf_resize(struct leaf *s, int64_t n) { wipe(s->n, s->data); s->data = ramp(n, s->id); s->n = n; }
int node_init(struct node *s, double id, int64_t n)
{
    if (n < 0) return 1;
    s->id = id; s->n = n; s->data = ramp(n, id); live++;
    return 0;
}
void node_clear(struct node *s)
{
    faults += s->id <= 0;
    wipe(s->n, s->data);
    s->data = 0; s->id = -1; live--;
}
void node_resize(struct node *s, int64_t n) { wipe(s->n, s->data); s->data = ramp(n, s->id); s->n = n; }
struct node *node_next(const struct node *s) { return s->next; }
void node_link(struct node *s, struct node *to) { s->other = to; }
struct inner node_one(const struct node *s) { return s->one; }

struct box { double id; struct node *p; struct inner one; };
struct box *box_new(double id) { struct box *b = calloc(1, sizeof *b); b->id = id; live++; return b; }
void box_free(struct box *b)
{
    faults += b->id <= 0;
    memset(b, 0xff, sizeof *b);
    b->id = -1; live--;
    free(b);
}
"""
NODE = "struct node { double id; struct node *next, *other; struct inner one, two; int64_t n; double *data; }"
DATA = {"arrays": {"data": "n"}}
ONE, TWO = ("one.p", "leaf"), ("two.p", "leaf")
POINTERS = {
    "leaf": (),
    "node": (("next", "node"), ("other", "node"), ONE, TWO),
    "crate": (("p", "node"), ONE, ("two.next", "node"), ("two.other", "node"), ("two.one.p", "leaf")),
    "box": (("p", "node"), ONE),
}
INNERS = {"leaf": (), "node": ("one", "two"), "crate": ("one", "two.one", "two.two"), "box": ("one",)}


def make_library() -> Any:
    lib = from_c(TEXT)
    init = {"check": ValueError}
    lib.struct(
        "struct leaf { double id; int64_t n; double *data; }",
        init=("int leaf_init(struct leaf *s, double id, int64_t n)", init),
        free="leaf_clear",
        methods=["void leaf_resize(struct leaf *s, int64_t n)"],
        **DATA,
    )
    lib.struct("struct inner { double w[2]; struct leaf *p; }")
    lib.struct(
        NODE,
        init=("int node_init(struct node *s, double id, int64_t n)", init),
        free="node_clear",
        methods={
            "resize": "void node_resize(struct node *s, int64_t n)",
            "get_next": "struct node *node_next(const struct node *s)",
            "link": ("void node_link(struct node *s, struct node *to)", {"keeps": "to", "stable": True}),
            "get_one": "struct inner node_one(const struct node *s)",
        },
        **DATA,
    )
    lib.struct("struct crate { double id; struct node *p; struct inner one; struct node two; }")
    lib.struct(
        "struct box { double id; struct node *p; struct inner one; }",
        init="struct box *box_new(double id)",
        free="box_free",
    )
    lib.function("struct crate *get_world(void)")
    for name in "live", "faults":
        lib.variable(f"int {name}")
    lib.variable("struct crate world")
    return lib


def at(instance: Any, path: str) -> Any:
    for name in path.split("."):
        instance = getattr(instance, name)
    return instance


def put(instance: Any, path: str, value: Any) -> None:
    *way, last = path.split(".")
    setattr(at(instance, ".".join(way)) if way else instance, last, value)


class Object:
    """An object in C, and where its pointers lead according to the model."""

    def __init__(self, kind: str, ident: float, instance: Any) -> None:
        self.kind, self.ident, self.instance = kind, ident, instance
        self.leads: dict[str, float] = {path: 0.0 for path, _ in POINTERS[kind]}  # the target's number, or 0


class Machine:
    """Does random actions, and compares with the model."""

    def __init__(self, lib: Any, seed: int, model: bool = True) -> None:
        self.lib, self.model = lib, model
        self.random = random.Random(seed)
        self.last = 1e4 * (seed + 1)  # identifies objects
        self.all: list[Object] = []
        self.looks: list[tuple[Any, float]] = []
        self.refused = 0

    def doings(self) -> list[Callable[[], None]]:
        doings = [self.make] * 4 + [self.point] * 8 + [self.copy] * 4 + [self.read] * 8 + [self.drop] * 2
        return doings + [self.look] * 2 + [self.forget, self.resize, self.close, self.call, self.collect]

    def work(self, steps: int) -> None:
        doings = self.doings()
        for _ in range(steps):
            self.random.choice(doings)()

    def work_among_others(self, steps: int, faults: list[BaseException]) -> None:
        """Another thread may close or remove an object between its choice and its use."""
        doings = self.doings()
        for _ in range(steps):
            try:
                self.random.choice(doings)()
            except IndexError:
                pass
            except ValueError as error:
                if "was freed" not in str(error) and "not in list" not in str(error):
                    faults.append(error)
            except BaseException as error:
                faults.append(error)
                raise

    def pick(self, *kinds: str) -> Object | None:
        found = [each for each in self.all if not kinds or each.kind in kinds]
        return self.random.choice(found) if found else None

    def make(self) -> None:
        if len(self.all) > 25:
            return
        self.last += 1
        kind = self.random.choice(("leaf", "leaf", "node", "node", "crate", "box"))
        cls = getattr(self.lib, kind)
        sizes = (self.random.randrange(40),) if kind in ("leaf", "node") else ()
        instance = cls(self.last, *sizes)
        self.all.append(Object(kind, self.last, instance))

    def point(self) -> None:
        """Assigns a pointer, through any proxy."""
        holder = self.pick("node", "crate", "box")
        if holder is None:
            return
        path, kind = self.random.choice(POINTERS[holder.kind])
        target = self.pick(kind) if self.random.random() < 0.8 else None
        put(holder.instance, path, target and target.instance)
        holder.leads[path] = target.ident if target else 0.0

    def copy(self) -> None:
        holder, source = self.pick("node", "crate", "box"), self.pick("node", "crate", "box")
        if holder is None or source is None:
            return
        if holder.kind == "crate" and source.kind == "node" and self.random.random() < 0.5:
            to, of, paths = "two", "", ["next", "other", "one.p"]
        else:
            to = self.random.choice(INNERS[holder.kind])
            of = self.random.choice(INNERS[source.kind])
            paths = ["p"]
        try:
            put(holder.instance, to, at(source.instance, of) if of else source.instance)
        except BufferError:  # an array looks into the holder
            self.refused += 1
            return
        for path in paths:
            dot = "." if of else ""
            lead = source.leads.get(f"{of}{dot}{path}", None)
            if f"{to}.{path}" in holder.leads:
                known = lead is not None
                holder.leads[f"{to}.{path}"] = (
                    lead if known else self.number(at(holder.instance, f"{to}.{path}"))
                )

    def number(self, instance: Any) -> float:
        """Returns the number of a pointer's target; 0 for None."""
        if instance is None:
            return 0.0
        found = instance.id
        assert found > 0, "this was freed"
        return float(found)

    def read(self) -> None:
        """Follows pointers: each must lead to the assigned object, alive."""
        one = self.pick()
        if one is None:
            return
        instance, kind = one.instance, one.kind
        assert self.number(instance) == one.ident
        known: dict[str, float] | None = one.leads
        for _ in range(self.random.randrange(1, 6)):
            if not POINTERS[kind]:
                break
            path, kind = self.random.choice(POINTERS[kind])
            instance = at(instance, path)
            found = self.number(instance)
            assert not self.model or known is None or found == known[path]
            if instance is None:
                return
            known = next((each.leads for each in self.all if each.ident == found), None)
        if kind in ("leaf", "node"):
            assert (instance.data == instance.id).all()

    def drop(self) -> None:
        if len(self.all) > 1:
            self.all.pop(self.random.randrange(1, len(self.all)))  # the first belongs to the library

    def look(self) -> None:
        one = self.pick("leaf", "node")
        if one is not None:
            data = one.instance.data
            self.looks.append((data[:: self.random.choice((1, 2, -1))], one.ident))

    def forget(self) -> None:
        for look, ident in self.looks:
            assert (look == ident).all()
        self.looks.clear()

    def resize(self) -> None:
        one = self.pick("leaf", "node")
        if one is None:
            return
        try:
            one.instance.resize(self.random.randrange(60))
        except BufferError:
            self.refused += 1
        else:
            assert not self.model or all(ident != one.ident for look, ident in self.looks)

    def close(self) -> None:
        one = self.pick()
        if one is None or one is self.all[0]:
            return
        try:
            one.instance.close()
        except (BufferError, RuntimeError):
            self.refused += 1
            return
        self.all.remove(one)
        with pytest.raises(ValueError, match="was freed"):
            one.instance.id  # noqa: B018
        assert not self.model or all(one.ident not in each.leads.values() for each in self.all)

    def call(self) -> None:
        one, other = self.pick("node"), self.pick("node")
        if one is None or other is None:
            return
        one.instance.link(other.instance)
        one.leads["other"] = other.ident
        assert self.number(one.instance.get_next()) == one.leads["next"] or not self.model
        assert self.number(one.instance.get_one().p) == one.leads["one.p"] or not self.model

    def collect(self) -> None:
        gc.collect(self.random.randrange(3))


@pytest.mark.row("G18")
@pytest.mark.parametrize("seed", SEEDS)
def test_random_structs_that_hold_each_other(seed):
    lib = make_library()
    machine = Machine(lib, seed)
    machine.all.append(Object("crate", 1e6, lib.get_world()))
    machine.work(STEPS)
    assert machine.refused > 0
    finish(lib, [machine])
    figure("random steps on structs that hold each other", STEPS)


@pytest.mark.row("G18")
def test_threads_that_share_structs():
    lib = make_library()
    machines = [Machine(lib, seed, model=False) for seed in range(4)]
    faults: list[BaseException] = []
    shared = [Object("crate", 1e6, lib.get_world())]
    for machine in machines:
        machine.all = shared
    threads = [
        threading.Thread(target=machine.work_among_others, args=(STEPS, faults)) for machine in machines
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not faults, faults
    finish(lib, machines)


def finish(lib: Any, machines: list[Machine]) -> None:
    """Frees all objects with their last holder."""
    for machine in machines:
        machine.forget()
    machines[0].all.clear()
    lib.world.p, lib.world.one, lib.world.two = None, lib.inner(), lib.crate().two
    gc.collect()
    assert (lib.live, lib.faults) == (0, 0)
