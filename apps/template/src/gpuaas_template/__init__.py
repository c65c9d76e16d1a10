"""A copyable starter for an app team."""
