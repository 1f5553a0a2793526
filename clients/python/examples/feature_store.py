"""A feature store: a row for each user, a family for each group of features that a model reads together.

Families in a locality group of their own are stored apart, so a model that reads ``clicks`` does not read ``profile``, which is large.
Versions keep what a feature was: training takes it as of the time of an event, serving takes the newest.
"""

import sys
from datetime import datetime, timezone

import colonnade
from colonnade import Cell


def at(day: int) -> datetime:
    return datetime(2025, 11, day, tzinfo=timezone.utc)


def main(url: str) -> None:
    with colonnade.connect(url) as db:
        users = db.create_table("users", families=["clicks", "profile"], locality_groups=[["clicks"], ["profile"]])
        users.write_rows({
            "user-1": [Cell("clicks:week", 3, at(1)), Cell("clicks:week", 9, at(8)), Cell("profile:text", "x" * 1000, at(1))],
            "user-2": [Cell("clicks:week", 5, at(1)), Cell("clicks:rate", 0.25, at(8)), Cell("profile:text", "y" * 1000, at(1))],
        })  # fmt: skip

        # Serving: the newest versions of some users, as of one moment.
        for row in users.rows(["user-2", "user-1"], families=["clicks"], versions=1):
            assert row is not None
            print(row.key, dict(row))

        # Training: what the features were on the 7th. Nothing that came later leaks in.
        frame = users.scan(families=["clicks"], versions=1, until=at(7)).to_pandas()
        print(frame["clicks:week"].to_dict())


if __name__ == "__main__":
    main(sys.argv[1])
