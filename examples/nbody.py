"""Stars that attract each other, on two threads.

The C text computes the acceleration of one star. Stars broadcast: a call has one slice for each of them, and
two threads share the slices. Positions and velocities are views of one array. NumPy computes the same steps.
"""

import sys
import time

import numpy as np

import cwrapjit

TEXT = """
void pull(const double at[3], const double x[n][3], const double mass[n], int n, OUT double a[3])
{
    a[0] = a[1] = a[2] = 0;
    for(int j = 0; j < n; j++) {
        const double d[3] = {x[j][0] - at[0], x[j][1] - at[1], x[j][2] - at[2]};
        const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01;  // softened
        const double force = mass[j] / (r2 * sqrt(r2));
        for(int k = 0; k < 3; k++)
            a[k] += force * d[k];
    }
}"""

pull = cwrapjit.vectorize(TEXT, threads=2)
pull_on_one_thread = cwrapjit.vectorize(TEXT)


def pull_by_numpy(x: np.ndarray, mass: np.ndarray) -> np.ndarray:
    d = x - x[:, None]
    force = mass / ((d**2).sum(axis=-1) + 0.01) ** 1.5
    return np.asarray((force[..., None] * d).sum(axis=1))


def energy(state: np.ndarray, mass: np.ndarray) -> float:
    x, v = state[:, :3], state[:, 3:]
    r = np.sqrt(((x - x[:, None]) ** 2).sum(axis=-1) + 0.01)
    pairs = np.triu(np.outer(mass, mass) / r, 1)
    return float((mass * (v**2).sum(axis=-1)).sum() / 2 - pairs.sum())


def main() -> int:
    rng = np.random.default_rng(0)
    state = np.concatenate([rng.normal(size=(300, 3)), rng.normal(size=(300, 3)) / 2], axis=1)
    mass = rng.uniform(0.5, 1.5, 300).astype(np.float32) / 300
    x, v = state[:, :3], state[:, 3:]
    first, before = state.copy(), energy(state, mass)

    step = 0.02
    a = pull(x, x, mass)
    assert np.allclose(a, pull_by_numpy(x, mass))
    assert np.array_equal(a, pull_on_one_thread(x, x, mass))  # the number of threads does not matter
    start = time.perf_counter()
    for _ in range(20):  # leapfrog
        v += step / 2 * a
        x += step * v
        pull(x, x, mass, out=a)
        v += step / 2 * a
    took = 1000 * (time.perf_counter() - start)

    position, speed = first[:, :3], first[:, 3:]
    for _ in range(20):
        speed += step / 2 * pull_by_numpy(position, mass)
        position += step * speed
        speed += step / 2 * pull_by_numpy(position, mass)
    assert np.allclose(state, first)
    change = abs(energy(state, mass) / before - 1)
    assert change < 1e-3
    print(f"20 steps of {len(mass)} stars in {took:.0f} ms; their energy changed by {100 * change:.1e} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
