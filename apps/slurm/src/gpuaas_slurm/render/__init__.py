"""Renderers: pure functions from a cluster to the text of its files.

`machine_files` is the door; what each file needs is in the module named after it. A renderer reads
the model and returns text. It opens nothing, asks nobody, and never sees a secret: the munge key is
opaque bytes that travel beside these files, and the database is reached without a password.
"""

from gpuaas_slurm.render.files import RenderedFile
from gpuaas_slurm.render.machine import cluster_files, machine_files

__all__ = ["RenderedFile", "cluster_files", "machine_files"]
