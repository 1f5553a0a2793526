"""An inbox: a row for each message, newest first, and two workers that never take the same one.

Keys sort upwards, so the key has the time that is left until a far one: then the newest message is the first of its user. Check-and-mutate
looks at a row and changes it in one step: of two workers, one finds the message free.
"""

import sys

import colonnade
from colonnade import delete_column, filters, set_cell

FAR = 10**10  # seconds; the difference has always ten digits


def row_key(user: str, second: int) -> str:
    return f"{user}/{FAR - second:010}"


def take(inbox: colonnade.Table, key: str, worker: str) -> bool:
    """Whether the message is the worker's now."""
    taken = filters.column("state:worker")
    return not inbox.check_and_mutate(key, taken, otherwise=[set_cell("state:worker", worker)])


def main(url: str) -> None:
    with colonnade.connect(url) as db:
        inbox = db.create_table("inbox", families=["message", "state"])
        for second, text in ((1000, "first"), (2000, "second"), (3000, "third")):
            inbox.write(row_key("ada", second), {"message:text": text})
        inbox.write(row_key("bob", 1500), {"message:text": "other"})

        # The newest two of a user: a prefix and a limit.
        newest = list(inbox.scan(prefix="ada/", limit=2))
        print([row["message:text"] for row in newest])

        key = newest[0].key
        print("one:", take(inbox, key, "one"), "two:", take(inbox, key, "two"))
        inbox.mutate(key, delete_column("state:worker"))  # gives it back
        print("two:", take(inbox, key, "two"))

        # A page at a time, as an application shows it.
        page = inbox.page(prefix="ada/", limit=2)
        while True:
            print("page:", [row["message:text"] for row in page.rows])
            if page.next_token is None:
                break
            page = inbox.page(prefix="ada/", limit=2, page_token=page.next_token)


if __name__ == "__main__":
    main(sys.argv[1])
