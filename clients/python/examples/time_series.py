"""Time series: the row key is what one asks for, here a sensor and then the time.

A row is an hour of a sensor, and a qualifier the second in it. The hours of a sensor are neighbours, so a day is one short range. A
key that began with the time would send all sensors' writes of now to one place, and spread a sensor's day over the table.
"""

import sys
from datetime import datetime, timedelta, timezone

import colonnade


def row_key(sensor: str, hour: datetime) -> str:
    return f"{sensor}/{hour:%Y-%m-%dT%H}"


def main(url: str) -> None:
    with colonnade.connect(url) as db:
        series = db.create_table("series", families=[colonnade.Family("celsius", max_age=timedelta(days=36500))])
        monday = datetime(2025, 11, 10, tzinfo=timezone.utc)
        series.load(
            (row_key(sensor, monday + timedelta(hours=h)), {f"celsius:{s:04}": base + h / 10 for s in range(0, 3600, 600)})
            for sensor, base in (("attic", 25.0), ("cellar", 8.0))
            for h in range(48)
        )

        # A day of a sensor: a range of keys.
        day = series.scan(start=row_key("cellar", monday), end=row_key("cellar", monday + timedelta(days=1)))
        print(sum(len(row) for row in day), "measurements on Monday")

        # Its last hour: the same range from its end.
        last = next(series.scan(prefix="cellar/", reverse=True, limit=1))
        print("last:", last.key, max(last.values()))

        # Averages by day, made where the data is: only the sums travel.
        key_of_a_day = len("cellar/2025-11-10")
        for group in series.aggregate(["avg", "max"], prefix="cellar/", group_by=colonnade.by_prefix(key_of_a_day)):
            print(group.key, group.avg, group.max)


if __name__ == "__main__":
    main(sys.argv[1])
