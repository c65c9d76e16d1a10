"""The commands of `gpuaas-slurm`, one module each."""
