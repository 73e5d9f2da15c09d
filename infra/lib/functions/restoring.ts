/**
 * Tasks that have archived objects of a bucket restored before they are moved: what each does, and exactly what it may do. What they may do
 * with the bucket is the role's that they assume: one session lists, the other one restores as well.
 */

import { assumeAllowed } from '../access/buckets';
import * as data from '../access/control-data';
import { Settings } from '../config';
import { RestoringState } from '../handlers';
import { FunctionDefinition, LONG, tables } from './definition';

export function restoringFunctions(settings: Settings): Readonly<Record<RestoringState, FunctionDefinition>> {
  const { readAndNote } = tables(settings);
  return {
    list_archived: {
      description: 'Lists what of the source is archived, by class, and what restoring it takes',
      timeout: LONG,
      // A round is judged key by key: memory buys the processor for it.
      memorySize: 1769,
      access: [
        readAndNote,
        data.restoreNotes(settings, 'GetObject', 'PutObject'),
        data.listRestoreNotes(settings),
        data.keyLists(settings, 'GetObject'),
        // What earlier copies have noted: what is there already need not be restored.
        data.copyNotes(settings, 'GetObject'),
        data.listCopyNotes(settings),
        ...assumeAllowed(settings),
      ],
    },
    restore_objects: {
      description: 'Has S3 restore archived objects, many at once, and looks how many are ready',
      timeout: LONG,
      access: [
        readAndNote,
        data.restoreNotes(settings, 'GetObject', 'PutObject'),
        // What is gone meanwhile is named where S3 copies, too.
        data.copyNotes(settings, 'PutObject'),
        ...assumeAllowed(settings),
      ],
    },
  };
}
