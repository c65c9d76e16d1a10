"""Capacity: regions, SKUs, nodes, and the allocations by which projects hold machines."""
