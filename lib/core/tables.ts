/** Keys and indexes of the tables: what the stack creates and the adapters query. */

/** Every table has the key (PK, SK), both strings, and drops an item when `expiresAt` (epoch seconds) is past. */
export const TABLE_KEY = { partition: 'PK', sort: 'SK', expiry: 'expiresAt' } as const;

/** Sparse index of open runs on table `state`, keys only. `openShard` is a string, `checkAt` a number. */
export const OPEN_INDEX = { name: 'open', partition: 'openShard', sort: 'checkAt' } as const;

/** Indexes of the run list on table `views`, all attributes, both keys strings. */
export const BY_WORKFLOW_INDEX = { name: 'byWorkflow', partition: 'workflowKey', sort: 'runId' } as const;
export const BY_STATUS_INDEX = { name: 'byStatus', partition: 'statusKey', sort: 'runId' } as const;

/** Sparse index of dead letters on table `views`, all attributes, both keys strings. */
export const DEAD_INDEX = { name: 'dead', partition: 'deadShard', sort: 'deadSort' } as const;
