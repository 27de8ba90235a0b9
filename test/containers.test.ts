// The image, compose.yaml and their files, as far as they can be checked without building and starting anything.

import { describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { packageManager, scripts } from '../package.json'
import { readConfig } from '../src/platform/config.ts'
import { ROOT } from './support/imports.ts'

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const PINNED = /^[a-z0-9./-]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}$/

describe('the Dockerfile', () => {
  const text = read('Dockerfile').replace(/\\\n/g, ' ')

  test('begins each stage with the one base image, which is pinned by its digest', () => {
    expect(/^ARG DEBIAN=(.*)$/m.exec(text)?.[1]).toMatch(PINNED)
    const bases = [...text.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
    expect(bases.map((base) => base?.replace(/\W/g, ''))).toEqual(['DEBIAN', 'DEBIAN', 'DEBIAN'])
  })

  test('installs the Bun of package.json', () => {
    expect([...text.matchAll(/\bbun@[0-9.]+/g)].map(([name]) => name)).toEqual([packageManager])
  })

  test('copies only what exists and what .dockerignore lets through', () => {
    const last = text.slice(text.lastIndexOf('FROM '))
    const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '))
    const kept = [...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path = '']) => path)
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
    expect([...new Set(copied)].filter((path) => !kept.includes(path))).toEqual([])
    expect(read('.dockerignore')).toMatch(/^\*$/m)
    for (const path of ['src', 'jobs', 'db', 'package.json', 'bunfig.toml'])
      expect(last).toMatch(new RegExp(`^COPY .*${path} `, 'm'))
  })

  test('does not run as root', () => {
    expect(/^USER (\S+)$/m.exec(text)?.[1]).toBe('10000:10000')
  })
})

describe("the image's command", () => {
  const text = read('deploy/container/strongroom')
  const started = new Map(
    [...text.matchAll(/^ {2}([a-z]+)\) (.*) ;;$/gm)].map(([, name = '', command = '']) => [name, command]),
  )
  const withoutExec = (name: string) => started.get(name)?.replace('exec ', '')

  test('starts each process as the script of package.json does', () => {
    expect(withoutExec('vault')).toBe(scripts.vault)
    expect(withoutExec('api')).toBe(scripts.start)
    expect(withoutExec('worker')).toBe(scripts.worker)
    expect(withoutExec('console')).toBe(scripts.console)
    expect(`sh bun.sh ${withoutExec('cli')?.replace('bun ', '')}`).toBe(`${scripts.cli} "$@"`)
  })

  test('can be executed, and each file that it starts exists', () => {
    expect(statSync(join(ROOT, 'deploy/container/strongroom')).mode & 0o111).toBe(0o111)
    const files = [...started.values()].map((command) => /exec bun (\S+)/.exec(command)?.[1] ?? '')
    expect(files.length).toBe(6)
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([])
  })

  test('refuses another one', () => {
    const { exitCode, stderr } = Bun.spawnSync(['sh', '-c', text.replace(/^cd .*$/m, ''), 'strongroom', 'shell'])
    expect([exitCode, stderr.toString()]).toEqual([
      2,
      'The command must be vault, api, worker, console, cli or health.\n',
    ])
  })
})

const Service = Type.Object({
  image: Type.String(),
  command: Type.Optional(Type.Array(Type.String())),
  entrypoint: Type.Optional(Type.Array(Type.String())),
  user: Type.Optional(Type.String()),
  read_only: Type.Optional(Type.Boolean()),
  cap_drop: Type.Optional(Type.Array(Type.String())),
  env_file: Type.Optional(Type.Array(Type.String())),
  volumes: Type.Optional(Type.Array(Type.String())),
  networks: Type.Array(Type.String()),
  ports: Type.Optional(Type.Array(Type.String())),
  depends_on: Type.Optional(Type.Record(Type.String(), Type.Object({ condition: Type.String() }))),
})
const Compose = Type.Object({
  services: Type.Record(Type.String(), Service),
  networks: Type.Record(Type.String(), Type.Object({ internal: Type.Optional(Type.Boolean()) })),
  volumes: Type.Record(Type.String(), Type.Object({})),
})

const FOLDER = 'deploy/compose'
/** Anchors that YAML merges into a service. */
type Merged = Static<typeof Service>

describe('compose.yaml', () => {
  const { services, networks, volumes } = Value.Parse(Compose, Bun.YAML.parse(read(`${FOLDER}/compose.yaml`)))
  const all = Object.entries<Merged>(services)
  const ours = all.filter(([, { image }]) => image.includes('strongroom'))
  const networksOf = (name: string) => services[name]?.networks.toSorted()

  test('names pinned images, and one of ours', () => {
    const others = all.filter(([, { image }]) => !image.includes('strongroom'))
    expect(others.map(([, { image }]) => image).filter((image) => !PINNED.test(image))).toEqual([])
    expect(new Set(ours.map(([, { image }]) => image)).size).toBe(1)
    expect(ours.map(([name]) => name)).toEqual(['migrate', 'vault', 'api', 'worker', 'console', 'cli'])
  })

  test('names only networks, volumes, services and files that exist', () => {
    for (const [name, service] of all) {
      expect({ name, unknown: service.networks.filter((each) => !(each in networks)) }).toEqual({ name, unknown: [] })
      const sources = (service.volumes ?? []).map((each) => each.split(':')[0] ?? '')
      const missing = sources.filter((source) =>
        source.startsWith('.')
          ? !source.startsWith('./secrets/') && !existsSync(join(ROOT, FOLDER, source))
          : !(source in volumes),
      )
      expect({ name, missing }).toEqual({ name, missing: [] })
      const unknown = Object.keys(service.depends_on ?? {}).filter((each) => !(each in services))
      expect({ name, unknown }).toEqual({ name, unknown: [] })
    }
  })

  test('the vault has one network, without a way out, and only PostgreSQL is in it', () => {
    expect(networksOf('vault')).toEqual(['custody'])
    expect(networks.custody?.internal).toBe(true)
    expect(all.filter(([, service]) => service.networks.includes('custody')).map(([name]) => name)).toEqual([
      'postgres',
      'vault',
    ])
  })

  test('each process of ours can write nothing but volumes, and has no capability', () => {
    for (const [name, service] of ours) {
      const { read_only, cap_drop } = service
      expect({ name, read_only, cap_drop }).toEqual({ name, read_only: true, cap_drop: ['ALL'] })
    }
    const users = ['vault', 'api', 'worker', 'console', 'cli'].map((name) => services[name]?.user)
    expect(users).toEqual(['10001:10001', '10002:10001', '10003:10003', '10004:10001', '10001:10001'])
  })

  test('only the proxy listens to other machines', () => {
    const open = all.filter(([, { ports }]) => ports?.some((port) => !port.startsWith('127.0.0.1:')))
    expect(open.map(([name]) => name)).toEqual(['proxy'])
  })
})

describe('init', () => {
  const isRoot = process.getuid?.() === 0
  if (!isRoot) console.log('Not root: the files that deploy/compose/init makes are not checked.')

  test.skipIf(!isRoot)('makes what compose.yaml names; each process reads its variables and alone its keys', () => {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-compose-'))
    try {
      const init = join(folder, 'init')
      Bun.spawnSync(['cp', join(ROOT, FOLDER, 'init'), init])
      expect(Bun.spawnSync([init, 'wallets.example.com']).exitCode).toBe(0)
      const named = [...read(`${FOLDER}/compose.yaml`).matchAll(/\.\/(secrets\/[a-z.]+)/g)].map(([, path = '']) => path)
      expect(named.length).toBeGreaterThan(8)
      expect(named.filter((path) => !existsSync(join(folder, path)))).toEqual([])
      const owners = { vault: 10001, api: 10002, worker: 10003, console: 10004, cli: 10001 }
      for (const [name, uid] of Object.entries(owners)) {
        for (const key of readdirSync(join(folder, 'secrets', name))) {
          const { uid: owner, mode, size } = statSync(join(folder, 'secrets', name, key))
          expect({ name, key, owner, mode: mode & 0o777, size }).toEqual({
            name,
            key,
            owner: uid,
            mode: 0o400,
            size: 32,
          })
        }
      }
      for (const reader of ['vault', 'api', 'worker', 'console'] as const) {
        const lines = readFileSync(join(folder, 'secrets', `${reader}.env`), 'utf8')
          .trim()
          .split('\n')
        const variables = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)))
        const { unknownVariables, environment } = readConfig(variables, reader)
        expect({ reader, unknownVariables, environment }).toEqual({
          reader,
          unknownVariables: [],
          environment: 'testnet',
        })
      }
      // A second run would replace the root key.
      expect(Bun.spawnSync([init, 'wallets.example.com']).exitCode).toBe(1)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
