"""The scheduler-agnostic GPUaaS control plane."""

from importlib.metadata import version

__version__ = version("gpuaas-platform")
