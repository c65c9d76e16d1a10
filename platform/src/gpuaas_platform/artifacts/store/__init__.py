"""SQL of the artifacts room; called by this room alone."""
