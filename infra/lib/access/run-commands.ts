/** What functions may do with SSM Run Command: send our own documents, and read how they went. */

import { arn, DEPLOYMENT_TAG, Document, documentName, END_TAG, LENT_TAG } from '../names';
import { Settings } from '../config';
import { Access } from './access';

/** Results of commands that were sent. */
export function readResults(): Access {
  return {
    actions: ['ssm:GetCommandInvocation'],
    resources: ['*'],
    why: 'SSM evaluates this action without a resource.',
  };
}

/** An end to the wait for a command that no agent has started. */
export function cancelCommands(): Access {
  return {
    actions: ['ssm:CancelCommand'],
    resources: ['*'],
    why: 'SSM evaluates this action without a resource. Whoever cancels has to know the id of the command.',
  };
}

/** On which of its machines a command has ended. */
export function listInvocations(): Access {
  return {
    actions: ['ssm:ListCommandInvocations'],
    resources: ['*'],
    why: 'SSM evaluates this action without a resource.',
  };
}

/** Which machines SSM manages. */
export function findMachines(): Access {
  return {
    actions: ['ssm:DescribeInstanceInformation'],
    resources: ['*'],
    why: 'SSM evaluates this action without a resource.',
  };
}

/** SendCommand of these documents to the users' machines: to those with their owner's consent where that is required, else to any. */
export function commandEnds(settings: Settings, ...documents: readonly Document[]): Access[] {
  if (settings.requireConsent) {
    return [
      documentsOf(settings, documents),
      {
        ...instances(settings),
        conditions: { StringEquals: { [`ssm:resourceTag/${END_TAG}`]: settings.name } },
        why: 'The ends are the users’ machines. Commands reach only those that their owner has tagged for this deployment.',
      },
    ];
  }
  return [
    documentsOf(settings, documents),
    {
      ...instances(settings),
      why: 'The ends are the users’ machines and carry no tag of ours. Only the documents of the other statement can be run there.',
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
      why: 'Relays have no id before their launch. Commands reach only machines with the deployment’s tag.',
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
      why: 'These are the users’ machines. Commands reach only those that their owner has tagged for this deployment.',
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
