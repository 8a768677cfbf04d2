import { EdowError } from '#core/errors.ts';

/** Something that the person at the keyboard can put right: `nextStep` says how, in one line. */
export class LocalCloudError extends EdowError {
  readonly nextStep: string;
  constructor(code: string, message: string, nextStep: string, options?: ErrorOptions) {
    super(code, message, options);
    this.nextStep = nextStep;
  }
}
