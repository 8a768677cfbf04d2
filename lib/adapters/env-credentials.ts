/**
 * Credentials of a function: its runtime keeps them in the environment and nowhere else. The bundler puts this in
 * the place of `@aws-sdk/credential-provider-node`, which knows eight more sources and weighs a third of a client.
 */
interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/**
 * What the SDK's clients import. Read at each call: nothing is remembered but by the client.
 * @throws Error when the environment holds none
 */
export const defaultProvider = () => async (): Promise<Credentials> => {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = process.env;
  if (!accessKeyId || !secretAccessKey)
    throw new Error(
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not in the environment of this function',
    );
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
};
