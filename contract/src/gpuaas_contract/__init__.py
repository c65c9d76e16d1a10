"""The public contract of GPUaaS: wire types, state machines, permission keys, error codes.

Imported by everybody, imports nobody. A change here is a change of the public API.
"""
