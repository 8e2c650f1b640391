"""Templates with rows: what they make, and that none of them can do harm."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from atomic.errors import PlaceError
from flows.inputs import Item, Problem, check, read_items
from flows.inputs import sandbox as limits

Read = list[Item | Problem]
Render = Callable[..., Read]
ROW = {"id": "a", "name": "Ünï", "list": [1, 2, 3], "first name": "Ada", "text": "x" * 1000}

LOOP = "{% for n in range(99999) %}"


@pytest.fixture
def render(tmp_path: Path) -> Render:
    def render(template: str | bytes, *rows: dict[str, object]) -> Read:
        path, file = tmp_path / "in.jsonl", tmp_path / "t.j2"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows or (ROW,)))
        file.write_bytes(template.encode() if isinstance(template, str) else template)
        return list(read_items(path, template=file))

    return render


def prompts(read: Read) -> list[str | None]:
    assert not [entry.text for entry in read if isinstance(entry, Problem)]
    return [entry.prompt for entry in read if isinstance(entry, Item)]


def problem(read: Read) -> Problem:
    (found,) = read
    assert isinstance(found, Problem), found
    return found


def test_fields_are_variables(render: Render) -> None:
    template = "\ufeffHello {{ name }} ({{ row['first name'] }}){% for n in list %} {{ n }}{% endfor %}: {{ id }}\n"
    assert prompts(render(template)) == ["Hello Ünï (Ada) 1 2 3: a"]


def test_what_belongs_to_the_item_still_does(render: Render, tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    row = {"id": "a", "prompt": "{{ id }} <b>", "policy": "p", "tags": ["t"], "cwd": "repo", "metadata": {"k": 1}}
    (item,) = render("Do: {{ prompt }} by {{ policy }}", row)
    assert item == Item(
        "a", "Do: {{ id }} <b> by p", None, "p", cwd=tmp_path / "repo", tags=("t",), metadata={"k": 1}, line=1
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("in.csv", 'custom_id,lang,text\na,de,"x\ny"\nb,,z\n'),
        ("in.yaml", 'defaults: {lang: de}\nitems:\n- {id: a, text: "x\\ny"}\n- {id: b, text: z, lang: ""}\n'),
    ],
)
def test_rows_of_tables_and_yaml_are_variables_too(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    (tmp_path / "t.j2").write_text("[{{ lang }}] {{ text }}")
    assert prompts(list(read_items(tmp_path / name, template=tmp_path / "t.j2"))) == ["[de] x\ny", "[] z"]


def test_lines_of_text_are_the_variable_prompt(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    (tmp_path / "t.j2").write_text("Say {{ prompt }}")
    assert prompts(list(read_items(tmp_path / "in.txt", template=tmp_path / "t.j2"))) == ["Say one", "Say two"]


def test_many_and_large_rows_keep_their_order(render: Render) -> None:
    rows = [{"id": f"i{n}", "text": "y" * (300_000 if n % 50 == 0 else 10)} for n in range(300)]
    read = render("{{ id }} {{ text }}", *rows)
    assert prompts(read) == [f"{row['id']} {row['text']}" for row in rows]


def test_halves_of_characters_reach_the_check_of_prompts(render: Render) -> None:
    found = problem(render("{{ name }}", {"id": "a", "name": "\ud83d"}))
    assert "half a character" in found.text


def test_a_missing_variable_is_named_with_the_line_and_what_is_meant(render: Render, tmp_path: Path) -> None:
    read = render("Hello\n{{ nmae }}", ROW, {"id": "b", "nmae": "there"}, {"id": "c", "cwd": "nowhere", "name": "x"})
    assert [entry.text for entry in read if isinstance(entry, Problem)] == [
        f"{tmp_path}/in.jsonl:1: nmae: the template {tmp_path}/t.j2:2: 'nmae' is undefined; did you mean 'name'?",
        f"{tmp_path}/in.jsonl:3: nmae: the template {tmp_path}/t.j2:2: 'nmae' is undefined; did you mean 'name'?",
        f"{tmp_path}/in.jsonl:3: cwd: {tmp_path}/nowhere: there is no such folder",
    ]
    assert [entry.custom_id for entry in read if isinstance(entry, Item)] == ["b"]


def test_what_is_no_template_is_told_once_and_the_rows_are_checked_all_the_same(render: Render, tmp_path: Path) -> None:
    read = render("Hello\n{% for %}", ROW, {"id": "b", "policy": 5})
    first, second = [entry.text for entry in read if isinstance(entry, Problem)]
    assert first.startswith(f"{tmp_path}/t.j2:2: ")
    assert second == f"{tmp_path}/in.jsonl:2: policy: expected text, found a whole number"
    assert len(read) == 2
    assert "no UTF-8" in problem(render(b"caf\xe9")).text


def test_a_template_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("x")
    with pytest.raises(PlaceError, match="cannot read the template"):
        list(read_items(tmp_path / "in.txt", template=tmp_path / "none.j2"))


def test_prompts_that_a_template_makes_are_checked(render: Render) -> None:
    assert "empty" in problem(render("{% if false %}x{% endif %} ")).text
    assert "begins with '/'" in problem(render("/compact {{ name }}")).text


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ name.__init__.__globals__ }}",
        "{{ ''['__class__'] }}",
        "{{ ''|attr('__class__') }}",
        "{{ '{0.__class__}'.format('') }}",
        "{{ '{x.__class__}'.format_map({'x': ''}) }}",
        "{{ self.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ lipsum.__globals__ }}",
        "{{ (lambda: 1)() }}",
        "{{ range.__self__ }}",
        "{{ list.append(4) }}",
        "{{ row.update({'a': 1}) }}",
        "{{ row.pop('id') }}",
        "{% include '/etc/passwd' %}",
        "{% import '/etc/passwd' as x %}",
        "{% extends '/etc/passwd' %}",
        "{{ open('/etc/passwd').read() }}",
        "{{ config }}",
        "{% set x = namespace() %}{{ x.__class__ }}",
    ],
)
def test_a_template_reaches_nothing(render: Render, template: str) -> None:
    read = render(template)
    assert len(read) == 1
    assert isinstance(read[0], Problem), read[0]
    assert "root:" not in read[0].text


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{% for n in range(10**9) %}{{ n }}{% endfor %}", "Range too big"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "without end"),
        ("{% for n in range(99999) %}{{ text }}{% endfor %}", "longer than"),
        ("{{ 'x' * 10**11 }}", "of memory"),
        ("{{ ''.ljust(10**11) }}", "of memory"),
        ("{{ '%99999999999d' % 1 }}", "of memory"),
        ("{% set n = namespace(x=text) %}{% for _ in range(64) %}{% set n.x = n.x ~ n.x %}{% endfor %}", "of memory"),
        ("{{ text|center(10**8) }}", "longer than"),
    ],
)
def test_a_template_makes_nothing_too_large(render: Render, template: str, message: str) -> None:
    read = render(template, ROW, ROW)
    assert [entry.line for entry in read] == [1, 2], "and the sandbox lives on"
    assert all(isinstance(entry, Problem) and message in entry.text for entry in read), read


@pytest.mark.parametrize(
    "template",
    [
        f"{LOOP}{LOOP}{LOOP}{{% endfor %}}{{% endfor %}}{{% endfor %}}",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    ],
)
def test_a_template_that_does_not_end_is_ended(render: Render, template: str) -> None:
    hang = "{% if id == 'hang' %}" + template + "{% endif %}fine"
    rows: list[dict[str, object]] = [{"id": "a"}, {"id": "hang"}, {"id": "c"}, {"id": "d", "policy": 5}]
    read = render(hang, *rows)
    assert [entry.line for entry in read] == [1, 2, 4], "what a row says for itself is still looked at"
    assert isinstance(read[0], Item)
    assert isinstance(read[1], Problem)
    assert f"more than {limits.SECONDS} seconds of processor time" in read[1].text
    assert isinstance(read[2], Problem)
    assert read[2].field == "policy"


def test_a_template_that_never_gets_ready_is_ended(render: Render) -> None:
    found = problem(render("{{ 10 ** (10 ** 10) }}"))
    assert f"more than {limits.SECONDS} seconds of processor time" in found.text
    assert found.file.endswith("t.j2")


def test_no_process_outlives_the_reading(render: Render, tmp_path: Path) -> None:
    render("{{ name }}")
    reading = read_items(tmp_path / "in.jsonl", template=tmp_path / "t.j2")
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert not [child for child in psutil.Process().children() if limits.__file__ in command_of(child)]


def command_of(process: psutil.Process) -> list[str]:
    """Its command line; empty for one that has ended, which other tests' children may have."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # a zombie is one of these
        return []


def test_a_module_lying_about_is_not_taken_for_jinja(
    render: Render, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jinja2.py").write_text("raise SystemExit(1)")
    (tmp_path / "json.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    assert prompts(render("{{ name }}")) == ["Ünï"]


def test_a_template_that_changes_is_noticed(render: Render, tmp_path: Path) -> None:
    render("{{ name }}")
    checked = check(tmp_path / "in.jsonl", known_policies=(), base_cwd=tmp_path, template=tmp_path / "t.j2")
    assert not checked.changed()
    (tmp_path / "t.j2").write_text("{{ name }}!")
    assert checked.changed()
