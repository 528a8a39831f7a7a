"""The page of its own: `explain --html`."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import expect, sync_playwright
from typer.testing import CliRunner

import context_builder.web
from context_builder import AdapterError, BudgetExceededError, ContextBuilder, Settings
from context_builder.cli.commands import app
from context_builder.inspector import (
    Timeline,
    budget_grid,
    page,
    standalone_data,
    static_file,
)
from tests.web.serving import INJECTION
from tests.web.test_browser import CHROMIUM, WAIT

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLE = Path(__file__).parents[2] / "examples/data/airline_agent.json"


def explained(source: Path, target: Path, *arguments: str) -> str:
    """Write the page of a transcript, and return its text."""
    command = ["explain", str(source), "--html", str(target), *arguments]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    return target.read_text("utf-8")


def data_of(html: str) -> dict[str, Any]:
    """Return the data that stands in a page."""
    found = re.findall(
        r'<script id="data" type="application/json">(.*?)</script>', html, re.DOTALL
    )
    assert len(found) == 1
    data: dict[str, Any] = json.loads(found[0])
    return data


@pytest.fixture
def airline(tmp_path: Path) -> str:
    """Return the page of the example, at a tight budget."""
    return explained(
        EXAMPLE, tmp_path / "page.html", "--model", "gpt-4o", "--max-tokens", "5000"
    )


def test_the_page_says_what_explain_says(airline: str) -> None:
    """The same items, fates, tokens and reasons as `explain --json`."""
    command = ["explain", str(EXAMPLE), "--model", "gpt-4o", "--max-tokens", "5000"]
    told = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    window = data_of(airline)["window"]
    shown = [
        (item["id"], window["actions"][action], tokens, window["reasons"][reason])
        for item, (action, tokens, reason) in zip(
            window["items"], window["plan"]["fates"], strict=True
        )
    ]
    assert shown == [
        (o["item_id"], o["action"], o["tokens_after"], o["reason"])
        for o in told["outcomes"]
    ]
    assert window["plan"]["tokens"] == told["tokens"]


def test_the_page_lets_nothing_else_run(airline: str) -> None:
    """Its policy names the digests of its own script and style, and nothing more."""
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', airline)
    policy = policy.replace("&#x27;", "'")
    (script,) = re.findall(r'<script type="module">(.*?)</script>', airline, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", airline, re.DOTALL)
    for kind, text in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not re.search(r"\b(src|href)=", airline)
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)


@given(
    texts=st.lists(st.text(max_size=60) | st.sampled_from([INJECTION, "<!--", "]]>"]))
)
def test_no_text_ends_the_data(texts: Sequence[str]) -> None:
    """Whatever is said, the page has its two scripts, and the data is read back."""
    html = page({"texts": texts}, name="".join(texts) or "-")
    assert data_of(html)["texts"] == list(texts)
    assert html.count("<script") == html.count("</script>") == 2
    head = html[: html.index('<script id="data"')]
    assert not re.search(r"<(?:img|b)\b", head)


def test_the_slider_of_the_page_has_plans(airline: str) -> None:
    """A plan for every budget of the grid, the real one included, within its budget."""
    data = data_of(airline)
    real = data["window"]["plan"]
    assert real["budget_tokens"] in data["budgets"]
    assert len(data["budgets"]) > 20
    assert set(data["plans"]) == {
        str(budget) for budget in data["budgets"] if budget != real["budget_tokens"]
    }
    fitting = [plan for plan in data["plans"].values() if "problem" not in plan]
    assert len(fitting) > 10
    for plan in fitting:
        assert plan["tokens"] <= plan["budget_tokens"]
        assert len(plan["fates"]) == len(data["window"]["items"])
    largest = fitting[-1]
    actions = data["window"]["actions"]
    assert {actions[fate[0]] for fate in largest["fates"]} <= {"kept", "repaired"}


def test_the_timeline_of_the_page_replays_the_transcript(airline: str) -> None:
    """A request for each answer of the model, and where each parts from the last."""
    data = data_of(airline)
    answers = [i for i in data["window"]["items"] if i["role"] == "assistant"]
    sent = data["timeline"]["requests"]
    assert len(sent) == len(answers)
    assert all(0 < one["tokens"] <= 5_000 for one in sent)
    assert set(data["differences"]) == {str(n) for n in range(1, len(sent))}
    breaks = [d for d in data["differences"].values() if d["path"] is not None]
    assert len(breaks) == sum(bool(one["why"]) for one in sent[1:]) > 0


def test_a_session_that_was_imported_whole_has_a_timeline() -> None:
    """Taken over at once or said one by one: the same requests."""
    turns = [
        {"role": role, "content": f"{role} {number} " + "word " * 40}
        for number in range(30)
        for role in ("user", "assistant")
    ]
    whole, single = ContextBuilder(max_tokens=800), ContextBuilder(max_tokens=800)
    whole.extend(turns)
    for turn in turns:
        single.extend([turn])
    timelines = []
    for session in (whole, single):
        timeline = Timeline(keeps_differences=5, max_tokens=800)
        timeline.replay(session)
        timelines.append([r.tokens for r in timeline.requests])
        assert len(timeline.differences) == 5
        data = standalone_data(
            session, timeline, target="openai", targets=["anthropic"]
        )
        assert data["bodies"]["anthropic"]["messages"][-1]["role"] == "user"
    assert timelines[0] == timelines[1]
    assert len(timelines[0]) == 30


def test_every_word_is_there_in_both_languages() -> None:
    """What the pages say is known in English and Chinese, with the same blanks."""
    text = static_file("words.js")
    tables = [
        dict(re.findall(r'^    (\w+):\s+"((?:[^"\\]|\\.)*)",$', part, re.MULTILINE))
        for part in re.split(r"^  (?:en|zh): \{$", text, flags=re.MULTILINE)[1:]
    ]
    english, chinese = tables
    assert len(english) > 100
    assert english.keys() == chinese.keys()
    for name, said in english.items():
        blanks = [sorted(re.findall(r"\{(\w+)\}", t)) for t in (said, chinese[name])]
        assert blanks[0] == blanks[1], name
    folder = Path(context_builder.web.__file__).parent / "static"
    pages = [path.read_text("utf-8") for path in folder.glob("*.[jh]*")]
    pages += [static_file(name) for name in ("view.js", "panels.js", "report.js")]
    used = {
        word
        for one in pages
        for word in re.findall(
            r'(?:\bsay\(|data-say=|data-label=|"data-say": )"(\w+)"', one
        )
    }
    assert len(used) > 60
    assert used <= english.keys()


@pytest.mark.parametrize("budget", [10, 333, 8_000, 1_000_000])
def test_the_grid_goes_from_little_to_everything(budget: int) -> None:
    """It rises, has the budget itself, and ends where nothing would have to go."""
    ctx = ContextBuilder(max_tokens=budget)
    ctx.add_user_message("hi")
    grid = budget_grid(ctx.explain())
    assert grid == sorted(set(grid))
    assert budget in grid
    assert grid[0] <= budget // 10 or grid[0] == 1
    assert grid[-1] >= 2 * budget - 1


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
def test_the_page_works_from_a_file(tmp_path: Path) -> None:
    """Without a server: slider, tabs, Chinese; and what was said stays text."""
    messages = [
        {"role": "user", "content": f"{INJECTION} number {number} " + "word " * 30}
        if number % 2 == 0
        else {"role": "assistant", "content": f"Answer {number} {INJECTION}"}
        for number in range(41)
    ]
    source = tmp_path / "talk.json"
    source.write_text(json.dumps(messages), encoding="utf-8")
    target = tmp_path / "talk.html"
    explained(source, target, "--max-tokens", "2000")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        one = browser.new_page(locale="en-GB")
        one.set_default_timeout(WAIT)
        complaints: list[str] = []
        one.on("pageerror", lambda error: complaints.append(str(error)))
        one.on(
            "console",
            lambda line: complaints.append(line.text) if line.type == "error" else None,
        )
        one.goto(target.as_uri())
        expect(one.locator(".items tbody tr")).to_have_count(41, timeout=WAIT)
        kept = one.locator("tr[data-fate=kept]").count()
        one.locator("input[type=range]").fill("20")
        expect(one.locator("tr[data-fate=kept]")).not_to_have_count(kept, timeout=WAIT)
        one.locator(".items tbody button").first.click()
        expect(one.locator("dialog pre")).to_contain_text("<script>")
        one.get_by_role("button", name="Close").click()
        one.get_by_role("tab", name="Requests").click()
        one.locator(".request.compacted").first.click()
        expect(one.locator(".breaks")).to_contain_text("The prefix breaks at")
        one.get_by_role("tab", name="Request body").click()
        one.get_by_label("Vendor").select_option("gemini")
        expect(one.locator("pre.body")).to_contain_text('"contents"')
        one.locator("#language").select_option("zh")
        expect(one.get_by_role("tab", name="条目")).to_be_visible()
        assert one.evaluate("window.broken") is None
        assert one.locator("main img, main script, main b").count() == 0
        browser.close()
    assert complaints == []


# --- Can it be read


def palette() -> dict[str, tuple[str, str]]:
    """Return the colours of all pages by name, each in light and in dark."""
    found = re.findall(
        r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", static_file("view.css")
    )
    return {name: (light, dark) for name, light, dark in found}


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_everything_stands_out(theme: int) -> None:
    """Words by WCAG's level AA on each of the grounds, bars and borders as it asks."""
    colours = {name: both[theme] for name, both in palette().items()}
    words = ("ink", "quiet", "strong", "bad", "good", "results")
    for name in words:
        for ground in ("ground", "sheet", "code"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    assert contrast(colours["on-strong"], colours["strong"]) >= 4.5
    for bar in ("system", "latest", "results", "history", "background"):
        assert contrast(colours[bar], colours["sheet"]) >= 3, bar


def test_no_colour_is_written_beside_the_palette() -> None:
    """So that light and dark are both thought of."""
    own = Path(context_builder.web.__file__).parent / "static" / "page.css"
    for text in (static_file("view.css"), own.read_text("utf-8")):
        rest = re.sub(r"--[\w-]+: light-dark\(.*;", "", text)
        assert not re.findall(r"#[0-9a-f]{3,8}\b|\brgba?\(", rest)


def _in_chinese() -> list[tuple[re.Pattern[str], str]]:
    """Return the sentences that the page says in Chinese, as it writes them."""
    rows = re.findall(r'^    \["(.+)", "(.+)"\],$', static_file("reasons.js"), re.M)
    assert len(rows) > 40
    return [(re.compile(said), other) for said, other in rows]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"keep_tool_results": 2},
        {"keep_last_turns": 2},
        {"round_results_max_tokens": 60},
        {"tool_result_max_chars": 200},
    ],
    ids=lambda one: next(iter(one), "default"),
)
@pytest.mark.parametrize("max_tokens", [2_500, 4_000])
def test_every_reason_is_known_in_chinese(
    settings: dict[str, int], max_tokens: int
) -> None:
    """What becomes of an agent's conversation, and why its beginning moved."""
    said = _in_chinese()
    messages = json.loads(EXAMPLE.read_text("utf-8"))["messages"]
    ctx = ContextBuilder(max_tokens=max_tokens, settings=Settings(**settings))
    reasons = set[str]()
    for message in messages:
        ctx.extend([message])
        with contextlib.suppress(BudgetExceededError, AdapterError):
            report = ctx.explain("strict")
            reasons.update(report.prefix_moves)
            for outcome in report.outcomes:
                reasons.update(outcome.reason.split("; "))
    reasons.discard("")
    unknown = {r for r in reasons if not any(p.fullmatch(r) for p, _ in said)}
    assert reasons
    assert unknown == set()


def test_a_reason_in_chinese_names_what_the_english_one_names() -> None:
    """As many blanks are filled as there are groups."""
    for pattern, other in _in_chinese():
        filled = set(re.findall(r"\$(\d)", other))
        assert filled == {str(n + 1) for n in range(pattern.groups)}, pattern
