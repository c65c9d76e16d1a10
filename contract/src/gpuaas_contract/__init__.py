"""Wire types, state machines, permission keys and error codes of the GPUaaS public API."""
