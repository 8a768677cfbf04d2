import { join, relative, resolve } from 'node:path';
import { AssetHashType, DockerImage, aws_lambda as lambda } from 'aws-cdk-lib';
import { buildSync } from 'esbuild';

export const ROOT = resolve(import.meta.dirname, '../..');

/** CommonJS dependencies of an ES module bundle call `require` for Node's own modules. */
const REQUIRE = "import{createRequire as r}from'node:module';const require=r(import.meta.url);";

/** Writes the bundle of one entry file: an ES module with all that it needs inside, and its source map. */
export function bundle(entry: string, outputDir: string): void {
  buildSync({
    entryPoints: [entry],
    outfile: join(outputDir, 'index.mjs'),
    absWorkingDir: ROOT,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    mainFields: ['module', 'main'],
    // Functions get their credentials by environment: the SDK's whole chain of providers stays out. So does what
    // DynamoDB's client brings to look up endpoints.
    alias: {
      '@aws-sdk/credential-provider-node': join(ROOT, 'lib/adapters/env-credentials.ts'),
      '@aws-sdk/middleware-endpoint-discovery': join(ROOT, 'lib/adapters/no-endpoint-discovery.ts'),
    },
    // The SDK imports these on the first call that streams events; none of ours does. Twenty kilobytes a function.
    external: ['@smithy/core/event-streams'],
    banner: { js: REQUIRE },
    minify: true,
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'error',
  });
}

/**
 * The bundle as code of a function. In this process rather than by NodejsFunction, which starts npx for each function:
 * a second each, and the thirteen of them are most of a synth.
 */
export const bundled = (entry: string): lambda.Code =>
  lambda.Code.fromAsset(ROOT, {
    // The hash of what comes out: the same code is the same asset on every machine.
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('never-used'),
      // Tells this bundle from the others: the CDK makes one of those that look alike.
      command: [relative(ROOT, entry)],
      local: {
        tryBundle: (outputDir) => {
          bundle(entry, outputDir);
          return true;
        },
      },
    },
  });
