"""An older agent is replaced by the one the platform serves, while its tasks go on."""

from agent_hosts import Host
from eventually import eventually

# Turns the installed agent into one that says it is of an earlier release.
AGE = """
import pathlib, zipfile
path = pathlib.Path("/usr/local/bin/gpuaas-agent")
with zipfile.ZipFile(path) as old:
    files = {name: old.read(name) for name in old.namelist()}
entry = "gpuaas_agent/__init__.py"
files[entry] = files[entry].replace(b'"0.1.0"', b'"0.0.9"')
with zipfile.ZipFile("/root/older.pyz", "w") as new:
    for name, content in files.items():
        new.writestr(name, content)
path.write_bytes(pathlib.Path("/root/older.pyz").read_bytes())
"""


async def test_an_older_agent_gives_way_while_a_script_runs(host: Host) -> None:
    digest = (await host.machine.run("sha256sum /usr/local/bin/gpuaas-agent")).stdout.split()[0]
    await host.machine.run("python3 -", stdin=AGE)
    await host.machine.run("systemctl restart gpuaas-agent")
    task = await host.started("until test -e /root/after; do sleep 0.1; done; echo through")
    await host.until(f"sha256sum /usr/local/bin/gpuaas-agent | grep -q {digest}", 120)
    await host.until("journalctl -u gpuaas-agent | grep -q 'updated to 0.1.0'")
    await host.until("systemctl is-active -q gpuaas-agent")
    await host.machine.run("touch /root/after")
    ended = await host.ended(task, 120)
    assert (ended.status, await host.output(ended)) == ("succeeded", b"through\n")

    async def said() -> bool:
        return (await host.node()).agent_version == "0.1.0"

    await eventually(said, what="the new agent says its version")  # its task may be told first
    assert (await host.machine.run("ls /var/lib/gpuaas-agent/update.pyz", check=False)).status != 0
    await host.machine.run("rm -f /root/older.pyz /root/after /root/here")
