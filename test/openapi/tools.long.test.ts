// The document in the hands of others: two linters, and the generators that most projects use.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTool, typeErrorsOf } from '../support/document-tools.ts'
import { ROOT } from '../support/imports.ts'
import { isLeftOut } from '../support/long.ts'
import { startService } from '../support/service.ts'

let folder: string
let document: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-document-'))
  document = join(folder, 'openapi.json')
  const service = await startService({ variables: { PUBLIC_BASE_URL: 'https://wallets.strongroom.test' } })
  try {
    await writeFile(document, (await service.call('/openapi/json')).text)
  } finally {
    await service.close()
  }
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = async (script: string, ...args: string[]): Promise<string> => {
  const { exitCode, output, errors } = await runTool({ script, args, cwd: folder })
  if (exitCode !== 0) throw new Error(`${script} ended with ${exitCode}: ${output.slice(-4000)}${errors.slice(-4000)}`)
  return output
}

const LEFT_OUT = isLeftOut('two linters of the document, and the clients that orval and @hey-api/openapi-ts make of it')

test.skipIf(LEFT_OUT)("Redocly's recommended rules find nothing", async () => {
  const found = JSON.parse(
    await run('@redocly/cli/bin/cli.js', 'lint', document, '--extends=recommended', '--format=json'),
  )
  expect(found.problems).toEqual([])
})

test.skipIf(LEFT_OUT)("Spectral's default rules find nothing", async () => {
  await writeFile(join(folder, 'rules.json'), '{ "extends": ["spectral:oas"] }')
  const args = ['lint', document, '--ruleset', join(folder, 'rules.json'), '--format=json', '--quiet']
  const { output } = await runTool({ script: '@stoplight/spectral-cli/dist/index.js', args, cwd: folder })
  expect(JSON.parse(output)).toEqual([])
})

/** A wrong call is marked: if it fits the types, the compiler says that the mark is unused. */
const WRONG = '// @ts-expect-error'

test('openapi-typescript makes types of it that fit the service', async () => {
  const generator = join(ROOT, 'client/node_modules/openapi-typescript/bin/cli.js')
  const { exitCode } = await runTool({
    script: `../${generator.slice(ROOT.length + 1)}`,
    args: [document, '--output', join(folder, 'types/api.ts')],
    cwd: folder,
  })
  expect(exitCode).toBe(0)
  const use = `import type { components, operations } from './api'
type Body = operations['transactions_sign_and_send']['requestBody']['content']['application/json']
export const body: Body = { network: 'Ethereum', signer_wallet_address: '0x', unsigned_transaction: {}, user_pin: '493817' }
export const status: components['schemas']['TransactionStatusById']['status'] = 'success'
${WRONG}
export const other: Body = { network: 'Nowhere' }`
  const api = await readFile(join(folder, 'types/api.ts'), 'utf8')
  expect(await typeErrorsOf(join(folder, 'types'), { 'api.ts': api, 'use.ts': use })).toBe('')
})

test.skipIf(LEFT_OUT)('orval makes a client of it that fits the service', async () => {
  const output = { target: join(folder, 'orval/api.ts'), client: 'fetch', mode: 'single' }
  const config = join(folder, 'orval.config.mjs')
  await writeFile(config, `export default ${JSON.stringify({ strongroom: { input: document, output } })}`)
  await run('orval/dist/bin/orval.mjs', '--config', config)
  const use = `import { activityList, walletsCreate } from './api'
export const make = async () => {
  const made = await walletsCreate({ network: 'Ethereum', name: 'A', control_mode: 'user', user_pin: '493817' })
  if (made.status === 200) await activityList({ network: 'Ethereum', wallet_address: made.data.address })
  ${WRONG}
  await walletsCreate({ name: 'A' })
}`
  const api = await readFile(join(folder, 'orval/api.ts'), 'utf8')
  expect(await typeErrorsOf(join(folder, 'orval'), { 'api.ts': api, 'use.ts': use })).toBe('')
})

test.skipIf(LEFT_OUT)('@hey-api/openapi-ts makes a client of it that fits the service', async () => {
  await run('@hey-api/openapi-ts/bin/run.js', '-i', document, '-o', join(folder, 'hey/api'), '--no-log-file')
  const use = `import { activityList, walletsCreate } from './api'
export const make = async () => {
  const body = { network: 'Ethereum', name: 'A', control_mode: 'user', user_pin: '493817' } as const
  const { data } = await walletsCreate({ body, throwOnError: true })
  await activityList({ query: { network: 'Ethereum', wallet_address: data.address } })
  ${WRONG}
  await walletsCreate({ body: { name: 'A' } })
}`
  expect(await typeErrorsOf(join(folder, 'hey'), { 'use.ts': use })).toBe('')
})
