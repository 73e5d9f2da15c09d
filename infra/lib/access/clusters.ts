/** What functions may ask about clusters of EMR whose instances work for an end. Nothing of a cluster is changed. */

import { Access } from './access';
import { anywhere } from './regions';

export function findClusters(): Access {
  return {
    actions: ['elasticmapreduce:DescribeCluster', 'elasticmapreduce:ListInstances'],
    resources: [anywhere('elasticmapreduce', 'cluster/*')],
    why: 'Which cluster an end is in only its request tells; both actions only read.',
  };
}
