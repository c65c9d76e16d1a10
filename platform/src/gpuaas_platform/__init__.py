"""The scheduler-agnostic GPUaaS control plane."""
