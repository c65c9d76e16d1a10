"""The only door for an app: client, controller runtime, machine sessions, testing kit."""
