package cpt;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Calls of a name node in a second, by several threads: make a directory, look at it, rename it, remove it. */
public class NameNodeCalls {
  private static final int CALLS = 4;

  /** Arguments: a folder of HDFS, threads, rounds of each; writes calls and nanoseconds, the first quarter not counted. */
  public static void main(String[] words) throws Exception {
    Path folder = new Path(words[0]);
    int threads = Integer.parseInt(words[1]);
    int rounds = Integer.parseInt(words[2]);
    FileSystem files = folder.getFileSystem(new Configuration());
    files.mkdirs(folder);
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    all(pool, files, folder, threads, rounds / 4);
    long began = System.nanoTime();
    all(pool, files, folder, threads, rounds);
    long took = System.nanoTime() - began;
    pool.shutdown();
    files.delete(folder, true);
    System.out.println((long) threads * rounds * CALLS + " " + took);
  }

  private static void all(ExecutorService pool, FileSystem files, Path folder, int threads, int rounds)
      throws Exception {
    List<Callable<Void>> work = new ArrayList<>();
    for (int thread = 0; thread < threads; thread++) {
      Path own = new Path(folder, "thread-" + thread);
      work.add(
          () -> {
            for (int round = 0; round < rounds; round++) {
              files.mkdirs(own);
              files.getFileStatus(own);
              files.rename(own, own.suffix("-renamed"));
              files.delete(own.suffix("-renamed"), true);
            }
            return null;
          });
    }
    for (Future<Void> one : pool.invokeAll(work)) {
      one.get();
    }
  }
}
