// Writes the sequence files of this directory as HBase's Export does, with HBase's own classes: hbase-mapreduce 2.6.1 and what
// it needs (and reload4j 1.2.25) on the class path, then `java HBaseExport.java DIRECTORY`.

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellBuilderFactory;
import org.apache.hadoop.hbase.CellBuilderType;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.io.ImmutableBytesWritable;
import org.apache.hadoop.hbase.mapreduce.ResultSerialization;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.SequenceFile.CompressionType;
import org.apache.hadoop.io.compress.DefaultCodec;
import org.apache.hadoop.io.compress.GzipCodec;

public class HBaseExport {
  static Cell cell(byte[] row, String family, byte[] qualifier, long time, Cell.Type type, byte[] value) {
    return CellBuilderFactory.create(CellBuilderType.SHALLOW_COPY).setRow(row).setFamily(Bytes.toBytes(family))
        .setQualifier(qualifier).setTimestamp(time).setType(type).setValue(value).build();
  }

  static void write(Configuration conf, String name, CompressionType type, Object codec, int rows, boolean deleted) throws Exception {
    SequenceFile.Writer.Option compression = codec == null ? SequenceFile.Writer.compression(type)
        : SequenceFile.Writer.compression(type, (org.apache.hadoop.io.compress.CompressionCodec) codec);
    try (SequenceFile.Writer w = SequenceFile.createWriter(conf, SequenceFile.Writer.file(new Path(name)),
        SequenceFile.Writer.keyClass(ImmutableBytesWritable.class), SequenceFile.Writer.valueClass(Result.class), compression)) {
      for (int i = 0; i < rows; i++) {
        byte[] row = i == 0 ? new byte[] {(byte) 0xff, 0} : Bytes.toBytes(String.format("row%04d", i));
        List<Cell> cells = new ArrayList<>();
        cells.add(cell(row, "f", Bytes.toBytes("n"), 1700000000000L + i, Cell.Type.Put, Bytes.toBytes((long) i - 1)));
        cells.add(cell(row, "f", Bytes.toBytes("n"), 1600000000000L, Cell.Type.Put, Bytes.toBytes((long) 7)));
        cells.add(cell(row, "f", Bytes.toBytes("t:x"), 5, Cell.Type.Put, Bytes.toBytes("text " + i)));
        cells.add(cell(row, "g", new byte[0], 6, Cell.Type.Put, new byte[0]));
        if (deleted) {
          cells.add(cell(row, "g", Bytes.toBytes("z"), 6, Cell.Type.Delete, new byte[0]));
        }
        w.append(new ImmutableBytesWritable(row), Result.create(cells));
      }
    }
  }

  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    conf.setStrings("io.serializations", conf.get("io.serializations"), ResultSerialization.class.getName());
    conf.set("fs.file.impl", org.apache.hadoop.fs.RawLocalFileSystem.class.getName());
    conf.setInt("io.seqfile.compress.blocksize", 5000);
    DefaultCodec zlib = new DefaultCodec();
    zlib.setConf(conf);
    GzipCodec gzip = new GzipCodec();
    gzip.setConf(conf);
    write(conf, args[0] + "/plain.seq", CompressionType.NONE, null, 100, false);
    write(conf, args[0] + "/record.seq", CompressionType.RECORD, zlib, 10, false);
    write(conf, args[0] + "/block.seq", CompressionType.BLOCK, zlib, 200, false);
    write(conf, args[0] + "/deleted.seq", CompressionType.NONE, null, 1, true);
  }
}
