"""The version the agent says is the one its package has: updates go by it."""

from importlib.metadata import version

from gpuaas_agent import __version__


def test_it_says_which_release_it_is() -> None:
    assert version("gpuaas-agent") == __version__
