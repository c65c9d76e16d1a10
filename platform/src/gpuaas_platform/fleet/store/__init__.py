"""SQL of the fleet room."""
