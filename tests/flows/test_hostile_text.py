"""Text of models, tools, names and prompts does nothing where it is shown. An answer in a pipe stays as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from atomic.record import AttemptRecord, AttemptSummary
from atomic.runner import RunResult
from atomic.text import Masker
from atomic.verdict import Evidence, Status, Verdict
from flows.artifacts import attempt_markdown, attempt_rows, run_markdown
from tests.flows.conftest import CommandLine
from tests.flows.hostile import HOSTILE, MARKUP, hostile_agent, obeyed
from tests.flows.prefect_server import Place, artifacts_of, read_back

PROMPT = f"Say it. {HOSTILE}".replace("\x00", "")
NAME = "[bold]../../etc[/] ![x](https://evil.example/p.png) {n} %s"


@pytest.fixture
def agent(tmp_path: Path) -> str:
    return hostile_agent(tmp_path)


@pytest.fixture
def failing(tmp_path: Path) -> str:
    folder = tmp_path / "failing"
    folder.mkdir()
    return hostile_agent(folder, fails=True)


def run_args(agent: str, *more: str) -> tuple[str, ...]:
    return ("run", "--direct", "--agent", agent, "-m", "some/model", "--name", NAME, "-t", MARKUP, *more, "--", PROMPT)


def clean(text: str) -> bool:
    assert obeyed(text) == []
    return True


def test_the_answer_is_data_in_a_pipe(cli: CommandLine, agent: str) -> None:
    done = cli(*run_args(agent))
    assert done.code == 0, done.err
    assert done.raw.decode() == f"{HOSTILE}"
    assert clean(done.err)
    result = json.loads(cli(*run_args(agent, "--json")).out)
    assert result["answer"] == HOSTILE
    assert result["name"] == NAME
    assert not (cli.project / "pwned").exists()


def test_nothing_that_a_run_writes_to_a_terminal_is_obeyed(cli: CommandLine, agent: str, failing: str) -> None:
    shown = cli.at_terminal(*run_args(agent))
    assert clean(shown)
    assert "[bold red]rich[/] [/nope]" in shown  # no markup either: it is shown as it is written
    assert clean(cli.at_terminal(*run_args(failing)))
    shown = cli.at_terminal(*run_args(agent, "--json"), NO_COLOR="1")
    assert clean(shown)


@pytest.mark.parametrize(
    "command",
    [
        ("explain", "latest"),
        ("explain", "latest", "--json"),
        ("record", "cat", "latest"),
        ("history", "list"),
        ("history", "list", "--json"),
        ("history", "show", "latest"),
        ("history", "show", "latest", "--json"),
        ("status",),
    ],
)
def test_nothing_that_is_read_back_is_obeyed(cli: CommandLine, failing: str, command: tuple[str, ...]) -> None:
    cli(*run_args(failing))
    assert clean(cli.at_terminal(*command))
    done = cli(*command)
    assert done.code == 0
    assert clean(done.err)
    if "cat" not in command and "--json" not in command:
        assert clean(done.out)


def test_the_raw_record_is_raw_in_a_pipe(cli: CommandLine, agent: str, tmp_path: Path) -> None:
    cli(*run_args(agent))
    assert cli("record", "cat", "latest").raw == (tmp_path / "stream").read_bytes()


def test_explaining_a_file_of_any_name(cli: CommandLine, tmp_path: Path, failing: str) -> None:
    name = "s\x1b[2J[bold]\u202e.jsonl"
    (cli.project / name).write_bytes((tmp_path / "failing" / "stream").read_bytes())
    assert clean(cli.at_terminal("explain", name))
    assert clean(cli("explain", name).out)
    assert clean(cli.at_terminal("explain", f"missing {name}"))


@pytest.mark.parametrize(
    "args",
    [
        ("run", "--direct", "--name", "a\x1b[2Jb", "x"),
        ("run", "--direct", "--agent", "\x1b[2J[/bold]", "x"),
        ("run", "--direct", "-m", "\x1b[2J[/bold]", "x"),
        ("run", "--direct", "-p", "\x1b[2J[/bold]", "x"),
        ("run", "--direct", "--cwd", "\x1b[2J[/bold]", "x"),
        ("run", "--direct", "@\x1b[2J[/bold]"),
        ("run", "--\x1b[2J[/bold]"),
        ("history", "show", "\x1b[2J[/bold]"),
        ("history", "list", "--since", "\x1b[2J[/bold]"),
        ("history", "list", "--\x1b[2J[/bold]"),
        ("explain", "\x1b[2J[/bold]"),
        ("\x1b[2J[/bold]",),
    ],
)
def test_what_is_wrong_is_said_without_being_obeyed(cli: CommandLine, args: tuple[str, ...]) -> None:
    done = cli(*args)
    assert done.code == 2
    assert clean(done.err)
    assert "Traceback" not in done.err
    assert clean(cli.at_terminal(*args))


def test_settings_that_are_wrong_are_shown_and_not_obeyed(cli: CommandLine) -> None:
    (cli.project / "atomic-flows.toml").write_text('[policy."\\u001b[2J[/bold]"]\nmodels = ["\\u001b[2J"]\n')
    done = cli("policy", "check")
    assert done.code == 2
    assert clean(done.err)
    assert clean(cli.at_terminal("policy", "check"))


# Prefect's pages


def rendered(markdown: str) -> str:
    """As a page that renders all that Markdown knows, raw HTML included."""
    return str(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown))


def inert(html: str) -> bool:
    assert not [sign for sign in ("<img", "<a ", "<script", "<h1", "onerror=alert(1)>") if sign in html], html
    assert clean(html)
    return True


def test_artifacts_are_inert() -> None:
    verdict = Verdict(
        status=Status.FAILED,
        kind=None,
        message=HOSTILE,
        answered_by=HOSTILE,
        response_model=HOSTILE,
        evidence=(Evidence(event=HOSTILE, line=1, offset=1, text=HOSTILE),),
        warnings=(HOSTILE,),
    )
    record = AttemptRecord(run_id="x", n=1, model=HOSTILE).concluded(verdict, ended_at=0)
    assert inert(rendered(attempt_markdown(record, HOSTILE, Masker())))
    result = RunResult(
        run_id="x", status=Status.ANSWERED, answered_by=HOSTILE, message=HOSTILE, record=HOSTILE, name=HOSTILE
    )
    assert inert(rendered(run_markdown(result, Masker())))
    rows = attempt_rows(result.model_copy(update={"attempts": (AttemptSummary.of(record),)}), Masker())
    for cell in rows[0].values():
        assert inert(rendered(str(cell)))
        assert "https://" not in str(cell)


async def test_prefect_shows_hostile_text_inert(place: Place, agent: str) -> None:
    from flows import run_prompt

    result = await run_prompt(PROMPT, models=["some/model"], agent=agent, name=NAME, tags=[HOSTILE])
    assert result.answer == HOSTILE
    flow_run, tasks = await read_back(str(result.flow_run_id))
    shown = [flow_run.name, *flow_run.tags, *(tag for task in tasks for tag in task.tags)]
    states = [flow_run.state, *(task.state for task in tasks)]
    shown += [str(state.message) for state in states if state is not None]
    for text in [*shown, *(task.name for task in tasks)]:
        assert clean(text)
        assert "\n" not in text
    for artifact in await artifacts_of(flow_run_id=str(result.flow_run_id)):
        if artifact.type == "markdown":
            assert inert(rendered(str(artifact.data)))
        assert inert(rendered(str(artifact.description)))
        assert clean(str(artifact.key or ""))
