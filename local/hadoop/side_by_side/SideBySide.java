package cpt;

import java.io.IOException;
import java.net.InetSocketAddress;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.LocalJobRunner;
import org.apache.hadoop.mapreduce.protocol.ClientProtocol;
import org.apache.hadoop.mapreduce.protocol.ClientProtocolProvider;

/** Hadoop's job runner of one process, for jobs with the number of maps that they ask for: its own provider asks for one. */
public class SideBySide extends ClientProtocolProvider {
  @Override
  public ClientProtocol create(Configuration configuration) throws IOException {
    boolean meant = "side-by-side".equals(configuration.get("mapreduce.framework.name"));
    return meant ? new LocalJobRunner(configuration) : null;
  }

  @Override
  public ClientProtocol create(InetSocketAddress address, Configuration configuration) {
    return null;
  }

  @Override
  public void close(ClientProtocol protocol) {}
}
