/** What functions and people may do with schedules of EventBridge Scheduler; each makes them in one group, with one role. */

import { Settings } from '../config';
import { arn, scheduleName, serviceNames, startsGroupName, startsRoleName, windowsGroupName, windowsRoleName } from '../names';
import { Access } from './access';

/** Makes a schedule for the end of a window, whose role may invoke one function and nothing else. */
export function scheduleWindows(settings: Settings): Access[] {
  return [
    {
      actions: ['scheduler:CreateSchedule'],
      resources: [arn('scheduler', settings.homeRegion, `schedule/${windowsGroupName(settings)}/*`)],
      why: 'A schedule is named after its window, and windows are numbered.',
    },
    passToScheduler(windowsRoleName(settings)),
  ];
}

/** Reads the schedules that people have added, and those that were deployed. */
export function readSchedules(settings: Settings): Access[] {
  return [
    {
      actions: ['scheduler:ListSchedules'],
      resources: ['*'],
      why: 'Scheduler evaluates this action without a resource.',
    },
    {
      actions: ['scheduler:GetSchedule'],
      resources: [
        arn('scheduler', settings.homeRegion, `schedule/${startsGroupName(settings)}/*`),
        arn('scheduler', settings.homeRegion, `schedule/default/${scheduleName(settings, '*')}`),
      ],
      why: 'Whoever adds a schedule, or writes it into the settings, chooses its name.',
    },
  ];
}

/** Adds, changes and removes schedules of the deployment's group, whose role may have requests judged and started. */
export function changeSchedules(settings: Settings): Access[] {
  return [
    {
      actions: ['scheduler:CreateSchedule', 'scheduler:UpdateSchedule', 'scheduler:DeleteSchedule'],
      resources: [arn('scheduler', settings.homeRegion, `schedule/${startsGroupName(settings)}/*`)],
      why: 'Whoever adds a schedule chooses its name.',
    },
    passToScheduler(startsRoleName(settings)),
  ];
}

function passToScheduler(role: string): Access {
  return {
    actions: ['iam:PassRole'],
    resources: [arn('iam', '', `role/${role}`)],
    conditions: { StringEquals: { 'iam:PassedToService': serviceNames('scheduler') } },
  };
}
