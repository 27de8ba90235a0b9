// The package as it is published, in processes of other runtimes: a call that reads, a signature, and an error by its
// code.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { denoCommand } from '../support/deno.ts'
import { packClient } from '../support/packed-client.ts'
import { type Service, startService } from '../support/service.ts'

const NODE_MAJOR_MIN = 20

/** The first Node in PATH; null if there is none that the package is for. */
const nodeCommand = (): readonly string[] | null => {
  const path = Bun.which('node')
  const version = path === null ? '' : Bun.spawnSync([path, '--version']).stdout.toString().trim()
  // A `node` that is Bun in disguise has another version in its process.
  const isNode = path !== null && Bun.spawnSync([path, '-p', 'typeof Bun']).stdout.toString().trim() === 'undefined'
  if (isNode && Number(/^v(\d+)/.exec(version)?.[1]) >= NODE_MAJOR_MIN) return [path]
  console.log(
    `Not run: the package on Node, as PATH has no Node ${NODE_MAJOR_MIN} or later${version && `, but ${version}`}.`,
  )
  return null
}

const PROGRAM = `
import { createClient, StrongroomError } from 'strongroom-client'
import { toAccount } from 'strongroom-client/viem'
import process from 'node:process'
import { verifyMessage } from 'viem'

const { STRONGROOM_URL: baseUrl, STRONGROOM_PROJECT: projectId, STRONGROOM_API_KEY: apiKey } = process.env
const client = createClient({ baseUrl, projectId, apiKey })
const network = 'Ethereum'
const address = process.env.STRONGROOM_WALLET
const wallets = await client.wallets.list({ network })
const account = toAccount({ client, network, address, credential: { developer_secret: 'testnet-secret' } })
const signature = await account.signMessage({ message: 'hello' })
const unknown = client.wallets.getById({ network, id: crypto.randomUUID() })
const error = await unknown.catch((caught) => caught)
const seen = {
  runtime: 'Deno' in globalThis ? 'deno' : 'Bun' in globalThis ? 'bun' : 'node',
  found: wallets.some((each) => each.address === address),
  isValid: await verifyMessage({ address, message: 'hello', signature }),
  error: { isOurs: error instanceof StrongroomError, code: error.code, status: error.status },
}
console.log(JSON.stringify(seen))
`

let service: Service
let client: Awaited<ReturnType<typeof packClient>>
let env: Record<string, string>

beforeAll(async () => {
  // Nothing here asks a node.
  service = await startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } })
  client = await packClient()
  env = {
    STRONGROOM_URL: service.baseUrl,
    STRONGROOM_PROJECT: service.project.projectId,
    STRONGROOM_API_KEY: service.project.apiKey,
    STRONGROOM_WALLET: (await service.newWallet({ network: 'Ethereum' })).address,
  }
})
afterAll(async () => {
  await client?.remove()
  await service.close()
})

const node = nodeCommand()

describe.each([
  ['node', node],
  ['deno', denoCommand()],
  ['bun', [process.execPath, '--no-env-file']],
] as const)('on %s', (name, runtime) => {
  test.skipIf(runtime === null)('reads, signs, and has errors with their codes', async () => {
    const { exitCode, output, errors } = await client.runProgram({ text: PROGRAM, env, runtime: runtime ?? [] })
    if (exitCode !== 0) throw new Error(errors)
    expect(JSON.parse(output)).toEqual({
      runtime: name,
      found: true,
      isValid: true,
      error: { isOurs: true, code: 'not_found', status: 404 },
    })
  })
})
