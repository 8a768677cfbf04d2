/** Imports go one way: core <- adapters <- runtime <- lambdas; workflows see core only. */
const SDK = '(^|node_modules/)@aws-sdk/';
const CDK = '(^|node_modules/)(aws-cdk-lib|constructs|cdk-nag)(/|$)';

const never = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

export default {
  forbidden: [
    never(
      'core-is-pure',
      'core sees core, zod and the hash of node:crypto',
      { path: '^lib/core/' },
      {
        pathNot: ['^lib/core/', '(^|node_modules/)zod/', '^(node:)?crypto$'],
      },
    ),
    never(
      'adapters-see-core',
      'adapters carry out what core decided',
      { path: '^lib/adapters/' },
      {
        path: '^(lib/(runtime|constructs|stacks|workflows|cli|local)|lambdas|bin|test)/',
      },
    ),
    never(
      'runtime-sees-adapters-and-core',
      'runtime binds core to Lambda',
      { path: '^lib/runtime/' },
      {
        path: '^(lib/(constructs|stacks|workflows|cli|local)|lambdas|bin|test)/',
      },
    ),
    never(
      'lambdas-compose',
      'an entry point wires core, adapters, runtime and workflows',
      { path: '^lambdas/' },
      {
        path: '^(lib/(constructs|stacks|cli|local)|lambdas|bin|test)/',
      },
    ),
    never(
      'nobody-imports-lambdas',
      'constructs name lambdas by path; tests load them',
      { pathNot: '^test/' },
      {
        path: '^lambdas/',
      },
    ),
    never(
      'contracts-and-tasks-see-core',
      'contracts and handlers run anywhere',
      { path: '^lib/workflows/[^/]+/(contract|tasks)\\.ts$|^lib/workflows/contracts\\.ts$' },
      { pathNot: ['^lib/core/', '^lib/workflows/[^/]+/contract\\.ts$', '(^|node_modules/)zod/'] },
    ),
    never(
      'constructs-see-no-code-of-functions',
      'constructs see names, contracts and the CDK',
      { path: '^lib/(constructs|stacks)/' },
      {
        path: ['^(lib/(adapters|runtime|cli|local)|lambdas|bin|test)/', SDK],
      },
    ),
    never(
      'sdk-in-adapters',
      'SDK clients live in adapters',
      { path: '^(lib/(core|runtime|workflows)|lambdas)/' },
      {
        path: SDK,
        dependencyTypesNot: ['type-only'],
      },
    ),
    never(
      'cdk-at-synth-only',
      'functions never carry the CDK',
      { path: '^(lib/(core|adapters|runtime)|lambdas)/' },
      {
        path: CDK,
      },
    ),
    never(
      'no-cycles',
      'a cycle hides an arrow that goes the wrong way',
      {},
      {
        circular: true,
        viaOnly: { dependencyTypesNot: ['type-only'] },
      },
    ),
    never('resolvable', 'every import is found', {}, { couldNotResolve: true }),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    parser: 'swc',
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
    exclude: { path: '^(cdk\\.out|coverage|\\.edow)/' },
  },
};
