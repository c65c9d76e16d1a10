"""SQL of the events room: the numbered sequence, and webhooks with their deliveries."""
