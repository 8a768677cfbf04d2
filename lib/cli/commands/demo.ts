import type { Command } from 'commander';
import { localLeaf, type Session } from '../leaf.ts';
export function addDemo(program: Command, _session: Session): void {
  localLeaf(program, { usage: 'demo', summary: 'x', examples: [['npx edow demo', '']] });
}
