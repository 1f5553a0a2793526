"""Makes the calls that the Python client of Google Bigtable has, against the server that BIGTABLE_EMULATOR_HOST names, and
ends with an error at the first answer that is not the expected one."""

import asyncio
import datetime
import sys
import traceback

from google.api_core import exceptions
from google.cloud import bigtable
from google.cloud.bigtable import column_family, row_filters, row_set
from google.cloud.bigtable.policy import Policy
from google.cloud.bigtable.data import (
    BigtableDataClient,
    BigtableDataClientAsync,
    ReadRowsQuery,
    RowMutationEntry,
    RowRange,
    SetCell,
    mutations,
    read_modify_write_rules,
    row_filters as filters,
)
from google.cloud.bigtable.data.exceptions import MutationsExceptionGroup

PROJECT, INSTANCE = "python", "instance"


def same(what, got, want):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def fails(what, error, call):
    try:
        call()
    except error:
        return
    raise AssertionError(f"{what}: no {error.__name__}")


def cells(row):
    """The cells of a row: family, qualifier, time, value and labels."""
    if row is None:
        return None
    return [(c.family, c.qualifier.decode(), c.timestamp_micros, c.value, *c.labels) for c in row]


def keys(rows):
    return [r.row_key.decode() for r in rows]


def at(micros):
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(microseconds=micros)


# The admin client and the classic data client.


def instances(client):
    instance = client.instance(INSTANCE, display_name="An instance")
    operation = instance.create(clusters=[instance.cluster("c", location_id="local", serve_nodes=1)])
    same("created instance", operation.result(timeout=10).display_name, "An instance")
    same("instance exists", instance.exists(), True)
    instance.reload()
    clusters, failed = instance.list_clusters()
    same("clusters", ([c.cluster_id for c in clusters], failed), (["colonnade"], []))
    cluster = instance.cluster("colonnade")
    cluster.reload()
    same("cluster", (cluster.exists(), cluster.serve_nodes), (True, 1))
    same("other cluster", instance.cluster("other").exists(), False)
    same("clusters of instances without tables", client.list_clusters(), ([], []))
    profile = instance.app_profile("default")
    profile.reload()
    same("app profile", (profile.exists(), profile.cluster_id), (True, "colonnade"))
    same("app profiles", [p.app_profile_id for p in instance.list_app_profiles()], ["default"])
    return instance


def tables(client, instance):
    table = instance.table("classic")
    same("no table", table.exists(), False)
    rules = {
        "a": column_family.MaxVersionsGCRule(3),
        "b": column_family.MaxAgeGCRule(datetime.timedelta(days=100000)),
        "c": column_family.GCRuleUnion([column_family.MaxAgeGCRule(datetime.timedelta(hours=1)), column_family.MaxVersionsGCRule(2)]),
        "d": column_family.GCRuleIntersection([column_family.MaxAgeGCRule(datetime.timedelta(hours=1)), column_family.MaxVersionsGCRule(2)]),
    }
    table.create(initial_split_keys=["k", "m"], column_families=rules)
    fails("create again", exceptions.AlreadyExists, table.create)
    same("table", table.exists(), True)
    same("tables", [t.table_id for t in instance.list_tables()], ["classic"])
    same("instances", [i.instance_id for i in client.list_instances()[0]], [INSTANCE])
    same("clusters of all instances", [c.cluster_id for c in client.list_clusters()[0]], ["colonnade"])
    got = table.list_column_families()
    same("families", {name: f.to_pb().gc_rule for name, f in got.items()}, {name: rule.to_pb() for name, rule in rules.items()})
    family = table.column_family("e")
    family.create()
    family.gc_rule = column_family.MaxVersionsGCRule(1)
    family.update()
    same("updated family", table.list_column_families()["e"].gc_rule.max_num_versions, 1)
    family.delete()
    same("families", sorted(table.list_column_families()), ["a", "b", "c", "d"])
    same("cluster states", list(table.get_cluster_states()), ["colonnade"])
    same("encryption", list(table.get_encryption_info()), ["colonnade"])
    fails("unknown family", exceptions.NotFound, table.column_family("none").delete)
    return table


def classic(table):
    row = table.direct_row("r0")
    for n in range(5):
        row.set_cell("a", "q", str(n), timestamp=at(n * 1000))
    row.commit()
    same("newest versions", [c.value for c in table.read_row("r0").cells["a"][b"q"]], [b"4", b"3", b"2"])
    row.delete()
    row.commit()
    row = table.direct_row("r1")
    for n in range(2, 5):
        row.set_cell("a", "q", f"v{n}", timestamp=at(n * 1000))
    row.set_cell("b", b"\xff", 7, timestamp=at(1000))
    row.commit()
    got = table.read_row("r1")
    same("cells", [(c.value, c.timestamp_micros) for c in got.cells["a"][b"q"]], [(b"v4", 4000), (b"v3", 3000), (b"v2", 2000)])
    same("number", got.cell_value("b", b"\xff"), b"\0\0\0\0\0\0\0\x07")
    row = table.direct_row("r1")
    row.delete_cell("a", "q", time_range=row_filters.TimestampRange(start=at(3000), end=at(4000)))
    row.delete_cells("b", row.ALL_COLUMNS)
    row.commit()
    same("after deletions", table.read_row("r1").to_dict().keys(), {b"a:q"})
    same("versions", [c.value for c in table.read_row("r1").cells["a"][b"q"]], [b"v4", b"v2"])
    row = table.direct_row("r1")
    row.delete()
    row.commit()
    same("deleted", table.read_row("r1"), None)

    rows = [table.direct_row(f"m{n}") for n in range(4)]
    for n, row in enumerate(rows):
        row.set_cell("none" if n == 1 else "a", "q", str(n), timestamp=at(0))
    same("statuses", [s.code for s in table.mutate_rows(rows)], [0, 5, 0, 0])
    same("rows", keys(table.read_rows()), ["m0", "m2", "m3"])
    same("range", keys(table.read_rows(start_key="m1", end_key="m3")), ["m2"])
    same("inclusive", keys(table.read_rows(start_key="m1", end_key="m3", end_inclusive=True, limit=5)), ["m2", "m3"])
    same("limit", keys(table.yield_rows(limit=1)), ["m0"])
    rows = row_set.RowSet()
    rows.add_row_key("m3")
    rows.add_row_range_from_keys("m0", "m1")
    rows.add_row_range_with_prefix("x")
    same("row set", keys(table.read_rows(row_set=rows)), ["m0", "m3"])
    chain = row_filters.RowFilterChain([row_filters.ValueRegexFilter("[23]"), row_filters.CellsColumnLimitFilter(1), row_filters.StripValueTransformerFilter(True)])
    same("filter", [(r.row_key, r.cell_value("a", b"q")) for r in table.read_rows(filter_=chain)], [(b"m2", b""), (b"m3", b"")])

    row = table.conditional_row("m0", row_filters.ValueRegexFilter("0"))
    row.set_cell("a", "yes", b"", timestamp=at(0), state=True)
    row.set_cell("a", "no", b"", timestamp=at(0), state=False)
    same("condition", row.commit(), True)
    same("after it", sorted(table.read_row("m0").cells["a"]), [b"q", b"yes"])
    row = table.append_row("m0")
    row.append_cell_value("a", "q", "+")
    row.increment_cell_value("a", "n", 3)
    got = row.commit()["a"]
    same("appended", (got[b"q"][0][0], got[b"n"][0][0]), (b"0+", b"\0\0\0\0\0\0\0\x03"))

    with table.mutations_batcher(flush_count=7) as batcher:
        for n in range(50):
            row = table.direct_row(f"z{n:02}")
            row.set_cell("a", "q", b"x", timestamp=at(0))
            batcher.mutate(row)
    same("batch", len(list(table.read_rows(start_key="z"))), 50)
    same("samples end with the table", list(table.sample_row_keys())[-1].row_key, b"")
    table.drop_by_prefix("z1")
    same("after drop_by_prefix", len(list(table.read_rows(start_key="z"))), 40)
    table.truncate()
    same("after truncate", keys(table.read_rows()), [])


def backups(instance, table):
    def after(days):
        return datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) + datetime.timedelta(days=days)

    row = table.direct_row("kept")
    row.set_cell("a", "q", b"old", timestamp=at(1000))
    row.set_cell("a", "q", b"new", timestamp=at(2000))
    row.commit()
    backup = table.backup("b", cluster_id="colonnade", expire_time=after(1))
    same("no backup", backup.exists(), False)
    same("its table", backup.create().result(60).source_table, table.name)
    fails("backup again", exceptions.AlreadyExists, backup.create)
    got = backup.get()
    same("backup", (got.name, got.source_table, got.state.name, got.size_bytes > 0), (backup.name, table.name, "READY", True))
    backup.update_expire_time(after(2))
    same("update", backup.get().expire_time, backup.expire_time)
    same("backups", [b.name for b in table.list_backups()], [backup.name])
    same("of another table", list(instance.table("other").list_backups()), [])
    row.delete()
    row.commit()
    restored = table.restore("restored", cluster_id="colonnade", backup_id="b").result(60)
    same("restored", restored.name, instance.name + "/tables/restored")
    copy = instance.table("restored")
    same("its families", sorted(copy.list_column_families()), sorted(table.list_column_families()))
    same("its cells", [(c.value, c.timestamp_micros) for c in copy.read_row("kept").cells["a"][b"q"]], [(b"new", 2000), (b"old", 1000)])
    fails("restore again", exceptions.AlreadyExists, lambda: backup.restore("restored"))
    copy.delete()
    backup.delete()
    same("a deleted backup", backup.get(), None)


def absent(instance, table):
    """Calls for what the server does not have."""
    cluster, profile = instance.cluster("c", location_id="local", serve_nodes=1), instance.app_profile("p", routing_policy_type=1)
    for what, call in {
        "change an instance": instance.update,
        "create a cluster": cluster.create,
        "change a cluster": cluster.update,
        "delete a cluster": cluster.delete,
        "create an app profile": profile.create,
        "change an app profile": profile.update,
        "delete an app profile": profile.delete,
        "policy of an instance": instance.get_iam_policy,
        "policy for an instance": lambda: instance.set_iam_policy(Policy()),
        "permissions of an instance": lambda: instance.test_iam_permissions(["bigtable.tables.get"]),
        "policy of a table": table.get_iam_policy,
        "policy for a table": lambda: table.set_iam_policy(Policy()),
        "permissions of a table": lambda: table.test_iam_permissions(["bigtable.tables.get"]),
    }.items():
        fails(what, exceptions.MethodNotImplemented, call)


# The data client.

VALUES = [("a", "q", 2000, b"new"), ("a", "q", 1000, b"old"), ("b", "", 1000, b"\0\0\0\0\0\0\0\x05")]


def data(table):
    table.mutate_row("r1", [SetCell("a", "q", "old", 1000), SetCell("a", "q", "new", 2000), SetCell("b", "", 5, 1000)])
    same("row", cells(table.read_row("r1")), VALUES)
    same("int", int(table.read_row("r1")["b", ""][0]), 5)
    same("exists", (table.row_exists("r1"), table.row_exists("none")), (True, False))
    same("none", table.read_row("none"), None)
    fails("family", exceptions.NotFound, lambda: table.mutate_row("r1", SetCell("none", "q", "x")))
    fails("time", exceptions.InvalidArgument, lambda: table.mutate_row("r1", SetCell("a", "q", "x", 1)))

    table.mutate_row("r1", mutations.DeleteRangeFromColumn("a", b"q", 1000, 2000))
    same("range", cells(table.read_row("r1")), [VALUES[0], VALUES[2]])
    table.mutate_row("r1", mutations.DeleteAllFromFamily("b"))
    same("family", cells(table.read_row("r1")), [VALUES[0]])
    table.mutate_row("r1", mutations.DeleteAllFromRow())
    same("row", table.read_row("r1"), None)

    table.bulk_mutate_rows([RowMutationEntry(f"r{n}", [SetCell("a", "q", str(n), 0), SetCell("b", "q", str(n), 0)]) for n in range(6)])
    entries = [RowMutationEntry("s1", SetCell("a", "q", "1", 0)), RowMutationEntry("s2", SetCell("none", "q", "1", 0))]
    fails("bulk", MutationsExceptionGroup, lambda: table.bulk_mutate_rows(entries))
    same("of a bulk that failed", (table.row_exists("s1"), table.row_exists("s2")), (True, False))
    reads(table)

    same("true", table.check_and_mutate_row("r0", filters.ValueRegexFilter("0"), true_case_mutations=SetCell("a", "c", "t", 0)), True)
    same("false", table.check_and_mutate_row("r0", filters.ValueRegexFilter("9"), false_case_mutations=SetCell("a", "c", "f", 0)), False)
    same("any", table.check_and_mutate_row("none", None, true_case_mutations=SetCell("a", "c", "t", 0)), False)
    same("after them", [c.value for c in table.read_row("r0")["a", "c"]], [b"f"])
    got = table.read_modify_write_row("r0", [read_modify_write_rules.IncrementRule("a", "n", 2), read_modify_write_rules.AppendValueRule("a", "c", "+")])
    same("rules", [(c.qualifier, c.value) for c in got], [(b"c", b"f+"), (b"n", b"\0\0\0\0\0\0\0\x02")])
    got = table.read_modify_write_row("r0", read_modify_write_rules.IncrementRule("a", "n", -3))
    same("decrement", int(got["a", "n"][0]), -1)

    with table.mutations_batcher(flush_limit_mutation_count=10) as batcher:
        for n in range(100):
            batcher.append(RowMutationEntry(f"z{n:02}", SetCell("a", "q", b"x" * 1000, 0)))
    same("batch", len(table.read_rows(ReadRowsQuery(row_ranges=RowRange("z"), row_filter=filters.StripValueTransformerFilter(True)))), 100)
    samples = table.sample_row_keys()
    same("samples end with the table", samples[-1][0], b"")
    sharded = ReadRowsQuery().shard(samples)
    same("sharded", len(table.read_rows_sharded(sharded)), 107)
    fails("SQL", exceptions.MethodNotImplemented, lambda: list(table.client.execute_query("SELECT 1", INSTANCE)))
    large = b"v" * (3 << 20)  # with an emulator this client takes no message, and so no row, above 4 MiB
    table.mutate_row("large", SetCell("a", "q", large, 0))
    same("large value", table.read_row("large")[0].value == large, True)


def reads(table):
    def read(**query):
        return keys(table.read_rows(ReadRowsQuery(**query)))

    same("all", read(), ["r0", "r1", "r2", "r3", "r4", "r5", "s1"])
    same("keys", read(row_keys=["r4", "r1", "none"]), ["r1", "r4"])
    same("closed", read(row_ranges=RowRange("r1", "r3", end_is_inclusive=True)), ["r1", "r2", "r3"])
    same("open", read(row_ranges=RowRange("r1", "r3", start_is_inclusive=False)), ["r2"])
    same("both", read(row_keys="r5", row_ranges=[RowRange(end_key="r1"), RowRange("s")]), ["r0", "r5", "s1"])
    same("limit", read(limit=2), ["r0", "r1"])
    same("stream", keys(table.read_rows_stream(ReadRowsQuery(limit=3))), ["r0", "r1", "r2"])
    only = filters.RowFilterChain([filters.RowKeyRegexFilter("r[01]"), filters.FamilyNameRegexFilter("a")])
    for what, f, want in [
        ("chain", only, [("a", "q", 0, b"0")]),
        ("union", filters.RowFilterUnion([only, filters.RowFilterChain([only, filters.ApplyLabelFilter("l")])]), [("a", "q", 0, b"0"), ("a", "q", 0, b"0", "l")]),
        ("condition", filters.ConditionalRowFilter(only, filters.FamilyNameRegexFilter("b"), filters.PassAllFilter(True)), [("b", "q", 0, b"0")]),
        ("columns", filters.ColumnRangeFilter("b", "a", "q", inclusive_end=True), [("b", "q", 0, b"0")]),
        ("qualifier", filters.ColumnQualifierRegexFilter("[^q]"), None),
        ("values", filters.ValueRangeFilter("0", "1", inclusive_end=False), [("a", "q", 0, b"0"), ("b", "q", 0, b"0")]),
        ("literal", filters.LiteralValueFilter("0"), [("a", "q", 0, b"0"), ("b", "q", 0, b"0")]),
        ("times", filters.TimestampRangeFilter(start=at(1000)), None),
        ("offset", filters.CellsRowOffsetFilter(1), [("b", "q", 0, b"0")]),
        ("row limit", filters.CellsRowLimitFilter(1), [("a", "q", 0, b"0")]),
        ("column limit", filters.CellsColumnLimitFilter(1), [("a", "q", 0, b"0"), ("b", "q", 0, b"0")]),
        ("strip", filters.RowFilterChain([only, filters.StripValueTransformerFilter(True)]), [("a", "q", 0, b"")]),
        ("block", filters.BlockAllFilter(True), None),
        ("sink", filters.SinkFilter(True), [("a", "q", 0, b"0"), ("b", "q", 0, b"0")]),
    ]:
        same(what, cells(table.read_row("r0", row_filter=f)), want)
    fails("wrong filter", exceptions.InvalidArgument, lambda: table.read_row("r0", row_filter=filters.RowFilterChain([only])))
    fails("no table", exceptions.NotFound, lambda: table.client.get_table(INSTANCE, "none").read_row("r"))


async def asynchronous():
    async with BigtableDataClientAsync(project=PROJECT) as client:
        async with client.get_table(INSTANCE, "data") as table:
            await table.mutate_row("async", [SetCell("a", "q", "new", 2000), SetCell("a", "q", "old", 1000), SetCell("b", "", 5, 1000)])
            same("async row", cells(await table.read_row("async")), VALUES)
            same("async exists", await table.row_exists("async"), True)
            async with table.mutations_batcher() as batcher:
                await asyncio.gather(*[batcher.append(RowMutationEntry(f"y{n:02}", SetCell("a", "q", "x", 0))) for n in range(100)])
            query = ReadRowsQuery(row_ranges=RowRange("y", "z"))
            same("async batch", len(await table.read_rows(query)), 100)
            same("async stream", len([r async for r in await table.read_rows_stream(query)]), 100)
            await table.bulk_mutate_rows([RowMutationEntry("y00", mutations.DeleteAllFromRow())])
            same("async condition", await table.check_and_mutate_row("y01", None, true_case_mutations=SetCell("a", "c", "1", 0)), True)
            got = await table.read_modify_write_row("y01", read_modify_write_rules.AppendValueRule("a", "c", "2"))
            same("async rule", got[0].value, b"12")
            samples = await table.sample_row_keys()
            same("async read", keys(await table.read_rows(ReadRowsQuery(row_keys="y01", row_filter=filters.CellsColumnLimitFilter(1)))), ["y01"])
            try:
                await client.execute_query("SELECT 1", INSTANCE)
                raise AssertionError("async SQL")
            except exceptions.MethodNotImplemented:
                pass
            same("async shards", len(await table.read_rows_sharded(query.shard(samples))), 99)


def main():
    client = bigtable.Client(project=PROJECT, admin=True)
    instance = instances(client)
    table = tables(client, instance)
    classic(table)
    backups(instance, table)
    absent(instance, table)
    table.delete()
    same("deleted table", table.exists(), False)
    table = instance.table("data")
    table.create(column_families={"a": None, "b": None})
    with BigtableDataClient(project=PROJECT) as data_client, data_client.get_table(INSTANCE, "data") as data_table:
        data(data_table)
    asyncio.run(asynchronous())
    instance.delete()
    same("tables of a deleted instance", instance.list_tables(), [])


if __name__ == "__main__":
    try:
        main()
    except Exception:
        traceback.print_exc()
        sys.exit(1)
    print("every answer is the expected one")
