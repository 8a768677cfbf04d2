/** Processes of this machine by id. Linux is read from /proc (a bare container has no `ps`), others are asked by `ps`. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

interface ProcessLine {
  readonly pid: number;
  readonly group: number;
  /** Program and arguments, joined by blanks. */
  readonly command: string;
}

/** Undefined when there is no such process, or only its unburied rest. */
export function commandOf(pid: number): string | undefined {
  return all().find((line) => line.pid === pid)?.command;
}

/** All processes of a process group. */
export function membersOf(group: number): readonly ProcessLine[] {
  return all().filter((line) => line.group === group);
}

/** False when it is gone already. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

function all(): readonly ProcessLine[] {
  return process.platform === 'linux' ? fromProc() : fromPs();
}

function fromProc(): ProcessLine[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').join(' ').trim();
        // pid (name) state parent group ...: the name may hold blanks and brackets itself.
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
        return command === '' ? [] : [{ pid: Number(name), group, command }];
      } catch {
        return []; // ended between the two looks
      }
    });
}

function fromPs(): ProcessLine[] {
  const listing = execFileSync('ps', ['-axww', '-o', 'pid=,pgid=,command='], { encoding: 'utf8' });
  return listing.split('\n').flatMap((line) => {
    const [, pid, group, command] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return command === undefined ? [] : [{ pid: Number(pid), group: Number(group), command }];
  });
}
