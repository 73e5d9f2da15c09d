/**
 * Tasks of an execution between two buckets: what each does, and exactly what it may do. What they may do with the buckets is the role's
 * that they assume, narrowed to a transfer's two prefixes. tests/infra/test_permissions.py holds the permissions against the code.
 */

import { Duration } from 'aws-cdk-lib';
import { assumeAllowed } from '../access/buckets';
import * as data from '../access/control-data';
import { Settings } from '../config';
import { CopyingState } from '../handlers';
import { FunctionDefinition, LONG, tables } from './definition';

export function copyingFunctions(settings: Settings): Readonly<Record<CopyingState, FunctionDefinition>> {
  const { noteTimes, readAndNote, membership } = tables(settings);
  return {
    survey_buckets: {
      description: 'Looks whether both buckets can be listed, and the destination written; shares a list of keys',
      // A list of a million keys is judged line by line.
      timeout: Duration.minutes(5),
      access: [
        noteTimes,
        ...assumeAllowed(settings),
        data.keyLists(settings, 'GetObject'),
        data.copyNotes(settings, 'PutObject'),
      ],
    },
    list_objects: {
      description: 'Lists both buckets side by side, and cuts what is to be copied into units',
      timeout: LONG,
      // A round is judged key by key: memory buys the processor for it.
      memorySize: 1769,
      access: [
        readAndNote,
        data.copyNotes(settings, 'GetObject', 'PutObject'),
        data.listCopyNotes(settings),
        ...assumeAllowed(settings),
      ],
    },
    copy_unit: {
      description: 'Has S3 copy the objects of one unit, many at once',
      timeout: LONG,
      memorySize: 1024,
      access: [
        membership,
        data.copyNotes(settings, 'GetObject', 'PutObject', 'DeleteObject'),
        data.listCopyNotes(settings),
        ...assumeAllowed(settings),
      ],
    },
    finish_copies: {
      description: 'Adds up what was copied and what proved it, and names what was left out',
      timeout: LONG,
      access: [noteTimes, data.copyNotes(settings, 'GetObject', 'PutObject'), data.listCopyNotes(settings)],
    },
  };
}
