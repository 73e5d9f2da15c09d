/** The functions' handlers in `lambdas/handlers`, by the way in which they are invoked. */

/** Those of an execution that measures machines and relays, and moves nothing. */
export const MEASURING_STATES = [
  'resolve_measured_paths',
  'survey_measured_ends',
  'estimate_measuring',
  'await_measuring_approval',
  'apply_measuring_approval',
  'plan_measuring',
  'start_sender',
  'spawn_measured_relays',
  'await_measured_relays',
  'measure_relays',
] as const;

/** Handlers that are tasks of the state machine, in the order of the workflow. */
export const STATES = [
  'validate_request',
  'resolve_paths',
  'survey_ends',
  'estimate_transfer',
  'await_approval',
  'apply_approval',
  'plan_chunks',
  'open_plan',
  'make_way',
  'start_transfer',
  'extend_plan',
  'finish_survey',
  'decide_relays',
  'spawn_relays',
  'await_relays',
  'pre_test_relays',
  'join_relays',
  'release_relays',
  'verify_transfer',
  'delete_extras',
  ...MEASURING_STATES,
  'tear_down',
  'write_report',
] as const;

/** Handlers that a rule, a schedule or a queue of events invokes. */
export const REACTIONS = [
  'retry_chunk',
  'replace_relay',
  'grow_relays',
  'replan_routes',
  'finish_transfer',
  'watch_ends',
  'watch_relays',
  'watch_transfers',
  'reconcile',
  'restart_end',
  'tell_machine_ends',
  'lose_end',
  'sweep_execution',
  'start_from_object',
  'start_from_schedule',
] as const;

/** Handlers that people invoke, by the command line; whoever may is a matter of their own IAM policies. */
export const CALLS = ['decide_approval', 'estimate_request', 'limit_transfer', 'teardown_request'] as const;

export type State = (typeof STATES)[number];
export type MeasuringState = (typeof MEASURING_STATES)[number];
export type Reaction = (typeof REACTIONS)[number];
export type Call = (typeof CALLS)[number];
export type Handler = State | Reaction | Call;

/** Folders of `lambdas/handlers`, by the way in which their handlers are invoked. */
export const HANDLER_FOLDERS: Readonly<Record<string, readonly Handler[]>> = {
  states: STATES,
  reactions: REACTIONS,
  calls: CALLS,
};

/** The Python function that a handler's Lambda invokes. */
export function handlerFunction(handler: Handler): string {
  const folder = Object.entries(HANDLER_FOLDERS).find(([, handlers]) => handlers.includes(handler))?.[0];
  return `lambdas.handlers.${folder ?? ''}.${handler}.handler`;
}
