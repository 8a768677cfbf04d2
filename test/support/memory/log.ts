import type { Log, LogFields } from '#core/ports.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: LogFields;
}

export interface MemoryLog extends Log {
  readonly lines: readonly LogLine[];
}

/** A log that keeps its lines, to assert what was said and what was not. Lines of a child land in the same list. */
export function memoryLog(): MemoryLog {
  const lines: LogLine[] = [];
  const logWith = (known: LogFields): MemoryLog => {
    const at =
      (level: LogLine['level']) =>
      (message: string, fields: LogFields = {}): void =>
        void lines.push({ level, message, fields: { ...known, ...fields } });
    return {
      lines,
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (fields) => logWith({ ...known, ...fields }),
    };
  };
  return logWith({});
}
