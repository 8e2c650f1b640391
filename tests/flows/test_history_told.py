"""Single runs and the database: what they write, what they learn, and that it is never worth a run."""

from __future__ import annotations

import json
import os
import sqlite3
import time

from tests.flows.conftest import CommandLine


def listed(cli: CommandLine, *args: str) -> list[dict[str, object]]:
    done = cli("history", "list", "--json", *args)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def rows(cli: CommandLine, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(cli.home / "history.db") as connection:
        return list(connection.execute(query))


def test_a_run_is_in_the_history_and_the_next_one_knows_what_cools_down(cli: CommandLine) -> None:
    first = cli.scripted("-m", "one/rate-limit", "-m", "two/ok", "--tag", "night", "Sweep the yard")
    assert first.code == 0
    assert rows(cli, "SELECT status, first_model, answered_by, attempts, hopped, prompt FROM runs") == [
        ("answered", "one/rate-limit", "two/ok", 2, 1, "Sweep the yard")
    ]
    assert rows(cli, "SELECT key, kind FROM cooldowns") == [("model/one/rate-limit", "rate_limit")]
    second = json.loads(cli.scripted("-m", "one/rate-limit", "-m", "two/ok", "--json", "again").out)
    assert [attempt["model"] for attempt in second["attempts"]] == ["two/ok"]
    assert [run["run_id"] for run in listed(cli, "--hopped", "--tag", "night")] == [
        json.loads(cli("history", "show", "--json", str(listed(cli)[1]["run_id"])).out)["run_id"]
    ]


def test_a_cooldown_that_would_leave_no_model_to_try_is_passed_over(cli: CommandLine) -> None:
    assert cli.scripted("-m", "one/quota", "x").code == 1
    assert cli.scripted("-m", "one/ok", "it may have been paid for").code == 0
    with_another = json.loads(cli.scripted("-m", "one/ok", "-m", "two/ok", "--json", "x").out)
    assert with_another["answered_by"] == "two/ok", "while there is another model it is obeyed"


def test_a_database_that_is_away_costs_no_run_and_is_caught_up(cli: CommandLine) -> None:
    assert cli.scripted("-m", "x/ok", "the first").code == 0
    holder = sqlite3.connect(cli.home / "history.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    locked = cli.scripted("-m", "x/ok", "the second")
    holder.execute("ROLLBACK")
    holder.close()
    assert (locked.code, locked.out) == (0, "Hello from a scripted agent.\n")
    assert locked.err.count("the history does not have this run yet") == 1
    assert [run["status"] for run in listed(cli)] == ["answered"] * 2


def test_a_damaged_database_costs_no_run_and_is_rebuilt(cli: CommandLine) -> None:
    cli.home.mkdir(exist_ok=True)
    (cli.home / "history.db").write_bytes(b"this is no database" * 100)
    done = cli.scripted("-m", "x/ok", "hello")
    assert (done.code, done.out) == (0, "Hello from a scripted agent.\n")
    assert "damaged, or no database at all" in done.err
    asked = cli("history", "list")
    assert asked.code != 0
    assert "atomic-flows history rebuild" in asked.err
    assert cli("history", "rebuild").code == 0
    assert len(listed(cli)) == 1


def test_figures_of_runs_and_of_days(cli: CommandLine) -> None:
    cli.scripted("-m", "one/overflow", "-m", "two/ok", "a")
    cli.scripted("-m", "one/refusal", "b")
    told = json.loads(cli("history", "stats", "--json").out)
    assert (told["overview"]["runs"], told["overview"]["answered"], told["overview"]["hopped"]) == (2, 1, 1)
    assert {(hop["source"], hop["target"], hop["kind"]) for hop in told["hops"]} == {
        ("one/overflow", "two/ok", "overflow")
    }
    page = cli("history", "stats").out
    assert page.splitlines()[0].startswith("2 runs · 1 answered (50%) · 1 failed · 1 not by their first model")
    assert "refusal" in page
    today = time.strftime("%Y-%m-%d")
    compared = cli("history", "stats", "--day", "today", "--against", "yesterday").out
    assert today in compared.splitlines()[0]
    assert ["runs", "2", "0"] in [line.split() for line in compared.splitlines()]
    wrong = cli("history", "stats", "--day", "someday")
    assert (wrong.code, wrong.out) == (2, "")
    assert "'someday' is no day" in wrong.err


def test_runs_go_page_by_page_into_files_and_away(cli: CommandLine) -> None:
    ids = [json.loads(cli.scripted("-m", "x/ok", "--json", "--name", f"=n{n}", "p").out)["run_id"] for n in range(3)]
    first = cli("history", "list", "--json", "--limit", "2")
    assert [json.loads(line)["run_id"] for line in first.out.splitlines()] == ids[:0:-1]
    cursor = first.err.split("--after ")[1].split()[0]
    assert [run["run_id"] for run in listed(cli, "--limit", "2", "--after", cursor)] == ids[:1]
    assert cli("history", "export", "--format", "csv", "-o", str(cli.home / "runs.csv")).code == 0
    assert (cli.home / "runs.csv").read_text().count(",'=n") == 3
    assert cli("history", "prune", "--older-than", "0s").code == 2  # nobody can be asked
    assert "3 runs" in cli("history", "prune", "--older-than", "0s", "--dry-run").err
    assert len(listed(cli)) == 3
    assert cli("history", "prune", "--older-than", "0s", "--name", "=n1", "--yes").code == 0
    assert [run["run_id"] for run in listed(cli)] == [ids[2], ids[0]]
    assert len(cli.records()) == 2


def test_an_export_leaves_links_pipes_and_what_was_there_before(cli: CommandLine) -> None:
    assert cli.scripted("-m", "x/ok", "p").code == 0
    old, link, pipe = (cli.home / name for name in ("old.jsonl", "link.jsonl", "pipe"))
    link.symlink_to(old)
    assert cli("history", "export", "-o", str(link)).code == 0
    assert link.is_symlink()
    whole = old.read_bytes()
    assert json.loads(whole)["run_id"]
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert cli("history", "export", "-o", str(pipe)).code == 0
    assert os.read(reader, len(whole) + 1) == whole
    os.close(reader)
    failed = cli("history", "export", "-o", str(cli.home / "no folder" / "x"))
    assert failed.code == 2
    assert "cannot write" in failed.err
