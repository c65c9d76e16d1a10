"""Catalog: apps, their immutable versions, and who is entitled to which of them."""
