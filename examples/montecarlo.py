"""Monte Carlo with a random number generator in C.

Each slice has its own seed and draws as many numbers as it needs; a game ends early, which a NumPy expression
cannot. The generator is splitmix64, by Sebastiano Vigna (public domain). NumPy counts the same numbers, and
theory says how long a game lasts.
"""

import sys
import time

import numpy as np

import cwrapjit

lib = cwrapjit.library(
    "montecarlo",
    source="""
    static unsigned long next(unsigned long *state)
    {
        unsigned long z = *state += 0x9e3779b97f4a7c15UL;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9UL;
        z = (z ^ z >> 27) * 0x94d049bb133111ebUL;
        return z ^ z >> 31;
    }

    static double uniform(unsigned long *state) { return (next(state) >> 11) * 0x1p-53; }

    // How many of n random points of the unit square lie in the circle.
    long hits(unsigned long seed, long n)
    {
        long inside = 0;
        for(long i = 0; i < n; i++) {
            const double x = uniform(&seed), y = uniform(&seed);
            inside += x * x + y * y < 1;
        }
        return inside;
    }

    // A player tosses coins for one euro each: how many, until all is lost or the goal is reached.
    long tosses(unsigned long seed, long euros, long goal)
    {
        long count = 0;
        for(; euros > 0 && euros < goal; count++)
            euros += next(&seed) >> 63 ? 1 : -1;
        return count;
    }
    """,
    threads="auto",
)


def hits_by_numpy(seeds: np.ndarray, n: int) -> np.ndarray:
    steps = np.arange(1, 2 * n + 1, dtype=np.uint64)
    z = seeds[:, None].astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15) * steps
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    points = ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
    return np.asarray((points[:, ::2] ** 2 + points[:, 1::2] ** 2 < 1).sum(axis=1))


def main() -> int:
    seeds = np.random.SeedSequence(0).generate_state(20_000)  # uint32, which is converted
    start = time.perf_counter()
    inside = lib.hits(seeds[:200], 2000)
    took = 1000 * (time.perf_counter() - start)
    assert np.array_equal(inside, hits_by_numpy(seeds[:200], 2000))
    print(f"pi is about {4 * inside.mean() / 2000:.3f}, by {2000 * inside.size} points in {took:.1f} ms")

    euros = np.arange(1, 10)
    mean = lib.tosses(seeds, euros[:, None], 10).mean(axis=1)  # each stake with each seed
    assert np.allclose(mean, euros * (10 - euros), rtol=0.05)  # gambler's ruin
    print(f"from 5 euros to 0 or 10 it takes {mean[4]:.1f} tosses on average; theory says 25")
    return 0


if __name__ == "__main__":
    sys.exit(main())
