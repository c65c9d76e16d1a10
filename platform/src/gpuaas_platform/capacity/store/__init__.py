"""SQL of the capacity room."""
