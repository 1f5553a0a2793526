"""A graph: a row for each node, and its edges as qualifiers. All edges of a node come with one read of one row.

Edges in the other direction are in a family of their own, written in the same request: both are there or neither.
"""

import sys

import colonnade


def follow(graph: colonnade.Table, who: str, whom: str, since: int) -> None:
    graph.write_rows({who: {f"follows:{whom}": since}, whom: {f"followers:{who}": since}})


def main(url: str) -> None:
    with colonnade.connect(url) as db:
        graph = db.create_table("graph", families=["follows", "followers"])
        for who, whom in (("ada", "bob"), ("ada", "cy"), ("bob", "cy"), ("bob", "dan"), ("cy", "eve")):
            follow(graph, who, whom, 2025)

        ada = graph.row("ada")
        assert ada is not None
        friends = ada.family("follows")
        print("ada follows", sorted(friends))

        # Two steps are two reads, however many friends there are.
        suggested: set[str] = set()
        for row in graph.rows(friends, families=["follows"]):
            if row is not None:
                suggested |= row.family("follows").keys()
        print("they follow", sorted(suggested - friends.keys() - {"ada"}))

        # Is there an edge? One column of one row.
        print("bob follows dan:", graph.row("bob", columns=["follows:dan"]) is not None)

        # Who has the most followers: counted by the server, a group for each row.
        counts = graph.aggregate(["count"], families=["followers"], group_by=colonnade.by_prefix(4096))
        print("most followed:", max(counts, key=lambda group: group.count or 0).key)


if __name__ == "__main__":
    main(sys.argv[1])
