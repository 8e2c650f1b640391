"""Checks of answers: what they accept and reject, what the next model is told, and that nothing of them stays."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomic.checks import Checks, fit
from atomic.errors import NoModelAnswered, PolicyError
from atomic.failures import FailureKind
from atomic.policy import FallbackPolicy
from atomic.processes import MARKER, identify, is_alive
from atomic.record import AttemptRecord
from atomic.recovery import claim
from atomic.runner import RunResult, open_store, run
from atomic.session import Progress, run_attempt
from atomic.session.checking import TOLD, told
from atomic.settings import Settings, load_settings
from atomic.verdict.facts import CheckOutcome, Verdict
from tests.agents import Place, answer, left_of

KIND = FailureKind


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def conf(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


def shell(script: str, seconds: float = 600) -> Checks:
    return Checks(command=("/bin/sh", "-c", script), seconds=seconds)


async def checked(place: Place, script: str, said: str = "done", **fields: Any) -> tuple[AttemptRecord, Verdict]:
    record = await place.run(answer(said), checks=shell(script, fields.pop("seconds", 600)), **fields)
    assert record.verdict is not None
    return record, record.verdict


async def ran(conf: Settings, cwd: Path, *models: str, prompt: str = "hello", **policy: Any) -> RunResult:
    chosen = FallbackPolicy(models=models, **policy)
    return await run(prompt, policy=chosen, agent="scripted", cwd=cwd, settings=conf, check=False)


def prompt_sent(result: RunResult, n: int) -> str:
    return (Path(result.record) / f"attempt-{n}" / "prompt.md").read_text()


async def test_an_accepted_answer_is_one(place: Place) -> None:
    record, verdict = await checked(place, 'test "$(cat)" = "done"; echo fine')
    assert record.verdict is not None
    assert verdict.answered
    assert verdict.check is not None
    assert verdict.check.outcome is CheckOutcome.ACCEPTED
    assert (place.path(record) / "check.txt").read_text() == "fine\n"


async def test_a_rejected_answer_is_kept_and_no_answer(place: Place) -> None:
    script = "echo 'a\033[31m first line'; cat; echo; echo 'and this is wrong' >&2; exit 3"
    record, verdict = await checked(place, script)
    assert (record.status, verdict.kind, verdict.answer) == ("failed", KIND.REJECTED, "done")
    assert verdict.complete
    assert verdict.message == "the check exited with 3: and this is wrong"
    assert verdict.check is not None
    assert verdict.check.output == "a first line\ndone\nand this is wrong"
    assert verdict.cost_usd == 0.5
    assert verdict.evidence


async def test_it_runs_where_the_agent_worked_with_the_attempts_mark_and_without_our_variables(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATOMIC_FLOWS_HISTORY__URL", "postgresql://me:pass@host/db")
    monkeypatch.setenv("PREFECT_API_KEY", "secret")
    agent = place.agent(answer(), env={"AGENT_TOKEN": "hidden"})
    record = await place.run(agent, checks=shell("pwd; env"))
    said = (place.path(record) / "check.txt").read_text().splitlines()
    assert said[0] == str(place.work)
    assert f"{MARKER}={record.marker}" in said
    assert not [line for line in said if "AGENT_TOKEN" in line or "PREFECT" in line or "HISTORY" in line]


async def test_what_it_leaves_running_is_ended(place: Place) -> None:
    spec = place.spec(answer(), checks=shell("setsid sleep 1000 >/dev/null 2>&1 & echo $!"))
    record = await run_attempt(spec)
    assert record.verdict is not None
    assert record.verdict.answered
    assert left_of(spec) == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("sleep 1000 & wait", "the check took longer than limits.check = 0.3 s and was stopped"),
        ("kill -9 $$", "the check was ended by SIGKILL"),
    ],
)
async def test_a_check_that_does_not_end_by_itself_rejects(place: Place, script: str, said: str) -> None:
    spec = place.spec(answer(), checks=shell(script, 0.3 if "sleep" in script else 0))
    verdict = (await run_attempt(spec)).verdict
    assert verdict is not None
    assert (verdict.kind, verdict.message) == (KIND.REJECTED, said)
    assert left_of(spec) == []


async def test_a_check_that_writes_for_ever_is_stopped(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atomic.session.checking.LARGEST_OUTPUT", 1 << 20)
    monkeypatch.setattr("atomic.session.checking._LOOK", 0.02)
    record, verdict = await checked(place, "head -c 3000000 /dev/zero | tr '\\0' x; sleep 1000")
    assert verdict.message.startswith("the check wrote more than 1 MiB and was stopped")
    assert (place.path(record) / "check.txt").stat().st_size == 1 << 20
    assert verdict.check is not None
    assert len(verdict.check.output) < TOLD + 100


async def test_an_agent_that_took_its_record_away_is_checked_all_the_same(place: Place) -> None:
    spec = place.spec("", checks=shell("cat; exit 1"))
    agent = place.agent(f"rm -r '{spec.folder.path}'\n{answer()}")
    record = await run_attempt(replace(spec, agent=agent))
    assert (record.kind, record.message) == (KIND.REJECTED, "the check exited with 1: done")


async def test_a_check_that_has_gone_is_no_fault_of_the_answer(place: Place) -> None:
    record = await place.run(answer(), checks=Checks(command=("./gone",)))
    assert record.verdict is not None
    assert (record.kind, record.verdict.answer) == (KIND.CONFIGURATION, "done")
    assert record.message == "the check could not be started: ./gone: No such file or directory"


async def test_a_cancel_ends_the_check_and_does_not_call_it_answered(place: Place) -> None:
    begun = place.folder / "begun"
    spec = place.spec(answer(), checks=shell(f"setsid sleep 1000 & touch '{begun}'; wait"))
    told_of: list[Progress] = []
    work = asyncio.ensure_future(run_attempt(spec, on_progress=told_of.append))
    while not begun.exists():
        await asyncio.sleep(0.01)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    record = spec.folder.read()
    assert (record.kind, record.message) == (KIND.CANCELLED, "stopped before its answer had been checked")
    assert record.verdict is not None
    assert record.verdict.answer == "done"
    assert left_of(spec) == []
    assert told_of[-1].phase == "checking"


async def test_secrets_are_taken_out_of_what_a_check_said(place: Place) -> None:
    agent = place.agent(answer(), env={"SOME_API_KEY": "sk-1234567890abcdef"})
    record = await place.run(agent, checks=shell("echo it is sk-1234567890abcdef; exit 1"))
    assert record.verdict is not None
    assert record.verdict.check is not None
    assert record.verdict.check.output == "it is •••"
    assert record.message == "the check exited with 1: it is •••"


async def test_the_next_model_goes_on_with_what_was_rejected(conf: Settings, tmp_path: Path) -> None:
    script = ["sh", "-c", "grep -q edit-pi worked.txt || { echo 'edit-pi is missing'; exit 1; }"]
    result = await ran(conf, tmp_path, "a/edit", "b/edit-pi", check=script)
    assert (result.status, result.answered_by) == ("answered", "b/edit-pi")
    assert [one.kind for one in result.attempts] == [KIND.REJECTED, None]
    assert [one.carry for one in result.attempts] == [False, True]
    assert "edit-pi is missing" in prompt_sent(result, 2)
    assert "hello" not in prompt_sent(result, 2)
    assert (tmp_path / "worked.txt").read_text() == "edit\nedit-pi\n"


async def test_a_fresh_start_is_told_the_prompt_and_what_the_check_said(conf: Settings, tmp_path: Path) -> None:
    result = await ran(
        conf, tmp_path, "a/ok", "b/ok", check="sh -c 'echo /compact; exit 1'", after_rejection="fresh", max_attempts=2
    )
    assert (result.kind, [one.carry for one in result.attempts]) == (KIND.REJECTED, [False, False])
    sent = prompt_sent(result, 2)
    assert sent.startswith("hello\n\n")
    assert "\n/compact\n" in sent


async def test_a_rejection_counts_as_an_attempt_and_can_be_retried_accepted_or_be_the_end(
    conf: Settings, tmp_path: Path
) -> None:
    result = await ran(conf, tmp_path, "a/ok", "b/ok", check="false", on={"rejected": {"retry": 1}}, max_attempts=2)
    assert [one.model for one in result.attempts] == ["a/ok", "a/ok"]
    assert "max_attempts = 2" in result.message
    accepted = await ran(conf, tmp_path, "a/ok", "b/ok", check="false", on={"rejected": "accept"})
    assert (accepted.answered, len(accepted.attempts)) == (True, 1)
    assert "the policy accepts a complete answer" in " ".join(accepted.warnings)
    stopped = await ran(conf, tmp_path, "a/ok", "b/ok", check="false", on={"rejected": "stop"})
    assert (stopped.kind, len(stopped.attempts)) == (KIND.REJECTED, 1)


async def test_an_answer_that_fits_its_schema(conf: Settings, tmp_path: Path) -> None:
    schema = tmp_path / "risks.json"
    schema.write_text(json.dumps({"type": "object", "required": ["risks"]}))
    result = await ran(conf, tmp_path, "a/ok", "b/json", schema=schema)
    assert (result.answered_by, result.attempts[0].kind) == ("b/json", KIND.REJECTED)
    assert result.attempts[0].message.startswith("the answer is not JSON: expecting value: line 1")
    assert "the answer is not JSON" in prompt_sent(result, 2)
    both = await ran(conf, tmp_path, "b/json", schema=schema, check="sh -c 'echo never good; exit 1'")
    assert both.attempts[0].message == "the check exited with 1: never good"


@pytest.mark.parametrize(
    ("said", "problems"),
    [
        ('{"n": 1}', []),
        (' \n```json\n{"n": 1}\n```\n', []),
        ('```\n{"n": 1}\n```', []),
        ('Here it is: {"n": 1}', ["the answer is not JSON: expecting value: line 1 column 1 (char 0)"]),
        ('{"n": NaN}', ["the answer is not JSON: naN is no JSON"]),
        ('{"n": "one"}', ["$.n: 'one' is not of type 'integer'"]),
        ('{"m": 1}', ["$: 'n' is a required property"]),
        ("[" * 100_000, None),
        ('{"n": ' + "9" * 5000 + "}", None),
    ],
)
def test_answers_and_schemas(tmp_path: Path, said: str, problems: list[str] | None) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}')
    found = fit(said, file)
    assert found == problems if problems is not None else found


@given(st.recursive(st.none() | st.booleans() | st.text(), st.lists))
def test_any_json_fits_the_schema_that_takes_all_and_none_the_one_that_takes_nothing(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name, text in (("all.json", "true"), ("none.json", "false")):
        (folder / name).write_text(text)
    said = f"```json\n{json.dumps(value)}\n```"
    assert fit(said, folder / "all.json") == []
    assert len(fit(said, folder / "none.json")) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "schema.json:1: not JSON: expecting property name enclosed in double quotes"),
        ('{\n "type": "objct"\n}', "schema.json:2: no JSON Schema: type: 'objct' is not valid"),
        ('{"$ref": "https://example.com/other.json"}', "refers to 'https://example.com/other.json', and nothing is"),
        ('{\n "items": {"$ref": "#/$defs/risk"}\n}', "schema.json:2: it refers to '#/$defs/risk', which is not there"),
        ('{"$ref": "#"}', "schema.json:1: '#' refers to itself, and to nothing else"),
        ('{"items": {"$ref": "#/items"}}', "schema.json:1: '#/items' refers to itself"),
        ('{"allOf": [{"$ref": "#/allOf/one"}]}', "schema.json:1: it refers to '#/allOf/one', which is not there"),
        ("[]", "schema.json: no JSON Schema: "),
        ("[" * 100_000, "schema.json: not JSON: "),
        (None, "schema.json: no such file or directory; did you mean 'schema.jsn'?"),
    ],
)
async def test_a_schema_that_is_none_is_refused_before_anything_is_spent(
    conf: Settings, tmp_path: Path, text: str | None, said: str
) -> None:
    file = tmp_path / "schema.json"
    if text is None:
        (tmp_path / "schema.jsn").touch()
    else:
        file.write_text(text)
    with pytest.raises(PolicyError) as error:
        await ran(conf, tmp_path, "a/ok", schema=file)
    assert said in error.value.message
    assert error.value.file == str(file)
    assert not (tmp_path / "home").exists()


async def test_a_check_that_cannot_be_started_is_refused_before_anything_is_spent(
    conf: Settings, tmp_path: Path
) -> None:
    (tmp_path / "plain.sh").write_text("exit 0")
    for command in ("no-such-program -v", "./nothing.sh", "./plain.sh", "/" + "x" * 5000):
        with pytest.raises(PolicyError, match="cannot be started"):
            await ran(conf, tmp_path, "a/ok", check=command)
    (tmp_path / "plain.sh").write_text("#!/bin/sh\nexit 0")
    (tmp_path / "plain.sh").chmod(0o755)
    assert (await ran(conf, tmp_path, "a/ok", check="./plain.sh")).answered


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("check", "", "check = '': it is empty"),
        ("check", "pytest 'half", "cannot be read as a command: no closing quotation"),
        ("rejected_prompt", "try again", "it must hold {output}"),
        ("rejected_prompt", "{output} is wrong", "put a word before the output"),
        ("rejected_prompt", "/fix {output}", "begins with '/'"),
        ("after_rejection", "stop", "after_rejection"),
        ("shema", "x.json", "unknown key 'shema'; did you mean 'schema'?"),
    ],
)
def test_keys_that_cannot_be_followed(key: str, value: str, said: str) -> None:
    with pytest.raises(PolicyError) as error:
        FallbackPolicy.model_validate({key: value})
    assert said in error.value.message


def test_a_policy_reads_back_as_it_was_written(tmp_path: Path) -> None:
    policy = FallbackPolicy(
        models=["a/b"], check="pytest -q 'a b'", schema=tmp_path / "s.json", after_rejection="fresh"
    )
    data = policy.model_dump(mode="json")
    assert (data["check"], data["schema"]) == (["pytest", "-q", "a b"], str(tmp_path / "s.json"))
    assert FallbackPolicy.model_validate(data) == policy
    assert "schema" not in FallbackPolicy().model_dump(mode="json")


def test_a_schema_is_found_beside_the_file_that_names_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "atomic-flows.toml").write_text('[policy.risks]\nschema = "risks.json"\ncheck = "pytest -q"\n')
    settings = load_settings(tmp_path, environ={"ATOMIC_FLOWS_HOME": str(home), "HOME": str(tmp_path)})
    assert settings.policies["risks"]["schema"] == str(home / "risks.json")


async def test_an_unchecked_run_keeps_no_word_of_checks(conf: Settings, tmp_path: Path) -> None:
    result = await ran(conf, tmp_path, "a/ok")
    assert result.verdicts[0].check is None
    folder = open_store(conf).open(result.run_id).path
    assert not (folder / "attempt-1" / "check.txt").exists()


@given(st.text())
def test_what_a_check_said_is_no_command_and_holds_no_codes(said: str) -> None:
    output = told(said)
    assert "\x1b" not in output
    assert len(output) <= TOLD + 100


async def test_nobody_answered_says_why(conf: Settings, tmp_path: Path) -> None:
    with pytest.raises(NoModelAnswered) as error:
        await run(
            "hello",
            policy={"models": ["a/ok", "b/ok"], "check": "false"},
            agent="scripted",
            cwd=tmp_path,
            settings=conf,
        )
    assert "a/ok: rejected; b/ok: rejected" in error.value.message


OWNER = """
import sys
from pathlib import Path
from atomic import run_sync
from atomic.settings import Settings
home, work = map(Path, sys.argv[1:3])
run_sync("hello", models=["a/ok"], policy={"check": sys.argv[3:]}, agent="scripted", cwd=work, key="k",
    settings=Settings(home=home))
"""


@pytest.mark.parametrize(("good", "kinds"), [(True, [None]), (False, [KIND.REJECTED])])
async def test_an_answer_whose_check_a_kill_cut_off_is_checked_by_whoever_comes_next_and_not_bought_again(
    conf: Settings, tmp_path: Path, good: bool, kinds: list[FailureKind | None]
) -> None:
    script = f"echo $$ >> begun; test -e go && exit {int(not good)}; setsid sleep 1000 & echo $! >> begun; wait"
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(conf.home), str(tmp_path), "sh", "-c", script])
    begun = tmp_path / "begun"
    while not begun.exists() or len(begun.read_text().split()) < 2:
        await asyncio.sleep(0.02)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    check, tool = (identify(int(number)) for number in begun.read_text().split())
    assert check is not None
    assert is_alive(check), "nobody told it to end"
    (tmp_path / "go").touch()
    store = open_store(conf)
    claimed = await claim(store, "k")
    assert tool is None or not is_alive(tool)
    assert not is_alive(check)
    (found,) = store.iter_runs()
    attempts = [one.read() for one in store.open(found.run_id).attempts()]
    assert [one.kind for one in attempts] == kinds
    assert attempts[0].verdict is not None
    assert attempts[0].verdict.answer == "Hello from a scripted agent."
    assert (claimed.answered is not None) == good
    assert found.status == ("answered" if good else "failed")
    store.release("k")
