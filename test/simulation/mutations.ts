/** Planted mutations of the protocol: each leaves out one rule that the design marks as load-bearing. */
import { core, type Mutation } from './mutation.ts';

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'fence and owner not checked at the end of a try',
    patches: [
      core(
        'outcome',
        "where('fence', '=', item.fence), where('owner', '=', item.owner ?? '')",
        "where('runId', '=', item.runId)",
      ),
    ],
  },
  {
    name: 'a live lease is no obstacle',
    patches: [
      core('claim', "where('leaseUntil', '<', request.now - LEASE_GRACE_MS)", "where('leaseUntil', '>', 0)"),
    ],
  },
  {
    name: 'a message that meets a live lease is acked',
    patches: [
      core(
        'claim',
        "return { act: 'wait', seconds: visibilitySeconds(free - request.now + 1) }",
        "return { act: 'ack' }",
      ),
    ],
  },
  {
    name: "the lease ends at the step's deadline, not at the function's",
    patches: [
      core('worker', 'leaseUntil: delivery.deadlineAt,', 'leaseUntil: Date.parse(command.deadline),'),
    ],
  },
  {
    name: 'no grace after the lease',
    patches: [
      core('claim', 'request.now - LEASE_GRACE_MS),', 'request.now),'),
      core(
        'claim',
        '(item.leaseUntil ?? Number.POSITIVE_INFINITY) + LEASE_GRACE_MS',
        'item.leaseUntil ?? Number.POSITIVE_INFINITY',
      ),
    ],
  },
  {
    name: 'tries counted by receives',
    patches: [
      core(
        'worker',
        'if (!deferred && claimed.tries >= command.trylimit)',
        'if (!deferred && delivery.receiveCount >= command.trylimit)',
      ),
    ],
  },
  {
    name: 'tries have no limit',
    patches: [core('claim', "where('tries', '<', request.command.trylimit),", "where('tries', '>=', 0),")],
  },
  {
    name: 'a deferral counts as a try',
    patches: [core('outcome', '...(next.counted ? {} : { tries: plus(-1), deferred: plus(1) }),', '')],
  },
  {
    name: 'no death on the last receive of a deferral',
    patches: [
      core('worker', "if ((deferred ? waitsLeft : receivesLeft) <= 0) return giveUp('starved');", ''),
    ],
  },
  {
    name: 'no death on the last receive of a wait',
    patches: [
      core(
        'claiming',
        "if (!isLast || item === undefined || item.status === 'claimed') return again(verdict.seconds);\n        return bury(",
        'if (!isLast || item !== undefined) return again(verdict.seconds);\n        return bury(',
      ),
      core(
        'claiming',
        'starveOf(item, request.command, messageId, now), item)',
        'starveOf(item as never, request.command, messageId, now), item as never)',
      ),
    ],
  },
  {
    name: 'the dead are never revived',
    patches: [core('claim', "if (isNewChance(request, item)) return { act: 'revive', item };", '')],
  },
  {
    name: 'a redrive is recognised without the 15 s',
    patches: [
      core('claim', 'request.sentAt > Math.max(dead.deadAt ?? 0, dead.metAt ?? 0) + LEASE_GRACE_MS &&', ''),
    ],
  },
  {
    name: 'a redrive is recognised without its (execution, entry) met before',
    patches: [core('claim', 'dead.met?.has(pair(request.command)) === true\n  );', 'true\n  );')],
  },
  {
    name: 'a pair met for the first time by a dead task is not noted',
    patches: [core('claiming', 'if (verdict.note) await store.update(noteMetOf(request));', '')],
  },
  {
    name: "the envelope's deadline is taken for the truth",
    patches: [core('claiming', 'if (item.deadline > now) return undefined;', '')],
  },
  {
    name: "a held run's redrive gets no fresh deadline",
    patches: [
      core('claiming', "if (run?.status === 'held' && sentBack) {", 'if (run === undefined && sentBack) {'),
    ],
  },
  {
    name: 'expiry is not conditional on what was read',
    patches: [
      core(
        'deaths',
        "when: all(unheld(now), sameRound(item), where('deadline', '=', item.deadline)),",
        'when: unheld(now),',
      ),
    ],
  },
  {
    name: 'expiry does not respect a live claim',
    patches: [
      core(
        'deaths',
        "when: all(unheld(now), sameRound(item), where('deadline', '=', item.deadline)),",
        "when: all(sameRound(item), where('deadline', '=', item.deadline)),",
      ),
      core(
        'claiming',
        "if (isLate(request) && item && (verdict.act === 'claim' || verdict.act === 'revive')) {",
        "if (isLate(request) && item && verdict.act !== 'ack' && verdict.act !== 'burn') {",
      ),
      core(
        'claiming',
        'expireUnlessFresh(item, request, verdict.act, delivery.log, line)',
        "expireUnlessFresh(item, request, verdict.act === 'revive' ? 'revive' : 'claim', delivery.log, line)",
      ),
    ],
  },
  {
    name: 'a failure is answered without looking again',
    patches: [
      core(
        'collect',
        'const item = await store.get({ PK: seen.PK, SK: seen.SK });',
        'const item = { ...seen } as never;',
      ),
    ],
  },
  {
    name: 'the dead of an older execution are not reset',
    patches: [
      core(
        'dispatch',
        "if (current.status === 'dead' && (current.outcomeExecution ?? 0) < current.execution) {",
        "if (current.status === 'dead' && current.execution < 0) {",
      ),
    ],
  },
  {
    name: 'order of (execution, entry) not checked',
    patches: [
      core(
        'dispatch',
        "all(where('execution', '=', execution), where('entry', '<=', request.entry)),",
        "where('entry', '>=', 0),",
      ),
    ],
  },
  {
    name: 'the step is written after RUN is read',
    patches: [
      core(
        'dispatch',
        'const entered = await store.update(enterStepOf(request));',
        'const early = await runAndSteps(request.runId, true);\n    const entered = await store.update(enterStepOf(request));',
      ),
      core('dispatch', 'const found = await runAndSteps(', 'const found = early ?? await runAndSteps('),
    ],
  },
  {
    name: 'the result is committed without its outbox',
    patches: [
      core(
        'outcome',
        'outbox: to({ ...outboxOf(command, contract.event, schemaUri(contract.event, contract.version), now) }),',
        '',
      ),
    ],
  },
  {
    name: 'data is judged by its truth',
    patches: [
      core(
        'dispatch',
        'const data = resolveMapping(mapping, { input, results }) ?? null;',
        'const data = resolveMapping(mapping, { input, results }) || null;',
      ),
    ],
  },
  {
    name: 'a permanent failure is acked',
    patches: [
      core(
        'worker',
        "delivery.log.error('task gave up', { ...fields, reason });\n      return BURN;",
        "delivery.log.error('task gave up', { ...fields, reason });\n      return ACK;",
      ),
    ],
  },
  {
    name: 'a copy of a dead task is acked',
    patches: [
      core(
        'claiming',
        'if (verdict.note) await store.update(noteMetOf(request));\n        return BURN;',
        'if (verdict.note) await store.update(noteMetOf(request));\n        return ACK;',
      ),
    ],
  },
  {
    name: 'close is no compare-and-set',
    patches: [
      core('run-changes', 'when: open(run.execution),', "when: where('seq', '>', 0),"),
      core(
        'run-changes',
        "    when: all(\n      where('status', '=', 'running'),\n      where('execution', '=', run.execution),\n      where('redrive', '=', run.redrive),\n    ),",
        "    when: where('seq', '>', 0),",
      ),
    ],
  },
  {
    name: 'a resume keeps the execution number',
    patches: [core('run-changes', 'execution: to(changed.execution),', '')],
  },
  {
    name: 'a run leaves the index of open runs before its steps are retired',
    patches: [
      core(
        'run-changes',
        'openShard: to(endedShard(run.runId)),\n      // Soon',
        'openShard: gone,\n      // Soon',
      ),
    ],
  },
  {
    name: 'the dead of an ended run are not cancelled',
    patches: [
      core('run-changes', "['ready', 'claimed', 'retrying', 'dead'];", "['ready', 'claimed', 'retrying'];"),
    ],
  },
  {
    name: 'a key is bound although it is taken',
    patches: [
      core(
        'trigger',
        "any(absent, where('expiresAt', '<=', now))",
        "any(absent, where('expiresAt', '>', 0))",
      ),
    ],
  },
  {
    name: 'an accepted run that was not started is left to its client',
    patches: [
      core(
        'sweep',
        'const outcome = await startExecution(executions, run, deployed);',
        "const outcome = 'left';",
      ),
    ],
  },
  {
    name: 'the sweeper does not close what ended',
    patches: [
      core('sweep', "if (execution.status !== 'RUNNING') {", "if (execution.status === 'ABORTED') {"),
    ],
  },
  {
    name: 'a held run waits for a person although nothing is dead',
    patches: [
      core('sweep', 'else await checkHeld(run, steps, deployed, log);', ''),
      core(
        'collect',
        "if (answer === 'refused' || late || (step.deaths ?? 0) > 0) await heal(step.runId, log);",
        '',
      ),
    ],
  },
  {
    name: 'a message that died unseen leaves its task waiting',
    patches: [core('sweep-letters', "if (!isLost(step, command)) return 'settled';", "return 'settled';")],
  },
  {
    name: 'a task that dies parks no key',
    patches: [
      core(
        'parking',
        'const writes = parkingOf(death, task, await standing(), key);',
        'const writes = parkingOf(death, task, await standing(), key).slice(0, 1) as [Update];',
      ),
    ],
  },
  {
    name: 'a parked key is no obstacle',
    patches: [
      core(
        'parking',
        "if (!isFinished(head)) return line.head === command.id ? 'free' : { behind: line.head };",
        "if (!isFinished(head)) return 'free';",
      ),
    ],
  },
  {
    name: 'a parked key is free when its first task is finished, whoever waits behind it',
    patches: [
      core(
        'parking',
        'const next = line.last === line.head ? undefined : head?.parkNext;',
        'const next = head?.parkNext && undefined;',
      ),
      core(
        'parking',
        "when: all(isHead, where('last', '=', line.last)),\n        changes: { head: gone,",
        'when: isHead,\n        changes: { head: gone,',
      ),
    ],
  },
  {
    name: 'a task of mode atMostOnce is taken over when its worker is lost',
    patches: [
      core(
        'claim',
        "const TAKEN_OVER = where('atMostOnce', '<>', true);",
        "const TAKEN_OVER = where('fence', '>', 0);",
      ),
      core(
        'claim',
        "return item.atMostOnce ? { act: 'unknown', item } : claimOrExhaust(item, request);",
        'return claimOrExhaust(item, request);',
      ),
    ],
  },
  {
    name: 'a task of mode atMostOnce is tried again after an error that says nothing',
    patches: [
      core('worker', "if (claimed.atMostOnce && !deferred && !tried.noEffect) return giveUp('unknown');", ''),
    ],
  },
  {
    name: 'a redrive revives a task whose outcome is not known',
    patches: [
      core('claim', 'if (isBeyondTries(dead))', "if (isBeyondTries({ ...dead, reason: 'permanent' }))"),
    ],
  },
  {
    name: 'a new execution resets a task whose outcome is not known',
    patches: [
      core(
        'dispatch',
        'isBeyondTries(current) ? keepDeadOf(current) : resetDeadOf(current)',
        'current.deaths === undefined ? keepDeadOf(current) : resetDeadOf(current)',
      ),
    ],
  },
  {
    name: "a handler's writes apart from the commit",
    patches: [
      core(
        'worker',
        'const transaction = await transactTwice(store, [update], writes);',
        'await transactTwice(store, [], writes);\n    const transaction = await transactTwice(store, [update]);',
      ),
    ],
  },
  {
    name: 'a cancelled transaction is taken for done',
    patches: [
      core(
        'worker',
        "if (own?.why === 'condition') return",
        'if (own === undefined) return { written: true, item: { ...update.key } };\n    if (own) return',
      ),
    ],
  },
  {
    name: 'what the stream lost is not told again',
    patches: [core('tell-again', 'await retelling.tell(image);', 'void image;')],
  },
  {
    name: 'an outbox that is replaced is forgotten',
    patches: [core('tell-again', 'if (outbox === undefined) return {};', 'return {};')],
  },
];
