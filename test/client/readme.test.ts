// The examples of the client's README, as a reader would paste them into programs that have installed the package.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { typeErrorsOf } from '../support/document-tools.ts'
import { ROOT } from '../support/imports.ts'
import { isLong, longTest } from '../support/long.ts'
import { packClient } from '../support/packed-client.ts'
import { type Service, startService } from '../support/service.ts'
import { startSubstrateChain, type TestSubstrateChain } from '../support/substrate.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const examples = [...readFileSync(join(ROOT, 'client/README.md'), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(
  ([, text = '']) => text,
)

let chain: TestChain
let polkadot: TestSubstrateChain
let service: Service
let worker: WorkerHere
let client: Awaited<ReturnType<typeof packClient>>
let env: Record<string, string>

beforeAll(async () => {
  ;[chain, polkadot] = await Promise.all([startChain('Ethereum'), startSubstrateChain('Polkadot')])
  service = await startService({ rpcUrls: { Ethereum: chain.rpcUrl, Polkadot: polkadot.rpcUrl } })
  worker = await startWorkerHere(service)
  client = await packClient()
  const wallet = await service.newWallet({ network: 'Ethereum' })
  await chain.fund(wallet.address)
  const substrate = await service.newWallet({ network: 'Polkadot' })
  await polkadot.fund(substrate.address)
  env = {
    STRONGROOM_URL: service.baseUrl,
    STRONGROOM_PROJECT: service.project.projectId,
    STRONGROOM_API_KEY: service.project.apiKey,
    STRONGROOM_WALLET: wallet.address,
    ETHEREUM_RPC_URL: chain.rpcUrl,
    POLKADOT_WALLET: substrate.address,
    POLKADOT_WS_URL: polkadot.wsUrl,
  }
})
afterAll(async () => {
  await client.remove()
  await worker.stop()
  await service.close()
  await Promise.all([chain.stop(), polkadot.stop()])
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
