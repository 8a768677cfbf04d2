import { type Command, InvalidArgumentError } from 'commander';
import { readRecord } from '#local/cloud.ts';
import { deployWithProgress } from '../cloud-life.ts';
import { deployLine, targetOf } from '../connection.ts';
import { CliError } from '../errors.ts';
import { leaf, type Session, type SharedFlags, screenFor } from '../leaf.ts';
import { nameOf } from '../target.ts';

type Context = Readonly<Record<string, string>>;

function contextEntry(text: string, before: Context): Context {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('Allowed: name=value, as in stage=local.');
  return { ...before, [name]: value };
}

export function addDeploy(program: Command, session: Session): void {
  leaf(program, {
    usage: 'deploy',
    summary: 'deploy the app again after a change',
    examples: [
      ['npx edow deploy', 'to the local cloud, by the real cdk deploy'],
      ['npx edow deploy --stage prod', 'shows the cdk command for AWS: nothing is hidden behind this one'],
    ],
  })
    .option(
      '-c, --context <name=value>',
      'context for the CDK, as cdk takes it; may be repeated',
      contextEntry,
      {},
    )
    .action(async (flags: SharedFlags & { context: Context }) => {
      const screen = screenFor(session, flags);
      const asked = flags.context['stage'];
      const target = await targetOf({ ...flags, ...(asked && !flags.stage && { stage: stageOf(asked) }) });
      Object.assign(session, { where: nameOf(target), isLocal: target.kind === 'local' });
      const cloud = readRecord(flags.stateDir);
      if (target.kind !== 'local' || cloud === undefined) {
        const command = `${deployLine(target)}${flagsOf(flags.context)}`;
        if (screen.json) return screen.emit({ target: nameOf(target), command });
        screen.print(`${nameOf(target)} is deployed to by the CDK itself:`);
        return screen.print(`  ${command}`);
      }
      session.ifInterrupted = 'stopped. Run npx edow deploy again: it goes on from what is there.';
      screen.say(`Deploying to ${nameOf(target)}`);
      const outputs = await deployWithProgress(screen, cloud, flags.context);
      if (screen.json) screen.emit({ target: nameOf(target), outputs });
    });
}

function stageOf(text: string): 'local' | 'dev' | 'prod' {
  if (text === 'local' || text === 'dev' || text === 'prod') return text;
  throw new CliError(
    'usage',
    `stage is "${text}"; allowed: local, dev, prod`,
    'Right: npx edow deploy -c stage=local',
    { exitCode: 2 },
  );
}

/** The stage is in the line already. */
const flagsOf = (context: Context): string =>
  Object.entries(context)
    .filter(([name]) => name !== 'stage')
    .map(([name, value]) => ` -c ${name}=${/^[\w.:/@-]*$/.test(value) ? value : `'${value}'`}`)
    .join('');
