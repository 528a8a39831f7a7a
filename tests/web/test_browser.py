"""The page in a real browser: what a person sees and can do, and what they cannot."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from context_builder import ToolCall
from tests.web.serving import INJECTION, Recorder, Site, served, site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no chromium: apt-get install chromium"
)

WAIT = 60_000
"""Milliseconds that the browser may take on a busy machine."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a browser."""
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--lang=en-GB"]
        )


class Visitor:
    """A person with a browser window of their own."""

    def __init__(self, browser: Browser, url: str, **context: Any) -> None:
        settings: dict[str, Any] = {"locale": "en-GB"} | context
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.page.set_default_timeout(WAIT)
        self.url = url
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("console", self._listen)

    def _listen(self, message: Any) -> None:
        if message.type == "error" and "status of 4" not in message.text:
            self.complaints.append(message.text)

    def log_in(self, token: str) -> Page:
        """Open the page as this user."""
        self.page.goto(f"{self.url}/#token={token}")
        expect(self.page.locator("#rooms")).to_be_visible(timeout=WAIT)
        return self.page

    def say(self, text: str) -> None:
        """Say something, and wait for the end of the answer."""
        self.start(text)
        self.wait()

    def start(self, text: str) -> None:
        """Say something."""
        self.page.fill("#message", text)
        self.page.press("#message", "Enter")
        expect(self.page.locator(".said.user").last).to_contain_text(
            text[:20], timeout=WAIT
        )

    def wait(self) -> None:
        """Wait for the end of the answer, and for what the window shows of it."""
        expect(self.page.locator("#send")).to_be_enabled(timeout=WAIT)
        expect(self.page.locator(".window")).to_be_visible(timeout=WAIT)
        self.page.wait_for_load_state("networkidle")

    def close(self) -> None:
        """Leave; nothing went wrong meanwhile."""
        self.context.close()
        assert self.complaints == []


@pytest.fixture
def one() -> Site:
    """Return the application."""
    return site()


def test_two_users_chat_at_once_and_see_nothing_of_each_other(
    browser: Browser,
) -> None:
    """Each sees their own words only, in the chat, the window and the lists."""
    one = site(model=Recorder(delay_seconds=0.02))
    with served(one.app) as url:
        ada, bob = Visitor(browser, url), Visitor(browser, url)
        ada.log_in(one.tokens["ada"])
        bob.log_in(one.tokens["bob"])
        for number in range(2):
            ada.start(f"Amber is my word number {number}")
            bob.start(f"Basalt is my word number {number}")
            ada.wait()
            bob.wait()
        for visitor, own, other in ((ada, "Amber", "Basalt"), (bob, "Basalt", "Amber")):
            page = visitor.page
            expect(page.locator("#user")).to_contain_text(
                "ada" if visitor is ada else "bob"
            )
            expect(page.locator(".items tbody")).to_contain_text(own, timeout=WAIT)
            page.get_by_role("tab", name="Request body").click()
            expect(page.locator("pre.body")).to_contain_text(own, timeout=WAIT)
            assert other not in page.content()
        theirs = ada.page.locator("#sessions button").get_attribute("data-id")
        assert (
            bob.page.evaluate(
                """async ([id, token]) => (await fetch(`/api/sessions/${id}/window`, {
                headers: {Authorization: `Bearer ${token}`}})).status""",
                [theirs, one.tokens["bob"]],
            )
            == 404
        )
        bob.page.get_by_role("button", name="Log out").click()
        expect(bob.page.locator("#login")).to_be_visible(timeout=WAIT)
        assert "Basalt" not in bob.page.content()
        ada.close()
        bob.close()


def test_a_long_conversation_crosses_the_budget_and_the_window_shows_it(
    browser: Browser, one: Site
) -> None:
    """Compactions, items that left, the bars, and where the prefix breaks."""
    with served(one.app) as url:
        ada = Visitor(browser, url)
        page = ada.log_in(one.tokens["ada"])
        for number in range(7):
            ada.say(f"Use look_up for order {number}")
        expect(page.locator(".tool").last).to_contain_text("shipment")
        facts = page.locator(".budget .quiet")
        expect(facts).to_contain_text(re.compile(r"Compactions so far: [1-9]"))
        assert page.locator("tr[data-fate=evicted]").count() > 0
        assert page.locator("tr[data-fate=kept]").count() > 0
        page.get_by_label("Show", exact=True).select_option("changed")
        expect(page.locator("tr[data-fate=kept]").first).to_be_hidden()
        evicted = page.locator("tr[data-fate=evicted]").first
        expect(evicted.locator(".why")).not_to_be_empty()
        evicted.get_by_role("button").click()
        expect(page.locator("dialog.item-text pre")).to_contain_text("order 0")
        page.get_by_role("button", name="Close").click()

        page.get_by_role("tab", name="Requests").click()
        expect(page.locator(".request")).to_have_count(14)
        page.locator(".request.compacted").first.click()
        expect(page.locator(".breaks")).to_contain_text(
            "The prefix breaks at messages["
        )
        expect(page.locator(".former pre").first).to_be_visible()
        expect(page.locator(".latter pre").first).to_be_visible()

        page.get_by_role("tab", name="Request body").click()
        for vendor, mark in (("anthropic", "claude"), ("gemini", '"contents"')):
            page.get_by_label("Vendor").select_option(vendor)
            expect(page.locator("pre.body")).to_contain_text(mark, timeout=WAIT)
        ada.close()


def test_the_slider_replans_a_thousand_items(browser: Browser) -> None:
    """Under 100 ms at the server, and the page shows the new fates of all of them."""
    one = site(max_tokens=12_000)
    with one.sessions.for_namespace("web:ada").open("long") as ctx:
        ctx.add_system_prompt("You are terse.")
        for number in range(333):
            ctx.add_user_message(f"What about order {number}? It was due on Friday.")
            ctx.add_assistant_message(
                tool_calls=[ToolCall(f"c{number}", "look_up", "{}")]
            )
            ctx.add_tool_result(
                "look_up",
                f"order {number}: left on day {number}",
                tool_call_id=f"c{number}",
            )
    with served(one.app) as url:
        ada = Visitor(browser, url)
        page = ada.log_in(one.tokens["ada"])
        expect(page.locator(".items tbody tr")).to_have_count(1_000, timeout=WAIT)
        before = page.locator("tr[data-fate=kept]").count()
        times: dict[str, list[float]] = {}

        def time_of(response: Any) -> None:
            found = re.search(
                r"cpu;dur=([\d.]+)", response.headers.get("server-timing", "")
            )
            if found:
                times.setdefault(response.url, []).append(float(found[1]))

        page.on("response", time_of)
        slider = page.locator("input[type=range]")
        for _ in range(7):
            for place in (20, 70, 120):
                slider.fill(str(place))
                expect(page.locator(".slider [role=status]")).to_contain_text(
                    "Replanned in", timeout=WAIT
                )
                page.wait_for_load_state("networkidle")
        assert len(times) == 3
        # The machine may be busy with other tests: what counts is the work itself.
        assert max(min(each) for each in times.values()) < 100, times
        assert page.locator("tr[data-fate=kept]").count() != before
        page.get_by_role("button", name="Back to the real budget").click()
        expect(page.locator("tr[data-fate=kept]")).to_have_count(before, timeout=WAIT)
        ada.close()


def test_markup_in_what_is_said_is_inert(browser: Browser, one: Site) -> None:
    """Messages, arguments, results, titles and bodies are shown as text."""
    with served(one.app) as url:
        ada = Visitor(browser, url)
        page = ada.log_in(one.tokens["ada"])
        ada.say(f"Look at this: {INJECTION}")
        ada.say("Use hostile with word=this")
        expect(page.locator(".said.user").first).to_contain_text("<script>")
        expect(page.locator(".tool pre").last).to_contain_text("<img")
        page.wait_for_load_state("networkidle")  # the items are drawn anew until then
        page.locator(".items tbody button").nth(1).click()
        expect(page.locator("dialog.item-text pre")).to_contain_text("onerror")
        page.get_by_role("button", name="Close").click()
        for tab in ("Requests", "Request body", "Items"):
            page.get_by_role("tab", name=tab).click()
            page.wait_for_load_state("networkidle")
        page.reload()
        expect(page.locator(".said.user").first).to_contain_text(
            "<script>", timeout=WAIT
        )
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.broken") is None
        assert page.locator("#rooms img, #rooms script, #rooms b").count() == 0
        ada.close()


def test_everything_can_be_done_from_the_keyboard(browser: Browser, one: Site) -> None:
    """Log in, skip to the message, send, walk the tabs and the requests, delete."""
    with served(one.app) as url:
        ada = Visitor(browser, url)
        page = ada.page
        page.goto(url)
        expect(page.locator("#token")).to_be_focused(timeout=WAIT)
        page.keyboard.type(one.tokens["ada"])
        page.keyboard.press("Enter")
        expect(page.locator("#message")).to_be_focused(timeout=WAIT)
        page.keyboard.type("Use look_up for tea")
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("please")
        page.keyboard.press("Enter")
        ada.wait()
        expect(page.locator(".said.user .words")).to_have_text(
            "Use look_up for tea\nplease"
        )
        expect(page.locator("#status")).to_have_text("The answer is complete.")

        first = page.locator("a, button, input, select, textarea").first
        first.focus()
        expect(page.get_by_role("link", name="Skip to your message")).to_be_focused()
        expect(first).to_be_in_viewport()
        page.keyboard.press("Enter")
        expect(page.locator("#message")).to_be_focused()

        page.get_by_role("tab", name="Items").focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Requests")).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.locator(".request[aria-selected=true]")).to_be_focused()
        page.keyboard.press("Home")
        expect(page.locator(".difference")).to_contain_text("This is the first request")
        page.keyboard.press("ArrowRight")
        expect(page.locator(".difference")).to_contain_text(
            "It goes on from", timeout=WAIT
        )

        slider = page.locator("input[type=range]")
        slider.focus()
        page.keyboard.press("ArrowLeft")
        expect(slider).to_have_attribute("aria-valuetext", re.compile(r"tokens"))

        page.get_by_role("button", name="Delete this conversation").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        expect(page.locator("#sessions li")).to_have_count(0, timeout=WAIT)
        ada.close()


def test_the_page_names_its_parts(browser: Browser, one: Site) -> None:
    """Landmarks, a label for every control, and what is said aloud."""
    with served(one.app) as url:
        ada = Visitor(browser, url)
        page = ada.log_in(one.tokens["ada"])
        ada.say("hello")
        for role, name in (
            ("navigation", "Conversations"),
            ("main", "Conversation"),
            ("complementary", "What the model sees"),
            ("log", "Conversation"),
            ("tablist", "Views"),
        ):
            expect(page.get_by_role(role, name=name, exact=True)).to_be_visible()  # type: ignore[arg-type]
        expect(page.locator("#log")).to_have_attribute("aria-busy", "false")
        unnamed = page.evaluate(
            """() => [...document.querySelectorAll("button, input, select, textarea")]
                .filter((node) => node.offsetParent)
                .filter((node) => !node.textContent.trim() && !node.labels?.length
                    && !node.getAttribute("aria-label"))
                .map((node) => node.outerHTML)"""
        )
        assert unnamed == []
        expect(page.locator("#offline")).to_contain_text("no language model")
        ada.close()


def test_stop_stops_and_keeps_what_was_said(browser: Browser) -> None:
    """Escape ends an answer; the conversation goes on afterwards."""
    one = site(model=Recorder(delay_seconds=0.15), wait_seconds=5.0)
    with served(one.app) as url:
        ada = Visitor(browser, url)
        page = ada.log_in(one.tokens["ada"])
        ada.start("Tell me " + "a long story about rivers and lakes " * 8)
        expect(page.locator(".said.assistant .words")).not_to_be_empty(timeout=WAIT)
        page.keyboard.press("Escape")
        expect(page.locator("#status")).to_have_text("Stopped.", timeout=WAIT)
        ada.say("Are you there?")
        expect(page.locator(".said.user")).to_have_count(2)
        ada.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_speaks_chinese_and_can_be_read_in_the_dark(
    browser: Browser, one: Site, scheme: str
) -> None:
    """The browser's language and colours are taken; both can be changed."""
    with served(one.app) as url:
        ada = Visitor(browser, url, locale="zh-CN", color_scheme=scheme)
        page = ada.log_in(one.tokens["ada"])
        expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
        expect(page.get_by_role("heading", name="模型看到的内容")).to_be_visible()
        ada.say("请用 look_up 查询 茶")
        expect(page.get_by_role("tab", name="请求正文")).to_be_visible()
        grounds = []
        for theme in ("auto", "light", "dark"):
            page.locator("#theme").select_option(theme)
            grounds.append(
                page.evaluate("getComputedStyle(document.body).backgroundColor")
            )
        assert grounds[1] != grounds[2]
        assert grounds[0] == grounds[1 if scheme == "light" else 2]
        text = page.locator("body").inner_text()
        assert not re.search(r"\b(Send|Items|Requests|Conversations|Log out)\b", text)
        page.locator("#language").select_option("en")
        expect(page.get_by_role("button", name="Log out")).to_be_visible()
        ada.close()
