"""SQL of the custody room."""
