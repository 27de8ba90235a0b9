// The package as others get it, and the examples of its README.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { generatedFiles } from '../../client/generate.ts'
import { exports as entries } from '../../client/package.json'
import { createClient } from '../../client/src/client.ts'
import type { operations } from '../../client/src/document.generated.ts'
import { StrongroomError } from '../../client/src/errors.ts'
import type { InputOf } from '../../client/src/operation.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { commonService } from '../support/common-service.ts'
import { runTool, typeErrorsOf } from '../support/document-tools.ts'
import { ROOT } from '../support/imports.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { packClient } from '../support/packed-client.ts'
import { type Service, startService } from '../support/service.ts'
import { startSubstrateChain, type TestSubstrateChain } from '../support/substrate.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const READ_MAX_BYTES = 10_000
/** A PNG of one black pixel. */
const PNG = Uint8Array.from(
  Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==', 'base64'),
)

// biome-ignore lint/suspicious/noExplicitAny: JSON
type Json = any

let client: Awaited<ReturnType<typeof packClient>>
let service: Service
let document: Json

beforeAll(async () => {
  service = await commonService()
  document = (await service.call('/openapi/json')).json
  client = await packClient(document)
})
afterAll(async () => {
  await client?.remove()
})

test('the generated files are those of the present document', async () => {
  // Too long for a difference: `bun run build` writes them again.
  for (const [name, text] of Object.entries(await generatedFiles(document)))
    expect({ name, isCurrent: (await readFile(join(ROOT, 'client/src', name), 'utf8')) === text }).toEqual({
      name,
      isCurrent: true,
    })
})

/** What the document gives as an example; a file for what is a file. */
const exampleOf = (schema: Json): unknown => {
  if (schema.$ref !== undefined) return exampleOf(document.components.schemas[schema.$ref.split('/').at(-1)])
  if (schema.format === 'binary') return new Blob([PNG], { type: 'image/png' })
  if (schema.examples !== undefined || schema.example !== undefined) return schema.examples?.[0] ?? schema.example
  if (schema.enum !== undefined) return schema.enum[0]
  const form = schema.anyOf?.find((each: Json) => each.type !== undefined || each.$ref !== undefined)
  if (form !== undefined) return exampleOf(form)
  if (schema.type === 'array') return [exampleOf(schema.items)]
  if (schema.type !== 'object') return schema.type === 'boolean' ? false : '1'
  return examplesOf(schema.properties ?? {}, schema.required ?? [])
}
const examplesOf = (properties: Json, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, exampleOf(properties[name] ?? {})]))

/** The input of an operation's example, with what it requires. */
const inputOf = ({ parameters = [], requestBody }: Json): object => {
  const asked = parameters.filter((each: Json) => each.required === true && each.in !== 'header')
  const given = asked.map(({ name, schema, example }: Json) => [name, example ?? exampleOf(schema)])
  const [content] = Object.values<Json>(requestBody?.content ?? {})
  return { ...Object.fromEntries(given), ...(content === undefined ? {} : Object(exampleOf(content.schema))) }
}

/** What no call of a method may come to, whatever its input is: what it sends would be wrong. */
const NEVER = ['answer_unreadable', 'connection_failed', 'content_encoding_unsupported', 'content_type_unsupported']

test('each method reaches its operation, in the form that it takes', async () => {
  const { baseUrl, project } = service
  const ours = createClient({ baseUrl, projectId: project.projectId, apiKey: project.apiKey, retries: 0 })
  const operations = Object.values<Json>(document.paths).flatMap((methods) => Object.values<Json>(methods))
  const outcomes: string[] = []
  for (const operation of someOf(operations, 3)) {
    const [group, ...rest] = operation.operationId.split('_')
    const name = rest.join('_').replaceAll(/_(\w)/g, (_: string, letter: string) => letter.toUpperCase())
    const method: Json = name === '' ? ours[group as 'healthz'] : Object(ours[group as 'wallets'])[name]
    const error = await method(inputOf(operation)).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    const isAnswered = error === null || (error instanceof StrongroomError && error.status !== undefined)
    const isWrong = !isAnswered || NEVER.includes(error?.code ?? '') || /no such path/.test(error?.message ?? '')
    if (isWrong) outcomes.push(`${operation.operationId}: ${error}`)
  }
  expect(outcomes).toEqual([])
  expect(operations.length).toBeGreaterThan(60)
})

test('an image is uploaded as a file', async () => {
  const { baseUrl, project } = service
  const ours = createClient({ baseUrl, projectId: project.projectId, apiKey: project.apiKey })
  const digest = createHash('sha256').update(PNG).digest('hex')
  for (const file of [new Blob([PNG]), new File([PNG], 'Tür.png', { type: 'image/png' })])
    expect(await ours.nfts.upload({ file })).toEqual({ url: `http://localhost:3000/metadata/${digest}.png` })
})

/** Operations with a body that a method would take as just anything. */
type Untyped = {
  [Id in keyof operations]: operations[Id] extends { requestBody: { content: unknown } }
    ? unknown extends InputOf<Id>
      ? Id
      : never
    : never
}[keyof operations]
const untyped: readonly Untyped[] = [] satisfies readonly never[]

test('no call takes just anything', async () => {
  expect(untyped satisfies readonly never[]).toEqual([])
  // A union with a schema that has no type would be `unknown`.
  expect(await readFile(join(ROOT, 'client/src/document.generated.ts'), 'utf8')).not.toMatch(/[|&] \(?unknown/)
})

describe('what is published', () => {
  test('has no problem for publint', async () => {
    const args = [client.tarball, '--strict']
    const { exitCode, output } = await runTool({ script: 'publint/src/cli.js', args, cwd: client.folder })
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: expect.stringContaining('All good!') })
  })

  longTest('has types that every resolution of an ES module finds', async () => {
    const args = [client.tarball, '--profile', 'esm-only', '--format', 'json']
    const { exitCode, output } = await runTool({
      script: '@arethetypeswrong/cli/dist/index.js',
      args,
      cwd: client.folder,
    })
    const { analysis } = JSON.parse(output)
    expect(exitCode).toBe(0)
    expect(Object.keys(analysis.entrypoints).sort()).toEqual(
      Object.keys(entries)
        .map((name) => name)
        .sort(),
    )
  })

  /** What each file imports, by its name. */
  const importsOf = async (): Promise<(readonly [string, readonly string[]])[]> => {
    const folder = join(client.folder, 'node_modules/strongroom-client/dist')
    const names = (await readdir(folder, { recursive: true })).filter((each) => each.endsWith('.js'))
    return Promise.all(
      names.map(async (name) => {
        const { imports } = new Bun.Transpiler({ loader: 'js' }).scan(await readFile(join(folder, name), 'utf8'))
        return [name, imports.map(({ path }) => path)] as const
      }),
    )
  }

  test('imports nothing that only a server has', async () => {
    for (const [name, paths] of await importsOf())
      expect({ name, foreign: paths.filter((path) => /^(?:node:|bun)/.test(path)) }).toEqual({ name, foreign: [] })
  })

  test('loads React only for the entry for React', async () => {
    const all = await importsOf()
    const loading = all
      .filter(([, paths]) => paths.some((path) => /^react\b|\/react\//.test(path)))
      .map(([name]) => name)
    expect(loading.filter((name) => !name.startsWith('react/'))).toEqual([])
    expect(loading).toContain('react/provider.js')
    const entry = join(client.folder, 'node_modules/strongroom-client/dist/react/index.js')
    expect(await readFile(entry, 'utf8')).toStartWith("'use client'")
  })
})

test('a page that reads loads less than 10 kB', async () => {
  const page = join(await mkdtemp(join(client.folder, 'page-')), 'page.ts')
  await writeFile(
    page,
    `import { createClient } from 'strongroom-client'
const client = createClient({ baseUrl: 'https://wallets.example.com', projectId: 'p', accessToken: 't' })
export const read = (address: string) => client.activity.list({ network: 'Ethereum', wallet_address: address })`,
  )
  const built = await Bun.build({ entrypoints: [page], target: 'browser', minify: true })
  const [script] = await Promise.all(built.outputs.map((output) => output.text()))
  const bytes = gzipSync(script ?? '').length
  console.log(`The page's script has ${bytes} bytes (gzip).`)
  expect(bytes).toBeGreaterThan(500)
  expect(bytes).toBeLessThan(READ_MAX_BYTES)
})

/** The examples of the client's README, as a reader would paste them into programs that have installed the package. */
describe('the examples of the README:', () => {
  const examples = [...readFileSync(join(ROOT, 'client/README.md'), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(
    ([, text = '']) => text,
  )

  let chain: TestChain
  let polkadot: TestSubstrateChain | null = null
  let real: Service
  let worker: WorkerHere
  let env: Record<string, string>

  beforeAll(async () => {
    chain = await startChain('Ethereum')
    // The two examples of the suite need no Polkadot.
    polkadot = isLong ? await startSubstrateChain('Polkadot') : null
    const rpcUrls = { Ethereum: chain.rpcUrl, ...(polkadot === null ? {} : { Polkadot: polkadot.rpcUrl }) }
    real = await startService({ rpcUrls })
    worker = await startWorkerHere(real)
    const wallet = await real.newWallet({ network: 'Ethereum' })
    await chain.fund(wallet.address)
    env = {
      STRONGROOM_URL: real.baseUrl,
      STRONGROOM_PROJECT: real.project.projectId,
      STRONGROOM_API_KEY: real.project.apiKey,
      STRONGROOM_WALLET: wallet.address,
      ETHEREUM_RPC_URL: chain.rpcUrl,
    }
    if (polkadot === null) return
    const substrate = await real.newWallet({ network: 'Polkadot' })
    await polkadot.fund(substrate.address)
    env = { ...env, POLKADOT_WALLET: substrate.address, POLKADOT_WS_URL: polkadot.wsUrl }
  })
  afterAll(async () => {
    await worker?.stop()
    await real?.close()
    await Promise.all([chain?.stop(), polkadot?.stop()])
  })

  const SENT_AND_SIGNED = /^0x\w{64} 0x\w{130}$/
  /** What each example prints, in order. */
  const PRINTS = [
    /^0x\w{40} 0\nThere is no such wallet\.$/,
    /^paid 0x\w{64}$/,
    /^([-\w]{36} \w+\n)*0x\w{40} (receive|send)_token [\d.]+ ETH$/,
    SENT_AND_SIGNED,
    SENT_AND_SIGNED,
    SENT_AND_SIGNED,
    SENT_AND_SIGNED,
    /^0x\w{64}$/,
  ]

  test('there is an expected output for each', () => {
    expect(examples.length).toBe(PRINTS.length)
  })

  longTest('they compile with strict options', async () => {
    const files = Object.fromEntries(examples.map((text, index) => [`example-${index}.ts`, text]))
    expect(await typeErrorsOf(client.folder, files)).toBe('')
  })

  /** In the suite the first two run; the others only compile. */
  test.each(PRINTS.slice(0, isLong ? undefined : 2).map((printed, index) => [index + 1, printed] as const))(
    'example %d does what it says',
    async (number, printed) => {
      const { exitCode, output, errors } = await client.runProgram({ text: examples[number - 1] ?? '', env })
      if (exitCode !== 0) throw new Error(errors)
      expect(output.trim()).toMatch(printed)
    },
  )

  test('a payment with a key of its own is made once', async () => {
    const before = await chain.publicClient.getBalance({ address: fundedAccount(1).address })
    const { errors } = await client.runProgram({ text: examples[1] ?? '', env })
    expect(errors).toBe('')
    expect(await chain.publicClient.getBalance({ address: fundedAccount(1).address })).toBe(before)
  })
})
