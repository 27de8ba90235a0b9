// The chart of deploy/helm, rendered by Helm: what each process gets, what it may do, and who reaches whom.

import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { version } from '../package.json'
import { readConfig } from '../src/platform/config.ts'
import { ROOT } from './support/imports.ts'

const HELM = process.env.HELM ?? Bun.which('helm')
if (HELM === null)
  console.log('The chart of deploy/helm is not rendered: helm is not installed, and HELM does not name it.')
const CHART = join(ROOT, 'deploy/helm/strongroom')

const NEEDED = [
  'environment=testnet',
  'publicBaseUrl=https://wallets.example.com',
  'networkPolicy.database.to[0].ipBlock.cidr=10.0.4.10/32',
]
const EVERYTHING = [
  ...['console.enabled=true', 'console.baseUrl=https://console.example.com', 'api.autoscaling.enabled=true'],
  ...['serviceMonitor.enabled=true', 'ingress.enabled=true', 'ingress.tlsSecret=wallets', 'databaseCaSecret=ca'],
  ...['networksConfigMap=networks', 'variableSecrets[0]=nodes', 'api.env.LOG_LEVEL=debug'],
  'networkPolicy.apiFrom[0].namespaceSelector.matchLabels.name=ingress',
]

const Container = Type.Object({
  name: Type.String(),
  image: Type.String(),
  args: Type.Optional(Type.Array(Type.String())),
  env: Type.Optional(
    Type.Array(
      Type.Object({ name: Type.String(), value: Type.Optional(Type.String()), valueFrom: Type.Optional(Type.Any()) }),
    ),
  ),
  securityContext: Type.Any(),
})
const Pod = Type.Object({
  automountServiceAccountToken: Type.Boolean(),
  enableServiceLinks: Type.Boolean(),
  securityContext: Type.Object({
    runAsNonRoot: Type.Boolean(),
    runAsUser: Type.Integer(),
    seccompProfile: Type.Object({ type: Type.String() }),
  }),
  initContainers: Type.Optional(Type.Array(Container)),
  containers: Type.Array(Container),
})
const RestorePod = Type.Composite([
  Pod,
  Type.Object({
    volumes: Type.Array(
      Type.Object({
        name: Type.String(),
        persistentVolumeClaim: Type.Optional(Type.Object({ claimName: Type.String() })),
      }),
    ),
  }),
])
const Resource = Type.Object({
  kind: Type.String(),
  metadata: Type.Object({ name: Type.String() }),
  spec: Type.Composite([
    Type.Partial(RestorePod),
    Type.Object({
      replicas: Type.Optional(Type.Integer()),
      template: Type.Optional(Type.Object({ spec: Pod })),
      podSelector: Type.Optional(Type.Any()),
      ingress: Type.Optional(Type.Any()),
      egress: Type.Optional(Type.Any()),
    }),
  ]),
})
type Rendered = readonly Static<typeof Resource>[]

const run = (command: string, settings: readonly string[], further: readonly string[] = []) => {
  const given = settings.flatMap((setting) => ['--set', setting])
  const { exitCode, stdout, stderr } = Bun.spawnSync([HELM ?? 'helm', command, ...further, CHART, ...given])
  return { exitCode, out: stdout.toString(), errors: stderr.toString() }
}
const render = (settings: readonly string[]): Rendered => {
  const { exitCode, out, errors } = run('template', settings, ['--namespace=custody', 'strongroom'])
  if (exitCode !== 0) throw new Error(errors)
  return Value.Parse(
    Type.Array(Resource),
    [Bun.YAML.parse(out)].flat().filter((each) => each !== null),
  )
}
const podsOf = (rendered: Rendered) =>
  rendered.flatMap(({ metadata, spec: { template } }) =>
    template ? [{ name: metadata.name, pod: template.spec }] : [],
  )
const PARTS = ['vault', 'api', 'worker', 'console'] as const

describe.skipIf(HELM === null)('the chart', () => {
  test('is one that Helm accepts, and has the version of the package', async () => {
    for (const settings of [NEEDED, [...NEEDED, ...EVERYTHING]])
      expect(run('lint', settings, ['--strict'])).toMatchObject({ exitCode: 0, errors: '' })
    expect(await Bun.file(join(CHART, 'Chart.yaml')).text()).toContain(
      `\nversion: ${version}\nappVersion: "${version}"\n`,
    )
  })

  test('refuses to be rendered without what it cannot know', () => {
    for (const missing of NEEDED) {
      const { exitCode, errors } = run(
        'template',
        NEEDED.filter((each) => each !== missing),
      )
      expect({ missing, exitCode, isNamed: errors.includes(missing.split(/=|\[/)[0] ?? '') }).toEqual({
        missing,
        exitCode: 1,
        isNamed: true,
      })
    }
  })

  test('makes two vaults, two APIs and two workers, and no Secret', () => {
    const rendered = render(NEEDED)
    const two = rendered.filter(({ spec }) => spec.replicas === 2).map(({ metadata }) => metadata.name)
    expect(two.sort()).toEqual(['strongroom-api', 'strongroom-vault', 'strongroom-worker'])
    expect(rendered.filter(({ kind }) => kind === 'Secret')).toEqual([])
  })

  test('lets no process do more than run, each as its user of the image', () => {
    const pods = podsOf(render([...NEEDED, ...EVERYTHING]))
    expect(pods.map(({ name, pod }) => [name, pod.securityContext.runAsUser]).sort()).toEqual([
      ['strongroom-api', 10002],
      ['strongroom-console', 10004],
      ['strongroom-migration', 10000],
      ['strongroom-vault', 10001],
      ['strongroom-worker', 10003],
    ])
    for (const { pod } of pods) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      })
      for (const { securityContext } of [...pod.containers, ...(pod.initContainers ?? [])])
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
    }
  })

  test('gives each process variables that it reads', () => {
    const pods = podsOf(render([...NEEDED, ...EVERYTHING]))
    for (const part of PARTS) {
      const container = pods.flatMap(({ pod }) => pod.containers).find(({ name }) => name === part)
      expect(container?.args).toEqual([part])
      const env = (container?.env ?? []).map(({ name, value = 'postgres://host/strongroom' }) => [name, value])
      const config = readConfig({ ...Object.fromEntries(env), NETWORKS_FILE: '' }, part)
      expect({ part, unknown: config.unknownVariables }).toEqual({ part, unknown: [] })
    }
    const operator = pods.flatMap(({ pod }) => pod.containers).find(({ name }) => name === 'operator')
    const names = (operator?.env ?? []).map(({ name }) => name)
    expect(names).toContain('IDENTITY_KEY')
    expect(names).not.toContain('ROOT_KEY')
  })

  test('for a restore starts all vaults in one pod, with the journals of the others, and nothing else', () => {
    const rendered = render([...NEEDED, ...EVERYTHING, 'restore.enabled=true'])
    const scaled = rendered.filter(({ spec }) => spec.replicas !== undefined)
    expect(scaled.map(({ metadata, spec }) => [metadata.name, spec.replicas]).sort()).toEqual(
      PARTS.map((part) => [`strongroom-${part}`, 0]).sort(),
    )
    const pod = Value.Parse(RestorePod, rendered.find(({ kind }) => kind === 'Pod')?.spec)
    const sockets = [0, 1].map((n) => `/run/strongroom-vault/${n}/vault.sock`)
    const variable = (container: string, name: string) =>
      pod.containers.find((each) => each.name === container)?.env?.find((each) => each.name === name)?.value
    expect(pod.containers.map(({ name }) => name)).toEqual(['vault-0', 'vault-1', 'operator'])
    expect([0, 1].map((n) => variable(`vault-${n}`, 'VAULT_SOCKET'))).toEqual(sockets)
    expect(variable('operator', 'VAULT_SOCKET')).toBe(sockets.join(','))
    expect([0, 1].map((n) => variable(`vault-${n}`, 'VAULT_LISTEN'))).toEqual([undefined, undefined])
    const claims = pod.volumes.flatMap(({ name, persistentVolumeClaim: claim }) =>
      claim ? [[name, claim.claimName]] : [],
    )
    expect(claims).toEqual([0, 1].map((n) => [`journal-${n}`, `journal-strongroom-vault-${n}`]))
  })

  test('lets an API find each vault, and nobody but APIs and the console reach one', () => {
    const rendered = render([...NEEDED, ...EVERYTHING])
    const api = podsOf(rendered)
      .flatMap(({ pod }) => pod.containers)
      .find(({ name }) => name === 'api')
    expect(api?.env?.find(({ name }) => name === 'VAULT_SOCKET')?.value).toBe(
      [0, 1].map((n) => `tls://strongroom-vault-${n}.strongroom-vault.custody.svc:7443`).join(','),
    )
    const policy = rendered.find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'strongroom-vault',
    )
    const peer = (part: string) => ({
      podSelector: {
        matchLabels: {
          'app.kubernetes.io/name': 'strongroom',
          'app.kubernetes.io/instance': 'strongroom',
          'app.kubernetes.io/component': part,
        },
      },
    })
    expect(policy?.spec).toMatchObject({
      podSelector: peer('vault').podSelector,
      ingress: [{ from: [peer('api'), peer('console')], ports: [{ protocol: 'TCP', port: 'vault' }] }],
      egress: [
        { ports: [{ port: 53 }, { port: 53 }] },
        { to: [{ ipBlock: { cidr: '10.0.4.10/32' } }], ports: [{ protocol: 'TCP', port: 5432 }] },
      ],
    })
  })
})
