"""Deploys and operates Slurm on machines a tenant holds, through the GPUaaS public API."""
