// The examples of the client's README, as a reader would paste them into programs that have installed the package.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { typeErrorsOf } from '../support/document-tools.ts'
import { ROOT } from '../support/imports.ts'
import { packClient } from '../support/packed-client.ts'
import { type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const examples = [...readFileSync(join(ROOT, 'client/README.md'), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(
  ([, text = '']) => text,
)

let chain: TestChain
let service: Service
let worker: WorkerHere
let client: Awaited<ReturnType<typeof packClient>>
let env: Record<string, string>

beforeAll(async () => {
  chain = await startChain('Ethereum')
  service = await startService({ rpcUrls: { Ethereum: chain.rpcUrl } })
  worker = await startWorkerHere(service)
  client = await packClient()
  const wallet = await service.newWallet({ network: 'Ethereum' })
  await chain.fund(wallet.address)
  env = {
    STRONGROOM_URL: service.baseUrl,
    STRONGROOM_PROJECT: service.project.projectId,
    STRONGROOM_API_KEY: service.project.apiKey,
    STRONGROOM_WALLET: wallet.address,
    ETHEREUM_RPC_URL: chain.rpcUrl,
  }
})
afterAll(async () => {
  await client.remove()
  await worker.stop()
  await service.close()
  await chain.stop()
})

/** A part of the first line that each example prints, in order. */
const PRINTS = [/^0x\w{40} 0\nThere is no such wallet\.$/, /^paid 0x\w{64}$/]

test('there is an expected output for each', () => {
  expect(examples.length).toBe(PRINTS.length)
})

test('they compile with the strictest options', async () => {
  const files = Object.fromEntries(examples.map((text, index) => [`example-${index}.ts`, text]))
  // A program of Node declares it by its types.
  const node = { 'node.d.ts': 'declare const process: { env: Record<string, string | undefined> }' }
  expect(await typeErrorsOf(client.folder, { ...files, ...node })).toBe('')
})

test.each(PRINTS.map((printed, index) => [index + 1, printed] as const))(
  'example %d does what it says',
  async (number, printed) => {
    const { exitCode, output, errors } = await client.runProgram({ text: examples[number - 1] ?? '', env })
    expect({ errors, output: output.trim() }).toEqual({ errors: '', output: expect.stringMatching(printed) })
    expect(exitCode).toBe(0)
  },
)

test('a payment with a key of its own is made once', async () => {
  const before = await chain.publicClient.getBalance({ address: fundedAccount(1).address })
  const { errors } = await client.runProgram({ text: examples[1] ?? '', env })
  expect(errors).toBe('')
  expect(await chain.publicClient.getBalance({ address: fundedAccount(1).address })).toBe(before)
})
