"""The only place that runs Slurm's commands and reads their output.

Callers get typed results and never see a command's text. How a command reaches the controller's
machine is the caller's: a `Runner` is any async function from an argument list to a `Result`.
What could not be asked raises; an answer is never taken from silence.
"""

from gpuaas_slurm.commands.associations import Association
from gpuaas_slurm.commands.controller import ControllerPing
from gpuaas_slurm.commands.jobs import Job
from gpuaas_slurm.commands.nodes import Node
from gpuaas_slurm.commands.partitions import PartitionState
from gpuaas_slurm.commands.run import (
    ControllerSilentError,
    Result,
    Runner,
    SlurmCommandError,
    UnexpectedOutputError,
)
from gpuaas_slurm.commands.slurm import Slurm

__all__ = [
    "Association",
    "ControllerPing",
    "ControllerSilentError",
    "Job",
    "Node",
    "PartitionState",
    "Result",
    "Runner",
    "Slurm",
    "SlurmCommandError",
    "UnexpectedOutputError",
]
