"""When a schedule is due, by Prefect's own reckoning: days that are 23 or 25 hours long are its business."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from prefect.schedules import Schedule as PrefectSchedule

# A Monday at midnight. Without a fixed beginning, intervals and rules would begin anew with each start.
BEGINNING = datetime(2024, 1, 1)  # noqa: DTZ001 - in the schedule's own zone
_TOO_OFTEN = re.compile(r"FREQ\s*=\s*(SECONDLY|MINUTELY)", re.IGNORECASE)
EDITION = "%Y%m%d-%H%M%S"  # a scheduled time in UTC, as the name of an edition


@dataclass(frozen=True, slots=True)
class Times:
    """The times of a schedule. One of cron, interval (seconds) and rrule is there."""

    cron: str | None
    interval: float | None
    rrule: str | None
    timezone: str

    @classmethod
    def of(cls, cron: str | None, interval: float | None, rrule: str | None, timezone: str) -> Times:
        """Times that have been checked. Raises ValueError where they cannot be read, or never come."""
        if rrule is not None and _TOO_OFTEN.search(rrule):
            raise ValueError("rules are reckoned time by time from their beginning; interval is for less than an hour")
        if rrule is not None and "DTSTART" not in rrule.upper():
            rrule = f"DTSTART:{BEGINNING:%Y%m%dT%H%M%S}\n{rrule if ':' in rrule else f'RRULE:{rrule}'}"
        times = cls(cron, interval, rrule, timezone)
        try:
            found = times.after(time.time(), 1)
        except ValueError:
            raise
        except Exception as error:  # noqa: BLE001 - parsers of rules raise whatever they stumble over
            raise ValueError(str(error) or type(error).__name__) from None
        if not found:
            raise ValueError("it is never due again")
        return times

    def after(self, moment: float, most: int, *, until: float | None = None) -> list[float]:
        """The next times after a moment, at most so many, none after ``until``; seconds since the epoch."""
        from prefect.server.schemas import schedules as server

        zone = ZoneInfo(self.timezone)
        try:
            start = datetime.fromtimestamp(moment, zone) + timedelta(seconds=1)
            end = None if until is None else datetime.fromtimestamp(until, zone)
        except (OverflowError, ValueError, OSError):
            return []  # no calendar has such a moment
        if self.cron is not None:
            dates = server.CronSchedule(cron=self.cron, timezone=self.timezone)._get_dates_generator(most, start, end)
        elif self.interval is not None:
            every = timedelta(seconds=self.interval)
            anchor = BEGINNING.replace(tzinfo=zone)
            interval = server.IntervalSchedule(interval=every, anchor_date=anchor, timezone=self.timezone)
            dates = interval._get_dates_generator(most, start, end)
        else:
            dates = server.RRuleSchedule(rrule=self.rrule, timezone=self.timezone)._get_dates_generator(
                most, start, end
            )
        return sorted(date.timestamp() for date in dates)

    def in_prefect(self) -> PrefectSchedule:
        """The same for a deployment."""
        from prefect.schedules import Cron, Interval, RRule

        if self.cron is not None:
            return Cron(self.cron, timezone=self.timezone)
        if self.interval is not None:
            anchor = BEGINNING.replace(tzinfo=ZoneInfo(self.timezone))
            return Interval(timedelta(seconds=self.interval), anchor_date=anchor, timezone=self.timezone)
        assert self.rrule is not None, "one of the three is there"
        return RRule(self.rrule, timezone=self.timezone)

    def __str__(self) -> str:
        rule = self.rrule.splitlines()[-1] if self.rrule else ""
        every = f"every {self.interval:g} s" if self.interval is not None else ""
        return f"{self.cron or every or rule}  {self.timezone}"


def edition_of(moment: float) -> str:
    """The name of the edition of a scheduled time."""
    return datetime.fromtimestamp(moment, UTC).strftime(EDITION)


def moment_of(edition: str) -> float | None:
    """The scheduled time that an edition is named by; None for another name."""
    try:
        return datetime.strptime(edition, EDITION).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
