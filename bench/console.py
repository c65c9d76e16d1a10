"""The console in a real browser: from a click to the next page, and what a first load weighs.

A real platform on loopback with people, machines and a running instance; Debian's chromium without
a window. A person signs in, waits until the browser has nothing to do, and goes through every main
page by its link, twice: the first visit needs what nobody has read before, the second shows what is
known and reads it again. A page is there when its heading stands, no wheel turns on it to say that
it is still being read, and a frame with it was painted; what is below the first screen, and a
picture whose room is kept, may follow. No pointer rests on a link before it is clicked.
The middle of several rounds counts, each with a browser that was never here; every figure is held
to 100 ms, and the first load to 700 kB as they come over the wire. Run it with
`python -m bench console`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from console_ground import ADMIN, OWNER, PASSWORD, Ground, ground
from deaf_chromium import deaf_chromium
from playwright.async_api import Browser, CDPSession, Page, async_playwright

ROUNDS = 5
LIMIT_MS = 100
LOOK_MS = 250
"""How long a person looks at a page: what came with it is done with."""
FIRST_LOAD_KB = 700
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")

GO = """async ([path, heading]) => {
    const still = "[class*=circle-left]"; // half of the wheel that turns
    const there = () => location.pathname + location.search === path
        && document.querySelector("#content h1")?.textContent.startsWith(heading)
        && document.querySelector(`#content ${still}`) === null;
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const links = [...document.querySelectorAll("a[href]")];
    const link = links.find((one) => one.getAttribute("href") === path);
    const began = performance.now();
    if (link) link.click();
    else { history.pushState(null, "", path); dispatchEvent(new Event("popstate")); }
    const latest = began + 20_000;
    do {
        await frame();
        if (performance.now() > latest) throw new Error(`${path} does not come`);
    } while (!there());
    // The frame that this was seen in is painted before a task behind it runs.
    await new Promise((done) => setTimeout(done));
    return performance.now() - began;
}"""


@dataclass(frozen=True)
class Row:
    """One page, or the first load."""

    page: str
    first_ms: float
    again_ms: float
    slowest_ms: float
    kilobytes: float | None
    note: str


@dataclass(frozen=True)
class _Stop:
    """A page on somebody's way: what it is called, where it is, how its heading begins."""

    name: str
    path: str
    heading: str


@dataclass
class _Times:
    """Milliseconds to each page, round by round."""

    load: list[float] = field(default_factory=list)
    bytes: list[float] = field(default_factory=list)
    first: dict[str, list[float]] = field(default_factory=dict)
    again: dict[str, list[float]] = field(default_factory=dict)


async def measure() -> list[Row]:
    """Furnish a site, then let people walk through it."""
    program = deaf_chromium()
    if program is None:
        raise RuntimeError("there is no chromium: make setup")
    times = _Times()
    with ground() as site:
        site.hold("bench-01", "bench-02", "bench-03")
        ways = _ways(site, site.deploy("bench", "bench-01"))
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=program, args=list(FLAGS))
            for _ in range(ROUNDS):
                for email, way in ways.items():
                    await _walk(browser, site.home, email, way, times)
            await browser.close()
    return [_load_row(times), *(_row(name, times) for name in times.first)]


def within(rows: Sequence[Row]) -> bool:
    """Whether the first load is light and every page comes at once."""
    load, *pages = rows
    light = load.kilobytes is not None and load.kilobytes <= FIRST_LOAD_KB
    return light and all(max(one.first_ms, one.again_ms) <= LIMIT_MS for one in pages)


def _ways(site: Ground, instance: Mapping[str, Any]) -> dict[str, list[_Stop]]:
    """Who goes where: every page of the navigation, and what its lists lead to."""
    project = f"/projects/{site.project_id}"
    operation = site.admin.get(f"/app-instances/{instance['id']}/operations")["items"][0]
    allocation = site.allocations["bench-01"]
    owner = [
        _Stop("catalog", f"{project}/catalog", "Catalog"),
        _Stop("app", f"{project}/catalog/template", "Web service"),
        _Stop("deploy", f"{project}/catalog/template/deploy", "Deploy Web service"),
        _Stop("instances", f"{project}/instances", "Instances"),
        _Stop("instance", f"/instances/{instance['id']}", "bench"),
        _Stop("operations", f"{project}/operations", "Operations"),
        _Stop("operation", f"/operations/{operation['id']}", "Deploy"),
        _Stop("correlation", f"/correlations/{instance['correlation_id']}", "Correlation"),
        _Stop("allocations", f"{project}/allocations", "Allocations"),
        _Stop("allocation", f"/allocations/{allocation}", "bench-01"),
        _Stop("access", f"{project}/access", "Access"),
        _Stop("policy", f"{project}/policy", "Policy"),
        _Stop("events", f"{project}/events", "Events"),
        _Stop("home", "/home", "Hello"),
    ]
    admin = [
        _Stop("platform", "/platform", "Platform"),
        _Stop("audit", "/audit", "Audit"),
        _Stop("find", "/correlations", "Find by correlation id"),
        _Stop("artifacts", "/artifacts", "Artifacts"),
        _Stop("tenants", "/tenants", "Tenants"),
        _Stop("tenant", f"/tenants/{site.tenant_id}", "Acme Research"),
        _Stop("apps", "/admin/apps", "Published apps"),
        _Stop("published app", "/admin/apps/template", "Web service"),
        _Stop("capacity", "/admin/capacity", "Capacity"),
        _Stop("account", "/account", "Your account"),
    ]
    return {OWNER: owner, ADMIN: admin}


async def _walk(
    browser: Browser, home: str, email: str, way: Sequence[_Stop], times: _Times
) -> None:
    """One person, who was never here, on their way, twice."""
    context = await browser.new_context(base_url=home, viewport={"width": 1280, "height": 900})
    page = await context.new_page()
    wire = await context.new_cdp_session(page)
    load, weight = await _arrive(page, wire, email)
    times.load.append(load)
    times.bytes.append(weight)
    for visits in (times.first, times.again):
        for stop in way:
            visits.setdefault(stop.name, []).append(
                float(await page.evaluate(GO, [stop.path, stop.heading]))
            )
            await page.wait_for_timeout(LOOK_MS)
    await context.close()


async def _arrive(page: Page, wire: CDPSession, email: str) -> tuple[float, float]:
    """Sign in and wait until nothing is left to do: how long a first load took, its kilobytes."""
    counted = [0.0]
    await wire.send("Network.enable")
    wire.on("Network.loadingFinished", lambda one: counted.append(one["encodedDataLength"]))
    began = time.perf_counter()
    await page.goto("/sign-in")
    await page.get_by_label("Email").wait_for()
    load = (time.perf_counter() - began) * 1000
    await page.get_by_label("Email").fill(email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.wait_for_url("**/home")
    await page.get_by_role("heading", level=1).wait_for()
    weight = sum(counted) / 1000
    await page.wait_for_timeout(1500)
    return load, weight


def _load_row(times: _Times) -> Row:
    middle = statistics.median(times.load)
    weight = statistics.median(times.bytes)
    note = (
        f"to the sign-in page, middle and best; with home and its data at most {FIRST_LOAD_KB} kB"
    )
    return Row("first load", middle, min(times.load), max(times.load), weight, note)


def _row(name: str, times: _Times) -> Row:
    first, again = times.first[name], times.again[name]
    middles = statistics.median(first), statistics.median(again)
    over = "" if max(middles) <= LIMIT_MS else f"over {LIMIT_MS} ms"
    return Row(name, *middles, max(*first, *again), None, over)
