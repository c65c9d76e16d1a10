"""A page that is opened again when the host's network changed under it.

Lab machines come and go beside the browser's tests, and with each a bridge; chromium then gives up
what it was fetching, also from loopback. The console asks again for all it can; the page itself and
its first script only a person can ask for again, by reloading.
"""

from typing import Any, Final

from playwright.async_api import Error, Page, Request, Response

_CHANGED: Final = "ERR_NETWORK_CHANGED"
_NEEDED: Final = {"document", "script", "stylesheet"}
_TIMES: Final = 5


def steady(page: Page) -> Page:
    """The same page, reloaded by `goto` while something it needs was lost on the way."""
    opened, lost = page.goto, list[str]()

    def failed(request: Request) -> None:
        if _CHANGED in (request.failure or "") and request.resource_type in _NEEDED:
            lost.append(request.url)

    async def goto(url: str, **options: Any) -> Response | None:
        for _ in range(_TIMES):
            lost.clear()
            try:
                answer = await opened(url, **options)
            except Error as error:
                if _CHANGED not in error.message:
                    raise
                continue
            if not lost:
                return answer
        return await opened(url, **options)

    page.on("requestfailed", failed)
    page.goto = goto  # type: ignore[method-assign]  # everybody opens pages by it
    return page
