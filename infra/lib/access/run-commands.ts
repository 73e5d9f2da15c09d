/** What functions may do with SSM Run Command: send our own documents, and read how they went. */

import { arn, DEPLOYMENT_TAG, Document, documentName, LENT_TAG } from '../names';
import { Settings } from '../config';
import { Access } from './access';

/** Results of commands that were sent. */
export function readResults(): Access {
  return {
    actions: ['ssm:GetCommandInvocation'],
    resources: ['*'],
    why: 'SSM evaluates this action without a resource',
  };
}

/** Which machines SSM manages. */
export function findMachines(): Access {
  return {
    actions: ['ssm:DescribeInstanceInformation'],
    resources: ['*'],
    why: 'SSM evaluates this action without a resource',
  };
}

/** SendCommand of these documents to any machine: the users' machines carry no tag of ours. */
export function commandEnds(settings: Settings, ...documents: readonly Document[]): Access[] {
  return [
    documentsOf(settings, documents),
    {
      ...instances(settings),
      why: 'the ends are the users’ machines; the documents of the other statement bound what can be run',
    },
  ];
}

/** SendCommand of these documents to machines with the deployment's tag. */
export function commandRelays(settings: Settings, ...documents: readonly Document[]): Access[] {
  return [
    documentsOf(settings, documents),
    {
      ...instances(settings),
      conditions: { StringEquals: { [`ssm:resourceTag/${DEPLOYMENT_TAG}`]: settings.name } },
      why: 'relays have no id before their launch; only machines with our tag are reached',
    },
  ];
}

/** SendCommand of these documents to machines that their owners lend to this deployment, by a tag. */
export function commandLent(settings: Settings, ...documents: readonly Document[]): Access[] {
  return [
    documentsOf(settings, documents),
    {
      ...instances(settings),
      conditions: { StringEquals: { [`ssm:resourceTag/${LENT_TAG}`]: settings.name } },
      why: 'these are the users’ machines; only those that an owner has tagged for this are reached',
    },
  ];
}

function documentsOf(settings: Settings, documents: readonly Document[]): Access {
  return {
    actions: ['ssm:SendCommand'],
    resources: settings.regions.flatMap(({ region }) =>
      documents.map((document) => arn('ssm', region, `document/${documentName(settings, document)}`)),
    ),
  };
}

function instances(settings: Settings): Access {
  return {
    actions: ['ssm:SendCommand'],
    resources: settings.regions.map(({ region }) => arn('ec2', region, 'instance/*')),
  };
}
