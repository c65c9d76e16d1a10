"""Policy: overlays that narrow what a tenant or project may use, and why a decision fell."""
