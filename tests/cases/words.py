"""What the case files say in words, as code: one check a case, by its number."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping

from context_builder import ContextBuilder
from tests.cases.kept_words import evicted_sessions_come_back, files_outlive_much
from tests.cases.results import Run, need
from tests.cases.view import Call, Result, View, leaves
from tests.recount import recount_tools

__all__ = ["ABOUT_SUMMARIES", "WORDS"]

_FAILED = re.compile(r"\b(not|no|never|cancel\w*|interrupt\w*|cut off)\b", re.I)
"""How a text says that something did not come to its end."""


def _views(run: Run) -> Iterator[View]:
    """Yield the requests of the builds that went well; never none."""
    built = [each for each in run.built if each.error is None]
    need(built, "no build went well")
    yield from (each.view for each in built)


def _calls(view: View) -> list[Call]:
    return [call for said in view.said for call in said.calls]


def _answers(view: View) -> list[tuple[Call, Result]]:
    """Return every call with its result, in order; pairs are checked elsewhere."""
    results = [result for said in view.said for result in said.results]
    waiting = list(results)
    pairs = []
    for call in _calls(view):
        for result in waiting:
            if result.id == call.id:
                pairs.append((call, result))
                waiting.remove(result)
                break
    return pairs


def _texts_of(view: View, role: str) -> list[str]:
    return [said.text for said in view.said if said.role == role and said.texts]


def _one_message_one_fate(run: Run) -> None:
    """Both calls of one assistant message are there, or neither is."""
    for view in _views(run):
        asked = "".join(text for call in _calls(view) for text in leaves(call.object))
        tools = {call.name for call in _calls(view)}
        need(("evening" in asked) == ("find_bus" in tools), view.said)


def _a_repeated_id_is_a_new_call(run: Run) -> None:
    """Each answer stands with its own question, under ids that stay the same."""
    for view in _views(run):
        said = {str(call.object): result.text for call, result in _answers(view)}
        need("first answer 7" in said.get("{'item': 'lamp'}", ""), said)
        need("second answer 42" in said.get("{'item': 'rope'}", ""), said)
    again = run.ctx.request(run.vendor, model=run.model)
    need(again == run.built[-1].request, "the ids changed from build to build")


def _an_open_call_does_not_read_like_success(run: Run) -> None:
    """What stands in for an answer says so; or the call is not there."""
    for built in run.built:
        answered = {"north"} if built.name.startswith("b1") else {"north", "south"}
        for call, result in _answers(built.view):
            place = "".join(leaves(call.object))
            if place not in answered:
                need(_FAILED.search(result.text), result)
                need(result.text not in _texts_of(built.view, "user"), result)


def _no_made_up_dialogue(run: Run) -> None:
    """Every word of the user is there, and nobody says a lone full stop."""
    wanted = ["Hello.", "My fern has brown tips.", "Twice a week, north window."]
    for view in _views(run):
        said = "\n".join(_texts_of(view, "user"))
        need(all(text in said for text in wanted), said)
        for each in view.said:
            need(any(char.isalpha() for char in each.text), each)


def _blank_results_have_a_stand_in(run: Run) -> None:
    """Blank results say something; blank turns are not there."""
    for view in _views(run):
        for _, result in _answers(view):
            need(any(char.isalpha() for char in result.text), result)
        need(len(_calls(view)) == 2, view.said)
        spoken = [said for said in view.said if said.role in {"user", "assistant"}]
        for said in spoken:
            need(said.text.strip() or said.calls, said)


def _old_rounds_go_first(run: Run) -> None:
    """The rounds that stand whole are the newest ones, and not all of them."""
    for view in _views(run):
        whole = [
            int(found[1])
            for said in view.said
            for result in said.results
            if (found := re.search(r"^part (\d+): .*done \1$", result.text, re.S))
        ]
        need(whole == list(range(40 - len(whole), 40)), whole)
        need(0 < len(whole) < 40, whole)


def _one_system_text(run: Run) -> None:
    """The system text stands in each build once, word for word."""
    for view in _views(run):
        need(sum("You are Moss" in text for text in view.texts()) == 1, view.system)


def _the_caller_hears_of_the_cut(run: Run) -> None:
    """The report says that the user's own words were cut; the context is not empty."""
    report = run.find("b1").report
    need(report is not None)
    assert report is not None
    cut = [each for each in report.outcomes if each.action == "shortened"]
    need([each.role for each in cut] == ["user"], cut)
    need("user" in cut[0].reason, cut)
    need(all(view.said for view in _views(run)))


def _the_turn_stays_round_a_huge_result(run: Run) -> None:
    """The result is cut; its call and the question stay, in every later build too."""
    need(run.built[-1].error is None, run.built[-1].error)
    view = run.built[0].view
    need([call.name for call in _calls(view)] == ["run"], view.said)


def _tools_take_room(run: Run) -> None:
    """Ten definitions cost 800 to 1,500 tokens, and fewer turns fit than without."""
    few = run.find("few").view
    tokens = recount_tools(few.request["tools"])
    need(800 * 0.8 <= tokens <= 1_500, tokens)  # the recount is a lower bound
    bare = ContextBuilder(context_window=run.case["input"]["window"])
    most = 0
    for item in run.ctx.items:
        bare.add_turn([item])
        request = bare.request(run.vendor, model=run.model)
        most = max(most, len(request["messages"]))
    need(most > len(few.request["messages"]), most)


def _text_goes_out_unchanged(run: Run) -> None:
    """The text reaches the model as it came in, and nothing is warned of."""
    asked = run.case["input"]["messages"][1]["content"]
    for view in _views(run):
        need(_texts_of(view, "user") == [asked], view.said)
    need(not [each for each in run.logged if each.levelno >= logging.WARNING])


def _an_error_is_no_summary(run: Run) -> None:
    """The error's text is stored nowhere."""
    need(all("503" not in item.text for item in run.ctx.items))


def _a_summary_is_a_record(run: Run) -> None:
    """The summary stands before the newest message, set off as earlier talk."""
    for view in _views(run):
        marked = [n for n, said in enumerate(view.said) if "<summary" in said.text]
        need(marked and marked[0] < len(view.said) - 1, view.said)


def _compactions_are_rare(run: Run) -> None:
    """Sixty turns need few compactions."""
    report = run.built[-1].report
    need(report is not None and report.compactions <= 15, report)


def _turns_are_not_split(run: Run) -> None:
    """What was added as one stands together, whatever other threads added."""
    items = run.ctx.items[1:1201]
    for asked, called, answered in zip(
        items[::3], items[1::3], items[2::3], strict=True
    ):
        marks = asked.text.replace("thread ", "c_").replace(" ask ", "_")
        need(called.tool_calls[0].id == marks == answered.tool_call_id, asked)


def _half_read_text_is_marked(run: Run) -> None:
    """Text cut off says so; a call cut off does not go out as it is."""
    views = [built.view for built in run.built if built.name.startswith("b1")]
    need(views, "no build is called b1")
    for view in views:
        said = [text for text in _texts_of(view, "assistant") if "Fog" in text]
        need(said and not said[0].rstrip().endswith("Fog,"), view.said)
        for call, result in _answers(view):
            finished = call.object == {"path": "islands.txt"}
            need(finished or _FAILED.search(result.text), call, result)


def _stored_ids_stay(run: Run) -> None:
    """The stored items keep the ids and the signatures that the first vendor sent."""
    calls = [call for item in run.ctx.items for call in item.tool_calls]
    need({call.id.rpartition("|")[2] for call in calls} == {"fc:9", "tool:1"}, calls)
    signed = [part.signature for item in run.ctx.items for part in item.reasoning]
    need(signed == ["c2lnLW90aGVyLXZlbmRvcg=="], signed)


def _the_rest_of_the_text_stays(run: Run) -> None:
    """Where the message with the bad halves stays, the words round them stay."""
    for view in _views(run):
        for text in _texts_of(view, "user"):
            if text.startswith("Draw it"):
                need("and note" in text and "as they come." in text, text)


def _logs_hold_sizes_only(run: Run) -> None:
    """What is logged of a build is names and numbers, no text of a message."""
    texts = {text for view in _views(run) for text in view.texts() if len(text) > 12}
    for record in run.logged:
        need(not texts & {str(value) for value in record.__dict__.values()}, record)


def _no_request_is_sent_twice(run: Run) -> None:
    """What was refused is never sent again as it was."""
    for built in run.built:
        for place, request in enumerate(built.sent):
            need(request not in built.sent[:place], built.name)
    need(any(len(built.sent) > 1 for built in run.built), "nothing was sent again")


Check = Callable[[Run], None]
WORDS: Mapping[str, Check | None] = {
    "d01": _one_message_one_fate,
    "d02": _a_repeated_id_is_a_new_call,
    "d03": _an_open_call_does_not_read_like_success,
    "d04": _no_made_up_dialogue,
    "d05": _blank_results_have_a_stand_in,
    "d06": _old_rounds_go_first,
    "d07": _one_system_text,
    "d08": _the_caller_hears_of_the_cut,
    "d09": _the_turn_stays_round_a_huge_result,
    "d10": None,  # says where the bounds come from
    "d11": _tools_take_room,
    "d12": None,  # says what the other assertions check: bytes, price, price as text
    "d13": _text_goes_out_unchanged,
    "d14": _an_error_is_no_summary,
    "d15": _a_summary_is_a_record,
    "d16": _compactions_are_rare,
    "d17": _no_request_is_sent_twice,
    "d18": _turns_are_not_split,
    "d19": evicted_sessions_come_back,
    "d20": files_outlive_much,
    "d21": _half_read_text_is_marked,
    "d22": _stored_ids_stay,
    "d23": _the_rest_of_the_text_stays,
    "d24": _logs_hold_sizes_only,
}
ABOUT_SUMMARIES = frozenset({"d14", "d15"})
"""Cases whose words speak of nothing but the summary."""
