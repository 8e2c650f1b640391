"""Batches and prompts on a schedule: ``SCHEDULES.toml`` read, registered as Prefect deployments, and carried out.

    schedules = read_schedules(Path("schedules.toml"))
    await Conductor(schedules, settings, home=…).until(stop)

Each scheduled time is an edition of a batch; a prompt is a batch of one. So what is running is judged by who owns the
edition, and whatever a kill leaves is gone on with.
"""

from __future__ import annotations

from flows.schedule.facts import BatchJob, PromptJob, Schedule
from flows.schedule.reading import read_schedules

__all__ = ["BatchJob", "PromptJob", "Schedule", "read_schedules"]
