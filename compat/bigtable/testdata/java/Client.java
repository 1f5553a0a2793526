import static com.google.cloud.bigtable.admin.v2.models.GCRules.GCRULES;
import static com.google.cloud.bigtable.data.v2.models.Filters.FILTERS;

import com.google.api.core.ApiFuture;
import com.google.api.gax.batching.Batcher;
import com.google.api.gax.rpc.AlreadyExistsException;
import com.google.api.gax.rpc.ApiException;
import com.google.api.gax.rpc.InvalidArgumentException;
import com.google.api.gax.rpc.NotFoundException;
import com.google.api.gax.rpc.StatusCode;
import com.google.cloud.Policy;
import com.google.cloud.bigtable.admin.v2.BigtableInstanceAdminClient;
import com.google.cloud.bigtable.admin.v2.BigtableInstanceAdminSettings;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminClient;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminSettings;
import com.google.cloud.bigtable.admin.v2.models.*;
import com.google.cloud.bigtable.data.v2.BigtableDataClient;
import com.google.cloud.bigtable.data.v2.BigtableDataSettings;
import com.google.cloud.bigtable.data.v2.models.BulkMutation;
import com.google.cloud.bigtable.data.v2.models.ConditionalRowMutation;
import com.google.cloud.bigtable.data.v2.models.Filters.Filter;
import com.google.cloud.bigtable.data.v2.models.MutateRowsException;
import com.google.cloud.bigtable.data.v2.models.Mutation;
import com.google.cloud.bigtable.data.v2.models.Query;
import com.google.cloud.bigtable.data.v2.models.Range.ByteStringRange;
import com.google.cloud.bigtable.data.v2.models.Range.TimestampRange;
import com.google.cloud.bigtable.data.v2.models.ReadChangeStreamQuery;
import com.google.cloud.bigtable.data.v2.models.ReadModifyWriteRow;
import com.google.cloud.bigtable.data.v2.models.Row;
import com.google.cloud.bigtable.data.v2.models.RowCell;
import com.google.cloud.bigtable.data.v2.models.RowMutation;
import com.google.cloud.bigtable.data.v2.models.RowMutationEntry;
import com.google.cloud.bigtable.data.v2.models.TableId;
import com.google.cloud.bigtable.data.v2.models.Value;
import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/**
 * Makes the calls that the Java client of Google Bigtable has, against the server that BIGTABLE_EMULATOR_HOST names, and ends
 * with an error at the first answer that is not the expected one. Those with Async in their names are what the others wait
 * for.
 */
public class Client {
  static final String INSTANCE = "instance";
  static final TableId TABLE = TableId.of("table");

  public static void main(String[] args) throws Exception {
    String[] address = System.getenv("BIGTABLE_EMULATOR_HOST").split(":");
    String host = address[0];
    int port = Integer.parseInt(address[1]);
    BigtableInstanceAdminSettings.Builder instances = BigtableInstanceAdminSettings.newBuilderForEmulator(host, port).setProjectId("java");
    BigtableTableAdminSettings.Builder tables = BigtableTableAdminSettings.newBuilderForEmulator(host, port).setProjectId("java").setInstanceId(INSTANCE);
    BigtableDataSettings.Builder data = BigtableDataSettings.newBuilderForEmulator(host, port).setProjectId("java").setInstanceId(INSTANCE);
    try (BigtableInstanceAdminClient instanceAdmin = BigtableInstanceAdminClient.create(instances.build());
        BigtableTableAdminClient tableAdmin = BigtableTableAdminClient.create(tables.build());
        BigtableDataClient client = BigtableDataClient.create(data.build())) {
      instances(instanceAdmin);
      tables(tableAdmin);
      writes(client);
      reads(client);
      backups(tableAdmin, client);
      absent(instanceAdmin, tableAdmin, client);
      deletions(instanceAdmin, tableAdmin, client);
    }
    System.out.println("every answer is the expected one");
    System.exit(0);
  }

  static void same(String what, Object got, Object want) {
    if (!Objects.equals(got, want)) {
      throw new AssertionError(what + ": got " + got + ", want " + want);
    }
  }

  static void fails(String what, Class<? extends Exception> error, Callable<?> call) {
    try {
      call.call();
    } catch (Exception e) {
      same(what, e.getClass(), error);
      return;
    }
    throw new AssertionError(what + " does not fail");
  }

  static List<String> cells(Row row) {
    List<String> list = new ArrayList<>();
    if (row != null) {
      for (RowCell c : row.getCells()) {
        list.add(c.getFamily() + ":" + c.getQualifier().toStringUtf8() + "@" + c.getTimestamp() + "=" + c.getValue().toStringUtf8() + String.join(",", c.getLabels()));
      }
    }
    return list;
  }

  static List<String> keys(Iterable<Row> rows) {
    List<String> list = new ArrayList<>();
    for (Row row : rows) {
      list.add(row.getKey().toStringUtf8());
    }
    return list;
  }

  static void instances(BigtableInstanceAdminClient admin) {
    Instance made = admin.createInstance(CreateInstanceRequest.of(INSTANCE).setDisplayName("An instance").addCluster("c", "local", 1, StorageType.SSD));
    same("created instance", made.getDisplayName(), "An instance");
    same("instance", admin.getInstance(INSTANCE).getId(), INSTANCE);
    same("exists", admin.exists(INSTANCE), true);
    same("clusters", admin.listClusters(INSTANCE).get(0).getId(), "colonnade");
    same("cluster", admin.getCluster(INSTANCE, "colonnade").getServeNodes(), 1);
    same("app profiles", admin.listAppProfiles(INSTANCE).get(0).getId(), "default");
    same("app profile", admin.getAppProfile(INSTANCE, "default").getInstanceId(), INSTANCE);
  }

  static void tables(BigtableTableAdminClient admin) {
    CreateTableRequest create = CreateTableRequest.of("table").addFamily("a").addFamily("b", GCRULES.maxVersions(2))
        .addFamily("c", GCRULES.union().rule(GCRULES.maxVersions(2)).rule(GCRULES.maxAge(1, TimeUnit.HOURS)))
        .addFamily("sum", Type.int64Sum()).addFamily("min", Type.int64Min()).addFamily("max", Type.int64Max()).addSplit(ByteString.copyFromUtf8("m"));
    same("families", admin.createTable(create).getColumnFamilies().size(), 6);
    fails("create again", AlreadyExistsException.class, () -> admin.createTable(create));
    same("exists", admin.exists("table"), true);
    same("does not", admin.exists("none"), false);
    same("tables", admin.listTables(), List.of("table"));
    Table changed = admin.modifyFamilies(ModifyColumnFamiliesRequest.of("table").addFamily("d").updateFamily("b", GCRULES.maxVersions(3)).dropFamily("c"));
    same("changed families", changed.getColumnFamilies().size(), 6);
    same("protected", admin.updateTable(UpdateTableRequest.of("table").setDeletionProtection(true)).isDeletionProtected(), true);
    same("table", admin.getTable("table").isDeletionProtected(), true);
    admin.updateTable(UpdateTableRequest.of("table").setDeletionProtection(false));
    same("encryption", admin.getEncryptionInfo("table").keySet().size(), 1);
    admin.awaitReplication("table");
    admin.awaitConsistency(ConsistencyRequest.forReplication("table"));
  }

  static void writes(BigtableDataClient client) throws Exception {
    client.mutateRow(RowMutation.create(TABLE, "r1").setCell("a", "q", 2000, "new").setCell("a", "q", 1000, "old").setCell("b", "", 1000, "b"));
    same("row", cells(client.readRow(TABLE, "r1")), List.of("a:q@2000=new", "a:q@1000=old", "b:@1000=b"));
    client.mutateRowCallable().call(RowMutation.create(TABLE, "r1").deleteCells("a", ByteString.copyFromUtf8("q"), TimestampRange.create(1000, 2000)).deleteFamily("b"));
    same("after deletions", cells(client.readRow(TABLE, "r1")), List.of("a:q@2000=new"));
    same("exists", client.exists(TABLE, "r1"), true);
    client.mutateRow(RowMutation.create(TABLE, "r1", Mutation.create().deleteRow()));
    same("deleted", client.exists(TABLE, "r1"), false);
    fails("family", NotFoundException.class, () -> { client.mutateRow(RowMutation.create(TABLE, "r").setCell("none", "q", 0, "x")); return null; });
    fails("time", InvalidArgumentException.class, () -> { client.mutateRow(RowMutation.create(TABLE, "r").setCell("a", "q", 1, "x")); return null; });

    BulkMutation bulk = BulkMutation.create(TABLE);
    for (int n = 0; n < 6; n++) {
      bulk.add("r" + n, Mutation.create().setCell("a", "q", 0, "" + n).setCell("b", "q", 0, "" + n));
    }
    client.bulkMutateRows(bulk);
    fails("bulk", MutateRowsException.class, () -> client.bulkMutationCallable().call(BulkMutation.create(TABLE)
        .add("s1", Mutation.create().setCell("a", "q", 0, "1")).add(RowMutationEntry.create("s2").setCell("none", "q", 0, "2"))));
    same("of a bulk that failed", client.exists(TABLE, "s1"), true);
    try (Batcher<RowMutationEntry, Void> batcher = client.newBulkMutationBatcher(TABLE)) {
      for (int n = 0; n < 250; n++) {
        batcher.add(RowMutationEntry.create(String.format("z%03d", n)).setCell("a", "q", 0, "x"));
      }
    }
    try (Batcher<ByteString, Row> batcher = client.newBulkReadRowsBatcher(TABLE)) {
      ApiFuture<Row> row = batcher.add(ByteString.copyFromUtf8("z100"));
      batcher.flush();
      same("of a batch", cells(row.get()), List.of("a:q@0=x"));
    }

    same("true", client.checkAndMutateRow(ConditionalRowMutation.create(TABLE, "r0").condition(FILTERS.value().exactMatch("0")).then(Mutation.create().setCell("a", "c", 0, "t"))), true);
    same("false", client.checkAndMutateRowCallable().call(ConditionalRowMutation.create(TABLE, "r0").condition(FILTERS.value().exactMatch("9")).otherwise(Mutation.create().setCell("a", "c", 0, "f"))), false);
    Row written = client.readModifyWriteRow(ReadModifyWriteRow.create(TABLE, "r0").append("a", "c", "+").increment("a", "n", 2));
    same("appended", written.getCells("a", "c").get(0).getValue().toStringUtf8(), "f+");
    written = client.readModifyWriteRowCallable().call(ReadModifyWriteRow.create(TABLE, "r0").increment("a", "n", -3));
    same("decremented", written.getCells("a", "n").get(0).getValue().asReadOnlyByteBuffer().getLong(), -1L);
    Value column = Value.rawValue(ByteString.copyFromUtf8("q")), time = Value.rawTimestamp(0);
    Value state = Value.rawValue(ByteString.copyFrom(new byte[] {0, 0, 0, 0, 0, 0, 0, 40}));
    client.mutateRow(RowMutation.create(TABLE, "t").addToCell("sum", column, time, Value.intValue(2)).mergeToCell("sum", column, time, state)
        .addToCell("min", column, time, Value.intValue(7)).addToCell("min", column, time, Value.intValue(5)).mergeToCell("max", column, time, state).addToCell("max", column, time, Value.intValue(41)));
    List<Long> sums = new ArrayList<>();
    for (RowCell c : client.readRow(TABLE, "t").getCells()) {
      sums.add(c.getValue().asReadOnlyByteBuffer().getLong());
    }
    same("max, min and sum", sums, List.of(41L, 5L, 42L));
    client.mutateRow(RowMutation.create(TABLE, "t").deleteRow());
  }

  static void reads(BigtableDataClient client) {
    same("range", keys(client.readRows(Query.create(TABLE).range("r1", "r3"))), List.of("r1", "r2"));
    same("closed range", keys(client.readRows(Query.create(TABLE).range(ByteStringRange.unbounded().startOpen("r1").endClosed("r3")))), List.of("r2", "r3"));
    same("keys", keys(client.readRowsCallable().call(Query.create(TABLE).rowKey("r4").rowKey("r2").rowKey("none"))), List.of("r2", "r4"));
    same("prefix and limit", keys(client.readRows(Query.create(TABLE).prefix("z1").limit(2))), List.of("z100", "z101"));
    same("reversed", keys(client.readRows(Query.create(TABLE).prefix("r").reversed(true).limit(2))), List.of("r5", "r4"));
    same("skipping", keys(client.skipLargeRowsCallable().call(Query.create(TABLE).prefix("r"))).size(), 6);
    same("first", cells(client.readRowCallable().call(Query.create(TABLE).rowKey("r1"))), List.of("a:q@0=1", "b:q@0=1"));
    Query.QueryPaginator pages = Query.create(TABLE).prefix("z").createPaginator(100);
    int rows = 0;
    do {
      List<String> page = keys(client.readRows(pages.getNextQuery()));
      rows += page.size();
      if (page.isEmpty() || !pages.advance(ByteString.copyFromUtf8(page.get(page.size() - 1)))) {
        break;
      }
    } while (true);
    same("pages", rows, 250);
    rows = 0;
    for (Query shard : Query.create(TABLE).shard(client.sampleRowKeys(TABLE))) {
      rows += keys(client.readRows(shard)).size();
    }
    same("shards", rows, 257);
    same("samples", client.sampleRowKeysCallable().call("table").isEmpty(), false);

    Filter a = FILTERS.family().exactMatch("a");
    Map<Filter, List<String>> filters = new LinkedHashMap<>();
    List<String> both = List.of("a:q@0=1", "b:q@0=1"), none = List.of(), first = List.of("a:q@0=1"), second = List.of("b:q@0=1");
    filters.put(FILTERS.pass(), both);
    filters.put(FILTERS.block(), none);
    filters.put(FILTERS.sink(), both);
    filters.put(a, first);
    filters.put(FILTERS.family().regex("b|c"), second);
    filters.put(FILTERS.key().regex("r[1-3]"), both);
    filters.put(FILTERS.key().exactMatch("r2"), none);
    filters.put(FILTERS.key().sample(0.9999999), both);
    filters.put(FILTERS.qualifier().regex("[^q]"), none);
    filters.put(FILTERS.qualifier().rangeWithinFamily("b").startClosed("q").endOpen("r"), second);
    filters.put(FILTERS.timestamp().range().startClosed(1000L), none);
    filters.put(FILTERS.timestamp().exact(0L), both);
    filters.put(FILTERS.value().range().startClosed("1").endClosed("1"), both);
    filters.put(FILTERS.value().regex("\\d"), both);
    filters.put(FILTERS.value().strip(), List.of("a:q@0=", "b:q@0="));
    filters.put(FILTERS.offset().cellsPerRow(1), second);
    filters.put(FILTERS.limit().cellsPerRow(1), first);
    filters.put(FILTERS.limit().cellsPerColumn(1), both);
    filters.put(FILTERS.chain().filter(a).filter(FILTERS.label("l")), List.of("a:q@0=1l"));
    filters.put(FILTERS.interleave().filter(a).filter(FILTERS.pass()), List.of("a:q@0=1", "a:q@0=1", "b:q@0=1"));
    filters.put(FILTERS.condition(a).then(FILTERS.family().exactMatch("b")).otherwise(FILTERS.block()), second);
    filters.forEach((filter, want) -> same(filter.toProto().toString(), cells(client.readRow(TABLE, "r1", filter)), want));
  }

  /** Calls for what the server does not have. */
  static void backups(BigtableTableAdminClient tables, BigtableDataClient client) throws Exception {
    org.threeten.bp.Instant later = org.threeten.bp.Instant.now().plusSeconds(86400);
    Backup made = tables.createBackup(CreateBackupRequest.of("colonnade", "b").setSourceTableId("table").setExpireTime(later));
    same("backup", made.getSourceTableId() + " " + made.getState() + " " + (made.getSizeBytes() > 0), "table READY true");
    fails("backup again", AlreadyExistsException.class, () -> tables.createBackup(CreateBackupRequest.of("colonnade", "b").setSourceTableId("table").setExpireTime(later)));
    same("copy", tables.copyBackup(CopyBackupRequest.of("colonnade", "b").setDestination("colonnade", "b2").setExpireTime(later)).getSourceBackupId(), "b");
    same("backups", tables.listBackups("colonnade").stream().sorted().toList(), List.of("b", "b2"));
    same("later", tables.updateBackup(UpdateBackupRequest.of("colonnade", "b").setExpireTime(later.plusSeconds(60))).getExpireTime().getEpochSecond(), later.getEpochSecond() + 60);
    same("got", tables.getBackup("colonnade", "b").getId(), "b");
    same("restored", tables.restoreTable(RestoreTableRequest.of("colonnade", "b2").setTableId("t2")).getTable().getId(), "t2");
    same("rows", keys(client.readRows(Query.create(TableId.of("t2")))), keys(client.readRows(Query.create(TABLE))));
    tables.deleteTable("t2");
    tables.deleteBackup("colonnade", "b");
    tables.deleteBackup("colonnade", "b2");
    fails("a deleted backup", NotFoundException.class, () -> tables.getBackup("colonnade", "b"));
  }

  static void absent(BigtableInstanceAdminClient instances, BigtableTableAdminClient tables, BigtableDataClient client) {
    ByteString empty = ByteString.EMPTY;
    Map<String, Callable<?>> calls = new LinkedHashMap<>();
    calls.put("change an instance", () -> instances.updateInstance(UpdateInstanceRequest.of(INSTANCE).setDisplayName("Other")));
    calls.put("create a cluster", () -> instances.createCluster(CreateClusterRequest.of(INSTANCE, "c").setZone("local").setServeNodes(1)));
    calls.put("resize a cluster", () -> instances.resizeCluster(INSTANCE, "colonnade", 2));
    calls.put("scale a cluster", () -> instances.updateClusterAutoscalingConfig(ClusterAutoscalingConfig.of(INSTANCE, "colonnade").setMinNodes(1).setMaxNodes(2).setCpuUtilizationTargetPercent(50)));
    calls.put("scale no cluster", () -> instances.disableClusterAutoscaling(INSTANCE, "colonnade", 1));
    calls.put("delete a cluster", () -> nothing(() -> instances.deleteCluster(INSTANCE, "c")));
    calls.put("create an app profile", () -> instances.createAppProfile(CreateAppProfileRequest.of(INSTANCE, "p").setRoutingPolicy(AppProfile.MultiClusterRoutingPolicy.of())));
    calls.put("change an app profile", () -> instances.updateAppProfile(UpdateAppProfileRequest.of(INSTANCE, "p").setDescription("x")));
    calls.put("delete an app profile", () -> nothing(() -> instances.deleteAppProfile(INSTANCE, "p")));
    calls.put("policy of an instance", () -> instances.getIamPolicy(INSTANCE));
    calls.put("policy for an instance", () -> instances.setIamPolicy(INSTANCE, Policy.newBuilder().build()));
    calls.put("permissions of an instance", () -> instances.testIamPermission(INSTANCE, "bigtable.tables.get"));
    calls.put("create a materialized view", () -> instances.createMaterializedView(CreateMaterializedViewRequest.of(INSTANCE, "v").setQuery("SELECT 1")));
    calls.put("materialized view", () -> instances.getMaterializedView(INSTANCE, "v"));
    calls.put("materialized views", () -> instances.listMaterializedViews(INSTANCE));
    calls.put("change a materialized view", () -> instances.updateMaterializedView(UpdateMaterializedViewRequest.of(INSTANCE, "v").setDeletionProtection(true)));
    calls.put("delete a materialized view", () -> nothing(() -> instances.deleteMaterializedView(INSTANCE, "v")));
    calls.put("create a logical view", () -> instances.createLogicalView(CreateLogicalViewRequest.of(INSTANCE, "v").setQuery("SELECT 1")));
    calls.put("logical view", () -> instances.getLogicalView(INSTANCE, "v"));
    calls.put("logical views", () -> instances.listLogicalViews(INSTANCE));
    calls.put("change a logical view", () -> instances.updateLogicalView(UpdateLogicalViewRequest.of(INSTANCE, "v").setQuery("SELECT 2")));
    calls.put("delete a logical view", () -> nothing(() -> instances.deleteLogicalView(INSTANCE, "v")));
    calls.put("create a view", () -> tables.createAuthorizedView(CreateAuthorizedViewRequest.of("table", "v").setAuthorizedViewType(SubsetView.create())));
    calls.put("view", () -> tables.getAuthorizedView("table", "v"));
    calls.put("views", () -> tables.listAuthorizedViews("table"));
    calls.put("change a view", () -> tables.updateAuthorizedView(UpdateAuthorizedViewRequest.of("table", "v").setDeletionProtection(true)));
    calls.put("delete a view", () -> nothing(() -> tables.deleteAuthorizedView("table", "v")));
    calls.put("create a schema bundle", () -> tables.createSchemaBundle(CreateSchemaBundleRequest.of("table", "s").setProtoSchema(empty)));
    calls.put("schema bundle", () -> tables.getSchemaBundle("table", "s"));
    calls.put("schema bundles", () -> tables.listSchemaBundles("table"));
    calls.put("change a schema bundle", () -> tables.updateSchemaBundle(UpdateSchemaBundleRequest.of("table", "s").setProtoSchema(empty)));
    calls.put("delete a schema bundle", () -> nothing(() -> tables.deleteSchemaBundle("table", "s")));
    calls.put("policy of a table", () -> tables.getIamPolicy("table"));
    calls.put("policy for a table", () -> tables.setIamPolicy("table", Policy.newBuilder().build()));
    calls.put("permissions of a table", () -> tables.testIamPermission("table", "bigtable.tables.get"));
    calls.put("policy of a backup", () -> tables.getBackupIamPolicy("colonnade", "b"));
    calls.put("policy for a backup", () -> tables.setBackupIamPolicy("colonnade", "b", Policy.newBuilder().build()));
    calls.put("permissions of a backup", () -> tables.testBackupIamPermission("colonnade", "b", "bigtable.backups.get"));
    calls.put("policy of a view", () -> tables.getAuthorizedViewIamPolicy("table", "v"));
    calls.put("policy for a view", () -> tables.setAuthorizedViewIamPolicy("table", "v", Policy.newBuilder().build()));
    calls.put("permissions of a view", () -> tables.testAuthorizedViewIamPermission("table", "v", "bigtable.tables.get"));
    calls.put("a change stream", () -> tables.updateTable(UpdateTableRequest.of("table").addChangeStreamRetention(org.threeten.bp.Duration.ofDays(1))));
    calls.put("partitions of a change stream", () -> client.generateInitialChangeStreamPartitions("table").iterator().hasNext());
    calls.put("read a change stream", () -> client.readChangeStream(ReadChangeStreamQuery.create("table")).iterator().hasNext());
    calls.put("SQL", () -> client.prepareStatement("SELECT 1", Map.of()));
    calls.forEach(Client::unimplemented);
  }

  static Object nothing(Runnable run) {
    run.run();
    return null;
  }

  static void unimplemented(String what, Callable<?> call) {
    try {
      call.call();
    } catch (Exception e) {
      for (Throwable cause = e; cause != null; cause = cause.getCause()) {
        if (cause instanceof ApiException failed) {
          same(what + " " + failed.getMessage(), failed.getStatusCode().getCode(), StatusCode.Code.UNIMPLEMENTED);
          return;
        }
      }
      throw new AssertionError(what, e);
    }
    throw new AssertionError(what + " does not fail");
  }

  static void deletions(BigtableInstanceAdminClient instances, BigtableTableAdminClient tables, BigtableDataClient client) {
    tables.dropRowRange("table", "z1");
    same("after dropRowRange", keys(client.readRows(Query.create(TABLE).prefix("z"))).size(), 150);
    tables.dropAllRows("table");
    same("after dropAllRows", keys(client.readRows(Query.create(TABLE))), List.of());
    same("instances", instances.listInstances().size(), 1);
    tables.deleteTable("table");
    fails("no table", NotFoundException.class, () -> client.readRow(TABLE, "r"));
    instances.deleteInstance(INSTANCE);
  }
}
