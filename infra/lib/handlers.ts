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

/** Those of an execution between two buckets, whose objects S3 copies. */
export const COPYING_STATES = ['survey_buckets', 'list_objects', 'copy_unit', 'finish_copies'] as const;

/** Those that have archived objects of a bucket restored before they are moved. */
export const RESTORING_STATES = ['list_archived', 'restore_objects'] as const;

/** Handlers that are tasks of the state machine, in the order of the workflow. */
export const STATES = [
  'validate_request',
  'list_archived',
  'await_price',
  'resolve_paths',
  'survey_ends',
  'estimate_transfer',
  'await_approval',
  'apply_approval',
  'restore_objects',
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
  ...COPYING_STATES,
  'tear_down',
  'write_report',
] as const;

/** Handlers that are tasks of the state machine of waves. */
export const WAVE_STATES = ['decide_wave'] as const;

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
  'issue_credentials',
  'sweep_execution',
  'sweep_uploads',
  'start_from_object',
  'start_from_schedule',
  'collect_object',
  'close_window',
  'share_limits',
] as const;

/** Handlers of the pool's own stack, which a schedule or a rule invokes. */
export const POOL_HANDLERS = ['keep_pool'] as const;

/** Handlers that people invoke, by the command line; whoever may is a matter of their own IAM policies. */
export const CALLS = [
  'cancel_transfer',
  'decide_approval',
  'drain_seat',
  'estimate_request',
  'limit_transfer',
  'limit_transfers',
  'pause_transfer',
  'show_transfers',
  'teardown_request',
  'unpause_transfer',
] as const;

/** Those of them that a tenant may invoke, by an alias that is called like him. */
export const CALLS_OF_TENANTS = [
  'cancel_transfer',
  'decide_approval',
  'drain_seat',
  'estimate_request',
  'limit_transfer',
  'pause_transfer',
  'show_transfers',
  'teardown_request',
  'unpause_transfer',
] as const satisfies readonly (typeof CALLS)[number][];

export type State = (typeof STATES)[number];
export type MeasuringState = (typeof MEASURING_STATES)[number];
export type CopyingState = (typeof COPYING_STATES)[number];
export type RestoringState = (typeof RESTORING_STATES)[number];
export type Reaction = (typeof REACTIONS)[number];
export type Call = (typeof CALLS)[number];
export type WaveState = (typeof WAVE_STATES)[number];
export type PoolHandler = (typeof POOL_HANDLERS)[number];
export type Handler = State | Reaction | Call | WaveState | PoolHandler;

/** Handlers that seal credentials: their asset alone has the library for it. */
export const SEALING: readonly Handler[] = ['issue_credentials'];

/** Folders of `lambdas/handlers`, by the way in which their handlers are invoked. */
export const HANDLER_FOLDERS: Readonly<Record<string, readonly Handler[]>> = {
  states: STATES,
  reactions: REACTIONS,
  calls: CALLS,
  waves: WAVE_STATES,
  pool: POOL_HANDLERS,
};

/** The Python function that a handler's Lambda invokes. */
export function handlerFunction(handler: Handler): string {
  const folder = Object.entries(HANDLER_FOLDERS).find(([, handlers]) => handlers.includes(handler))?.[0];
  return `lambdas.handlers.${folder ?? ''}.${handler}.handler`;
}
