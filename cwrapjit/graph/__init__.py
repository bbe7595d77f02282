"""Graphs of types and ops that say themselves what their C is; see cwrapjit.link()."""
