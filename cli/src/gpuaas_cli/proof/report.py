"""A report for people and machines: on the terminal, as JSON, as one page of HTML."""

import html
import json
from pathlib import Path

from rich.text import Text

from gpuaas_cli.proof.evidence import Check, Report, Result
from gpuaas_cli.screen import console

_MARKS = {
    Result.PASSED: ("✓", "green"),
    Result.FAILED: ("✗", "red"),
    Result.UNVERIFIED: ("?", "yellow"),
    Result.UNREACHED: ("·", "dim"),
}
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem;
color:#16191f}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.verdict{padding:.8rem 1rem;border-radius:.5rem;color:#fff;font-weight:600}
.good{background:#1d7a46}.bad{background:#b42318}
dl{display:grid;grid-template-columns:10rem 1fr;gap:.2rem 1rem}dt{color:#5a6472}dd{margin:0}
details{border:1px solid #d5dbe3;border-radius:.4rem;margin:.4rem 0;padding:.4rem .8rem}
summary{cursor:pointer;display:flex;gap:.8rem;align-items:baseline}
.mark{font-weight:700;width:6.5rem;flex:none}.passed{color:#1d7a46}.failed{color:#b42318}
.unverified{color:#8d6605}.unreached{color:#5a6472}
.say{color:#414d5c}pre{background:#f4f6f9;padding:.6rem;overflow:auto;font-size:.8rem;
white-space:pre-wrap;word-break:break-word}code{font-size:.9em}
"""


def say(check: Check) -> None:
    """One check on the terminal, as it is made."""
    mark, colour = _MARKS[check.result]
    screen = console(stderr=True)
    head = Text.assemble((f"{mark} {check.id:<13}", colour), f"{check.title}: ")
    head.append(check.detail, "" if check.result is Result.PASSED else colour)
    screen.print(head)
    if check.result is Result.FAILED and check.evidence:
        last = check.evidence[-1]
        line = last.request.partition("\n")[0]
        screen.print(Text(f"                {line} → {last.answer[:160]}", "dim"))
        screen.print(Text(f"                correlation id {last.correlation_id}", "dim"))


def summary(report: Report) -> str:
    """The verdict in one line."""
    counts = ", ".join(f"{number} {word}" for word, number in report.counts().items() if number)
    verdict = "passed" if report.passed else "NOT passed"
    left = f"; left behind: {', '.join(report.left_behind)}" if report.left_behind else ""
    return f"{report.kind} of {report.app} {report.version}: {verdict} ({counts}){left}"


def write(report: Report, json_file: Path | None, html_file: Path | None) -> None:
    """Keep the report."""
    if json_file is not None:
        text = json.dumps(report.as_json(), indent=2, ensure_ascii=False)
        json_file.write_text(text + "\n", encoding="utf-8")
    if html_file is not None:
        html_file.write_text(page(report), encoding="utf-8")


def page(report: Report) -> str:
    """The report as one page that needs nothing else: no script, no font, no address."""
    areas: dict[str, list[Check]] = {}
    for check in report.checks:
        areas.setdefault(check.area, []).append(check)
    facts = {
        "platform": report.platform,
        "project": report.project_id,
        "app": f"{report.app} {report.version}",
        "began": f"{report.began_at:%Y-%m-%d %H:%M:%S} UTC",
        "ended": f"{report.ended_at:%Y-%m-%d %H:%M:%S} UTC" if report.ended_at else "-",
    }
    rows = "".join(f"<dt>{_safe(name)}</dt><dd>{_safe(text)}</dd>" for name, text in facts.items())
    body = "".join(
        f"<h2>{_safe(area)}</h2>{''.join(_check(one) for one in checks)}"
        for area, checks in areas.items()
    )
    title = _safe(f"{report.kind}: {report.app}")
    colour = "good" if report.passed else "bad"
    verdict = f'<p class="verdict {colour}">{_safe(summary(report))}</p>'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body><h1>{title}</h1>{verdict}<dl>{rows}</dl>{_legend()}{body}</body></html>\n"
    )


def _check(check: Check) -> str:
    opened = " open" if check.result is Result.FAILED else ""
    calls = "".join(
        f"<p>as {_safe(one.who)}, correlation id <code>{_safe(one.correlation_id)}</code></p>"
        f"<pre>{_safe(one.request)}</pre><pre>{_safe(one.answer)}</pre>"
        for one in check.evidence
    )
    gap = f"<p>in the gap log as <code>{_safe(check.gap_id)}</code></p>" if check.gap_id else ""
    return (
        f"<details{opened}><summary>"
        f'<span class="mark {check.result.value}">{check.result.value}</span>'
        f"<span><b>{_safe(check.id)} {_safe(check.title)}</b><br>"
        f'<span class="say">{_safe(check.detail)}</span></span></summary>'
        f"{gap}{calls or '<p>no call was made</p>'}</details>"
    )


def _legend() -> str:
    return (
        '<p class="say"><b class="passed">passed</b>: seen to hold. <b class="failed">failed</b>:'
        ' seen not to hold. <b class="unverified">unverified</b>: could not be asked, nothing is'
        ' assumed. <b class="unreached">unreached</b>: something before it did not pass. Open a'
        " line to see what was asked and answered.</p>"
    )


def _safe(text: str) -> str:
    return html.escape(text, quote=True)
