/** What functions may do with SSM Run Command: send our own documents, and read how they went. */

import { DEPLOYMENT_TAG, Document, documentName, END_TAG, LENT_TAG } from '../names';
import { Settings } from '../config';
import { Access } from './access';
import { anywhere } from './regions';

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
      instances(
        settings,
        'The ends are the users’ machines. Commands reach only those that their owner has tagged for this deployment.',
        END_TAG,
      ),
    ];
  }
  return [
    documentsOf(settings, documents),
    instances(
      settings,
      'The ends are the users’ machines and carry no tag of ours. Only the documents of the other statement can be run there.',
    ),
  ];
}

/** SendCommand of these documents to machines with the deployment's tag. */
export function commandRelays(settings: Settings, ...documents: readonly Document[]): Access[] {
  return [
    documentsOf(settings, documents),
    instances(
      settings,
      'Relays have no id before their launch. Commands reach only machines with the deployment’s tag.',
      DEPLOYMENT_TAG,
    ),
  ];
}

/** SendCommand of these documents to machines that their owners lend to this deployment, by a tag. */
export function commandLent(settings: Settings, ...documents: readonly Document[]): Access[] {
  return [
    documentsOf(settings, documents),
    instances(
      settings,
      'These are the users’ machines. Commands reach only those that their owner has tagged for this deployment.',
      LENT_TAG,
    ),
  ];
}

function documentsOf(settings: Settings, documents: readonly Document[]): Access {
  return {
    actions: ['ssm:SendCommand'],
    resources: documents.map((document) => anywhere('ssm', `document/${documentName(settings, document)}`)),
    why: 'Each enrolled region has the document under this name. Calls to any other region are refused.',
  };
}

function instances(settings: Settings, why: string, tag?: string): Access {
  return {
    actions: ['ssm:SendCommand'],
    resources: [anywhere('ec2', 'instance/*')],
    ...(tag !== undefined && { conditions: { StringEquals: { [`ssm:resourceTag/${tag}`]: settings.name } } }),
    why,
  };
}
