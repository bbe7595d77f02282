"""jit: traces NumPy functions and runs them as C kernels."""
