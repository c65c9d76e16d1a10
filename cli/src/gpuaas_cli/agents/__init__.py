"""The contract's verbs as tools for agents (Model Context Protocol)."""
