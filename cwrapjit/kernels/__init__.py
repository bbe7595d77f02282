"""The short ways from C to a function of arrays. Each is built on function(), and imported on first use."""
