// Each example that the pages and the files for an installation show is read by the code that would read it. The
// examples are found by their form: a new one that nothing reads, or that is refused, fails here.

import { afterAll, describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../src/platform/config.ts'
import { furtherNetworks } from '../src/platform/networks.ts'
import { readKey } from '../src/platform/sealing/key-source.ts'
import { openRootKey } from '../src/vault/rooms/root/root-key.ts'
import { runCli } from './support/cli.ts'
import { ROOT } from './support/imports.ts'
import { setEnvironment } from './vault/root-key-services/service.ts'

type Example = { readonly at: string; readonly name: string; readonly text: string }

const filesIn = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(join(ROOT, path)).isFile())

const paths = ['README.md', 'CONTRIBUTING.md', 'Dockerfile', ...filesIn('docs'), ...filesIn('deploy')]
const files = paths.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
const textOf = (path: string): string => files.find((file) => file.path === path)?.text ?? ''

const blocks = files.flatMap(({ path, text }) =>
  [...text.matchAll(/^( *)```(\w+)\n([\s\S]*?)^ *```/gm)].map(([, indent = '', language, code = '']) => ({
    path,
    language,
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  })),
)

const folder = mkdtempSync(join(tmpdir(), 'strongroom-examples-'))
const written = (name: string, content: string | Uint8Array): string => {
  writeFileSync(join(folder, name), content, { mode: 0o600 })
  return join(folder, name)
}
const networkFiles = blocks.filter(({ language, code }) => language === 'json' && code.includes('"chain_id"'))
const NETWORKS_FILE = written('networks.json', networkFiles[0]?.code ?? '')
const KEY_FILE = written('some.key', new Uint8Array(32).fill(7))
const OTHER_KEY_FILE = written('another.key', new Uint8Array(32).fill(8))

// A key service's library wants to know who asks, and where. Without credentials, Google's would look for a machine of
// Google's.
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const account = {
  type: 'service_account',
  project_id: 'a-project',
  client_email: 'vault@example.com',
  private_key: privateKey,
}
const restore = setEnvironment({
  AWS_REGION: 'eu-central-1',
  GOOGLE_APPLICATION_CREDENTIALS: written('google.json', JSON.stringify(account)),
})
afterAll(() => {
  restore()
  rmSync(folder, { recursive: true })
})

/** An example with values in the place of those that a shell, systemd or a reader puts in. */
const filled = (text: string): string =>
  text
    .replaceAll(/\$\([^)]*\)/g, '1')
    .replaceAll(/\$\{?\w+\}?/g, 'x')
    .replaceAll('%i', '1')
    .replaceAll('0x…', `0x${'ab'.repeat(32)}`)
    .replaceAll('<key id or ARN>', '1234abcd-12ab-34cd-56ef-1234567890ab')
    .replaceAll(/<(\w+)>/g, '$1')
    .replaceAll(/:(?:port|PORT|CONSOLE_PORT)\b/g, ':7443')
    .replaceAll('…', 'x')

const OF_NETWORK = /^[A-Z][A-Z0-9]+_(?:RPC_URL|MAX_FEE_GWEI|METADATA_PIN)$/

/** What the example of one variable needs beside it. */
const besideOf = (name: string): Readonly<Record<string, string>> => {
  if (OF_NETWORK.test(name)) return { NETWORKS_FILE }
  if (name === 'ENVIRONMENT') return { PUBLIC_BASE_URL: 'https://wallets.example.com' }
  if (name === 'CONSOLE_HOST') return { CONSOLE_BASE_URL: 'https://console.example.com' }
  if (name.startsWith('OTEL_')) return { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
  if (name.startsWith('ROOT_KEY')) return { VAULT_TOKEN: 'token' }
  if (name === 'VAULT_TOKEN_FILE') return { ROOT_KEY: 'vault-transit:https://vault.internal:8200/transit/strongroom' }
  if (name === 'VAULT_TLS_CLIENTS') return { VAULT_LISTEN: '10.0.4.20:7443' }
  if (name.startsWith('VAULT_TLS_')) return { VAULT_SOCKET: 'tls://vault.internal:7441' }
  return {}
}

const BESIDE = {
  ENVIRONMENT: 'testnet',
  DATABASE_URL: 'postgres://api:password@localhost/strongroom',
  VAULT_TLS_CERT_FILE: '/t/own.crt',
  VAULT_TLS_KEY_FILE: '/t/own.key',
  VAULT_TLS_CA_FILE: '/t/ca.crt',
  VAULT_TLS_CLIENTS: 'api.internal',
}

/** The key's own place does not exist here. */
const atTestFile = (spec: string): string =>
  spec.replace(/^file:\/.+/, `file:${KEY_FILE}`).replace(/^fd:N$/, () => `fd:${openSync(KEY_FILE, 'r')}`)

/** Reads one variable as the processes do. @returns why it is refused, or null */
const refusalOf = async ({ name, text }: Example): Promise<string | null> => {
  const read = new Set<string | symbol>()
  const value = name === 'NETWORKS_FILE' ? NETWORKS_FILE : filled(text)
  const set = { ...BESIDE, ...besideOf(name), [name]: value }
  const get = (target: typeof set, key: string | symbol) => {
    read.add(key)
    return Reflect.get(target, key)
  }
  try {
    const isRootKey = name.startsWith('ROOT_KEY')
    const config = readConfig(new Proxy(set, { get }), isRootKey ? 'vault' : 'command')
    for (const each of isRootKey ? [config.rootKey, config.nextRootKey] : []) {
      if (each !== null) await openRootKey({ ...each, spec: atTestFile(each.spec) })
    }
    if (/^(?:SERVICE|IDENTITY)_KEY/.test(name)) readKey({ name, spec: atTestFile(value) })
  } catch (error) {
    return String(error)
  }
  return read.has(name) ? null : 'nothing reads it'
}

/** Those that are refused. */
const refused = async (examples: readonly Example[]) => {
  const judged = await Promise.all(examples.map(async (each) => ({ ...each, refusal: await refusalOf(each) })))
  return judged.filter(({ refusal }) => refusal !== null)
}

/** Each row of the configuration's tables that begins with variables. */
const rows = textOf('docs/configuration.md')
  .split('\n')
  .map((line) => line.split(' | '))
  .filter(([first = '', ...others]) => /^\| `[A-Z]/.test(first) && others.length === 2)
  .map(([first = '', , meaning = '']) => ({
    names: [...first.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name),
    spans: [...meaning.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span),
  }))
const VARIABLES = new Set(rows.flatMap(({ names }) => names))
const ASSIGNMENT =
  /(?<=^|[\s"'`]|Environment=|--from-literal=)([A-Z][A-Z0-9_]+)=("[^"]*"|'[^']*'|(?:\$\([^)]*\)|[^\s`"')])*)/gm

describe('an example of a variable', () => {
  const lineOf = (text: string, index: number) => text.slice(0, index).split('\n').length
  const assignments: readonly Example[] = files.flatMap(({ path, text }) =>
    [...text.matchAll(ASSIGNMENT)]
      .map(({ index, 1: name = '', 2: value = '' }) => ({
        at: `${path}:${lineOf(text, index)}`,
        name,
        text: value.replace(/^(["'])(.*)\1$/, '$2'),
      }))
      .filter(({ name }) => VARIABLES.has(name) || OF_NETWORK.test(name))
      // A shell's variable alone shows no value.
      .filter(({ text: value }) => !/^\$\w+$/.test(value)),
  )

  test('is taken where a page or a file sets it', async () => {
    expect(assignments.length).toBeGreaterThan(80)
    const foundIn = new Set(assignments.map(({ at }) => at.split(':')[0]))
    for (const path of ['README.md', 'Dockerfile', 'docs/networks.md', 'docs/root-keys.md', 'deploy/compose/init']) {
      expect(foundIn).toContain(path)
    }
    expect(await refused(assignments)).toEqual([])
  })

  // What a process of an installation gets, together: a misspelt name is found, too.
  const environments = files.flatMap(({ path, text }) =>
    [
      ...text.matchAll(/^ *cat >>? (?:\/etc\/strongroom\/)?(vault|api|worker|console)\.env <<END\n([\s\S]*?)^ *END$/gm),
    ].map(([, reader = '', lines = '']) => ({ path, reader, lines })),
  )

  test('is a known one in a file of variables', () => {
    expect(environments.length).toBe(10)
    for (const { path, reader, lines } of environments) {
      const set = [...lines.matchAll(ASSIGNMENT)].map(([, name = '', value = '']) => [
        name,
        filled(value.replaceAll("'", '')),
      ])
      expect(set.length).toBe(lines.trim().split('\n').length)
      const process = reader === 'vault' || reader === 'api' || reader === 'worker' ? reader : 'console'
      const { unknownVariables } = readConfig({ ...BESIDE, ...Object.fromEntries(set) }, process)
      expect({ path, reader, unknownVariables }).toEqual({ path, reader, unknownVariables: [] })
    }
  })

  /**
   * What a meaning names beside values: other variables, protocols, endpoints, commands, and parts of a URL or a path.
   */
  const NO_VALUE =
    /^(?:[A-Z<][A-Z_<>…]+|wss?|https?|(?:GET )?\/[\w/]*|bun run .*|http:\/\/localhost:\*|ipfs:\/\/…|X-Forwarded-For|traceparent|parentbased_|service\.name|\.operator)$/
  const ofUrl = { DATABASE_URL: BESIDE.DATABASE_URL, MAIL_URL: 'smtp://host' }
  const values = rows.flatMap(({ names, spans }) =>
    spans
      .filter((span) => !NO_VALUE.test(span))
      .map((span) => ({
        span,
        examples: names.map((name) => {
          const begin = span.startsWith('?') ? (Object.entries(ofUrl).find(([each]) => each === name)?.[1] ?? '') : ''
          return { at: 'docs/configuration.md', name, text: begin + span }
        }),
      })),
  )

  test('is taken by a variable of its row in docs/configuration.md', async () => {
    expect(values.length).toBeGreaterThan(40)
    const judged = await Promise.all(
      values.map(async ({ span, examples }) => ({ span, refusals: await refused(examples), of: examples.length })),
    )
    expect(judged.filter(({ refusals, of }) => refusals.length === of)).toEqual([])
  })

  test('is taken wherever a key of a key service is named', async () => {
    const keys = files.flatMap(({ path, text }) =>
      text
        .split(/\n(?: *#)? *\n/)
        // The names that the database has for keys are others.
        .filter((paragraph) => !paragraph.includes('root_key_id'))
        .flatMap((paragraph) => [...paragraph.matchAll(/\b(?:aws-kms|gcp-kms|vault-transit):(?:<[^>]*>|[^\s`<])+/g)])
        .map(([key]) => ({ at: path, name: 'ROOT_KEY', text: key.replace(/[.,]$/, '') })),
    )
    expect(keys.length).toBeGreaterThan(8)
    expect(keys.map(({ at }) => at)).toContain('deploy/helm/strongroom/values.yaml')
    expect(await refused(keys)).toEqual([])
  })
})

describe('an example of a value of the chart', () => {
  const VALUES = textOf('deploy/helm/strongroom/values.yaml')
  /** Which variable a value becomes. Other values are read by Helm and Kubernetes only. */
  const VARIABLE_OF: Readonly<Record<string, string>> = {
    environment: 'ENVIRONMENT',
    publicBaseUrl: 'PUBLIC_BASE_URL',
    trustedProxies: 'TRUSTED_PROXIES',
    'vault.rootKey': 'ROOT_KEY',
    'console.baseUrl': 'CONSOLE_BASE_URL',
  }

  type Leaf = readonly [path: string, value: string]
  const leavesOf = (value: unknown, path = ''): readonly Leaf[] =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.entries(value).flatMap(([key, each]) => leavesOf(each, path === '' ? key : `${path}.${key}`))
      : [[path, String(value)]]

  /** What a comment shows as a value, by the key below it. */
  const commented = (): readonly Leaf[] => {
    const keys: string[] = []
    let shown: string[] = []
    return VALUES.split('\n').flatMap((line): readonly Leaf[] => {
      const [, comment] = /^ *# (.*)$/.exec(line) ?? []
      const [, indent, key] = /^( *)([A-Za-z]\w*):/.exec(line) ?? []
      if (comment !== undefined) shown.push(...(comment.match(/[a-z0-9-]+:\S*[^\s.,:]/g) ?? []))
      if (indent === undefined || key === undefined) return []
      keys.splice(indent.length / 2, keys.length, key)
      const found = shown.map((text): Leaf => [keys.join('.'), text])
      shown = []
      return found
    })
  }

  const examplesOf = (leaves: readonly Leaf[], at: string): readonly Example[] =>
    leaves.flatMap(([path, text]) => {
      const name = VARIABLE_OF[path]
      return name === undefined || text === '' ? [] : [{ at: `${at}, ${path}`, name, text }]
    })

  test('in a comment is of a value that a process reads, and is taken', async () => {
    const shown = commented()
    expect(shown.map(([path]) => path)).toContain('vault.rootKey')
    // A digest is read by the container runtime.
    expect(shown.filter(([path]) => VARIABLE_OF[path] === undefined)).toEqual([['image.digest', 'sha256:…']])
    expect(await refused(examplesOf(shown, 'values.yaml'))).toEqual([])
  })

  test('in a page is of a value that the chart has, and is taken', async () => {
    const chart = leavesOf(Bun.YAML.parse(VALUES)).map(([path]) => path)
    const isKnown = (path: string) => chart.some((each) => path === each || path.startsWith(`${each}.`))
    const pages = blocks.filter(({ path, language }) => path === 'docs/containers.md' && language === 'yaml')
    expect(pages.length).toBeGreaterThan(0)
    const set = pages.flatMap(({ code }) => leavesOf(Bun.YAML.parse(code)))
    const spans = [...textOf('docs/containers.md').matchAll(/`(?:[^`]*--set )?((?:[a-z]+\.)+[a-zA-Z]+)=(\S+)`/g)]
    const all = [...set, ...spans.map(([, path = '', value = '']): Leaf => [path, value])]
    expect(all.length).toBeGreaterThan(8)
    expect(all.filter(([path]) => !isKnown(path))).toEqual([])
    expect(await refused(examplesOf(all, 'docs'))).toEqual([])
  })
})

test('each file with networks that a page shows is taken', () => {
  expect(networkFiles.length).toBeGreaterThan(0)
  for (const { path, code } of networkFiles) {
    expect(furtherNetworks({ name: path, text: code }).length).toBeGreaterThan(0)
  }
})

describe('a command that a page shows', () => {
  const ID = '00000000-0000-4000-8000-000000000000'
  const PLACES: Readonly<Record<string, string>> = {
    '<id>': ID,
    '…': ID,
    '<project>': ID,
    '<network>': 'Ethereum',
    '<time>': '2027-01-01T00:00:00Z',
    '<chain:position:hex>': `${ID}:1:${'ab'.repeat(32)}`,
  }
  /** Brackets are for what may be left out, and a bar is between alternatives. */
  const wordsOf = (command: string): readonly string[] =>
    [...command.replaceAll(/\[[^\]]*\]/g, '').matchAll(/"([^"]*)"|'([^']*)'|\S+/g)].map(
      ([word, one, other]) => PLACES[word] ?? filled(one ?? other ?? word.split('|')[0] ?? ''),
    )
  const COMMAND = /(?:bun run(?: --silent)? cli|strongroom cli|compose run --rm(?: -T)? cli) ([a-z][^;&)#]*)/
  const lines = [
    ...blocks.flatMap(({ path, code }) =>
      code
        .replaceAll('\\\n', ' ')
        .split('\n')
        .map((line) => ({ path, line })),
    ),
    ...files.flatMap(({ path, text }) =>
      [...text.matchAll(/`(bun run cli [^`]+)`/g)].map(([, line = '']) => ({ path, line: line.replaceAll('\n', ' ') })),
    ),
  ]
  const commands = lines.flatMap(({ path, line }) => {
    const [, command] = COMMAND.exec(line) ?? []
    return command === undefined ? [] : [{ path, words: wordsOf(command.split(/ \|{1,2} /)[0] ?? '') }]
  })
  const once = [...new Map(commands.map((each) => [each.words.join(' '), each])).values()]

  // Nothing listens at this database, where a command ends that was understood.
  const variables = {
    ...BESIDE,
    DATABASE_URL: 'postgres://api:password@127.0.0.1:1/strongroom',
    SERVICE_KEY: `file:${KEY_FILE}`,
    IDENTITY_KEY: `file:${OTHER_KEY_FILE}`,
  }
  /** In a sentence a command may be named without what it needs; what is there must be right. */
  const WRONG = /^error: (?:unknown|too many|(?!.*argument missing)(?:option|command-argument) )/

  test('is understood', async () => {
    expect(once.length).toBeGreaterThan(50)
    for (const { path, words } of once) {
      const { errors } = await runCli(words, variables)
      expect({ path, command: words.join(' '), refused: WRONG.test(errors) ? errors : '' }).toEqual({
        path,
        command: words.join(' '),
        refused: '',
      })
    }
  })
})
