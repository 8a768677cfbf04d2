/** Which records of the state table's stream wake a function. None passes for a change that the function itself makes. */

const TERMINAL = ['done', 'dead'];

/** A step's task turns done or dead. Marks on a task that is terminal already do not pass. */
export const taskTurnsTerminal = {
  eventName: ['MODIFY'],
  dynamodb: {
    Keys: { SK: { S: [{ prefix: 'STEP#' }] } },
    NewImage: { status: { S: TERMINAL } },
    OldImage: { status: { S: [{ 'anything-but': TERMINAL }] } },
  },
};

/** A person decided that a dead task is done: the one change from one terminal state to another. */
export const deadTurnsDone = {
  eventName: ['MODIFY'],
  dynamodb: {
    Keys: { SK: { S: [{ prefix: 'STEP#' }] } },
    NewImage: { status: { S: ['done'] } },
    OldImage: { status: { S: ['dead'] } },
  },
};

/** A run has something to tell. Passes again while it stays there: readers compare `seq`. */
export const runHasOutbox = {
  eventName: ['INSERT', 'MODIFY'],
  dynamodb: {
    Keys: { SK: { S: ['RUN'] } },
    NewImage: { outbox: { M: { type: { S: [{ exists: true }] } } } },
  },
};
