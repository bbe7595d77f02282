"""The shortest ways from C to a function of arrays. Each stands on function(), and is imported late."""
