"""SQL of the identity room, one module per concern. Called by this room's services alone."""
