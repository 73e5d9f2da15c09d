package cpt;

import java.io.IOException;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The local file system, with HDFS's answer to who renames what is not there any more: no, in place of an error.
 *
 * <p>Maps of the dynamic strategy take their work from a folder by a rename, and the one that comes late looks for
 * other work. Hadoop's job runner of one process keeps that folder on the local file system.
 */
public class WholeRenames extends LocalFileSystem {
  @Override
  public boolean rename(Path from, Path to) throws IOException {
    synchronized (WholeRenames.class) {
      return exists(from) && super.rename(from, to);
    }
  }
}
