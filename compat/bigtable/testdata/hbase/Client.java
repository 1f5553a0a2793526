import com.google.cloud.bigtable.hbase.BigtableConfiguration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.BufferedMutator;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.filter.BinaryComparator;
import org.apache.hadoop.hbase.filter.ColumnCountGetFilter;
import org.apache.hadoop.hbase.filter.ColumnPaginationFilter;
import org.apache.hadoop.hbase.filter.ColumnPrefixFilter;
import org.apache.hadoop.hbase.filter.ColumnRangeFilter;
import org.apache.hadoop.hbase.filter.FamilyFilter;
import org.apache.hadoop.hbase.filter.Filter;
import org.apache.hadoop.hbase.filter.FilterList;
import org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter;
import org.apache.hadoop.hbase.filter.FuzzyRowFilter;
import org.apache.hadoop.hbase.filter.KeyOnlyFilter;
import org.apache.hadoop.hbase.filter.MultiRowRangeFilter;
import org.apache.hadoop.hbase.filter.MultipleColumnPrefixFilter;
import org.apache.hadoop.hbase.filter.PageFilter;
import org.apache.hadoop.hbase.filter.PrefixFilter;
import org.apache.hadoop.hbase.filter.QualifierFilter;
import org.apache.hadoop.hbase.filter.RegexStringComparator;
import org.apache.hadoop.hbase.filter.RowFilter;
import org.apache.hadoop.hbase.filter.SingleColumnValueExcludeFilter;
import org.apache.hadoop.hbase.filter.SingleColumnValueFilter;
import org.apache.hadoop.hbase.filter.TimestampsFilter;
import org.apache.hadoop.hbase.filter.ValueFilter;
import org.apache.hadoop.hbase.filter.WhileMatchFilter;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Pair;

/**
 * Uses the HBase API over Bigtable as HBase's shell does, against the server that EMULATOR names, and ends with
 * an error at the first answer that is not the expected one.
 */
public class Client {
  static final byte[] A = b("a"), B = b("b"), Q = b("q"), P = b("p"), N = b("n");

  public static void main(String[] args) throws Exception {
    Configuration conf = BigtableConfiguration.configure("hbase", "instance");
    conf.set("google.bigtable.emulator.endpoint.host", System.getenv("EMULATOR"));
    TableName name = TableName.valueOf("table");
    try (Connection connection = BigtableConfiguration.connect(conf); Admin admin = connection.getAdmin()) {
      create(admin, name);
      try (Table table = connection.getTable(name)) {
        writes(table);
        conditions(table);
        try (BufferedMutator mutator = connection.getBufferedMutator(name)) {
          for (int n = 0; n < 250; n++) {
            mutator.mutate(new Put(b(String.format("z%03d", n))).addColumn(A, Q, 1, b("" + n)).addColumn(B, P, 2, b("p")));
          }
        }
        scans(table);
        filters(table);
        admin.truncateTable(name, true);
        same("after truncate", rows(table, new Scan()), List.of());
      }
      admin.disableTable(name);
      admin.deleteTable(name);
      same("deleted", admin.tableExists(name), false);
    }
    System.out.println("every answer is the expected one");
    System.exit(0);
  }

  static byte[] b(String s) {
    return Bytes.toBytes(s);
  }

  static void same(String what, Object got, Object want) {
    if (!Objects.equals(got, want)) {
      throw new AssertionError(what + ": got " + got + ", want " + want);
    }
  }

  /** The cells of a row. */
  static List<String> cells(Result result) {
    List<String> list = new ArrayList<>();
    if (result != null && !result.isEmpty()) {
      for (Cell c : result.rawCells()) {
        list.add(Bytes.toString(CellUtil.cloneFamily(c)) + ":" + Bytes.toString(CellUtil.cloneQualifier(c)) + "@" + c.getTimestamp() + "=" + Bytes.toStringBinary(CellUtil.cloneValue(c)));
      }
    }
    return list;
  }

  static List<String> rows(Table table, Scan scan) throws Exception {
    List<String> list = new ArrayList<>();
    try (ResultScanner scanner = table.getScanner(scan)) {
      for (Result r : scanner) {
        list.add(Bytes.toString(r.getRow()));
      }
    }
    return list;
  }

  static void create(Admin admin, TableName name) throws Exception {
    admin.createTable(TableDescriptorBuilder.newBuilder(name)
        .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(A).setMaxVersions(3).build())
        .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(B).setMaxVersions(10).setTimeToLive(2000000000).build()).build());
    same("exists", admin.tableExists(name), true);
    same("tables", admin.listTableNames()[0], name);
    same("versions", admin.getDescriptor(name).getColumnFamily(A).getMaxVersions(), 3);
    admin.addColumnFamily(name, ColumnFamilyDescriptorBuilder.of("c"));
    admin.modifyColumnFamily(name, ColumnFamilyDescriptorBuilder.newBuilder(b("c")).setMaxVersions(5).build());
    same("changed", admin.getDescriptor(name).getColumnFamily(b("c")).getMaxVersions(), 5);
    admin.deleteColumnFamily(name, b("c"));
    same("families", admin.getDescriptor(name).getColumnFamilyCount(), 2);
  }

  static void writes(Table table) throws Exception {
    Put put = new Put(b("r1"));
    for (int time = 1; time <= 4; time++) {
      put.addColumn(A, Q, time, b("v" + time));
    }
    table.put(put);
    same("newest", cells(table.get(new Get(b("r1")))), List.of("a:q@4=v4"));
    same("versions", cells(table.get(new Get(b("r1")).readAllVersions())), List.of("a:q@4=v4", "a:q@3=v3", "a:q@2=v2"));
    same("times", cells(table.get(new Get(b("r1")).setTimeRange(2, 4).readVersions(5))), List.of("a:q@3=v3", "a:q@2=v2"));
    table.delete(new Delete(b("r1")).addColumn(A, Q, 3));
    same("without a version", cells(table.get(new Get(b("r1")).addColumn(A, Q).readAllVersions())).contains("a:q@3=v3"), false);
    table.delete(new Delete(b("r1")).addColumns(A, Q));
    same("without a column", table.exists(new Get(b("r1"))), false);

    table.put(Arrays.asList(new Put(b("r1")).addColumn(A, Q, 1, b("1")).addColumn(B, P, 1, b("p")), new Put(b("r2")).addColumn(A, Q, 1, b("2"))));
    table.delete(new Delete(b("r1")).addFamily(B));
    same("without a family", cells(table.get(new Get(b("r1")))), List.of("a:q@1=1"));
    Result[] got = table.get(Arrays.asList(new Get(b("r2")), new Get(b("none"))));
    same("gets", cells(got[0]).toString() + got[1].isEmpty(), "[a:q@1=2]true");
    same("exist", Arrays.toString(table.exists(Arrays.asList(new Get(b("r1")), new Get(b("none"))))), "[true, false]");
    Object[] results = new Object[2];
    table.batch(Arrays.asList(new Put(b("r3")).addColumn(A, Q, 1, b("3")), new Get(b("r1"))), results);
    same("batch", cells((Result) results[1]), List.of("a:q@1=1"));
    table.mutateRow(RowMutations.of(Arrays.asList(new Put(b("r4")).addColumn(A, Q, 1, b("4")), new Delete(b("r4")).addColumns(B, P))));
    table.delete(new ArrayList<>(List.of(new Delete(b("r3")), new Delete(b("none")))));
    same("rows", rows(table, new Scan()), List.of("r1", "r2", "r4"));

    same("incremented", table.incrementColumnValue(b("r1"), A, N, 5), 5L);
    Result result = table.increment(new Increment(b("r1")).addColumn(A, N, -7).addColumn(B, N, 1));
    same("decremented", Bytes.toLong(result.getValue(A, N)) + " " + Bytes.toLong(result.getValue(B, N)), "-2 1");
    same("appended", Bytes.toString(table.append(new Append(b("r1")).addColumn(A, Q, b("+"))).getValue(A, Q)), "1+");
  }

  static void conditions(Table table) throws Exception {
    byte[] row = b("r2");
    same("is", table.checkAndMutate(row, A).qualifier(Q).ifEquals(b("2")).thenPut(new Put(row).addColumn(A, P, 1, b("p"))), true);
    same("is not", table.checkAndMutate(row, A).qualifier(Q).ifEquals(b("3")).thenPut(new Put(row).addColumn(A, P, 2, b("wrong"))), false);
    same("is greater", table.checkAndMutate(row, A).qualifier(Q).ifMatches(CompareOperator.LESS, b("3")).thenPut(new Put(row).addColumn(A, N, 1, b("n"))), false);
    same("is less", table.checkAndMutate(row, A).qualifier(Q).ifMatches(CompareOperator.GREATER, b("3")).thenPut(new Put(row).addColumn(A, N, 1, b("n"))), true);
    same("is there", table.checkAndMutate(row, A).qualifier(b("none")).ifNotExists().thenMutate(RowMutations.of(List.of(new Put(row).addColumn(B, Q, 1, b("b"))))), true);
    same("is deleted", table.checkAndMutate(row, A).qualifier(N).ifEquals(b("n")).thenDelete(new Delete(row).addColumns(A, N)), true);
    same("after conditions", cells(table.get(new Get(row))), List.of("a:p@1=p", "a:q@1=2", "b:q@1=b"));
  }

  static void scans(Table table) throws Exception {
    same("range", rows(table, new Scan().withStartRow(b("z010")).withStopRow(b("z012"))), List.of("z010", "z011"));
    same("closed range", rows(table, new Scan().withStartRow(b("z010"), false).withStopRow(b("z012"), true)), List.of("z011", "z012"));
    same("prefix", rows(table, new Scan().setRowPrefixFilter(b("z1"))).size(), 100);
    same("limit", rows(table, new Scan().setLimit(2)), List.of("r1", "r2"));
    same("family", rows(table, new Scan().addFamily(B).withStopRow(b("z"))), List.of("r1", "r2"));
    same("column", rows(table, new Scan().addColumn(A, P)), List.of("r2"));
    same("times", rows(table, new Scan().setTimeRange(0, 2).withStopRow(b("z001"))), List.of("r1", "r2", "r4", "z000"));
    same("all", rows(table, new Scan()).size(), 253);
  }

  static void filters(Table table) throws Exception {
    List<String> both = List.of("a:q@1=7", "b:p@2=p"), a = List.of("a:q@1=7"), p = List.of("b:p@2=p"), none = List.of();
    SingleColumnValueFilter seven = new SingleColumnValueFilter(A, Q, CompareOperator.EQUAL, b("7"));
    SingleColumnValueFilter missing = new SingleColumnValueFilter(A, N, CompareOperator.EQUAL, b("7"));
    missing.setFilterIfMissing(true);
    Map<Filter, List<String>> filters = new LinkedHashMap<>();
    filters.put(new FamilyFilter(CompareOperator.EQUAL, new BinaryComparator(A)), a);
    filters.put(new QualifierFilter(CompareOperator.EQUAL, new RegexStringComparator("[op]")), p);
    filters.put(new ValueFilter(CompareOperator.EQUAL, new BinaryComparator(b("7"))), a);
    filters.put(new ValueFilter(CompareOperator.GREATER, new BinaryComparator(b("7"))), p);
    filters.put(new ValueFilter(CompareOperator.EQUAL, new RegexStringComparator("\\d")), a);
    filters.put(new RowFilter(CompareOperator.EQUAL, new RegexStringComparator("z.*7")), both);
    filters.put(new PrefixFilter(b("z00")), both);
    filters.put(new PrefixFilter(b("y")), none);
    filters.put(new ColumnPrefixFilter(b("p")), p);
    filters.put(new MultipleColumnPrefixFilter(new byte[][] {b("n"), b("q")}), a);
    filters.put(new TimestampsFilter(List.of(2L, 3L)), p);
    filters.put(new ColumnCountGetFilter(1), a);
    filters.put(new ColumnPaginationFilter(1, 1), p);
    filters.put(new FirstKeyOnlyFilter(), a);
    filters.put(new KeyOnlyFilter(), List.of("a:q@1=", "b:p@2="));
    filters.put(seven, both);
    filters.put(missing, none);
    filters.put(new FilterList(FilterList.Operator.MUST_PASS_ALL, new PrefixFilter(b("z")), new ColumnPrefixFilter(b("p"))), p);
    filters.put(new FilterList(FilterList.Operator.MUST_PASS_ONE, new ColumnPrefixFilter(b("x")), new ColumnPrefixFilter(b("q"))), a);
    // The adapter of this version sends a regular expression that matches every key of four bytes and more.
    filters.put(new FuzzyRowFilter(List.of(new Pair<>(b("z??7"), new byte[] {0, 1, 1, 0}))), both);
    for (Map.Entry<Filter, List<String>> e : filters.entrySet()) {
      same(e.getKey().toString(), cells(table.get(new Get(b("z007")).setFilter(e.getKey()))), e.getValue());
    }
    same("columns", cells(table.get(new Get(b("z007")).addFamily(B).setFilter(new ColumnRangeFilter(b("p"), true, b("q"), false)))), p);
    same("exclude", cells(table.get(new Get(b("z007")).addFamily(A).setFilter(new SingleColumnValueExcludeFilter(A, Q, CompareOperator.EQUAL, b("7"))))), none);
    same("page", rows(table, new Scan().setFilter(new PageFilter(3))), List.of("r1", "r2", "r4"));
    same("ranges", rows(table, new Scan().setFilter(new MultiRowRangeFilter(new ArrayList<>(List.of(new MultiRowRangeFilter.RowRange("z010", true, "z012", false), new MultiRowRangeFilter.RowRange("z249", true, "z250", true)))))), List.of("z010", "z011", "z249"));
    same("while", rows(table, new Scan().withStartRow(b("z")).setFilter(new WhileMatchFilter(new ValueFilter(CompareOperator.LESS, new BinaryComparator(b("q")))))).size(), 250);
    same("where", rows(table, new Scan().withStartRow(b("z")).setFilter(new SingleColumnValueFilter(A, Q, CompareOperator.LESS, b("1")))), List.of("z000"));
  }
}
