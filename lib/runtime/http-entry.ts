/** An HTTP entry point: a refusal is an answer, everything else that goes wrong is an internal error. */
import type { Log } from '#core/ports.ts';
import { chain } from './chain.ts';
import {
  type HttpAnswer,
  type HttpEvent,
  type HttpRequest,
  Problem,
  problemAnswer,
  readRequest,
} from './http.ts';

export const httpEntry = (stage: string, work: (request: HttpRequest, log: Log) => Promise<HttpAnswer>) =>
  chain<HttpEvent, HttpAnswer>(
    stage,
    async (event, { log }) => {
      try {
        return await work(readRequest(event), log);
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        log.info('request refused', { status: error.status, code: error.code });
        return problemAnswer(error);
      }
    },
    problemAnswer,
  );
