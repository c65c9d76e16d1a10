"""Operate: health, versions, and the timeline of everything that carries one correlation id."""
