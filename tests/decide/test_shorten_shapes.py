"""What each shape of text keeps first."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_builder.decide.shorten import MIN_TOKENS, Shape, shorten_text
from context_builder.decide.shorten.shapes import detect_shape

SAMPLES = {
    sample["id"]: cast("str", sample["text"])
    for sample in json.loads(
        (Path(__file__).parents[1] / "data" / "shorten_samples.json").read_text("utf-8")
    )["samples"]
}
FLIGHTS = SAMPLES["tau-airline-2-1#39"]
HOTELS = SAMPLES["crosswoz-2169#2"]
CAR = SAMPLES["bfcl-multi_turn_long_context_52#8"]
TEST_RUN = SAMPLES["claude-code-ae4a77f8-aedd-4bc1-888f-c94edc91af04#91"]
CONTROLLER = SAMPLES["claude-code-ae4a77f8-aedd-4bc1-888f-c94edc91af04#178"]

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=120),
    lambda inner: (
        st.lists(inner, max_size=30) | st.dictionaries(st.text(), inner, max_size=20)
    ),
    max_leaves=80,
)
CONTAINERS = st.lists(JSON_VALUES, max_size=30) | st.dictionaries(
    st.text(max_size=30), JSON_VALUES, max_size=20
)


def tokens(text: str) -> int:
    """Count four bytes as a token, as vocabularies do on average."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / 4)


def refuse(constant: str) -> float:
    """Fail on what Python reads and JSON does not have."""
    pytest.fail(f"{constant} is not JSON")


def read_json(text: str) -> object:
    """Read what strict parsers read: no NaN, and text that can be sent."""
    text.encode("utf-8")
    value: object = json.loads(text, parse_constant=refuse)
    return value


# --- JSON


@given(value=CONTAINERS | st.text(min_size=200), limit=st.integers(MIN_TOKENS, 300))
def test_json_stays_json_of_the_same_kind(value: object, limit: int) -> None:
    """An object stays an object, an array an array, a string a string."""
    text = json.dumps(value)
    shortened = shorten_text(text, limit, tokens)
    if shortened is not text:
        assert type(read_json(shortened)) is type(value)


@example(
    value={"ð\x86[": None, "json_invalid": [None, -2.2579243484070572e16, "0\x1f"]}
)
@given(value=CONTAINERS)
def test_json_that_fits_without_its_spaces_loses_nothing_else(value: object) -> None:
    """Indentation goes before anything is cut."""
    text = json.dumps(value, indent=8, ensure_ascii=False, allow_nan=True)
    compact = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    limit = max(tokens(compact) * 3 // 2, MIN_TOKENS)
    if tokens(text) > limit:
        shortened = shorten_text(text, limit, tokens)
        assert json.dumps(json.loads(shortened)) == json.dumps(
            json.loads(compact, parse_constant=str)
        )


def test_names_and_short_values_outlive_prose() -> None:
    """Of a record with a long field only the long field is cut."""
    record = {
        "body": "word " * 5_000,
        "id": "ord_0042",
        "status": "failed",
        "amount": 12.50,
        "date": "2024-05-01",
        "path": "/srv/app/logs/2024-05-01/worker.log",
        "nested": {"error": "E1234: no such host"},
    }
    shortened = read_json(shorten_text(json.dumps(record), 100, tokens))
    assert isinstance(shortened, dict)
    assert "characters left out" in shortened.pop("body")
    assert shortened == {key: record[key] for key in shortened}
    assert len(shortened) == len(record) - 1


def test_every_top_level_key_comes_before_depth() -> None:
    """Many large branches: each keeps its name, none keeps its depth."""
    branches = {f"branch_{n}": {"items": ["leaf " * 9] * 50} for n in range(12)}
    shortened = read_json(shorten_text(json.dumps(branches), 120, tokens))
    assert isinstance(shortened, dict)
    assert list(shortened) == list(branches)


def test_arrays_keep_both_ends_and_say_how_many_are_missing() -> None:
    """The first and the last items stay, and the marker adds up."""
    text = json.dumps({"results": [{"id": n, "ok": True} for n in range(1_000)]})
    shortened = read_json(shorten_text(text, 100, tokens))
    assert isinstance(shortened, dict)
    items = shortened["results"]
    (marker,) = [item for item in items if isinstance(item, str)]
    assert items[0] == {"id": 0, "ok": True}
    assert items[-1] == {"id": 999, "ok": True}
    assert marker == f"... {1_000 - len(items) + 1} more items ..."


def test_a_marker_is_no_key_of_the_object() -> None:
    """An object with keys made of dots keeps them, and the marker has its own."""
    value = {"...": 1, "....": 2} | {f"key_{n}": "word " * 9 for n in range(60)}
    text = shorten_text(json.dumps(value), 120, tokens)
    shortened = read_json(text)
    assert isinstance(shortened, dict)
    assert (shortened["..."], shortened["...."]) == (1, 2)
    assert shortened["....."] == f"{len(value) - len(shortened) + 1} more keys"


def test_a_long_key_is_cut_only_when_it_has_to_be() -> None:
    """Keys count as what they are: one that fits is not touched."""
    text = json.dumps({"k" * 300: 1}, indent=40)
    assert shorten_text(text, 80, tokens) == '{"' + "k" * 300 + '":1}'
    assert "left out" in shorten_text(text, 60, tokens)


def test_numbers_stay_as_they_are_written() -> None:
    """No digit of an amount, and none of a huge number, is lost by rewriting."""
    numbers = '"price":1.10,"big":123456789012345678901234567890,"tiny":1e-400'
    text = f'{{{numbers},"text":"{"word " * 900}"}}'
    assert shorten_text(text, 80, tokens).startswith(f"{{{numbers},")


def test_repeated_keys_are_not_silently_lost() -> None:
    """A key that stands a thousand times is not shown once as if that were all."""
    text = "{" + '"pkg":"0.0.1",' * 1_000 + '"quill":"4.2.0"}'
    shortened = shorten_text(text, 80, tokens)
    assert shortened.count('"pkg":"0.0.1"') > 3
    assert '"quill":"4.2.0"' in shortened
    assert "more keys" in shortened


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "[" * 900 + '"x"' + "]" * 900,
        '{"n":' + "9" * 10_000 + "}",
        '{"a":NaN,"b":-Infinity,"c":"' + "word " * 400 + '"}',
        '{"half":"\\ud83d","rest":"' + "word " * 400 + '"}',
        '{"' + "key" * 2_000 + '":1}',
        '{"cut off":"' + "word " * 400,
        '"' + "word " * 400 + '"',
        "9" * 10_000,
    ],
    ids=lambda text: text[:10],
)
def test_odd_json_never_raises(text: str) -> None:
    """Depth, huge numbers, NaN, half surrogates and broken JSON are only text."""
    shortened = shorten_text(text, 40, tokens, shape="json")
    assert tokens(shortened) <= 40
    shortened.encode("utf-8")
    assert "..." in shortened


def test_a_log_inside_json_keeps_its_error() -> None:
    """A long string is shortened by its own shape: the error in the middle stays."""
    lines = [f"2024-05-01 12:00:00 INFO step {n}" for n in range(500)]
    lines[250] = "2024-05-01 12:00:00 ERROR disk full on /dev/sda1"
    text = json.dumps({"stdout": "\n".join(lines), "exit_code": 1})
    shortened = read_json(shorten_text(text, 200, tokens))
    assert isinstance(shortened, dict)
    assert shortened["exit_code"] == 1
    assert "ERROR disk full on /dev/sda1" in shortened["stdout"]


# --- Lines


def numbered_log() -> list[str]:
    """Return the lines of a long log in which nothing happens."""
    return [f"2024-05-01 12:00:00 INFO step {n} done" for n in range(3_000)]


def test_a_log_keeps_both_ends_and_its_errors() -> None:
    """Lines of trouble stay, whole lines only, and every gap is counted."""
    lines = numbered_log()
    lines[1_000] = "2024-05-01 12:00:00 ERROR cannot open /etc/app.conf"
    lines[2_000] = "2024-05-01 12:00:00 WARNING slow disk"
    shown = shorten_text("\n".join(lines), 200, tokens).split("\n")
    assert (shown[0], shown[-1]) == (lines[0], lines[-1])
    assert lines[1_000] in shown
    assert lines[2_000] in shown
    gaps = [line for line in shown if line.startswith("[...")]
    missing = sum(int(gap.split()[1].replace(",", "")) for gap in gaps)
    assert missing + len(shown) - len(gaps) == len(lines)
    assert set(shown) - set(gaps) <= set(lines)


def test_errors_come_before_warnings() -> None:
    """With a thousand warnings before it the one error is still there."""
    lines = numbered_log()
    lines[500:1_500] = [f"12:00:00 WARNING slow disk {n:x}" for n in range(1_000)]
    lines[1_500] = "12:00:00 ERROR disk full"
    assert lines[1_500] in shorten_text("\n".join(lines), 120, tokens).split("\n")


def test_different_errors_come_before_the_same_again() -> None:
    """Five hundred times the same error do not crowd out the other one."""
    lines = numbered_log()
    lines[500:1_000] = [f"12:00:{n:02d} ERROR timeout after {n} ms" for n in range(500)]
    lines[2_000] = "12:00:00 ERROR disk full"
    assert lines[2_000] in shorten_text("\n".join(lines), 150, tokens).split("\n")


def test_no_errors_is_not_an_error() -> None:
    """A line that reports success is not kept for the word in it."""
    lines = numbered_log()
    lines[1_000] = "12:00:00 INFO finished with 0 errors"
    assert lines[1_000] not in shorten_text("\n".join(lines), 100, tokens)


def test_code_keeps_what_it_defines() -> None:
    """Imports, signatures in order, the end: the bodies go first."""
    body = "    total = total + value * factor\n" * 40
    names = [f"compute_{n}" for n in range(12)]
    text = "import math\n\n" + "".join(
        f"def {name}(value: int) -> int:\n{body}    return total\n\n" for name in names
    )
    shortened = shorten_text(text + "main()\n", 400, tokens)
    assert shortened.startswith("import math\n")
    assert shortened.rstrip().endswith("main()")
    places = [shortened.find(f"def {name}(value: int) -> int:\n") for name in names]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("heading", "row"),
    [
        ("id,name,price", "{n},item {n},{n}.50"),
        ("id\tname\tprice", "{n}\titem {n}\t{n}.50"),
        ("| id | name |\n| --- | --- |", "| {n} | item {n} |"),
        ("ID       NAME          PRICE", "row{n:05d} item-{n:05d}    {n:05d}"),
    ],
    ids=["csv", "tsv", "markdown", "aligned"],
)
def test_a_table_keeps_its_heading_and_both_ends(heading: str, row: str) -> None:
    """The heading, the first and the last rows stay; the gap is counted."""
    rows = [row.format(n=n) for n in range(2_000)]
    text = "\n".join([heading, *rows])
    shortened = shorten_text(text, 100, tokens)
    assert shortened.startswith(f"{heading}\n{rows[0]}\n{rows[1]}\n")
    assert shortened.endswith(f"\n{rows[-2]}\n{rows[-1]}")
    assert " lines left out ...]" in shortened


def test_json_lines_stay_json_line_by_line() -> None:
    """The first and the last records stay, long ones are shortened inside."""
    records = [{"n": n, "text": "word " * (300 if n == 0 else 3)} for n in range(500)]
    text = "\n".join(map(json.dumps, records))
    shown = [json.loads(line) for line in shorten_text(text, 150, tokens).split("\n")]
    assert shown[0]["n"] == 0
    assert shown[-1] == records[-1]
    gaps = [record["..."] for record in shown if "..." in record]
    assert gaps == [f"{len(records) - len(shown) + 1} lines left out"]


def test_prose_is_cut_between_sentences() -> None:
    """A boundary nearby is taken, in scripts with spaces and in those without."""
    english = "The bridge was opened in the spring of that year. " * 200
    chinese = "\u8fd9\u5ea7\u6865\u4e8e\u90a3\u5e74\u6625\u5929\u901a\u8f66\u3002" * 300
    for text, end in ((english, "."), (chinese, "\u3002")):
        head, _, tail = shorten_text(text, 100, tokens).partition("[...")
        assert head.rstrip().endswith(end)
        assert tail.partition("...]")[2].lstrip()[0] == text[0]
        assert len(head) > len(tail.partition("...]")[2])


# --- Guessing the shape


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (' {"a": [1, 2]}\n', "json"),
        ('[\n  {"a": 1},\n  {"a": 2}\n]', "json"),
        ('{"a": 1}\n{"a": 2}\n{"a": 3}\n', "jsonl"),
        ("\n".join(["id,name,price"] + ["1,nail,0.10"] * 9), "table"),
        ("\n".join(["2024-05-01 12:00:00 INFO started"] * 9), "log"),
        ("import os\n\ndef main():\n    return os.getcwd()\n\nmain()\n", "code"),
        ("     1\tdo this\n     2\tdo that\n     3\tand this\n     4\tdone\n", "code"),
        ("One thing led to another. It was late.", "prose"),
        ("First this was said.\nThen that.\nAnd so on.\nIt ended.\n", "prose"),
        ("", "prose"),
    ],
)
def test_the_shape_is_recognised(text: str, shape: Shape) -> None:
    """Common kinds of tool results are told apart."""
    assert detect_shape(text) == shape


# --- Real tool results


@pytest.mark.parametrize("name", sorted(SAMPLES))
@pytest.mark.parametrize("limit", [MIN_TOKENS, 40, 100, 300, 700])
def test_real_results_fit_and_use_their_limit(name: str, limit: int) -> None:
    """Results of real agents fit, and most of the room is used."""
    shortened = shorten_text(SAMPLES[name], limit, tokens)
    assert tokens(shortened) <= limit
    assert tokens(shortened) >= limit * (0.25 if limit <= 40 else 0.7)


def test_flight_search_keeps_whole_flights() -> None:
    """Of nine flights some are shown with every field; the others are counted."""
    flights = json.loads(FLIGHTS)
    shown = json.loads(shorten_text(FLIGHTS, 300, tokens))
    whole = [item for item in shown if isinstance(item, dict)]
    assert len(whole) >= 3
    assert all(flight in flights for flight in whole)
    assert f"... {len(flights) - len(whole)} more items ..." in shown


def test_hotel_search_keeps_names_and_telephone_numbers() -> None:
    """Facts of the records outlive the lists of what is nearby."""
    shortened = shorten_text(HOTELS, 300, tokens)
    for hotel in json.loads(HOTELS)["results"]:
        assert hotel["\u540d\u79f0"] in shortened
        assert hotel["\u7535\u8bdd"] in shortened


def test_car_status_keeps_its_readings() -> None:
    """All numbers stay; the 6,000 characters of description are cut."""
    car, shown = json.loads(CAR), json.loads(shorten_text(CAR, 100, tokens))
    assert list(shown) == list(car)
    assert "characters left out" in shown["car_info"]
    del car["car_info"], shown["car_info"]
    assert shown == car


def test_test_run_keeps_its_verdict() -> None:
    """The summary at the end of a test run stays."""
    assert "297 tests, 0 failures" in shorten_text(TEST_RUN, 100, tokens)


def test_source_file_keeps_its_functions() -> None:
    """A file shown with line numbers keeps its module and its public functions."""
    shortened = shorten_text(CONTROLLER, 400, tokens)
    assert "defmodule SpotterWeb.HooksController do" in shortened
    definitions = [line for line in CONTROLLER.split("\n") if "\u2192  def " in line]
    assert len(definitions) >= 4
    assert all(line in shortened for line in definitions)
