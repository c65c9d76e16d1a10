"""Which releases the machines of the demo, the tests and the measurements run.

Debian's two where the host's package sources have them, else the host's own, if the app knows it.
"""

from gpuaas_lab import sources
from gpuaas_slurm.distribution import DISTRIBUTIONS


def suites() -> tuple[str, ...]:
    """The releases machines of this host can run and the app supports, from old to new."""
    release = sources.host_release()
    known = sources.DEBIAN_SUITES if release.distribution == "debian" else (release.codename,)
    return tuple(suite for suite in known if suite in DISTRIBUTIONS) or sources.DEBIAN_SUITES


def own_suite() -> str:
    """The host's own release, where the app supports it: its image is there already."""
    own = sources.default_suite(sources.host_release())
    return own if own in suites() else suites()[0]
