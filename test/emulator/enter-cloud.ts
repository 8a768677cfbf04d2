/** Runs in each worker before its test file. */
import { inject } from 'vitest';
import { enter } from '#test/cloud/enter.ts';

enter(inject('target'));
